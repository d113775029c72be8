//! The mesh state machine: one per daemon, pumped by a shell that owns sockets and clocks.
//!
//! Promises: counts are never counted twice, and never lost once acknowledged; the same calls give the same answers.
//! Never reads a clock, never blocks, never trusts a peer beyond its own region's counts.
//!
//! ```text
//! record · handle_membership · handle_frame · handle_timeout · flush     something happened
//!   └─ then poll_frame until None          each frame is to be sent, in this order
//!   └─ then poll_event until None
//!   └─ then wait until poll_timeout, or until something happens
//! ```

mod receive;
mod send;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::bounds::{EVENTS_MAX, PACE_IDLE_MIN, PEERS_MAX, TICK_MIN};
use crate::config::MeshConfig;
use crate::event::{MeshEvent, PeerState};
use crate::ids::{CounterId, CounterName, RegionId};
use crate::ledger::{Ledger, Push, Usage};
use crate::session::{Session, Timer};
use crate::time::{MonoTime, Now, Span};
use crate::view::{CounterView, PartView, PeerStatus};

pub use send::{Lane, Transmit};

/// What the membership said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerChange {
    /// A region is (again) a member. Idempotent.
    Joined(RegionId),
    /// A region is no member any more: it left, or was removed. Its counts stay for their window.
    Left(RegionId),
}

/// The mesh state machine. The module's header says in which order to pump it.
#[derive(Debug)]
pub struct Mesh {
    config: MeshConfig,
    ledger: Ledger,
    sessions: BTreeMap<RegionId, Session>,
    /// Regions that left, and when: their last frames must not make them members again.
    left: BTreeMap<RegionId, MonoTime>,
    tick_at: MonoTime,
    /// Counters that cannot wait for the tick, and when they may be sent.
    urgent: BTreeSet<CounterId>,
    urgent_at: Option<MonoTime>,
    urgent_sent_at: Option<MonoTime>,
    ready: VecDeque<(Transmit, Vec<u8>)>,
    events: VecDeque<MeshEvent>,
    changed: VecDeque<CounterId>,
}

impl Mesh {
    /// A daemon that knows nobody yet.
    pub fn new(config: MeshConfig, now: Now) -> Self {
        let config = MeshConfig {
            tick: config.tick.max(TICK_MIN),
            heartbeat: config.heartbeat.max(TICK_MIN),
            ..config
        };
        Self {
            ledger: Ledger::new(config.busy_linger),
            sessions: BTreeMap::new(),
            left: BTreeMap::new(),
            tick_at: now.mono.plus(config.tick),
            urgent: BTreeSet::new(),
            urgent_at: None,
            urgent_sent_at: None,
            ready: VecDeque::new(),
            events: VecDeque::new(),
            changed: VecDeque::new(),
            config,
        }
    }

    /// Local usage, from a pod's report.
    pub fn record(&mut self, now: Now, name: &CounterName, usage: Usage, push: Push) {
        match self.ledger.record(now.mono, name, usage, push) {
            Ok((id, urgent)) if urgent && !self.sessions.is_empty() => {
                self.urgent.insert(id);
                let spacing = self.config.urgent_spacing;
                let earliest = self
                    .urgent_sent_at
                    .map_or(now.mono, |at| at.plus(spacing).max(now.mono));
                // Sent at the next poll, so that reports which come together travel together.
                self.urgent_at.get_or_insert(earliest);
            }
            Ok(_) => {}
            Err(_) => self.emit(MeshEvent::Refused("counters in the ledger")),
        }
    }

    /// The membership changed.
    pub fn handle_membership(&mut self, now: Now, change: PeerChange) {
        match change {
            PeerChange::Joined(region) => {
                self.left.remove(&region);
                if let Some(session) = self.session(now.mono, &region) {
                    session.member = true;
                }
            }
            PeerChange::Left(region) => {
                let Some(session) = self.sessions.remove(&region) else {
                    return;
                };
                if self.left.len() < PEERS_MAX {
                    self.left.insert(region.clone(), now.mono);
                }
                self.ready.retain(|(transmit, _)| transmit.to != region);
                let from = session.state();
                if from != PeerState::Down {
                    self.emit(MeshEvent::PeerMoved {
                        peer: region,
                        from,
                        to: PeerState::Down,
                    });
                }
            }
        }
    }

    /// Time passed.
    pub fn handle_timeout(&mut self, now: Now) {
        for session in self.sessions.values_mut() {
            if session.timers.is_due(Timer::Heartbeat, now.mono) {
                session.due.heartbeat = true;
                session
                    .timers
                    .set(Timer::Heartbeat, Some(now.mono.plus(self.config.heartbeat)));
            }
        }
        self.judge_peers(now.mono);
        if now.mono >= self.tick_at {
            let next = self.tick_at.plus(self.config.tick);
            self.tick_at = if next > now.mono {
                next
            } else {
                now.mono.plus(self.config.tick)
            };
            self.tick(now.mono);
        }
    }

    /// Send everything that is pending at the next poll: the last act before a graceful stop.
    pub fn flush(&mut self, now: Now) {
        self.tick(now.mono);
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<MeshEvent> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        while let Some(id) = self.changed.pop_front() {
            if let Some(name) = self.ledger.announced(id) {
                return Some(MeshEvent::CounterChanged(name));
            }
        }
        None
    }

    /// When [`Self::handle_timeout`] is wanted next.
    pub fn poll_timeout(&self) -> Option<MonoTime> {
        let sessions = self
            .sessions
            .values()
            .filter_map(|session| session.timers.next());
        sessions.chain(self.urgent_at).chain([self.tick_at]).min()
    }

    /// What is known about a counter.
    pub fn view(&self, name: &CounterName) -> Option<CounterView<'_>> {
        let counter = self.ledger.find(name)?;
        let own = counter.own().map(|own| PartView {
            region: &self.config.region,
            cells: own.cells(),
            pace: own.pace(),
            measured_at: own.measured_at(),
            state: PeerState::Fresh,
        });
        let peers = counter.remotes().iter().map(|remote| PartView {
            region: remote.region(),
            cells: remote.cells(),
            pace: remote.pace(),
            measured_at: remote.measured_at(),
            state: self
                .sessions
                .get(remote.region())
                .map_or(PeerState::Down, Session::state),
        });
        Some(CounterView {
            own,
            peers: peers.collect(),
        })
    }

    /// Every member but ourselves, by name.
    pub fn peers(&self, now: Now) -> Vec<PeerStatus> {
        self.sessions
            .values()
            .map(|session| self.status(now.mono, session))
            .collect()
    }

    /// Names of counters that are busy (ours or heard), for periodic refolding and gauges.
    pub fn busy(&self) -> impl Iterator<Item = &CounterName> {
        self.ledger.busy()
    }

    /// Everything that changed is to be sent to everybody who listens.
    fn tick(&mut self, now: MonoTime) {
        let idle_after = self
            .config
            .tick
            .plus(self.config.tick.divided_by(2))
            .max(PACE_IDLE_MIN);
        let listening = self
            .sessions
            .values()
            .filter(|session| !session.is_silent(now, &self.config));
        let acked = listening.map(Session::acked).min().unwrap_or(u64::MAX);
        self.ledger.handle_tick(now, idle_after, acked);
        self.forget(now);
        self.urgent.clear();
        self.urgent_at = None;
        let version = self.ledger.version();
        for session in self.sessions.values_mut() {
            session.due.urgent.clear();
            session.due.train |= !session.is_silent(now, &self.config)
                && session.wants_train(now, version, self.config.heartbeat);
        }
        let told: Vec<CounterId> = self.ledger.changes_after(acked).map(|(_, id)| id).collect();
        for id in told {
            self.ledger.note_told(id);
        }
    }

    /// Forgets counters that nobody used, numbers that stood for them, and regions that left or were never members.
    fn forget(&mut self, now: MonoTime) {
        let Self {
            config,
            ledger,
            sessions,
            left,
            ..
        } = self;
        left.retain(|_, at| now.since(*at) <= config.down_after);
        sessions.retain(|_, session| session.member || session.state() != PeerState::Down);
        if ledger.handle_sweep(now) {
            let room = ledger.has_room();
            for session in sessions.values_mut() {
                session.dictionary.retain(|counter| match counter {
                    Some(id) => ledger.counter(id).is_some(),
                    None => !room,
                });
            }
        }
    }

    fn judge_peers(&mut self, now: MonoTime) {
        let mut moved = Vec::new();
        for session in self.sessions.values_mut() {
            if let Some(from) = session.judge(now, &self.config) {
                moved.push(MeshEvent::PeerMoved {
                    peer: session.region.clone(),
                    from,
                    to: session.state(),
                });
            }
        }
        moved.into_iter().for_each(|event| self.emit(event));
    }

    /// The session of `region`, which is new if need be; none past the bound, or for ourselves.
    fn session(&mut self, now: MonoTime, region: &RegionId) -> Option<&mut Session> {
        if *region == self.config.region {
            return None;
        }
        if !self.sessions.contains_key(region) && self.sessions.len() >= PEERS_MAX {
            self.emit(MeshEvent::Refused("regions in the mesh"));
            return None;
        }
        let new = || Session::new(region.clone(), now, false);
        Some(self.sessions.entry(region.clone()).or_insert_with(new))
    }

    fn status(&self, now: MonoTime, session: &Session) -> PeerStatus {
        PeerStatus {
            region: session.region.clone(),
            state: session.state(),
            incarnation: session.incarnation,
            lag: session.clock.lag(now),
            rtt: session.clock.rtt(),
            skew_us: session.clock.skew_us(),
            pending: self.ledger.changes_after(session.acked()).count(),
            sent_bytes: session.traffic.sent_bytes,
            received_bytes: session.traffic.received_bytes,
            refused_frames: session.traffic.refused_frames,
            applied_at: session.traffic.applied_at,
        }
    }

    /// An event that nobody polls must not fill the memory; a bound that is hit again and again is told once.
    fn emit(&mut self, event: MeshEvent) {
        if matches!(event, MeshEvent::Refused(_)) && self.events.contains(&event) {
            return;
        }
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// How long a life must be silent before an older one is believed again.
    fn silence(&self) -> Span {
        self.config.late_after
    }
}
