//! The answer to a check, as data: what every surface renders and every counter counts.
//!
//! Promises: holds each enforced rule that applied, hidden ones too; leaving those out is for `render` and the surfaces.
//! Never computes anything about a limit.

use std::sync::Arc;

use sync_proto::Span;

use crate::rule::{OnStoreFailure, Rule, RuleId};
use crate::store::{StoreFault, Undo, Wait};

/// The answer.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The verdict.
    pub allowed: bool,
    /// When denied: the rule with the longest wait.
    pub decided_by: Option<RuleId>,
    /// When denied: why that rule did.
    pub reason: Option<Reason>,
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

impl Decision {
    /// The deciding rule's state; none when the request was allowed.
    pub fn decider(&self) -> Option<&PolicyState> {
        let id = self.decided_by.as_ref()?;
        self.policies.iter().find(|policy| policy.rule.id == *id)
    }
}

/// Why a rule denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Too little is left for now.
    QuotaExceeded,
    /// The request asks for more than the rule ever holds: waiting does not help.
    CostAboveCapacity,
    /// The rule's limit, or this region's part of it, is zero.
    ZeroLimit,
    /// A fact of the rule's key is missing, and the rule denies such requests.
    MissingKey,
    /// The store did not answer, and the rule's failure mode denied.
    StoreFailure,
}

impl Reason {
    /// The reason on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::QuotaExceeded => "quota_exceeded",
            Self::CostAboveCapacity => "cost_above_capacity",
            Self::ZeroLimit => "zero_limit",
            Self::MissingKey => "missing_key",
            Self::StoreFailure => "store_failure",
        }
    }
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

impl PolicyState {
    /// The most units that can be left: a bucket's burst, or a window's limit.
    pub fn capacity(&self) -> u64 {
        self.burst.unwrap_or(self.limit)
    }
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
