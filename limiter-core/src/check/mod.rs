//! Deciding: plan what the store must be asked, let the caller ask, settle the answer.
//!
//! Promises: a denied request costs nothing in any rule, those with `count_rejected` excepted; shadow rules never deny.
//! Never talks to a store: a plan is data, and so are its outcomes.

use std::sync::Arc;

use sync_proto::WallTime;

use crate::rule::RuleSet;
use crate::share::Outlook;
use crate::store::StoreFault;

mod decision;
mod failure;
mod plan;
mod settle;

pub use decision::{Decision, Degraded, PolicyState, Reason, Settled};
pub use failure::{DegradedTake, Local};
pub use plan::{Plan, Planned, Request};
pub use settle::GroupOutcome;
pub(crate) use settle::{gives_back, is_denied};

/// Decides with one set of rules. Cheap to make: one per snapshot.
#[derive(Clone, Debug)]
pub struct Engine {
    rules: Arc<RuleSet>,
}

impl Engine {
    /// An engine for `rules`.
    pub fn new(rules: Arc<RuleSet>) -> Self {
        Self { rules }
    }

    /// Its rules.
    pub fn rules(&self) -> &Arc<RuleSet> {
        &self.rules
    }

    /// Which rules apply and what the store must be asked. `near` is the caller's clock, for calendar windows alone.
    pub fn plan(&self, near: WallTime, request: Request<'_>, outlook: Outlook, plan: &mut Plan) {
        plan.fill(&self.rules, near, request, outlook);
    }

    /// Failure modes decide group `group` of `plan`. `local` holds the local mode's buckets.
    pub fn degrade(
        &self,
        plan: &Plan,
        group: usize,
        fault: StoreFault,
        local: Local<'_>,
    ) -> GroupOutcome {
        GroupOutcome::Degraded {
            fault,
            verdicts: failure::verdicts(plan, group, local),
        }
    }

    /// The decision. `outcomes` holds one per group of the plan, in order.
    pub fn settle(&self, plan: &Plan, outcomes: &[GroupOutcome]) -> Settled {
        settle::settle(plan, outcomes)
    }
}
