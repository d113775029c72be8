//! What the demo's traffic saw: checks, verdicts and waits by region, admitted units by window, lag by link.
//!
//! Promises: counts come from the answers that callers got, never from the limiter's own state.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use sync_proto::{Span, WallTime};

/// Three digits are enough for a figure that people read.
const SIGNIFICANT_DIGITS: u8 = 3;

/// One region's answers.
#[derive(Clone, Debug)]
pub(super) struct RegionTally {
    pub(super) region: String,
    pub(super) checks: u64,
    pub(super) allowed: u64,
    pub(super) denied: u64,
    /// Checks that got no answer at all.
    pub(super) failed: u64,
    /// Microseconds from asking to the answer.
    pub(super) waits: Histogram<u64>,
}

/// One key's admitted units.
#[derive(Clone, Debug)]
pub(super) struct KeyTally {
    pub(super) rule: String,
    pub(super) key: String,
    pub(super) limit: u64,
    pub(super) window: Span,
    /// Windows start at every `k * window + phase`, in every region alike.
    pub(super) phase: Span,
    /// By start in microseconds: admitted units, one figure per region.
    pub(super) windows: BTreeMap<u64, Vec<u64>>,
}

impl KeyTally {
    /// The start of the window that holds `at`.
    pub(super) fn window_of(&self, at: WallTime) -> WallTime {
        let (length, phase) = (self.window.as_micros(), self.phase.as_micros());
        let since_phase = at.as_micros().saturating_sub(phase);
        WallTime::from_micros(since_phase / length * length + phase)
    }
}

/// One directed link, named by the way that counts travel.
#[derive(Clone, Debug)]
pub(super) struct LinkTally {
    /// Milliseconds that the receiver's counts were old, sampled.
    pub(super) lag: Histogram<u64>,
    /// The newest sample; absent before anything was heard.
    pub(super) lag_now: Option<Span>,
    /// Frame bytes sent when the traffic began.
    pub(super) bytes_at_start: u64,
    /// Frame bytes sent so far.
    pub(super) bytes_now: u64,
}

/// All of it.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) started: WallTime,
    pub(super) ended: Option<WallTime>,
    pub(super) regions: Vec<RegionTally>,
    pub(super) keys: Vec<KeyTally>,
    /// By (sender, receiver), as indices into `regions`.
    pub(super) links: BTreeMap<(usize, usize), LinkTally>,
}

impl Tally {
    pub(super) fn new(started: WallTime, regions: &[&str], keys: Vec<KeyTally>) -> Self {
        let region = |name: &&str| RegionTally {
            region: (*name).to_owned(),
            checks: 0,
            allowed: 0,
            denied: 0,
            failed: 0,
            waits: histogram(),
        };
        let pairs =
            (0..regions.len()).flat_map(|from| (0..regions.len()).map(move |to| (from, to)));
        let link = || LinkTally {
            lag: histogram(),
            lag_now: None,
            bytes_at_start: 0,
            bytes_now: 0,
        };
        Self {
            started,
            ended: None,
            regions: regions.iter().map(region).collect(),
            keys,
            links: pairs
                .filter(|(from, to)| from != to)
                .map(|pair| (pair, link()))
                .collect(),
        }
    }

    /// An answer came at `at`, `wait` after it was asked for.
    pub(super) fn answered(&mut self, region: usize, key: usize, verdict: Verdict) {
        let regions = self.regions.len();
        let tally = &mut self.regions[region];
        tally.checks += 1;
        tally.waits.saturating_record(verdict.wait.as_micros());
        if !verdict.allowed {
            tally.denied += 1;
            return;
        }
        tally.allowed += 1;
        let key = &mut self.keys[key];
        let start = key.window_of(verdict.at).as_micros();
        key.windows.entry(start).or_insert_with(|| vec![0; regions])[region] += 1;
    }

    /// A check got no answer.
    pub(super) fn failed(&mut self, region: usize) {
        self.regions[region].checks += 1;
        self.regions[region].failed += 1;
    }

    /// Whether the traffic ran through the whole of the window that starts at `start`.
    pub(super) fn is_complete(&self, key: &KeyTally, start: u64, now: WallTime) -> bool {
        let end = start + key.window.as_micros();
        start >= self.started.as_micros() && end <= self.ended.unwrap_or(now).as_micros()
    }
}

/// An answer, as its caller saw it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    pub(super) at: WallTime,
    pub(super) wait: Span,
}

fn histogram() -> Histogram<u64> {
    // Proof that it can't fail: the digits are a constant within 0 to 5.
    #[expect(
        clippy::expect_used,
        reason = "3 significant digits are within the 0 to 5 allowed"
    )]
    Histogram::new(SIGNIFICANT_DIGITS).expect("3 significant digits are allowed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let key = KeyTally {
            rule: "partner".into(),
            key: "acme".into(),
            limit: 10,
            window: Span::from_secs(10),
            phase: Span::from_secs(3),
            windows: BTreeMap::new(),
        };
        Tally::new(WallTime::from_micros(23_000_000), &["a", "b"], vec![key])
    }

    fn verdict(allowed: bool, at_us: u64) -> Verdict {
        Verdict {
            allowed,
            at: WallTime::from_micros(at_us),
            wait: Span::from_micros(100),
        }
    }

    #[test]
    fn an_answer_counts_in_the_window_that_holds_it() {
        let mut tally = tally();
        for (region, at_us) in [(0, 23_000_000), (1, 32_999_999), (1, 33_000_000)] {
            tally.answered(region, 0, verdict(true, at_us));
        }
        tally.answered(0, 0, verdict(false, 24_000_000));
        let windows: Vec<_> = tally.keys[0].windows.clone().into_iter().collect();
        assert_eq!(
            windows,
            [(23_000_000, vec![1, 1]), (33_000_000, vec![0, 1])]
        );
        assert_eq!((tally.regions[0].allowed, tally.regions[0].denied), (1, 1));
    }

    #[test]
    fn a_window_is_complete_when_traffic_ran_through_all_of_it() {
        let tally = tally();
        let now = WallTime::from_micros(43_000_000);
        let complete = |start| tally.is_complete(&tally.keys[0], start, now);
        assert_eq!(
            [13, 23, 33, 43].map(|s| complete(s * 1_000_000)),
            [false, true, true, false]
        );
    }
}
