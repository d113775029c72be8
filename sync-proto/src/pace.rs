//! How fast a region goes on with a counter, from reports at irregular intervals.
//!
//! Promises: integer arithmetic; a window that is used up shows as no admission within one step; silence decays to nothing.
//! Never looks ahead: what others make of a pace is theirs.

use crate::bounds::{PACE_IDLE_FLOOR, PACE_MEMORY, PACE_STEP};
use crate::ids::WindowId;
use crate::time::{MonoTime, Span};

/// How busy a region is with a counter, in thousandths of a unit per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// What it admits.
    pub admitted: u64,
    /// What it is asked for.
    pub demand: u64,
}

impl Pace {
    /// No use at all.
    pub(crate) const NONE: Self = Self {
        admitted: 0,
        demand: 0,
    };

    /// Whether others must hear of `self` who were told `told`: off by a sixteenth, or begun, or ended.
    pub(crate) fn departs_from(self, told: Self) -> bool {
        let departs = |new: u64, old: u64| new.abs_diff(old) > old / 16 || (new == 0) != (old == 0);
        departs(self.admitted, told.admitted) || departs(self.demand, told.demand)
    }

    /// Units admitted in `span` at this pace.
    pub(crate) fn growth_in(self, span: Span) -> u64 {
        let units = u128::from(self.admitted) * u128::from(span.as_micros())
            / (1_000 * u128::from(Span::from_secs(1).as_micros()));
        u64::try_from(units).unwrap_or(u64::MAX)
    }
}

/// The whole of a share, in thousandths.
const WHOLE: u64 = 1_000;

/// Measures a pace.
#[derive(Clone, Debug, Default)]
pub(crate) struct PaceMeter {
    demand: u64,
    /// For counters without windows: what is admitted, measured by itself.
    admitted: u64,
    /// For counters with windows: the share of the demand that the current window admits, in thousandths.
    share: u64,
    window: WindowId,
    /// Units asked for since `folded_at`.
    arrivals: u64,
    /// Of those, the ones asked for in `window` for sure.
    tried: u64,
    /// Units admitted in `window` since `folded_at`.
    passed: u64,
    folded_at: Option<MonoTime>,
    recorded_at: MonoTime,
}

impl PaceMeter {
    /// `arrivals` were asked for since the last report, and the count of `window` grew by `growth`.
    pub(crate) fn record(&mut self, now: MonoTime, window: WindowId, arrivals: u64, growth: u64) {
        self.recorded_at = now;
        let Some(folded_at) = self.folded_at else {
            self.begin(now, window, arrivals, growth);
            return;
        };
        self.arrivals = self.arrivals.saturating_add(arrivals.max(growth));
        if window > self.window {
            // A fresh window admits everything. The first report's arrivals may belong to the old one: they tell nothing of it.
            self.window = window;
            (self.share, self.tried, self.passed) = (WHOLE, 0, 0);
        } else if window == self.window {
            self.tried = self.tried.saturating_add(arrivals.max(growth));
            self.passed = self.passed.saturating_add(growth);
        }
        let elapsed = now.since(folded_at);
        if elapsed >= PACE_STEP {
            self.fold(now, elapsed);
        }
    }

    /// Decays when nothing was reported for `idle_after`; whether that changed anything.
    pub(crate) fn decay_when_idle(&mut self, now: MonoTime, idle_after: Span) -> bool {
        if now.since(self.recorded_at) <= idle_after || (self.demand == 0 && self.admitted == 0) {
            return false;
        }
        let decay = |pace: u64| {
            if pace / 4 < PACE_IDLE_FLOOR {
                0
            } else {
                pace / 4
            }
        };
        self.demand = decay(self.demand);
        self.admitted = decay(self.admitted);
        (self.arrivals, self.tried, self.passed) = (0, 0, 0);
        self.folded_at = Some(now);
        true
    }

    /// The pace measured last.
    pub(crate) fn pace(&self) -> Pace {
        let admitted = if self.window == WindowId::ENDLESS {
            self.admitted
        } else {
            mul_div(self.demand, self.share, WHOLE)
        };
        Pace {
            admitted,
            demand: self.demand.max(admitted),
        }
    }

    /// A first report covers at most the time between two reports, so this pace is none too high.
    fn begin(&mut self, now: MonoTime, window: WindowId, arrivals: u64, growth: u64) {
        self.window = window;
        self.folded_at = Some(now);
        self.demand = rate(arrivals.max(growth), PACE_MEMORY);
        self.admitted = rate(growth, PACE_MEMORY);
        self.share = mul_div(growth, WHOLE, arrivals.max(growth).max(1));
    }

    fn fold(&mut self, now: MonoTime, elapsed: Span) {
        let expected = mul_div(
            self.demand,
            elapsed.as_micros(),
            Span::from_secs(1).as_micros(),
        );
        self.demand = blend(self.demand, rate(self.arrivals, elapsed), elapsed);
        self.admitted = blend(self.admitted, rate(self.passed, elapsed), elapsed);
        if self.tried > 0 {
            let used_up = self.passed == 0 && self.tried.saturating_mul(4 * WHOLE) >= expected;
            let share = mul_div(self.passed, WHOLE, self.tried).min(WHOLE);
            // One pod's old news must not look like a used-up window, but a quarter of the demand is no old news.
            self.share = if used_up {
                0
            } else {
                blend(self.share, share, elapsed)
            };
        }
        (self.arrivals, self.tried, self.passed) = (0, 0, 0);
        self.folded_at = Some(now);
    }
}

/// Thousandths of a unit per second.
fn rate(units: u64, span: Span) -> u64 {
    mul_div(
        units.saturating_mul(WHOLE),
        Span::from_secs(1).as_micros(),
        span.as_micros().max(1),
    )
}

/// The mean of `old` and `new`, `new` weighing as much as `elapsed` weighs against what is remembered.
fn blend(old: u64, new: u64, elapsed: Span) -> u64 {
    let (kept, added) = (
        u128::from(PACE_MEMORY.as_micros()),
        u128::from(elapsed.as_micros()),
    );
    let mean = (u128::from(old) * kept + u128::from(new) * added) / (kept + added);
    u64::try_from(mean).unwrap_or(u64::MAX)
}

fn mul_div(a: u64, b: u64, divisor: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b) / u128::from(divisor.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_micros(millis * 1_000)
    }

    fn steady(every_ms: u64, units: u64, until_ms: u64) -> PaceMeter {
        let mut meter = PaceMeter::default();
        for report in 0..=until_ms / every_ms {
            meter.record(at(report * every_ms), WindowId(1), units, units);
        }
        meter
    }

    #[test]
    fn the_interval_of_the_reports_does_not_change_the_pace() {
        for (every_ms, units) in [(50, 5), (200, 20), (1_000, 100)] {
            let pace = steady(every_ms, units, 8_000).pace();
            assert!(
                pace.demand.abs_diff(100_000) < 2_000,
                "{every_ms} ms: {pace:?}"
            );
            assert_eq!(pace.admitted, pace.demand);
        }
    }

    #[test]
    fn a_used_up_window_admits_nothing_within_one_step_and_the_next_one_everything() {
        let mut meter = steady(100, 10, 3_000);
        for report in 31..=34 {
            meter.record(at(report * 100), WindowId(1), 10, 0);
        }
        assert_eq!(meter.pace().admitted, 0);
        assert!(meter.pace().demand > 90_000);
        meter.record(at(3_500), WindowId(2), 10, 3);
        assert!(meter.pace().admitted > 90_000);
    }

    #[test]
    fn a_pod_with_old_news_does_not_end_the_pace() {
        let mut meter = steady(500, 50, 3_000);
        meter.record(at(3_250), WindowId(1), 1, 0);
        assert!(meter.pace().admitted > 50_000, "{:?}", meter.pace());
    }

    #[test]
    fn silence_decays_to_nothing_in_a_few_ticks() {
        let mut meter = steady(100, 100, 3_000);
        let idle_after = Span::from_millis(1_500);
        assert!(!meter.decay_when_idle(at(4_000), idle_after));
        let ticks = (5..=20)
            .take_while(|s| meter.decay_when_idle(at(s * 1_000), idle_after))
            .count();
        assert_eq!(meter.pace(), Pace::NONE);
        assert!(ticks <= 6, "{ticks}");
    }

    #[test]
    fn a_bucket_tells_what_it_admits_and_what_it_is_asked_for() {
        let mut meter = PaceMeter::default();
        for report in 0..80 {
            meter.record(at(report * 100), WindowId::ENDLESS, 10, 1);
        }
        let pace = meter.pace();
        assert!(pace.admitted.abs_diff(10_000) < 500, "{pace:?}");
        assert!(pace.demand.abs_diff(100_000) < 5_000, "{pace:?}");
    }
}
