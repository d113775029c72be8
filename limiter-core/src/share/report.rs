//! What pods and their region's mesh daemon say to each other.
//!
//! Promises: plain data; repeating a report changes no count.
//! Never names a limit: both sides know the rules.

use sync_proto::{CounterName, Epoch, Incarnation, WindowId};

use crate::rights::Outlook;

/// One counter's use by this region, as a pod's store told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageEntry {
    /// The counter.
    pub name: CounterName,
    /// The window counted in.
    pub window: WindowId,
    /// The key's life.
    pub epoch: Epoch,
    /// Running total of this window and epoch.
    pub admitted: u64,
    /// Units asked for at this pod since its last report.
    pub arrivals: u64,
}

/// What a pod reports to its region's mesh daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// Each counter once per window and epoch that has news.
    pub entries: Vec<UsageEntry>,
}

/// What the daemon answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportReply {
    /// The daemon's life: a new one must be told everything again.
    pub incarnation: Incarnation,
    /// What the pod should know.
    pub outlook: Outlook,
}
