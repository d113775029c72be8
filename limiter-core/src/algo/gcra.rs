//! A bucket as one theoretical arrival time: when it will be full again.
//!
//! The time has a fraction in `1/tokens` of a microsecond, which is why it admits exactly what a
//! [`TokenBucket`](super::token_bucket::TokenBucket) of the same rate and burst admits. Never reads a clock.

/// The theoretical arrival time. A missing key's is in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gcra {
    /// Whole microseconds.
    arrival: u64,
    /// What is above them, in `1/tokens` of a microsecond; below `tokens`.
    fraction: u64,
    /// The last change: a clock that steps behind it counts as standing at it.
    time: u64,
}

impl Gcra {
    /// The arrival time of a bucket that owes `owed` units at `time`, draining at `tokens` a microsecond.
    pub(super) const fn new(owed: u64, time: u64, tokens: u64) -> Self {
        Self {
            arrival: time + owed / tokens,
            fraction: owed % tokens,
            time,
        }
    }

    /// The last change, in microseconds.
    pub(super) const fn time(self) -> u64 {
        self.time
    }

    /// How far the arrival time is ahead of `now`, in `1/tokens` of a microsecond: the units owed.
    pub(super) const fn owed_at(self, now: u64, tokens: u64) -> u64 {
        let now = if now > self.time { now } else { self.time };
        if now > self.arrival {
            0
        } else {
            (self.arrival - now)
                .saturating_mul(tokens)
                .saturating_add(self.fraction)
        }
    }
}
