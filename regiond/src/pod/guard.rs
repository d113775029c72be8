//! What a bug in deciding does: it allows, is logged, and ends nothing.
//!
//! Promises: one log line a minute, however many checks run into the bug.
//! Never hides a panic outside the closures it is given.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use limiter_core::check::{Decision, Degraded, Plan};
use limiter_core::rule::OnStoreFailure;
use limiter_core::store::{StoreFault, Wait};
use sync_proto::Span;

use crate::os::Clock;

/// The least time between two log lines.
const LOG_SPACING: Span = Span::from_secs(60);

/// Runs what may panic by a bug.
pub(super) struct Guard {
    clock: Clock,
    panics: AtomicU64,
    /// On the monotonic clock, in microseconds; zero: at once.
    next_log: AtomicU64,
}

impl Guard {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            panics: AtomicU64::new(0),
            next_log: AtomicU64::new(0),
        }
    }

    /// What `run` returned; none when it panicked.
    pub(super) fn run<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        let result = catch_unwind(AssertUnwindSafe(run));
        if result.is_err() {
            self.tell();
        }
        result.ok()
    }

    fn tell(&self) {
        let panics = self.panics.fetch_add(1, Ordering::Relaxed) + 1;
        let now = self.clock.mono();
        let due = self.next_log.load(Ordering::Relaxed);
        let next = now.plus(LOG_SPACING).as_micros();
        if now.as_micros() >= due
            && self
                .next_log
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            tracing::error!(
                panics,
                "deciding ran into a bug and the request was allowed; please report this"
            );
        }
    }
}

/// The answer when the rules could not be asked: every rule of the plan stands as failed open.
pub(super) fn allow_all(plan: &Plan, rules_version: u64) -> Decision {
    let degraded = plan.rules.iter().map(|planned| Degraded {
        rule: planned.hit.rule.id.clone(),
        mode: OnStoreFailure::Open,
        fault: StoreFault::Corrupt,
    });
    Decision {
        allowed: true,
        decided_by: None,
        reason: None,
        wait: Wait::None,
        policies: Vec::new(),
        shadow_denied: Vec::new(),
        degraded: degraded.collect(),
        rules_version,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_what_follows_runs() {
        let guard = Guard::new(Clock::start());
        assert_eq!(guard.run(|| -> u32 { panic!("a bug") }), None);
        assert_eq!(guard.run(|| 7), Some(7));
        assert_eq!(guard.panics.load(Ordering::Relaxed), 1);
    }
}
