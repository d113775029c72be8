//! Regions in virtual time: a pod, a store and a daemon each, joined by links with delays.
//!
//! Promises: the same calls give the same story; a frame is delivered once its delay has passed, unless its link is cut by then.
//! Never decides anything: the engine, the reporter, the folder and the mesh under test do.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use limiter_core::check::GroupOutcome;
use limiter_core::share::{Folder, FolderConfig, Outlook, ReportReply, Reporter};
use limiter_core::store::Fold;
use limiter_core::{EmbeddedStore, Engine, Facts, Plan, Request, RuleSet};
use sync_proto::{
    Incarnation, Mesh, MeshConfig, MonoTime, Now, PeerChange, RegionId, Span, WallTime, WindowId,
};

const START_WALL_US: u64 = 1_796_083_200_000_000;
const START_MONO_US: u64 = 1_000_000;
const TICK: Span = Span::from_secs(1);
const LATE_AFTER: Span = Span::from_millis(2_500);
const FOLDS_MAX: usize = 1_000;

struct Region {
    id: RegionId,
    engine: Engine,
    plan: Plan,
    store: EmbeddedStore,
    reporter: Reporter,
    folder: Folder,
    mesh: Mesh,
    outlook: Outlook,
    incarnation: Incarnation,
}

struct Parcel {
    due_us: u64,
    from: usize,
    to: usize,
    bytes: Vec<u8>,
}

/// The regions and the links between them.
pub(crate) struct World {
    rules: Arc<RuleSet>,
    regions: Vec<Region>,
    parcels: VecDeque<Parcel>,
    cut: Vec<usize>,
    now_us: u64,
    facts: Facts,
    /// Units admitted, by region and window.
    pub(crate) admitted: BTreeMap<(usize, WindowId), u64>,
    /// Folds carried out.
    pub(crate) folds: u64,
}

fn config(id: &RegionId, incarnation: Incarnation) -> MeshConfig {
    MeshConfig {
        region: id.clone(),
        incarnation,
        tick: TICK,
        heartbeat: Span::from_millis(200),
        urgent_spacing: Span::from_millis(50),
        late_after: LATE_AFTER,
        down_after: Span::from_secs(5),
        busy_linger: Span::from_secs(10),
    }
}

impl World {
    /// Regions of these names under one set of rules, all heard: five seconds have passed already.
    pub(crate) fn new(names: &[&str], rules: &str) -> Self {
        let rules = Arc::new(RuleSet::parse("rules.yaml", rules, 1).unwrap());
        let ids: Vec<_> = names
            .iter()
            .map(|name| RegionId::new(name).unwrap())
            .collect();
        let mut world = Self {
            rules: rules.clone(),
            regions: Vec::new(),
            parcels: VecDeque::new(),
            cut: Vec::new(),
            now_us: 0,
            facts: Facts::new([("key", "acme")]).unwrap(),
            admitted: BTreeMap::new(),
            folds: 0,
        };
        for id in &ids {
            let region = world.region(id, &ids);
            world.regions.push(region);
        }
        world.run_ms(5_000, |_, _| {});
        world
    }

    fn region(&self, id: &RegionId, ids: &[RegionId]) -> Region {
        let mut region = Region {
            id: id.clone(),
            engine: Engine::new(self.rules.clone()),
            plan: Plan::default(),
            store: EmbeddedStore::new(7, 10_000),
            reporter: Reporter::new(TICK),
            folder: self.folder(id, ids),
            mesh: Mesh::new(config(id, Incarnation(1)), self.now()),
            outlook: Outlook::alone(),
            incarnation: Incarnation(1),
        };
        self.join(&mut region, ids);
        region
    }

    fn folder(&self, id: &RegionId, ids: &[RegionId]) -> Folder {
        let mut folder = Folder::new(FolderConfig {
            region: id.clone(),
            regions: ids.to_vec(),
            tick: TICK,
            late_after: LATE_AFTER,
        });
        folder.handle_rules(self.now(), self.rules.clone());
        folder
    }

    fn join(&self, region: &mut Region, ids: &[RegionId]) {
        for peer in ids.iter().filter(|peer| **peer != region.id) {
            region
                .mesh
                .handle_membership(self.now(), PeerChange::Joined(peer.clone()));
        }
    }

    fn now(&self) -> Now {
        Now {
            mono: MonoTime::from_micros(START_MONO_US + self.now_us),
            wall: WallTime::from_micros(START_WALL_US + self.now_us),
        }
    }

    /// Milliseconds since the start.
    pub(crate) fn now_ms(&self) -> u64 {
        self.now_us / 1_000
    }

    /// One check of one unit in a region; whether it was allowed.
    pub(crate) fn check(&mut self, region: usize) -> bool {
        let now = self.now();
        let at = &mut self.regions[region];
        let request = Request {
            domain: "default",
            facts: &self.facts,
            cost: 1,
        };
        at.engine.plan(now.wall, request, at.outlook, &mut at.plan);
        let store = &mut at.store;
        let outcomes: Vec<_> = at
            .plan
            .groups
            .iter()
            .map(|group| GroupOutcome::Stored(store.take(now.wall, group)))
            .collect();
        let settled = at.engine.settle(&at.plan, &outcomes);
        at.reporter.note(now.mono, &at.plan, &outcomes);
        if let (true, Some(GroupOutcome::Stored(reply))) =
            (settled.decision.allowed, outcomes.first())
        {
            *self
                .admitted
                .entry((region, reply.takes[0].window))
                .or_default() += 1;
        }
        settled.decision.allowed
    }

    /// Lets milliseconds pass; `each` is called in every one of them, with the millisecond since the start.
    pub(crate) fn run_ms(&mut self, ms: u64, mut each: impl FnMut(&mut Self, u64)) {
        for _ in 0..ms {
            self.now_us += 1_000;
            let now_ms = self.now_ms();
            each(self, now_ms);
            self.deliver();
            for region in 0..self.regions.len() {
                self.pump(region);
            }
        }
    }

    /// A region's links are cut, both ways.
    pub(crate) fn cut(&mut self, region: usize) {
        self.cut.push(region);
    }

    /// All links are whole again.
    pub(crate) fn heal(&mut self) {
        self.cut.clear();
    }

    /// A region's store forgets everything.
    pub(crate) fn flush_store(&mut self, region: usize) {
        self.regions[region].store.flush();
    }

    /// A region's daemon begins a new life and knows nothing.
    pub(crate) fn restart_daemon(&mut self, region: usize) {
        let ids: Vec<_> = self
            .regions
            .iter()
            .map(|region| region.id.clone())
            .collect();
        let (now, id) = (self.now(), ids[region].clone());
        let incarnation = Incarnation(self.regions[region].incarnation.0 + 1);
        let folder = self.folder(&id, &ids);
        let mut mesh = Mesh::new(config(&id, incarnation), now);
        for peer in ids.iter().filter(|peer| **peer != id) {
            mesh.handle_membership(now, PeerChange::Joined(peer.clone()));
        }
        let at = &mut self.regions[region];
        (at.folder, at.mesh, at.incarnation) = (folder, mesh, incarnation);
    }

    /// Units admitted by all regions, by window.
    pub(crate) fn totals(&self) -> BTreeMap<WindowId, u64> {
        let mut totals = BTreeMap::new();
        for ((_, window), units) in &self.admitted {
            *totals.entry(*window).or_default() += units;
        }
        totals
    }

    fn deliver(&mut self) {
        let now = self.now();
        let mut waiting = VecDeque::new();
        while let Some(parcel) = self.parcels.pop_front() {
            if parcel.due_us > self.now_us {
                waiting.push_back(parcel);
                continue;
            }
            let lost = self
                .cut
                .iter()
                .any(|cut| *cut == parcel.from || *cut == parcel.to);
            if !lost {
                let from = self.regions[parcel.from].id.clone();
                let mesh = &mut self.regions[parcel.to].mesh;
                mesh.handle_frame(now, &from, &parcel.bytes).unwrap();
            }
        }
        self.parcels = waiting;
    }

    /// The documented order of a daemon: time, reports, events, folds, frames.
    fn pump(&mut self, region: usize) {
        let now = self.now();
        let at = &mut self.regions[region];
        if at.mesh.poll_timeout().is_some_and(|due| due <= now.mono) {
            at.mesh.handle_timeout(now);
        }
        while let Some(report) = at.reporter.poll_report(now.mono) {
            at.folder.handle_report(now, &mut at.mesh, &report);
            at.outlook = at.folder.outlook(now, &at.mesh, 1);
            let reply = ReportReply {
                incarnation: at.incarnation,
                outlook: at.outlook,
            };
            at.reporter.handle_reply(now.mono, reply);
        }
        while let Some(event) = at.mesh.poll_event() {
            at.folder.handle_event(now, &event);
        }
        let mut folds: Vec<Fold> = Vec::new();
        at.folder.poll_folds(now, &at.mesh, FOLDS_MAX, &mut folds);
        self.folds += folds.len() as u64;
        for fold in &folds {
            let reply = at.store.fold(now.wall, fold);
            at.folder.handle_folded(now, &mut at.mesh, &fold.key, reply);
        }
        let mut bytes = Vec::new();
        while let Some(transmit) = self.regions[region].mesh.poll_frame(now, &mut bytes) {
            let to = self
                .regions
                .iter()
                .position(|peer| peer.id == transmit.to)
                .unwrap();
            let due_us = self.now_us + delay_us(region, to);
            self.parcels.push_back(Parcel {
                due_us,
                from: region,
                to,
                bytes: bytes.clone(),
            });
        }
    }
}

/// One way: the first two regions are near each other, the third is far.
fn delay_us(from: usize, to: usize) -> u64 {
    if from.max(to) >= 2 { 39_000 } else { 12_500 }
}
