//! How old each region's counts of each other region are, looked at regularly.

use std::collections::BTreeMap;

use sync_proto::Span;

use super::outcome::LagOutcome;
use crate::kernel::VirtualTime;

/// All samples so far.
#[derive(Debug, Default)]
pub(crate) struct Lags {
    /// In milliseconds, by the region that hears and the one that is heard.
    pairs: BTreeMap<(usize, usize), Vec<u64>>,
    /// The worst of all pairs, in order of time.
    worst: Vec<(VirtualTime, u64)>,
}

impl Lags {
    /// Region `by` knows counts of region `of` that are so old.
    pub(crate) fn note(&mut self, at: VirtualTime, (by, of): (usize, usize), lag: Span) {
        let lag_ms = lag.as_micros().div_ceil(1_000);
        self.pairs.entry((by, of)).or_default().push(lag_ms);
        match self.worst.last_mut() {
            Some((last, worst)) if *last == at => *worst = (*worst).max(lag_ms),
            _ => self.worst.push((at, lag_ms)),
        }
    }

    /// The worst of the samples from `from` on and before `to`, in milliseconds.
    pub(crate) fn worst(&self, from: VirtualTime, to: VirtualTime) -> Option<u64> {
        let first = self.worst.partition_point(|(at, _)| *at < from);
        let within = self.worst.iter().skip(first).take_while(|(at, _)| *at < to);
        within.map(|(_, lag_ms)| *lag_ms).max()
    }

    /// The samples of one pair.
    pub(crate) fn report(&self, by: usize, of: usize) -> Option<LagOutcome> {
        let mut samples = self.pairs.get(&(by, of))?.clone();
        samples.sort_unstable();
        // The smallest sample that at least so many of 1000 do not exceed.
        let quantile = |permille: usize| {
            let rank = (samples.len() * permille).div_ceil(1_000).max(1);
            samples.get(rank - 1).copied()
        };
        Some(LagOutcome {
            p50: quantile(500)?,
            p99: quantile(990)?,
            max: quantile(1_000)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples_and_windows_see_their_own_worst() {
        let mut lags = Lags::default();
        for ms in 1..=100 {
            lags.note(VirtualTime(ms), (0, 1), Span::from_millis(ms));
            lags.note(VirtualTime(ms), (1, 0), Span::from_millis(1));
        }
        assert_eq!(
            lags.report(0, 1),
            Some(LagOutcome {
                p50: 50,
                p99: 99,
                max: 100
            })
        );
        assert_eq!(lags.worst(VirtualTime(10), VirtualTime(20)), Some(19));
        assert_eq!(lags.worst(VirtualTime(200), VirtualTime(300)), None);
        assert_eq!(lags.report(0, 2), None);
    }
}
