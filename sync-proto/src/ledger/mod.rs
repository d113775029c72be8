//! All counters of one daemon: our own parts, the others' parts, and which of them travel.
//!
//! Promises: bounded; a version names one change of one counter, and `changes_after` finds every later one.
//! Never sends anything, and never knows who acknowledged what.

mod own;
mod remote;
mod upkeep;

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{CounterId, CounterName, Epoch, RegionId, WindowId};
use crate::time::{MonoTime, Span};

pub(crate) use own::{EntryTime, Own};
pub(crate) use remote::{Remote, Report, Stamp};

/// What a region's own store said about one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The window that was counted in.
    pub window: WindowId,
    /// The life of the counter in the store.
    pub epoch: Epoch,
    /// Units admitted in this window and epoch so far: a running total, not an increment.
    pub admitted: u64,
    /// Units asked for since the last report, refused ones too: an increment.
    pub arrivals: u64,
}

/// How much the others need to hear of a counter; decided by who knows its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Push {
    /// Whether the counter travels at all.
    pub busy: bool,
    /// How far the count may depart from what the others assume before it is sent outside the tick, in units.
    pub tolerance: u64,
}

/// The ledger has no room for another counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// One counter.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    name: CounterName,
    own: Option<Own>,
    /// In order of the regions' names.
    remotes: Vec<Remote>,
    touched_at: MonoTime,
    /// Busy by our own use until then.
    own_busy_until: Option<MonoTime>,
    /// Busy because another region said so until then.
    heard_busy_until: Option<MonoTime>,
    /// Whether it waits to be announced as changed.
    announced: bool,
}

impl Counter {
    /// Its name.
    pub(crate) fn name(&self) -> &CounterName {
        &self.name
    }

    /// Our own part, once something was recorded.
    pub(crate) fn own(&self) -> Option<&Own> {
        self.own.as_ref()
    }

    /// The others' parts, in order of their names.
    pub(crate) fn remotes(&self) -> &[Remote] {
        &self.remotes
    }

    /// Whether our own use makes it busy.
    pub(crate) fn is_busy_here(&self, now: MonoTime) -> bool {
        self.own_busy_until.is_some_and(|until| now <= until)
    }

    fn is_busy(&self, now: MonoTime) -> bool {
        self.is_busy_here(now) || self.heard_busy_until.is_some_and(|until| now <= until)
    }
}

/// All counters.
#[derive(Debug)]
pub(crate) struct Ledger {
    linger: Span,
    names: BTreeMap<CounterName, CounterId>,
    counters: BTreeMap<CounterId, Counter>,
    /// The last change of each counter that travels.
    changes: BTreeMap<u64, CounterId>,
    /// Counters that are busy, by our own use or another region's.
    busy: BTreeSet<CounterId>,
    version: u64,
    ids: u64,
    sweep_at: MonoTime,
    sweep_when_full_at: MonoTime,
}

impl Ledger {
    /// No counters yet. A counter stays busy for `linger` after the last word of it.
    pub(crate) fn new(linger: Span) -> Self {
        Self {
            linger,
            names: BTreeMap::new(),
            counters: BTreeMap::new(),
            changes: BTreeMap::new(),
            busy: BTreeSet::new(),
            version: 0,
            ids: 0,
            sweep_at: MonoTime::default(),
            sweep_when_full_at: MonoTime::default(),
        }
    }

    /// Takes a report of our own region up; says which counter it was, and whether the others must hear of it at once.
    pub(crate) fn record(
        &mut self,
        now: MonoTime,
        name: &CounterName,
        usage: Usage,
        push: Push,
    ) -> Result<(CounterId, bool), Full> {
        let id = self.intern(now, name)?;
        let Some(counter) = self.counters.get_mut(&id) else {
            return Err(Full);
        };
        counter.touched_at = now;
        if push.busy {
            counter.own_busy_until = Some(now.plus(self.linger));
            self.busy.insert(id);
        }
        let travels = counter.is_busy(now);
        let own = counter.own.get_or_insert_default();
        own.record(now, usage);
        let stamps = travels && own.wants_stamp();
        if stamps {
            self.stamp(id, false);
        }
        let own = self.counters.get(&id).and_then(Counter::own);
        let urgent = push.busy && own.is_some_and(|own| own.departs(now, push.tolerance));
        if urgent && !stamps {
            // Nothing grew, which is the news: it has to travel as a change.
            self.stamp(id, false);
        }
        Ok((id, urgent))
    }

    /// Takes a report of another region up; whether it told anything new.
    pub(crate) fn merge(
        &mut self,
        now: MonoTime,
        id: CounterId,
        region: &RegionId,
        report: &Report,
        busy: bool,
    ) -> bool {
        let Some(counter) = self.counters.get_mut(&id) else {
            return false;
        };
        let at = match counter
            .remotes
            .binary_search_by(|remote| remote.region().cmp(region))
        {
            Ok(at) => at,
            Err(at) => {
                counter.remotes.insert(at, Remote::new(region.clone()));
                at
            }
        };
        let news = counter
            .remotes
            .get_mut(at)
            .is_some_and(|remote| remote.merge(report));
        if news {
            counter.touched_at = now;
        }
        if busy && news {
            counter.heard_busy_until = Some(now.plus(self.linger));
            self.busy.insert(id);
            if counter.own.as_ref().is_some_and(Own::wants_stamp) {
                self.stamp(id, false);
            }
        }
        news
    }

    /// The number of the counter called `name`, which is new if need be.
    pub(crate) fn intern(&mut self, now: MonoTime, name: &CounterName) -> Result<CounterId, Full> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        self.make_room(now)?;
        self.ids += 1;
        let id = CounterId(self.ids);
        self.names.insert(name.clone(), id);
        let counter = Counter {
            name: name.clone(),
            own: None,
            remotes: Vec::new(),
            touched_at: now,
            own_busy_until: None,
            heard_busy_until: None,
            announced: false,
        };
        self.counters.insert(id, counter);
        Ok(id)
    }

    /// Marks a counter as waiting to be announced; whether it was not waiting yet.
    pub(crate) fn announce(&mut self, id: CounterId) -> bool {
        self.counters
            .get_mut(&id)
            .is_some_and(|counter| !std::mem::replace(&mut counter.announced, true))
    }

    /// The name of a counter whose announcement is polled now; none when it was forgotten since.
    pub(crate) fn announced(&mut self, id: CounterId) -> Option<CounterName> {
        let counter = self.counters.get_mut(&id)?;
        counter.announced = false;
        Some(counter.name.clone())
    }

    /// The newest version.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Travelling counters that changed after `version`, in the order of their last change.
    pub(crate) fn changes_after(&self, version: u64) -> impl Iterator<Item = (u64, CounterId)> {
        self.changes
            .range(version.saturating_add(1)..)
            .map(|(version, id)| (*version, *id))
    }

    /// The counter with a number.
    pub(crate) fn counter(&self, id: CounterId) -> Option<&Counter> {
        self.counters.get(&id)
    }

    /// The counter with a name.
    pub(crate) fn find(&self, name: &CounterName) -> Option<&Counter> {
        self.counters.get(self.names.get(name)?)
    }

    /// Names of busy counters, in the order in which they were first seen.
    pub(crate) fn busy(&self) -> impl Iterator<Item = &CounterName> {
        self.busy
            .iter()
            .filter_map(|id| self.counters.get(id))
            .map(Counter::name)
    }

    /// The others are being sent the present state of `id`.
    pub(crate) fn note_told(&mut self, id: CounterId) {
        if let Some(own) = self
            .counters
            .get_mut(&id)
            .and_then(|counter| counter.own.as_mut())
        {
            own.note_told();
        }
    }

    /// Gives the present state of a counter the next version.
    fn stamp(&mut self, id: CounterId, parts: bool) {
        let own = self
            .counters
            .get_mut(&id)
            .and_then(|counter| counter.own.as_mut());
        let Some(own) = own else { return };
        self.version += 1;
        if let Some(version) = own.version() {
            self.changes.remove(&version);
        }
        own.stamp(self.version, parts);
        self.changes.insert(self.version, id);
    }
}
