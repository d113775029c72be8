//! The only place that asks the operating system for time and entropy.
//!
//! Promises: one monotonic origin per process; everything else takes a [`Clock`] or a value.

use std::hash::{BuildHasher, RandomState};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sync_proto::{MonoTime, Now, WallTime};

/// Reads both clocks of this process. Cheap to copy; all copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock whose monotonic origin is now. One per process.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is where the process reads its clocks"
    )]
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// Both clocks.
    pub fn now(&self) -> Now {
        Now {
            mono: self.mono(),
            wall: self.wall(),
        }
    }

    /// The monotonic clock.
    pub fn mono(&self) -> MonoTime {
        MonoTime::from_micros(u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// The wall clock; the Unix epoch when it is set before that.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is where the process reads its clocks"
    )]
    pub fn wall(&self) -> WallTime {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        WallTime::from_micros(u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX))
    }

    /// The instant, for timers of the runtime, at which this clock will read `at`.
    pub fn instant(&self, at: MonoTime) -> Instant {
        self.origin + std::time::Duration::from_micros(at.as_micros())
    }
}

/// A number that nobody outside this process can guess: for seeds of tables and ids of lives.
pub fn entropy() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// A variable of the process's environment, if it is set and not empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
