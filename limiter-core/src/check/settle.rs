//! From the groups' outcomes to one decision, and what must be given back after it.
//!
//! Promises: a request passes only if every enforced take did; what a denial shows is how things stand after the giving back.
//! Never changes a count itself.

use sync_proto::Span;

use super::decision::{Decision, Degraded, PolicyState, Reason, Settled};
use super::failure::DegradedTake;
use super::plan::{Plan, Planned};
use crate::algo::{Shape, Windows};
use crate::rule::{Limit, Mode, OnStoreFailure, Window};
use crate::share::rights;
use crate::store::{GroupReply, StoreFault, Take, TakeReply, Undo, Wait};

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

/// One rule's outcome, wherever it came from.
struct Seen {
    allowed: bool,
    wait: Wait,
    available: u64,
    reset: Span,
    degraded: Option<(OnStoreFailure, StoreFault)>,
}

/// Whether any enforced rule of the plan denies.
pub(crate) fn is_denied(plan: &Plan, outcomes: &[GroupOutcome]) -> bool {
    let denies = |p: &Planned| p.hit.rule.mode == Mode::Enforce && !seen(plan, p, outcomes).allowed;
    plan.rules.iter().any(denies)
}

/// Whether a denied request gives back what this take took: shadow takes as well, `count_rejected` ones never.
pub(crate) fn gives_back(take: &Take, group: &GroupReply, reply: &TakeReply) -> bool {
    group.taken && reply.allowed && take.cost > 0 && !take.count_rejected
}

pub(super) fn settle(plan: &Plan, outcomes: &[GroupOutcome]) -> Settled {
    debug_assert_eq!(plan.groups.len(), outcomes.len(), "one outcome per group");
    let denied = is_denied(plan, outcomes);
    let mut decision = Decision {
        allowed: !denied,
        decided_by: None,
        reason: None,
        wait: Wait::None,
        policies: Vec::with_capacity(plan.rules.len()),
        shadow_denied: Vec::new(),
        degraded: Vec::new(),
        rules_version: plan.rules_version,
    };
    let mut undo = Vec::new();
    for planned in &plan.rules {
        let mut seen = seen(plan, planned, outcomes);
        if denied && let Some(undone) = undo_of(plan, planned, outcomes) {
            seen.available = seen.available.saturating_add(undone.cost);
            undo.push(undone);
        }
        record(&mut decision, plan, planned, &seen);
    }
    Settled { decision, undo }
}

/// Enters one rule's outcome into the decision.
fn record(decision: &mut Decision, plan: &Plan, planned: &Planned, seen: &Seen) {
    let rule = &planned.hit.rule;
    if rule.mode != Mode::Enforce {
        if !seen.allowed {
            decision.shadow_denied.push(rule.id.clone());
        }
        return;
    }
    if let Some((mode, fault)) = seen.degraded {
        decision.degraded.push(Degraded {
            rule: rule.id.clone(),
            mode,
            fault,
        });
    }
    let longer = decision.decided_by.is_none() || urgency(seen.wait) > urgency(decision.wait);
    if !seen.allowed && longer {
        decision.decided_by = Some(rule.id.clone());
        decision.reason = Some(reason(plan, planned, seen));
        decision.wait = seen.wait;
    }
    decision.policies.push(policy(plan, planned, seen));
}

/// How one rule was answered. An outcome that is missing counts as allowed: a caller's fault must not deny anybody.
fn seen(plan: &Plan, planned: &Planned, outcomes: &[GroupOutcome]) -> Seen {
    let Some((group, take)) = planned.take else {
        return Seen {
            allowed: false,
            wait: Wait::Never,
            available: 0,
            reset: Span::ZERO,
            degraded: None,
        };
    };
    let stored = |reply: &TakeReply| Seen {
        allowed: reply.allowed,
        wait: reply.wait,
        available: reply.available,
        reset: reply.reset,
        degraded: None,
    };
    let by_mode = |verdict: &DegradedTake, fault: StoreFault| Seen {
        allowed: verdict.allowed,
        wait: verdict.wait,
        available: verdict.available,
        reset: verdict.reset,
        degraded: Some((verdict.mode, fault)),
    };
    let found = match outcomes.get(group) {
        Some(GroupOutcome::Stored(reply)) => reply.takes.get(take).map(stored),
        Some(GroupOutcome::Degraded { fault, verdicts }) => {
            verdicts.get(take).map(|verdict| by_mode(verdict, *fault))
        }
        None => None,
    };
    found.unwrap_or_else(|| Seen {
        allowed: true,
        wait: Wait::None,
        available: plan
            .take_of(planned)
            .map_or(0, |take| rights::capacity(&take.shape)),
        reset: Span::ZERO,
        degraded: None,
    })
}

/// What this rule's take must give back once the request is denied.
fn undo_of(plan: &Plan, planned: &Planned, outcomes: &[GroupOutcome]) -> Option<Undo> {
    let (group, index) = planned.take?;
    let take = plan.take_of(planned)?;
    let Some(GroupOutcome::Stored(outcome)) = outcomes.get(group) else {
        return None;
    };
    let reply = outcome.takes.get(index)?;
    gives_back(take, outcome, reply).then(|| Undo {
        key: take.key.clone(),
        shape: take.shape,
        cost: take.cost,
        window: reply.window,
        epoch: reply.epoch,
    })
}

/// Longer waits are larger; never is the longest.
fn urgency(wait: Wait) -> (u8, Span) {
    match wait {
        Wait::None => (0, Span::ZERO),
        Wait::For(span) => (1, span),
        Wait::Never => (2, Span::ZERO),
    }
}

fn reason(plan: &Plan, planned: &Planned, seen: &Seen) -> Reason {
    let Some(take) = plan.take_of(planned) else {
        return Reason::MissingKey;
    };
    match (seen.degraded, seen.wait) {
        (Some((OnStoreFailure::Open | OnStoreFailure::Closed, _)), _) => Reason::StoreFailure,
        (_, Wait::Never) if rights::capacity(&take.shape) == 0 => Reason::ZeroLimit,
        (_, Wait::Never) => Reason::CostAboveCapacity,
        _ => Reason::QuotaExceeded,
    }
}

fn policy(plan: &Plan, planned: &Planned, seen: &Seen) -> PolicyState {
    let (limit, window, burst) = match planned.hit.limit() {
        Limit::Unlimited => (0, Span::ZERO, None),
        Limit::Bucket {
            advertised, burst, ..
        } => (advertised.tokens, advertised.per, Some(*burst)),
        Limit::FixedWindow {
            limit,
            window: Window::Every(length),
        } => (*limit, *length, None),
        Limit::FixedWindow {
            limit,
            window: Window::Calendar(_),
        } => (
            *limit,
            plan.take_of(planned).map_or(Span::ZERO, calendar_length),
            None,
        ),
    };
    let capacity = burst.unwrap_or(limit);
    let full = seen.available >= capacity && capacity > 0;
    PolicyState {
        rule: planned.hit.rule.clone(),
        limit,
        window,
        burst,
        remaining: seen.available.min(capacity),
        reset: if full { Span::ZERO } else { seen.reset },
        allowed: seen.allowed,
        wait: seen.wait,
    }
}

/// The length of the calendar window that the request fell into, as far as its caller's clock is right.
fn calendar_length(take: &Take) -> Span {
    match take.shape {
        Shape::FixedWindow {
            windows: Windows::Edges([_, start, end, _]),
            ..
        } => end.since(start),
        Shape::FixedWindow {
            windows: Windows::Every { length, .. },
            ..
        } => length,
        Shape::Bucket { rate, .. } => rate.per,
    }
}
