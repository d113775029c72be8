//! Sharing between regions.
use sync_proto::{CounterName, Epoch, Incarnation, Mesh, MeshEvent, MonoTime, Now, RegionId, Span, WindowId};

use crate::check::{GroupOutcome, Plan};
use crate::rule::RuleSet;
use crate::store::{Fold, FoldReply, StoreKey};

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
    /// Each counter once.
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

/// The pod's half: collects use from replies, and says when to report it.
pub struct Reporter {}

#[allow(unused_variables)]
impl Reporter {
    /// `tick`: how often busy keys are reported at the least.
    pub fn new(tick: Span) -> Self { unimplemented!() }
    /// A check was answered.
    pub fn note(&mut self, now: MonoTime, plan: &Plan, outcomes: &[GroupOutcome]) { unimplemented!() }
    /// The report that is due.
    pub fn poll_report(&mut self, now: MonoTime) -> Option<UsageReport> { unimplemented!() }
    /// The daemon answered.
    pub fn handle_reply(&mut self, now: MonoTime, reply: ReportReply) { unimplemented!() }
    /// The report was not delivered: its counts go into the next one.
    pub fn handle_failure(&mut self, now: MonoTime, report: UsageReport) { unimplemented!() }
    /// Everything at once, for a graceful stop.
    pub fn flush(&mut self, now: MonoTime) -> UsageReport { unimplemented!() }
    /// When [`Self::poll_report`] will have something.
    pub fn poll_timeout(&self) -> Option<MonoTime> { unimplemented!() }
}

/// The daemon's half: brings reports into the mesh, and what the mesh heard into the store.
pub struct Folder {}

/// What a [`Folder`] is told once.
#[derive(Clone, Debug)]
pub struct FolderConfig {
    /// Our region.
    pub region: RegionId,
    /// All configured regions, ours included.
    pub regions: Vec<RegionId>,
    /// The mesh's tick.
    pub tick: Span,
    /// The mesh's `late_after`.
    pub late_after: Span,
}

#[allow(unused_variables)]
impl Folder {
    /// A folder that knows no rules yet.
    pub fn new(config: FolderConfig) -> Self { unimplemented!() }
    /// New rules are in force; names unknown so far may now resolve.
    pub fn handle_rules(&mut self, now: Now, rules: std::sync::Arc<RuleSet>) { unimplemented!() }
    /// A region joined the membership that was not configured.
    pub fn handle_region(&mut self, now: Now, region: RegionId) { unimplemented!() }
    /// A pod reported.
    pub fn handle_report(&mut self, now: Now, mesh: &mut Mesh, report: &UsageReport) { unimplemented!() }
    /// The mesh said something.
    pub fn handle_event(&mut self, now: Now, event: &MeshEvent) { unimplemented!() }
    /// A fold was carried out.
    pub fn handle_folded(&mut self, now: Now, mesh: &mut Mesh, key: &StoreKey, reply: FoldReply) { unimplemented!() }
    /// A fold failed: it is due again after a tick.
    pub fn handle_fold_failure(&mut self, now: Now, key: &StoreKey) { unimplemented!() }
    /// The folds that are due, at most `max`.
    pub fn poll_folds(&mut self, now: Now, mesh: &Mesh, max: usize, folds: &mut Vec<Fold>) { unimplemented!() }
    /// When [`Self::poll_folds`] will have something.
    pub fn poll_timeout(&self) -> Option<MonoTime> { unimplemented!() }
    /// What pods should know.
    pub fn outlook(&self, now: Now, mesh: &Mesh, pods: u32) -> Outlook { unimplemented!() }
}
