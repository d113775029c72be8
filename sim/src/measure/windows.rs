//! What was asked and allowed, by client, rule and window.

use std::collections::BTreeMap;

use limiter_core::rule::RuleId;
use sync_proto::{Span, WindowId};

use super::lag::Lags;
use super::outcome::{KeyOutcome, WindowOutcome};
use crate::kernel::VirtualTime;

/// Where traffic lies on the true wall clock, and how far the regions' clocks are from it at most.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    /// The true wall time at the start of the run, in microseconds.
    pub(crate) epoch_us: u64,
    /// From the start of the run to the first request.
    pub(crate) start: Span,
    /// From the start of the run to the last request.
    pub(crate) end: Span,
    /// The largest offset of a clock, in microseconds.
    pub(crate) skew_us: u64,
}

/// A limit as its rule advertises it.
#[derive(Clone, Copy, Debug)]
struct Limit {
    units: u64,
    window: Span,
}

#[derive(Debug)]
struct Tally {
    allowed: Vec<u64>,
    asked: Vec<u64>,
}

/// All windows so far.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    limits: BTreeMap<(usize, RuleId), Limit>,
    tallies: BTreeMap<(usize, RuleId, WindowId), Tally>,
}

impl Windows {
    /// A client asked in a region (both by number), one rule counted it in `window`, and the decision was made.
    pub(crate) fn note(
        &mut self,
        (client, region): (usize, usize),
        policy: &limiter_core::check::PolicyState,
        window: WindowId,
        allowed: bool,
    ) {
        let rule = &policy.rule.id;
        let limit = Limit {
            units: policy.limit,
            window: policy.window,
        };
        self.limits.insert((client, rule.clone()), limit);
        let tally = self.tallies.entry((client, rule.clone(), window));
        let tally = tally.or_insert_with(|| Tally {
            allowed: Vec::new(),
            asked: Vec::new(),
        });
        add(&mut tally.asked, region, 1);
        add(&mut tally.allowed, region, u64::from(allowed));
    }

    /// The largest limit that counted anything.
    pub(crate) fn limit_max(&self) -> u64 {
        self.limits
            .values()
            .map(|limit| limit.units)
            .max()
            .unwrap_or(0)
    }

    /// All of it, by client and rule.
    pub(crate) fn report(
        &self,
        clients: &[String],
        regions: &[String],
        frame: Frame,
        lags: &Lags,
    ) -> Vec<KeyOutcome> {
        let keys = self.limits.iter().map(|((client, rule), limit)| {
            let tallies = self.tallies.iter();
            let own = tallies.filter(|((of, by, _), _)| of == client && by == rule);
            let windows: Vec<WindowOutcome> = own
                .map(|((_, _, window), tally)| {
                    let by_region = by_region(regions, &tally.allowed);
                    let (start_ms, complete) = frame.place(*window, limit.window);
                    let from = VirtualTime(window.0.saturating_sub(frame.epoch_us));
                    WindowOutcome {
                        start_ms,
                        complete,
                        asked: tally.asked.iter().sum(),
                        allowed: tally.allowed.iter().sum(),
                        by_region,
                        lag_ms_max: lags.worst(from, from.plus(limit.window)),
                    }
                })
                .collect();
            KeyOutcome::new(
                clients.get(*client).cloned().unwrap_or_default(),
                rule.to_string(),
                (limit.units, limit.window),
                windows,
            )
        });
        keys.collect()
    }
}

fn add(counts: &mut Vec<u64>, index: usize, units: u64) {
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    if let Some(count) = counts.get_mut(index) {
        *count += units;
    }
}

fn by_region(regions: &[String], counts: &[u64]) -> BTreeMap<String, u64> {
    let counts = counts.iter().chain(std::iter::repeat(&0));
    regions.iter().cloned().zip(counts.copied()).collect()
}

impl Frame {
    /// When a window starts, in milliseconds of traffic, and whether traffic fills it in every region.
    fn place(&self, window: WindowId, length: Span) -> (i64, bool) {
        let first = self.epoch_us + self.start.as_micros();
        let last = self.epoch_us + self.end.as_micros();
        let start_us = i64::try_from(window.0).unwrap_or(i64::MAX);
        let start_ms = start_us.saturating_sub_unsigned(first) / 1_000;
        let end = window.0.saturating_add(length.as_micros());
        let complete = window.0 >= first + self.skew_us && end + self.skew_us <= last;
        (start_ms, complete)
    }
}
