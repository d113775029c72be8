//! The daemon's half of sharing: brings reports into the mesh, and what the mesh heard into the store.
//!
//! Promises: a change is folded at once, but a key not more often than every 20 ms; a busy key's fold is renewed every tick, so that it does
//! not go stale; a flushed store is told again what it forgot, our own use included. A region without others folds nothing.
//! Never talks to the store or the mesh's peers itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sync_proto::{CounterName, Mesh, MeshEvent, MonoTime, Now, Push, RegionId, Span, Usage};

use super::agenda::Agenda;
use super::folding::Folding;
use super::following::Following;
use super::push::{self, Use};
use super::standing::Standing;
use super::{Outlook, UsageReport};
use crate::bounds::{FOLD_SPACING, FOLDER_KEYS_MAX, REGIONS_MAX};
use crate::rule::RuleSet;
use crate::store::{Fold, FoldReply, StoreKey};

/// A counter that was not busy for so many ticks is not followed any more.
const IDLE_TICKS: u64 = 10;

/// A counter whose limit is not known is kept, and travels only if somebody else is busy with it.
const UNKNOWN: Push = Push {
    busy: false,
    tolerance: u64::MAX,
};

/// The daemon's half: brings reports into the mesh, and what the mesh heard into the store.
#[derive(Debug)]
pub struct Folder {
    own: RegionId,
    regions: BTreeSet<RegionId>,
    tick: Span,
    late_after: Span,
    rules: Option<Arc<RuleSet>>,
    following: BTreeMap<CounterName, Following>,
    names: BTreeMap<StoreKey, CounterName>,
    agenda: Agenda,
    tick_at: MonoTime,
    /// How the regions stood last; absent when that may have changed.
    standing: Option<Arc<Standing>>,
    unknown: u64,
    dropped: u64,
}

/// What a [`Folder`] is told once.
#[derive(Clone, Debug)]
pub struct FolderConfig {
    /// Our region.
    pub region: RegionId,
    /// All configured regions, ours included.
    pub regions: Vec<RegionId>,
    /// The mesh's tick.
    pub tick: Span,
    /// The mesh's `late_after`.
    pub late_after: Span,
}

impl Folder {
    /// A folder that knows no rules yet.
    pub fn new(config: FolderConfig) -> Self {
        let mut regions: BTreeSet<RegionId> =
            config.regions.into_iter().take(REGIONS_MAX).collect();
        regions.insert(config.region.clone());
        Self {
            own: config.region,
            regions,
            tick: config.tick,
            late_after: config.late_after,
            rules: None,
            following: BTreeMap::new(),
            names: BTreeMap::new(),
            agenda: Agenda::default(),
            tick_at: MonoTime::default(),
            standing: None,
            unknown: 0,
            dropped: 0,
        }
    }

    /// Reported counters that no rule in force has.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Counters that were not followed because the bound was hit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// New rules are in force; names unknown so far may now resolve.
    pub fn handle_rules(&mut self, now: Now, rules: Arc<RuleSet>) {
        self.rules = Some(rules);
        self.names.clear();
        for follow in self.following.values_mut() {
            follow.forget_rule();
        }
        self.fold_all(now.mono);
    }

    /// A region joined the membership that was not configured.
    pub fn handle_region(&mut self, now: Now, region: RegionId) {
        if self.regions.len() < REGIONS_MAX && self.regions.insert(region) {
            self.standing = None;
            self.fold_all(now.mono);
        }
    }

    /// A pod reported.
    pub fn handle_report(&mut self, now: Now, mesh: &mut Mesh, report: &UsageReport) {
        for entry in &report.entries {
            let usage = Usage {
                window: entry.window,
                epoch: entry.epoch,
                admitted: entry.admitted,
                arrivals: entry.arrivals,
            };
            if let Some(follow) = self.follow(&entry.name) {
                follow.used_at = now.mono;
                self.record(now, mesh, &entry.name, usage);
            } else {
                self.dropped += 1;
                mesh.record(now, &entry.name, usage, UNKNOWN);
            }
        }
    }

    /// The mesh said something.
    pub fn handle_event(&mut self, now: Now, event: &MeshEvent) {
        match event {
            MeshEvent::CounterChanged(name) => {
                if let Some(follow) = self.follow(name) {
                    follow.used_at = now.mono;
                    follow.busy = true;
                    self.fold_soon(name, now.mono);
                } else {
                    self.dropped += 1;
                }
            }
            MeshEvent::PeerMoved { .. } => {
                self.standing = None;
                self.fold_all(now.mono);
            }
            MeshEvent::PeerRestarted(_) | MeshEvent::Refused(_) => {}
        }
    }

    /// A fold was carried out.
    pub fn handle_folded(&mut self, now: Now, mesh: &mut Mesh, key: &StoreKey, reply: FoldReply) {
        let Some(name) = self.names.get(key).cloned() else {
            return;
        };
        let usage = Usage {
            window: reply.window,
            epoch: reply.epoch,
            admitted: reply.admitted,
            arrivals: 0,
        };
        self.record(now, mesh, &name, usage);
    }

    /// A fold failed: it is due again after a tick.
    pub fn handle_fold_failure(&mut self, now: Now, key: &StoreKey) {
        if let Some(name) = self.names.get(key) {
            self.agenda.put(name, now.mono.plus(self.tick));
        }
    }

    /// The folds that are due, at most `max`; `folds` is cleared first.
    pub fn poll_folds(&mut self, now: Now, mesh: &Mesh, max: usize, folds: &mut Vec<Fold>) {
        folds.clear();
        if now.mono >= self.tick_at {
            self.renew(now, mesh);
        }
        while folds.len() < max {
            let Some(name) = self.agenda.pop(now.mono) else {
                return;
            };
            folds.extend(self.fold(now, mesh, &name));
        }
    }

    /// When [`Self::poll_folds`] will have something.
    pub fn poll_timeout(&self) -> Option<MonoTime> {
        Some(
            self.agenda
                .next()
                .map_or(self.tick_at, |next| next.min(self.tick_at)),
        )
    }

    /// What pods should know.
    pub fn outlook(&self, now: Now, mesh: &Mesh, pods: u32) -> Outlook {
        let current = || Arc::new(Standing::new(&self.own, self.regions.iter(), mesh, now));
        let standing = self.standing.clone().unwrap_or_else(current);
        Outlook {
            regions: standing.regions(),
            rank: standing.rank(),
            fresh: standing.is_fresh(),
            majority: standing.has_majority(),
            pods,
        }
    }

    /// The counter's entry; none when the bound is hit.
    fn follow(&mut self, name: &CounterName) -> Option<&mut Following> {
        if !self.following.contains_key(name) {
            if self.following.len() >= FOLDER_KEYS_MAX {
                return None;
            }
            self.following.insert(name.clone(), Following::default());
        }
        self.following.get_mut(name)
    }

    fn standing(&mut self, now: Now, mesh: &Mesh) -> Arc<Standing> {
        let (own, regions) = (&self.own, &self.regions);
        let current = || Arc::new(Standing::new(own, regions.iter(), mesh, now));
        self.standing.get_or_insert_with(current).clone()
    }

    /// Brings what our store said into the mesh, and sees whether the store must be told something in turn.
    fn record(&mut self, now: Now, mesh: &mut Mesh, name: &CounterName, usage: Usage) {
        let standing = self.standing(now, mesh);
        let Some(follow) = self.following.get_mut(name) else {
            return;
        };
        let rules = self.rules.as_ref();
        let Some(found) = rules.and_then(|rules| follow.resolve(name, rules, now.wall)) else {
            self.unknown += 1;
            mesh.record(now, name, usage, UNKNOWN);
            return;
        };
        let shape = found.shape;
        let opened = follow.live.is_none_or(|(window, _)| window < usage.window);
        let reborn = follow.advance(now.mono, (usage.window, usage.epoch), usage.admitted);
        let view = mesh.view(name);
        let heard = view.as_ref().is_some_and(|view| !view.peers.is_empty());
        let used = Use {
            view: view.as_ref(),
            window: usage.window,
            own: own_use(view.as_ref().and_then(|view| view.own.as_ref()), usage),
            debt: follow.debt(),
        };
        let push = push::push(&shape, standing.regions(), &used);
        if usage.admitted > 0 || usage.arrivals > 0 {
            mesh.record(now, name, usage, push);
        }
        follow.busy |= push.busy;
        let missing = !follow.folded && (heard || !standing.is_fresh());
        let blind = opened && !standing.is_fresh();
        if reborn || (push.busy && (missing || blind)) {
            self.fold_soon(name, now.mono);
        }
    }

    fn fold_soon(&mut self, name: &CounterName, now: MonoTime) {
        if self.regions.len() < 2 {
            return;
        }
        let folded_at = self.following.get(name).and_then(|follow| follow.folded_at);
        let spaced = folded_at.map_or(now, |at| at.plus(FOLD_SPACING).max(now));
        self.agenda.put(name, spaced);
    }

    fn fold_all(&mut self, now: MonoTime) {
        if self.regions.len() < 2 {
            return;
        }
        for (name, follow) in &self.following {
            if follow.busy || follow.folded {
                self.agenda.put(name, now);
            }
        }
    }

    /// A tick: what is busy is folded again, and what has not been for long is forgotten.
    fn renew(&mut self, now: Now, mesh: &Mesh) {
        // Well before a fold goes stale, even where that is sooner than a tick.
        self.tick_at = now.mono.plus(self.tick.min(self.late_after.divided_by(2)));
        self.standing = None;
        for follow in self.following.values_mut() {
            follow.busy = false;
        }
        for name in mesh.busy() {
            if let Some(follow) = self.follow(name) {
                follow.busy = true;
                follow.used_at = now.mono;
            }
        }
        self.fold_all(now.mono);
        let keep = self.tick.times(IDLE_TICKS);
        let names = &mut self.names;
        self.following.retain(|_, follow| {
            let kept = follow.busy || follow.folded || now.mono.since(follow.used_at) < keep;
            if let (false, Some(resolved)) = (kept, follow.resolved()) {
                names.remove(&resolved.key);
            }
            kept
        });
    }

    fn fold(&mut self, now: Now, mesh: &Mesh, name: &CounterName) -> Option<Fold> {
        let standing = self.standing(now, mesh);
        let follow = self.following.get_mut(name)?;
        let was_folded = std::mem::replace(&mut follow.folded, false);
        let live = follow.live;
        let idle = now.mono.since(follow.used_at) >= self.tick.times(IDLE_TICKS);
        let last = !follow.busy && (standing.is_fresh() || idle);
        let resolved = follow.resolve(name, self.rules.as_ref()?, now.wall)?;
        let view = mesh.view(name)?;
        let folding = Folding {
            view: &view,
            resolved,
            standing: &standing,
            live,
            now,
            stale_after: self.late_after,
            last,
        };
        if !was_folded && !folding.is_needed() {
            return None;
        }
        let fold = folding.fold();
        follow.folded = !last;
        follow.folded_at = Some(now.mono);
        self.names.insert(fold.key.clone(), name.clone());
        Some(fold)
    }
}

/// What we have admitted in the window of a report, over all lives of the key.
fn own_use(own: Option<&sync_proto::PartView<'_>>, usage: Usage) -> u64 {
    let cells = own.map_or(&[][..], |own| own.cells);
    let before = cells
        .iter()
        .filter(|cell| cell.window == usage.window && cell.epoch != usage.epoch);
    before.fold(usage.admitted, |sum, cell| sum.saturating_add(cell.count))
}
