//! Bytes per second from running totals.
//!
//! Promises: a rate covers at least a second, and everything since it was last told.
//! Never samples by itself: asking is the sampling.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sync_proto::{MonoTime, RegionId, Span};

/// The least time that a rate covers; asked sooner, the last one is told again.
const SPACING: Span = Span::from_secs(1);

/// The last reading of each total.
#[derive(Debug, Default)]
pub(super) struct Rates {
    readings: Mutex<BTreeMap<RegionId, Reading>>,
}

/// Begins as nothing at the clock's origin, when the process began.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    at: MonoTime,
    total: u64,
    per_s: Option<u64>,
}

impl Rates {
    /// The rate at which a peer's total grows, in units per second; none within the first second.
    pub(super) fn per_s(&self, peer: &RegionId, at: MonoTime, total: u64) -> Option<u64> {
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = readings.entry(peer.clone()).or_default();
        let took = at.since(reading.at);
        if took >= SPACING {
            let grown = u128::from(total.saturating_sub(reading.total));
            let per_s = grown * 1_000_000 / u128::from(took.as_micros());
            *reading = Reading {
                at,
                total,
                per_s: u64::try_from(per_s).ok(),
            };
        }
        reading.per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_covers_the_time_since_it_was_last_told() {
        let rates = Rates::default();
        let peer = RegionId::new("singapore").unwrap();
        let at = |ms: u64| MonoTime::from_micros(ms * 1_000);
        assert_eq!(rates.per_s(&peer, at(500), 100), None);
        assert_eq!(rates.per_s(&peer, at(2_000), 1_000), Some(500));
        // Too soon for another one.
        assert_eq!(rates.per_s(&peer, at(2_500), 9_000), Some(500));
        assert_eq!(rates.per_s(&peer, at(4_000), 9_000), Some(4_000));
        // A restarted daemon counts from zero.
        assert_eq!(rates.per_s(&peer, at(5_000), 10), Some(0));
    }
}
