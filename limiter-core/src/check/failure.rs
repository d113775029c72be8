//! What the rules' failure modes say when the store did not answer: open, closed, or a bucket in the pod's memory.
//!
//! Promises: the local takes of a group are decided together, as the store would; a shadow rule's mode denies nobody.
//! Never gives back what a local bucket took when another group denies the request: the error is at most one request of this pod.

use sync_proto::{Span, WallTime};

use super::plan::Plan;
use crate::algo::Shape;
use crate::rule::OnStoreFailure;
use crate::share::rights;
use crate::store::{EmbeddedStore, Take, TakeGroup, Wait};

/// When a client of a rule that fails closed should try again.
const CLOSED_RETRY: Span = Span::from_secs(1);

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
    /// Until more are there, as far as the mode knows; zero when it does not.
    pub reset: Span,
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

/// One verdict per take of the group, in order.
pub(super) fn verdicts(plan: &Plan, group: usize, local: Local<'_>) -> Vec<DegradedTake> {
    let Some(takes) = plan.groups.get(group).map(|group| &group.takes) else {
        return Vec::new();
    };
    let modes = modes(plan, group, takes.len());
    let closed =
        |(take, mode): (&Take, &OnStoreFailure)| !take.shadow && *mode == OnStoreFailure::Closed;
    let denied_anyway = takes.iter().zip(&modes).any(closed);
    let mut asked = TakeGroup::default();
    for (take, mode) in takes.iter().zip(&modes) {
        if *mode == OnStoreFailure::Local {
            asked
                .takes
                .push(local_take(take, local.pods, denied_anyway));
        }
    }
    let replies = if asked.takes.is_empty() {
        Vec::new()
    } else {
        local.store.take(local.at, &asked).takes
    };
    let mut replies = replies.into_iter();
    let verdict = |(take, mode): (&Take, &OnStoreFailure)| match mode {
        OnStoreFailure::Open => opened(take, *mode),
        OnStoreFailure::Closed if take.shadow => opened(take, *mode),
        OnStoreFailure::Closed => DegradedTake {
            mode: *mode,
            allowed: false,
            wait: Wait::For(CLOSED_RETRY),
            available: 0,
            reset: CLOSED_RETRY,
        },
        OnStoreFailure::Local => replies.next().map_or_else(
            || opened(take, *mode),
            |reply| DegradedTake {
                mode: *mode,
                allowed: reply.allowed,
                wait: reply.wait,
                available: reply.available,
                reset: reply.reset,
            },
        ),
    };
    takes.iter().zip(&modes).map(verdict).collect()
}

/// The mode of each take's rule.
fn modes(plan: &Plan, group: usize, takes: usize) -> Vec<OnStoreFailure> {
    let mut modes = vec![OnStoreFailure::Open; takes];
    for planned in &plan.rules {
        if let Some((of, take)) = planned.take
            && of == group
            && let Some(mode) = modes.get_mut(take)
        {
            *mode = planned.hit.rule.on_store_failure;
        }
    }
    modes
}

fn opened(take: &Take, mode: OnStoreFailure) -> DegradedTake {
    DegradedTake {
        mode,
        allowed: true,
        wait: Wait::None,
        available: rights::capacity(&take.shape),
        reset: Span::ZERO,
    }
}

/// The take against this pod's part of the region: the other pods of the region fail over to theirs.
fn local_take(take: &Take, pods: u32, denied_anyway: bool) -> Take {
    let pods = u64::from(pods.max(1));
    let least = |units: u64| (units / pods).max(u64::from(units > 0));
    let shape = match take.shape {
        Shape::FixedWindow { limit, windows } => Shape::FixedWindow {
            limit: least(limit),
            windows,
        },
        Shape::Bucket {
            algorithm,
            rate,
            burst,
        } => Shape::Bucket {
            algorithm,
            rate: rights::slower(rate, pods),
            burst: least(burst),
        },
    };
    let cost = if denied_anyway && !take.count_rejected {
        0
    } else {
        take.cost
    };
    Take {
        shape,
        cost,
        cold: None,
        ..take.clone()
    }
}
