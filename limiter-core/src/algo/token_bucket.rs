//! A bucket as a level: what is owed, in units, at a time.
//!
//! A token is `per` units and `tokens` units drain in a microsecond, so that no rate has a remainder.
//! Promises: what is owed never goes below zero. Never reads a clock.

/// What was owed at the last change. A missing key owes nothing: it is a full bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenBucket {
    owed: u64,
    time: u64,
}

impl TokenBucket {
    /// `owed` units at `time`.
    pub(super) const fn new(owed: u64, time: u64) -> Self {
        Self { owed, time }
    }

    /// The last change, in microseconds.
    pub(super) const fn time(self) -> u64 {
        self.time
    }

    /// Units owed at `now`, draining at `tokens` a microsecond. A `now` before the last change counts as that.
    pub(super) const fn owed_at(self, now: u64, tokens: u64) -> u64 {
        let drained = now.saturating_sub(self.time).saturating_mul(tokens);
        self.owed.saturating_sub(drained)
    }
}
