//! The pump: one task that owns the mesh's state and drives it against connections and store.
//!
//! Promises: each turn handles what has arrived, sends frames, tells events, and starts folds, in this order. Never
//! waits for a peer or for the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use limiter_core::rule::RuleSet;
use limiter_core::share::{Folder, ReportReply, UsageReport};
use sync_proto::{
    Incarnation, Mesh, MeshEvent, MonoTime, Now, PeerChange, PeerState, RegionId, Span,
};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{debug, info, warn};

use super::bounds::{
    FOLDS_PER_PASS, FRAMES_PER_TURN, INPUTS_PER_TURN, PODS_MAX, STATUS_EVERY, TURN_MIN,
};
use super::folding::{Folded, Pass};
use super::links::Links;
use super::{Member, MeshStatus};
use crate::os::Clock;
use crate::store::StoreLink;
use crate::telemetry::Metrics;

/// What the driver is told.
#[derive(Debug)]
pub(super) enum Input {
    /// A proven peer sent a frame.
    Frame {
        /// Who.
        from: RegionId,
        /// What.
        frame: Bytes,
    },
    /// A peer has proven its name on a new connection.
    Connected(RegionId),
    /// A region is no member any more.
    Left(RegionId),
    /// A pod reported.
    Report {
        /// Its life.
        pod: u64,
        /// What.
        report: UsageReport,
        /// Where the answer goes.
        reply: oneshot::Sender<ReportReply>,
    },
    /// Send the last counts and end.
    Stop(oneshot::Sender<()>),
}

/// The driver's state.
pub(super) struct Driver {
    pub(super) mesh: Mesh,
    pub(super) folder: Folder,
    pub(super) incarnation: Incarnation,
    pub(super) tick: Span,
    pub(super) links: Links,
    pub(super) store: StoreLink,
    pub(super) clock: Clock,
    pub(super) metrics: Arc<Metrics>,
    pub(super) inbox: mpsc::Receiver<Input>,
    pub(super) rules: watch::Receiver<Arc<RuleSet>>,
    pub(super) members: watch::Receiver<Vec<Member>>,
    pub(super) status: Arc<ArcSwap<MeshStatus>>,
    pub(super) run: Run,
}

/// What changes while the driver runs.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The pass of folds under way; at most one, so that one key's folds keep their order.
    pass: Option<Pass>,
    /// When each pod reported last.
    pods: BTreeMap<u64, MonoTime>,
    status_due: MonoTime,
    /// More frames are waiting than one turn sends.
    more: bool,
    /// Nobody will change the rules any more.
    rules_final: bool,
    frame: Vec<u8>,
}

/// Why the driver woke up.
enum Woken {
    Input(Option<Input>),
    Rules(bool),
    Folded(Folded),
    Timer,
}

impl Driver {
    /// Runs until it is told to stop.
    pub(super) async fn run(mut self) {
        let rules = self.rules.borrow_and_update().clone();
        self.folder.handle_rules(self.clock.now(), rules);
        loop {
            let woken = self.wait().await;
            let now = self.clock.now();
            match woken {
                Woken::Input(None) => return,
                Woken::Input(Some(input)) => {
                    if let Some(stopped) = self.handle_inputs(now, input) {
                        self.finish(now);
                        // Who asked may have lost patience.
                        let _gone = stopped.send(());
                        return;
                    }
                }
                Woken::Rules(changed) => self.handle_rules(now, changed),
                Woken::Folded(folded) => self.handle_folded(now, &folded),
                Woken::Timer => {}
            }
            self.turn(now);
        }
    }

    async fn wait(&mut self) -> Woken {
        let clock = self.clock;
        let deadline = tokio::time::Instant::from_std(clock.instant(self.deadline()));
        let Self {
            inbox,
            rules,
            run: Run {
                pass, rules_final, ..
            },
            ..
        } = self;
        let folded = async {
            match pass {
                Some(pass) => pass.finished(clock).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            input = inbox.recv() => Woken::Input(input),
            changed = rules.changed(), if !*rules_final => Woken::Rules(changed.is_ok()),
            folded = folded => Woken::Folded(folded),
            () = tokio::time::sleep_until(deadline) => Woken::Timer,
        }
    }

    /// When the next turn is due, should nothing arrive.
    fn deadline(&self) -> MonoTime {
        let now = self.clock.mono();
        if self.run.more {
            return now;
        }
        let folds = if self.run.pass.is_some() {
            None
        } else {
            self.folder.poll_timeout()
        };
        let timers = [self.mesh.poll_timeout(), folds, Some(self.run.status_due)];
        let due = timers
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(self.run.status_due);
        due.max(now.plus(TURN_MIN))
    }

    /// Handles `input` and what waits behind it; somebody's answer when told to stop.
    fn handle_inputs(&mut self, now: Now, input: Input) -> Option<oneshot::Sender<()>> {
        let mut next = Some(input);
        for left in (0..INPUTS_PER_TURN).rev() {
            match next? {
                Input::Stop(stopped) => return Some(stopped),
                Input::Frame { from, frame } => self.handle_frame(now, &from, &frame),
                Input::Connected(region) => self.handle_connected(now, region),
                Input::Left(region) => {
                    self.mesh.handle_membership(now, PeerChange::Left(region));
                }
                Input::Report { pod, report, reply } => {
                    // A pod that has gone away needs no answer.
                    let _gone = reply.send(self.handle_report(now, pod, &report));
                }
            }
            // What stays in the queue wakes the next turn.
            next = if left > 0 {
                self.inbox.try_recv().ok()
            } else {
                None
            };
        }
        None
    }

    fn handle_frame(&mut self, now: Now, from: &RegionId, frame: &[u8]) {
        if let Err(error) = self.mesh.handle_frame(now, from, frame) {
            self.links.refusals().record(from.as_str(), &error);
        }
    }

    fn handle_connected(&mut self, now: Now, region: RegionId) {
        self.folder.handle_region(now, region.clone());
        self.mesh.handle_membership(now, PeerChange::Joined(region));
    }

    fn handle_report(&mut self, now: Now, pod: u64, report: &UsageReport) -> ReportReply {
        if self.run.pods.len() < PODS_MAX || self.run.pods.contains_key(&pod) {
            self.run.pods.insert(pod, now.mono);
        }
        self.folder.handle_report(now, &mut self.mesh, report);
        let outlook = self.folder.outlook(now, &self.mesh, self.pods(now));
        ReportReply {
            incarnation: self.incarnation,
            outlook,
        }
    }

    fn handle_rules(&mut self, now: Now, changed: bool) {
        self.run.rules_final = !changed;
        if changed {
            let rules = self.rules.borrow_and_update().clone();
            self.folder.handle_rules(now, rules);
        }
    }

    fn handle_folded(&mut self, now: Now, folded: &Folded) {
        self.run.pass = None;
        for (fold, reply) in folded.folds.iter().zip(&folded.replies) {
            match reply {
                Ok(reply) => self
                    .folder
                    .handle_folded(now, &mut self.mesh, &fold.key, *reply),
                Err(_fault) => self.folder.handle_fold_failure(now, &fold.key),
            }
        }
        self.metrics.folded(folded.folds.len(), folded.took);
    }

    fn turn(&mut self, now: Now) {
        if self.mesh.poll_timeout().is_some_and(|due| due <= now.mono) {
            self.mesh.handle_timeout(now);
        }
        self.run.more = !self.send_frames(now, FRAMES_PER_TURN);
        self.tell_events(now);
        self.start_folds(now);
        if self.run.status_due <= now.mono {
            self.refresh_status(now);
        }
    }

    /// Sends at most `max` frames; whether that were all.
    fn send_frames(&mut self, now: Now, max: usize) -> bool {
        for _ in 0..max {
            let Some(transmit) = self.mesh.poll_frame(now, &mut self.run.frame) else {
                return true;
            };
            // What finds no way is not acknowledged, and sent again.
            let _sent = self
                .links
                .send(&transmit.to, transmit.lane, &self.run.frame);
        }
        false
    }

    fn tell_events(&mut self, now: Now) {
        while let Some(event) = self.mesh.poll_event() {
            self.folder.handle_event(now, &event);
            log(&event);
        }
    }

    fn start_folds(&mut self, now: Now) {
        if self.run.pass.is_some() {
            return;
        }
        let mut folds = Vec::new();
        self.folder
            .poll_folds(now, &self.mesh, FOLDS_PER_PASS, &mut folds);
        if !folds.is_empty() {
            self.run.pass = Some(Pass::start(&self.store, self.clock, folds));
        }
    }

    fn refresh_status(&mut self, now: Now) {
        self.run.status_due = now.mono.plus(STATUS_EVERY);
        let patience = self.tick.times(3);
        self.run
            .pods
            .retain(|_, seen| now.mono.since(*seen) <= patience);
        let peers = self.mesh.peers(now);
        let busy = self.mesh.busy().count();
        self.metrics.mesh(&peers, busy);
        self.status.store(Arc::new(MeshStatus {
            peers,
            members: self.members.borrow().clone(),
            busy,
            pods: u32::try_from(self.run.pods.len()).unwrap_or(u32::MAX),
            at: now.mono,
        }));
    }

    fn pods(&self, now: Now) -> u32 {
        let patience = self.tick.times(3);
        let live = self
            .run
            .pods
            .values()
            .filter(|seen| now.mono.since(**seen) <= patience);
        u32::try_from(live.count()).unwrap_or(u32::MAX).max(1)
    }

    /// The last counts, to everyone.
    fn finish(&mut self, now: Now) {
        self.mesh.flush(now);
        while !self.send_frames(now, FRAMES_PER_TURN) {}
        self.refresh_status(now);
    }
}

fn log(event: &MeshEvent) {
    match event {
        MeshEvent::CounterChanged(_) => {}
        MeshEvent::PeerMoved { peer, from, to } => match to {
            PeerState::Late => warn!(%peer, ?from, "A peer is late: its newest counts are old."),
            PeerState::Down => warn!(%peer, ?from, "A peer is down."),
            PeerState::Fresh => info!(%peer, ?from, "A peer is heard, and up to date."),
            PeerState::Unheard => info!(%peer, ?from, "A peer is to be heard yet."),
        },
        MeshEvent::PeerRestarted(peer) => info!(%peer, "A peer was restarted."),
        MeshEvent::Refused(bound) => debug!(bound, "A bound of the mesh was hit."),
    }
}
