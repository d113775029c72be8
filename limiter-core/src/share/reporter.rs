//! The pod's half of sharing: collects use from the store's replies, and says when to report it.
//!
//! Promises: each (window, epoch) total is told until the daemon has it, and told again to a daemon's next life; memory is bounded.
//! Never reads a store: the replies to checks made anyway are enough.

use std::collections::BTreeMap;

use sync_proto::{CounterName, Incarnation, MonoTime, Span};

use super::tally::{Sight, Tally};
use super::{ReportReply, UsageReport, is_shared};
use crate::algo::Shape;
use crate::bounds::{REPORT_ENTRIES_MAX, REPORT_SPACING, REPORTER_KEYS_MAX};
use crate::check::{GroupOutcome, Plan, Planned, gives_back, is_denied};
use crate::store::{StoreKey, Take, TakeReply};

/// A counter that nobody used for so many ticks is forgotten.
const IDLE_TICKS: u64 = 10;

/// The pod's half: collects use from replies, and says when to report it.
#[derive(Debug)]
pub struct Reporter {
    tick: Span,
    tallies: BTreeMap<StoreKey, Tally>,
    /// For reports that come back undelivered.
    names: BTreeMap<CounterName, StoreKey>,
    /// Keys with something to tell, oldest news first.
    news: Vec<StoreKey>,
    /// Those of them that should not wait for the tick.
    urgent: Vec<StoreKey>,
    tick_at: MonoTime,
    urgent_at: MonoTime,
    forget_at: MonoTime,
    incarnation: Option<Incarnation>,
    dropped: u64,
}

impl Reporter {
    /// `tick`: how often busy keys are reported at the least. A report is due at once, so that an outlook is had early.
    pub fn new(tick: Span) -> Self {
        Self {
            tick,
            tallies: BTreeMap::new(),
            names: BTreeMap::new(),
            news: Vec::new(),
            urgent: Vec::new(),
            tick_at: MonoTime::default(),
            urgent_at: MonoTime::default(),
            forget_at: MonoTime::default(),
            incarnation: None,
            dropped: 0,
        }
    }

    /// Checks that could not be taken note of because the bound was hit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// A check was answered.
    pub fn note(&mut self, now: MonoTime, plan: &Plan, outcomes: &[GroupOutcome]) {
        let denied = is_denied(plan, outcomes);
        for planned in plan
            .rules
            .iter()
            .filter(|planned| is_shared(&planned.hit.rule))
        {
            let Some(take) = plan.take_of(planned) else {
                continue;
            };
            let Some((group, index)) = planned.take else {
                continue;
            };
            let Some(GroupOutcome::Stored(outcome)) = outcomes.get(group) else {
                continue;
            };
            let Some(reply) = outcome.takes.get(index) else {
                continue;
            };
            // What is about to be given back was never used: told, it would stand as used until somebody uses it.
            let returned = if denied && gives_back(take, outcome, reply) {
                take.cost
            } else {
                0
            };
            let sight = sight(now, take, reply, plan.cost, returned);
            self.enter(planned, take, sight);
        }
    }

    fn enter(&mut self, planned: &Planned, take: &Take, sight: Sight) {
        if !self.tallies.contains_key(&take.key) {
            if sight.admitted == 0 && sight.arrivals == 0 {
                return;
            }
            let Some(name) = planned.hit.counter() else {
                return;
            };
            if self.tallies.len() >= REPORTER_KEYS_MAX {
                self.forget(|tally| !tally.queued);
            }
            if self.tallies.len() >= REPORTER_KEYS_MAX {
                self.dropped += 1;
                return;
            }
            self.names.insert(name.clone(), take.key.clone());
            self.tallies.insert(take.key.clone(), Tally::new(name));
        }
        let Some(tally) = self.tallies.get_mut(&take.key) else {
            return;
        };
        let urgent = tally.see(sight);
        if tally.has_news() && !std::mem::replace(&mut tally.queued, true) {
            self.news.push(take.key.clone());
        }
        if urgent && !std::mem::replace(&mut tally.urgent, true) {
            self.urgent.push(take.key.clone());
        }
    }

    /// The report that is due. Empty when a tick passed without news: its answer is wanted all the same.
    pub fn poll_report(&mut self, now: MonoTime) -> Option<UsageReport> {
        if now >= self.tick_at {
            let report = self.drain_news(REPORT_ENTRIES_MAX);
            if self.news.is_empty() {
                self.tick_at = now.plus(self.tick);
                self.forget_idle(now);
            }
            return Some(report);
        }
        if self.urgent.is_empty() || now < self.urgent_at {
            return None;
        }
        self.urgent_at = now.plus(REPORT_SPACING);
        let mut report = UsageReport::default();
        let count = self.urgent.len().min(REPORT_ENTRIES_MAX);
        for key in self.urgent.drain(..count) {
            if let Some(tally) = self.tallies.get_mut(&key) {
                tally.urgent = false;
                tally.tell(&mut report.entries);
            }
        }
        (!report.entries.is_empty()).then_some(report)
    }

    /// The daemon answered.
    pub fn handle_reply(&mut self, _now: MonoTime, reply: ReportReply) {
        let before = self.incarnation.replace(reply.incarnation);
        if before.is_none_or(|before| before == reply.incarnation) {
            return;
        }
        for (key, tally) in &mut self.tallies {
            tally.tell_again();
            if tally.has_news() && !std::mem::replace(&mut tally.queued, true) {
                self.news.push(key.clone());
            }
        }
        self.tick_at = MonoTime::default();
    }

    /// The report was not delivered: its counts go into the next one, a tick from now.
    pub fn handle_failure(&mut self, now: MonoTime, report: UsageReport) {
        for entry in report.entries {
            let Some(key) = self.names.get(&entry.name) else {
                continue;
            };
            let Some(tally) = self.tallies.get_mut(key) else {
                continue;
            };
            tally.untell(&entry);
            if tally.has_news() && !std::mem::replace(&mut tally.queued, true) {
                self.news.push(key.clone());
            }
        }
        self.urgent_at = now.plus(self.tick);
    }

    /// Everything at once, for a graceful stop.
    pub fn flush(&mut self, now: MonoTime) -> UsageReport {
        self.tick_at = now.plus(self.tick);
        self.drain_news(usize::MAX)
    }

    /// When [`Self::poll_report`] will have something.
    pub fn poll_timeout(&self) -> Option<MonoTime> {
        let urgent = if self.urgent.is_empty() {
            self.tick_at
        } else {
            self.urgent_at
        };
        Some(urgent.min(self.tick_at))
    }

    fn drain_news(&mut self, entries_max: usize) -> UsageReport {
        let mut report = UsageReport::default();
        let mut drained = 0;
        for key in &self.news {
            if report.entries.len() >= entries_max {
                break;
            }
            drained += 1;
            if let Some(tally) = self.tallies.get_mut(key) {
                tally.queued = false;
                tally.tell(&mut report.entries);
            }
        }
        self.news.drain(..drained);
        report
    }

    fn forget_idle(&mut self, now: MonoTime) {
        let keep = self.tick.times(IDLE_TICKS);
        if now >= self.forget_at {
            self.forget_at = now.plus(keep.divided_by(2));
            self.forget(|tally| !tally.queued && now.since(tally.seen_at) >= keep);
        }
    }

    fn forget(&mut self, is_over: impl Fn(&Tally) -> bool) {
        let names = &mut self.names;
        self.tallies.retain(|_, tally| {
            let over = is_over(tally);
            if over {
                names.remove(tally.name());
            }
            !over
        });
    }
}

/// What one reply tells of its counter.
fn sight(now: MonoTime, take: &Take, reply: &TakeReply, asked: u64, returned: u64) -> Sight {
    let admitted = reply.admitted.saturating_sub(returned);
    let half_used = match take.shape {
        Shape::FixedWindow { limit, .. } => {
            admitted.saturating_add(reply.remote) >= limit.div_ceil(2)
        }
        Shape::Bucket { burst, .. } => reply.available <= burst / 2,
    };
    Sight {
        at: now,
        window: reply.window,
        epoch: reply.epoch,
        admitted,
        arrivals: asked,
        half_used,
        denied: !reply.allowed,
    }
}
