//! Deciding: plan, then a store, then settle.
use std::sync::Arc;

use sync_proto::{Span, WallTime};

use crate::facts::Facts;
use crate::rule::{Hit, OnStoreFailure, Rule, RuleId, RuleSet};
use crate::share::Outlook;
use crate::store::{EmbeddedStore, GroupReply, StoreFault, TakeGroup, Undo, Wait};

/// A question.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The domain of rules.
    pub domain: &'a str,
    /// The facts.
    pub facts: &'a Facts,
    /// Units wanted; 0 peeks.
    pub cost: u64,
}

/// What a request needs from the store: reusable scratch.
#[derive(Debug, Default)]
pub struct Plan {
    /// Store calls, one per identity, independent of each other.
    pub groups: Vec<TakeGroup>,
    /// The rules that apply, and where each one's take is.
    pub rules: Vec<Planned>,
    /// Units wanted.
    pub cost: u64,
    /// The rules' version.
    pub rules_version: u64,
    /// Rules left out because their key's facts were missing.
    pub missing_key: u32,
}

/// A rule in a plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The rule and the limit that holds.
    pub hit: Hit,
    /// Index of its group and of its take in the group; absent when it needs no store (missing key with `deny`).
    pub take: Option<(usize, usize)>,
}

/// How one group of a plan was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupOutcome {
    /// By the store.
    Stored(GroupReply),
    /// By the rules' failure modes, since the store did not; one verdict per take.
    Degraded {
        /// Why.
        fault: StoreFault,
        /// One per take.
        verdicts: Vec<DegradedTake>,
    },
}

/// A failure mode's verdict on one take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DegradedTake {
    /// The mode that decided.
    pub mode: OnStoreFailure,
    /// Its verdict.
    pub allowed: bool,
    /// Until a retry makes sense.
    pub wait: Wait,
    /// Units left, as far as the mode knows.
    pub available: u64,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The verdict.
    pub allowed: bool,
    /// When denied: the rule with the longest wait.
    pub decided_by: Option<RuleId>,
    /// When denied: until the same request can pass.
    pub wait: Wait,
    /// Every enforced rule that applied, hidden ones too (surfaces leave those out through `render`).
    pub policies: Vec<PolicyState>,
    /// Shadow rules that would have denied.
    pub shadow_denied: Vec<RuleId>,
    /// Rules decided by their failure mode.
    pub degraded: Vec<Degraded>,
    /// The rules' version.
    pub rules_version: u64,
}

/// One enforced rule's state after the decision.
#[derive(Clone, Debug)]
pub struct PolicyState {
    /// The rule.
    pub rule: Arc<Rule>,
    /// What is advertised: units.
    pub limit: u64,
    /// What is advertised: per this time.
    pub window: Span,
    /// A bucket's capacity.
    pub burst: Option<u64>,
    /// Units left.
    pub remaining: u64,
    /// Until more are there.
    pub reset: Span,
    /// Whether this rule had room.
    pub allowed: bool,
    /// Until this rule would have room.
    pub wait: Wait,
}

/// A rule that its failure mode decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degraded {
    /// The rule.
    pub rule: RuleId,
    /// The mode.
    pub mode: OnStoreFailure,
    /// Why.
    pub fault: StoreFault,
}

/// A decision and what must be done after it.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The answer.
    pub decision: Decision,
    /// What must be given back.
    pub undo: Vec<Undo>,
}

/// Decides with one set of rules. Cheap to make: one per snapshot.
#[derive(Clone, Debug)]
pub struct Engine {
    rules: Arc<RuleSet>,
}

#[allow(unused_variables)]
impl Engine {
    /// An engine for `rules`.
    pub fn new(rules: Arc<RuleSet>) -> Self { Self { rules } }
    /// Its rules.
    pub fn rules(&self) -> &Arc<RuleSet> { &self.rules }
    /// Which rules apply and what the store must be asked. `near` is the caller's clock, for calendar windows alone.
    pub fn plan(&self, near: WallTime, request: Request<'_>, outlook: Outlook, plan: &mut Plan) { unimplemented!() }
    /// Failure modes decide group `group` of `plan`. `local` holds the local mode's buckets.
    pub fn degrade(&self, plan: &Plan, group: usize, fault: StoreFault, local: Local<'_>) -> GroupOutcome { unimplemented!() }
    /// The decision.
    pub fn settle(&self, plan: &Plan, outcomes: &[GroupOutcome]) -> Settled { unimplemented!() }
}

/// What failure mode `local` needs.
pub struct Local<'a> {
    /// Buckets in memory.
    pub store: &'a mut EmbeddedStore,
    /// Their clock.
    pub at: WallTime,
    /// The limit is divided by this.
    pub pods: u32,
}
