//! What pods and their region's mesh daemon say to each other.
//!
//! Promises: plain data; repeating a report changes no count.
//! Never names a limit: both sides know the rules.

use sync_proto::{CounterName, Epoch, Incarnation, WindowId};

/// What a pod knows of the mesh: enough to decide while nothing has been folded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Configured regions, ours included.
    pub regions: u32,
    /// Our place among them by name, from 0: remainders of a split go to the first ones.
    pub rank: u32,
    /// Whether every one of them is heard and up to date.
    pub fresh: bool,
    /// Whether more than half of them, ourselves included, are.
    pub majority: bool,
    /// Live pods in this region.
    pub pods: u32,
}

impl Outlook {
    /// Of a region of one pod that shares with nobody.
    pub const fn alone() -> Self {
        Self {
            regions: 1,
            rank: 0,
            fresh: true,
            majority: true,
            pods: 1,
        }
    }

    /// What is left of it when the daemon that told it has been silent for too long: nobody is heard.
    pub const fn blinded(self) -> Self {
        let alone = self.regions <= 1;
        Self {
            fresh: alone,
            majority: alone,
            ..self
        }
    }
}

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
