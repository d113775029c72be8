//! Waiting for a condition with a deadline: the only way a test may let time pass.

use std::thread::park_timeout;
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Looks until `condition` holds. False when `patience` is over first. For tests without a runtime.
#[must_use]
pub fn wait_until(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        park_timeout(LOOK);
    }
}

/// Looks until `look` finds something, for `patience` at most.
pub async fn poll_until<T>(
    patience: Duration,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> Option<T> {
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let found = async {
        loop {
            looks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    tokio::time::timeout(patience, found).await.ok()
}

/// Looks until `value` is `wanted`; fails the test with the last value seen after `patience`.
///
/// # Panics
/// When the deadline passes.
pub async fn wait_until_equal<T: PartialEq + std::fmt::Debug>(
    what: &str,
    patience: Duration,
    wanted: T,
    mut value: impl AsyncFnMut() -> T,
) {
    let mut last = None;
    let reached = poll_until(patience, async || {
        let seen = value().await;
        let reached = seen == wanted;
        last = Some(seen);
        reached.then_some(())
    });
    let reached = reached.await.is_some();
    assert!(
        reached,
        "{what} is {last:?} after {patience:?}, not {wanted:?}"
    );
}
