//! One simulated region: a pod, a store and a mesh daemon of production's types, pumped as the daemon pumps them.
//!
//! Promises: after every call nothing is left to do until [`Region::wakes_at`].
//! Never decides or merges anything itself, and knows no time but its own clocks'.

use std::sync::Arc;

use limiter_core::bounds::EMBEDDED_KEYS_MAX;
use limiter_core::check::{Decision, Engine, GroupOutcome, Plan, Request};
use limiter_core::facts::Facts;
use limiter_core::rule::{RuleId, RuleSet};
use limiter_core::share::{Folder, FolderConfig, Outlook, ReportReply, Reporter};
use limiter_core::store::{EmbeddedStore, Fold};
use sync_proto::{
    Cell, CounterName, Epoch, FrameError, Incarnation, Mesh, MeshConfig, Now, PeerChange,
    PeerStatus, RegionId, WindowId,
};

use crate::kernel::{RegionClock, VirtualTime};
use crate::scenario::Timing;

/// Folds carried out between two looks at the mesh.
const FOLDS_PER_ROUND: usize = 256;

/// Rounds of one pumping. More means that a part always finds something to do, which is a bug.
const ROUNDS_MAX: usize = 1_000;

/// One region.
pub(crate) struct Region {
    /// Its name.
    pub(crate) id: RegionId,
    clock: RegionClock,
    engine: Engine,
    store: EmbeddedStore,
    reporter: Reporter,
    folder: Folder,
    mesh: Mesh,
    incarnation: Incarnation,
    outlook: Outlook,
    plan: Plan,
    folds: Vec<Fold>,
    buffer: Vec<u8>,
}

/// What a region is made of.
pub(crate) struct Making<'a> {
    pub(crate) id: RegionId,
    pub(crate) all: &'a [RegionId],
    pub(crate) clock: RegionClock,
    pub(crate) rules: Arc<RuleSet>,
    pub(crate) timing: Timing,
    /// For the store's table.
    pub(crate) seed: u64,
}

/// A frame on its way.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) to: RegionId,
    pub(crate) bytes: Vec<u8>,
}

/// What a check came to.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) decision: Decision,
    pub(crate) counted: Vec<Counted>,
}

/// What a region's store said about one counter.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) rule: RuleId,
    /// Under which name regions know it; absent for rules that regions do not share.
    pub(crate) counter: Option<CounterName>,
    pub(crate) window: WindowId,
    pub(crate) epoch: Epoch,
    /// Units admitted by this region in the window and epoch so far.
    pub(crate) admitted: u64,
}

impl Region {
    /// A region at the start of the run, whose peers are members, and not heard yet.
    pub(crate) fn new(making: Making<'_>) -> Self {
        let Making {
            id,
            all,
            clock,
            rules,
            timing,
            seed,
        } = making;
        let now = clock.now(VirtualTime::default());
        let incarnation = Incarnation(now.wall.as_micros());
        let config = MeshConfig {
            region: id.clone(),
            incarnation,
            tick: timing.tick,
            heartbeat: timing.heartbeat,
            urgent_spacing: timing.urgent_spacing,
            late_after: timing.late_after,
            down_after: timing.down_after,
            busy_linger: timing.busy_linger,
        };
        let mut mesh = Mesh::new(config, now);
        for peer in all.iter().filter(|peer| **peer != id) {
            mesh.handle_membership(now, PeerChange::Joined(peer.clone()));
        }
        let mut folder = Folder::new(FolderConfig {
            region: id.clone(),
            regions: all.to_vec(),
            tick: timing.tick,
            late_after: timing.late_after,
        });
        folder.handle_rules(now, rules.clone());
        Self {
            outlook: folder.outlook(now, &mesh, 1),
            engine: Engine::new(rules),
            store: EmbeddedStore::new(seed, EMBEDDED_KEYS_MAX),
            reporter: Reporter::new(timing.tick),
            plan: Plan::default(),
            folds: Vec::new(),
            buffer: Vec::new(),
            id,
            clock,
            folder,
            mesh,
            incarnation,
        }
    }

    /// A client asks.
    pub(crate) fn check(&mut self, at: VirtualTime, facts: &Facts, cost: u64) -> Checked {
        let now = self.clock.now(at);
        let request = Request {
            domain: "default",
            facts,
            cost,
        };
        self.engine
            .plan(now.wall, request, self.outlook, &mut self.plan);
        let store = &mut self.store;
        let takes = self
            .plan
            .groups
            .iter()
            .map(|group| store.take(now.wall, group));
        let outcomes: Vec<GroupOutcome> = takes.map(GroupOutcome::Stored).collect();
        let settled = self.engine.settle(&self.plan, &outcomes);
        for undo in &settled.undo {
            self.store.undo(now.wall, undo);
        }
        self.reporter.note(now.mono, &self.plan, &outcomes);
        Checked {
            decision: settled.decision,
            counted: self.counted(&outcomes),
        }
    }

    fn counted(&self, outcomes: &[GroupOutcome]) -> Vec<Counted> {
        let counted = self.plan.rules.iter().filter_map(|planned| {
            let (group, index) = planned.take?;
            let GroupOutcome::Stored(reply) = outcomes.get(group)? else {
                return None;
            };
            let take = reply.takes.get(index)?;
            Some(Counted {
                rule: planned.hit.rule.id.clone(),
                counter: planned.hit.counter(),
                window: take.window,
                epoch: take.epoch,
                admitted: take.admitted,
            })
        });
        counted.collect()
    }

    /// A frame arrived.
    pub(crate) fn receive(
        &mut self,
        at: VirtualTime,
        from: &RegionId,
        bytes: &[u8],
    ) -> Result<(), FrameError> {
        self.mesh.handle_frame(self.clock.now(at), from, bytes)
    }

    /// Does all there is to do, in the daemon's order, and adds the frames to send to `sends`. Whether it came to an end.
    #[must_use]
    pub(crate) fn pump(&mut self, at: VirtualTime, sends: &mut Vec<Outgoing>) -> bool {
        let now = self.clock.now(at);
        for _ in 0..ROUNDS_MAX {
            let mut busy = self.report(now);
            if self.mesh.poll_timeout().is_some_and(|due| due <= now.mono) {
                self.mesh.handle_timeout(now);
            }
            while let Some(transmit) = self.mesh.poll_frame(now, &mut self.buffer) {
                sends.push(Outgoing {
                    to: transmit.to,
                    bytes: self.buffer.clone(),
                });
                busy = true;
            }
            while let Some(event) = self.mesh.poll_event() {
                self.folder.handle_event(now, &event);
                busy = true;
            }
            busy |= self.fold(now);
            if !busy {
                return true;
            }
        }
        false
    }

    /// The pod tells the daemon what it owes, and hears how the mesh stands.
    fn report(&mut self, now: Now) -> bool {
        let Some(report) = self.reporter.poll_report(now.mono) else {
            return false;
        };
        self.folder.handle_report(now, &mut self.mesh, &report);
        self.outlook = self.folder.outlook(now, &self.mesh, 1);
        let reply = ReportReply {
            incarnation: self.incarnation,
            outlook: self.outlook,
        };
        self.reporter.handle_reply(now.mono, reply);
        true
    }

    /// The daemon brings into the store what it heard.
    fn fold(&mut self, now: Now) -> bool {
        self.folder
            .poll_folds(now, &self.mesh, FOLDS_PER_ROUND, &mut self.folds);
        for fold in &self.folds {
            let reply = self.store.fold(now.wall, fold);
            self.folder
                .handle_folded(now, &mut self.mesh, &fold.key, reply);
        }
        !self.folds.is_empty()
    }

    /// When [`Self::pump`] is wanted next.
    pub(crate) fn wakes_at(&self) -> Option<VirtualTime> {
        let timers = [
            self.mesh.poll_timeout(),
            self.folder.poll_timeout(),
            self.reporter.poll_timeout(),
        ];
        timers
            .into_iter()
            .flatten()
            .min()
            .map(|mono| self.clock.at(mono))
    }

    /// What this region knows of `peer`'s use of a counter.
    pub(crate) fn known(&self, counter: &CounterName, peer: &RegionId) -> Vec<Cell> {
        let view = self.mesh.view(counter);
        let parts = view.into_iter().flat_map(|view| view.peers);
        parts
            .filter(|part| part.region == peer)
            .flat_map(|part| part.cells.to_vec())
            .collect()
    }

    /// How well the others are heard.
    pub(crate) fn peers(&self, at: VirtualTime) -> Vec<PeerStatus> {
        self.mesh.peers(self.clock.now(at))
    }
}
