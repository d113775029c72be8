//! What regions that are not heard are taken to have used of a bucket, as a running total of its own.
//!
//! Promises: grows at the rate that the store was told, so that each fold confirms what the store has assumed since the last one; a new silence
//! starts a new total.
//! Never shrinks: when the silent region is heard again, what it really used counts on top, at most one burst.

use sync_proto::{Epoch, Now, Span};

use crate::rights;
use crate::store::RemotePart;

/// What is kept of one silence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    began: Epoch,
    /// In thousandths of a unit per second, times microseconds.
    total: u128,
    rate_milli: u64,
    at: Now,
}

impl Silence {
    /// Lets time pass, and goes on at `rate_milli` thousandths of a unit per second; over once that is nothing. No fold confirms more than
    /// `trusted` at once, since the store assumes another rate after that.
    pub(super) fn advance(
        before: Option<Self>,
        now: Now,
        rate_milli: u64,
        trusted: Span,
    ) -> Option<Self> {
        let Some(before) = before else {
            let began = Epoch(now.wall.as_micros());
            return (rate_milli > 0).then_some(Self {
                began,
                total: 0,
                rate_milli,
                at: now,
            });
        };
        if rate_milli == 0 {
            return None;
        }
        let passed = now.mono.since(before.at.mono).min(trusted);
        let more = u128::from(before.rate_milli) * u128::from(passed.as_micros());
        let total = before.total.saturating_add(more);
        Some(Self {
            total,
            rate_milli,
            at: now,
            ..before
        })
    }

    /// As a part of the others' use.
    pub(super) fn part(&self) -> RemotePart {
        RemotePart {
            id: format!("~/{}", self.began.0),
            consumed: u64::try_from(self.total / rights::milli_micros()).unwrap_or(u64::MAX),
            epoch: self.began,
        }
    }
}

#[cfg(test)]
mod tests {
    use sync_proto::{MonoTime, WallTime};

    use super::*;

    fn at(seconds: u64) -> Now {
        let micros = seconds * 1_000_000;
        Now {
            mono: MonoTime::from_micros(micros),
            wall: WallTime::from_micros(micros),
        }
    }

    fn after(before: Option<Silence>, seconds: u64, rate_milli: u64) -> Option<Silence> {
        Silence::advance(before, at(seconds), rate_milli, Span::from_secs(2))
    }

    #[test]
    fn a_silence_is_taken_to_use_what_the_store_was_told() {
        let began = after(None, 10, 5_000);
        assert_eq!(began.unwrap().part().consumed, 0);
        let later = after(began, 11, 7_000);
        assert_eq!(later.unwrap().part().consumed, 5);
        let much_later = after(later, 20, 7_000);
        assert_eq!(
            much_later.unwrap().part().consumed,
            5 + 14,
            "no more than a fold is good for"
        );
        assert_eq!(much_later.unwrap().part().id, began.unwrap().part().id);
    }

    #[test]
    fn a_new_silence_starts_a_new_total() {
        let first = after(None, 10, 5_000);
        assert!(after(first, 11, 0).is_none());
        let second = after(None, 12, 5_000);
        assert_ne!(first.unwrap().part().id, second.unwrap().part().id);
    }
}
