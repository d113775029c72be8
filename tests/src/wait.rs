//! Waiting for a condition, with a deadline.

use std::thread::park_timeout;
use std::time::{Duration, Instant};

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(2);

/// Looks until `condition` holds. False when `patience` is over first.
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
        park_timeout(POLL);
    }
}
