//! What the ledger does as time passes: paces decay, counters stop travelling, and forgotten ones make room.
//!
//! Promises: a counter that still travels is never forgotten. Never walks the whole ledger more often than its bounds say.

use std::collections::BTreeSet;

use crate::bounds::{
    COUNTER_IDLE_MAX, COUNTER_IDLE_WHEN_FULL_MAX, COUNTERS_MAX, SWEEP_INTERVAL,
    SWEEP_WHEN_FULL_INTERVAL,
};
use crate::ids::CounterId;
use crate::time::{MonoTime, Span};

use super::{Full, Ledger, Own};

impl Ledger {
    /// Once a tick: lets idle paces decay. What is busy no more is told for the last time, and stops once everybody who listens
    /// acknowledged that: all of them have `acked`.
    pub(crate) fn handle_tick(&mut self, now: MonoTime, idle_after: Span, acked: u64) {
        let mut stamped = Vec::new();
        let mut ended = Vec::new();
        for id in &self.busy {
            let Some(counter) = self.counters.get_mut(id) else {
                ended.push(*id);
                continue;
            };
            let busy = counter.is_busy(now);
            if let Some(own) = counter.own.as_mut() {
                own.decay_when_idle(now, idle_after);
                if busy && own.wants_stamp() || !busy && own.version().is_some() && !own.is_parted()
                {
                    stamped.push((*id, !busy));
                    continue;
                }
            }
            let version = counter.own.as_ref().and_then(Own::version);
            if !busy && version.is_none_or(|version| version <= acked) {
                ended.push(*id);
            }
        }
        for (id, parts) in stamped {
            self.stamp(id, parts);
        }
        for id in ended {
            self.end(id);
        }
    }

    /// Every now and then: forgets counters that nobody used for long. Whether it looked.
    pub(crate) fn handle_sweep(&mut self, now: MonoTime) -> bool {
        let due = now >= self.sweep_at;
        if due {
            self.sweep_at = now.plus(SWEEP_INTERVAL);
            self.forget_idle(now, COUNTER_IDLE_MAX);
        }
        due
    }

    /// Whether a new counter finds room.
    pub(crate) fn has_room(&self) -> bool {
        self.counters.len() < COUNTERS_MAX
    }

    pub(super) fn make_room(&mut self, now: MonoTime) -> Result<(), Full> {
        if !self.has_room() && now >= self.sweep_when_full_at {
            self.sweep_when_full_at = now.plus(SWEEP_WHEN_FULL_INTERVAL);
            self.forget_idle(now, COUNTER_IDLE_WHEN_FULL_MAX);
        }
        if self.has_room() { Ok(()) } else { Err(Full) }
    }

    fn forget_idle(&mut self, now: MonoTime, idle: Span) {
        let busy: &BTreeSet<CounterId> = &self.busy;
        let names = &mut self.names;
        self.counters.retain(|id, counter| {
            let keep = now.since(counter.touched_at) <= idle || busy.contains(id);
            if !keep {
                names.remove(&counter.name);
            }
            keep
        });
    }

    fn end(&mut self, id: CounterId) {
        self.busy.remove(&id);
        if let Some(own) = self
            .counters
            .get_mut(&id)
            .and_then(|counter| counter.own.as_mut())
        {
            if let Some(version) = own.version() {
                self.changes.remove(&version);
            }
            own.stop();
        }
    }
}
