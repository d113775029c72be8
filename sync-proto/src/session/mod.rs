//! What this daemon knows of one peer: its life, its numbers, what each has acknowledged to the other, and how well it is heard.
//!
//! Promises: `have` never claims a change that was not merged; `acked` is only what this life of the peer said to this life of ours.
//! Never touches the ledger.

mod dictionary;
mod timers;

use crate::config::MeshConfig;
use crate::event::PeerState;
use crate::frame::{Echo, Frame, Header, Train};
use crate::ids::{CounterId, Incarnation, RegionId};
use crate::lag::LinkClock;
use crate::time::{MonoTime, Span};

pub(crate) use dictionary::{Dictionary, Term};
pub(crate) use timers::{Timer, Timers};

/// Everything about one peer.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) region: RegionId,
    /// Whether the membership named it, rather than only its frames.
    pub(crate) member: bool,
    pub(crate) incarnation: Option<Incarnation>,
    pub(crate) clock: LinkClock,
    pub(crate) dictionary: Dictionary,
    pub(crate) timers: Timers,
    pub(crate) due: Due,
    pub(crate) traffic: Traffic,
    state: PeerState,
    since: MonoTime,
    /// The peer's version up to which every change was merged here.
    have: u64,
    arriving: Option<Arriving>,
    /// Our version up to which the peer has every change.
    acked: u64,
    flight: Option<Flight>,
    /// The peer's newest stamp, and when it came.
    stamp: Option<(u64, MonoTime)>,
}

/// What is to be sent to the peer at the next poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Due {
    pub(crate) heartbeat: bool,
    pub(crate) train: bool,
    pub(crate) urgent: Vec<CounterId>,
}

/// Totals for operators.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) refused_frames: u64,
    pub(crate) applied_at: Option<MonoTime>,
}

/// A train of which the first pieces came.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    newest: u64,
    to: u64,
}

/// Trains sent and not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Flight {
    first_to: u64,
    first_sent_at: MonoTime,
    to: u64,
}

/// How a peer's life relates to what we knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// The same, or the first that we hear.
    Same,
    /// A new one: nothing acknowledged or numbered in the old one holds.
    Begun,
    /// One that ended: its frame is late and is passed over.
    Ended,
}

impl Session {
    /// A peer that was never heard.
    pub(crate) fn new(region: RegionId, now: MonoTime, member: bool) -> Self {
        let mut timers = Timers::default();
        timers.set(Timer::Heartbeat, Some(now));
        Self {
            region,
            member,
            incarnation: None,
            clock: LinkClock::default(),
            dictionary: Dictionary::default(),
            timers,
            due: Due::default(),
            traffic: Traffic::default(),
            state: PeerState::Unheard,
            since: now,
            have: 0,
            arriving: None,
            acked: 0,
            flight: None,
            stamp: None,
        }
    }

    /// A frame of life `life` came. An older life speaks again only once the newer one is silent: its clock was set back.
    pub(crate) fn handle_life(&mut self, now: MonoTime, life: Incarnation, silence: Span) -> Life {
        let Some(known) = self.incarnation else {
            self.incarnation = Some(life);
            return Life::Same;
        };
        if life == known {
            return Life::Same;
        }
        let silent = self
            .clock
            .heard_at()
            .is_none_or(|at| now.since(at) > silence);
        if life < known && !silent {
            return Life::Ended;
        }
        self.incarnation = Some(life);
        self.dictionary.clear();
        self.have = 0;
        self.arriving = None;
        self.acked = 0;
        self.flight = None;
        self.stamp = None;
        Life::Begun
    }

    /// Takes up the acknowledgement and the echo of the newest frame; older ones tell nothing. `version` is our newest.
    pub(crate) fn handle_header(
        &mut self,
        now: MonoTime,
        header: &Header,
        to_us: bool,
        version: u64,
        heartbeat: Span,
    ) {
        if self.stamp.is_some_and(|(stamp, _)| header.sent_at <= stamp) {
            return;
        }
        self.stamp = Some((header.sent_at, now));
        if !to_us {
            self.acked = 0;
            self.flight = None;
            return;
        }
        // More than we ever had is no acknowledgement of ours.
        self.acked = if header.have <= version {
            header.have
        } else {
            0
        };
        if let Some(echo) = header.echo {
            let sent = MonoTime::from_micros(echo.sent_at);
            self.clock
                .note_echo(now, sent, Span::from_micros(echo.held_us));
            self.judge_flight(now, sent, heartbeat);
        }
    }

    /// Takes up that a frame's entries were merged, or that some could not be understood.
    pub(crate) fn handle_merged(&mut self, frame: &Frame, understood: bool) {
        if !understood {
            // What the numbers stand for was lost here: everything is to be told again.
            self.have = 0;
            self.arriving = None;
            return;
        }
        if let Some(train) = frame.train {
            self.note_piece(train, frame.header.newest);
        }
        // An older frame, or a double, proves nothing about the time since.
        let came = self
            .stamp
            .filter(|(stamp, _)| *stamp == frame.header.sent_at);
        if let Some((_, came)) = came.filter(|_| self.have >= frame.header.newest) {
            self.clock.note_current(self.clock.sent_time(came));
        }
    }

    /// Our version after which a train should begin now, and which version the peer has acknowledged.
    pub(crate) fn begin_train(
        &mut self,
        now: MonoTime,
        version: u64,
        heartbeat: Span,
    ) -> (u64, u64) {
        let patience = self.patience(heartbeat);
        let flight = self
            .flight
            .filter(|flight| now.since(flight.first_sent_at) <= patience);
        let base = flight.map_or(self.acked, |flight| flight.to.max(self.acked));
        self.flight = Some(Flight {
            first_to: flight.map_or(version, |flight| flight.first_to),
            first_sent_at: flight.map_or(now, |flight| flight.first_sent_at),
            to: version,
        });
        (self.acked, base)
    }

    /// Whether anything up to `version` is neither acknowledged nor under way.
    pub(crate) fn wants_train(&self, now: MonoTime, version: u64, heartbeat: Span) -> bool {
        let patience = self.patience(heartbeat);
        let flight = self
            .flight
            .filter(|flight| now.since(flight.first_sent_at) <= patience);
        flight.map_or(self.acked, |flight| flight.to.max(self.acked)) < version
    }

    /// Our version up to which the peer has every change.
    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    /// The peer's version up to which every change was merged here.
    pub(crate) fn have(&self) -> u64 {
        self.have
    }

    /// The peer's newest stamp, to be sent back.
    pub(crate) fn echo(&self, now: MonoTime) -> Option<Echo> {
        self.stamp.map(|(sent_at, came)| Echo {
            sent_at,
            held_us: now.since(came).as_micros(),
        })
    }

    /// How well it is heard, as judged last.
    pub(crate) fn state(&self) -> PeerState {
        self.state
    }

    /// Judges anew how well it is heard; the state before, when it changed.
    pub(crate) fn judge(&mut self, now: MonoTime, config: &MeshConfig) -> Option<PeerState> {
        let (late, down) = (config.late_after, config.late_after.plus(config.down_after));
        let state = match self.clock.behind_since() {
            None => PeerState::Unheard,
            Some(at) if now.since(at) > down => PeerState::Down,
            Some(at) if now.since(at) > late => PeerState::Late,
            Some(_) if self.clock.was_current() => PeerState::Fresh,
            Some(_) => PeerState::Unheard,
        };
        let tick = Span::from_micros(1);
        let next = [late, down].map(|limit| {
            self.clock
                .behind_since()
                .map(|at| at.plus(limit).plus(tick))
        });
        self.timers.set(
            Timer::Judge,
            next.into_iter().flatten().find(|at| *at > now),
        );
        (state != self.state).then(|| std::mem::replace(&mut self.state, state))
    }

    /// Whether nothing was heard for so long that counts would be sent to nobody. Heartbeats go on.
    pub(crate) fn is_silent(&self, now: MonoTime, config: &MeshConfig) -> bool {
        let last = self.clock.heard_at().unwrap_or(self.since);
        now.since(last) > config.late_after.plus(config.down_after)
    }

    /// Pieces count only in order: a gap is closed by the next train, which begins before it.
    fn note_piece(&mut self, train: Train, newest: u64) {
        let begun = self.arriving.filter(|arriving| arriving.newest == newest);
        let reached = begun.map_or(self.have, |arriving| arriving.to.max(self.have));
        if train.base > reached {
            return;
        }
        let to = reached.max(train.to);
        self.arriving = Some(Arriving { newest, to });
        if to >= newest && newest > self.have {
            self.have = newest;
            self.arriving = None;
        }
    }

    /// The peer has seen our stamp `seen`. A train sent well before it that is not acknowledged is lost: it is sent again.
    fn judge_flight(&mut self, now: MonoTime, seen: MonoTime, heartbeat: Span) {
        let Some(flight) = self.flight else { return };
        if self.acked >= flight.to {
            self.flight = None;
        } else if self.acked >= flight.first_to {
            self.flight = Some(Flight {
                first_to: flight.to,
                ..flight
            });
        } else if seen > flight.first_sent_at
            && now.since(flight.first_sent_at) > self.patience(heartbeat)
        {
            self.flight = None;
            self.due.train = true;
        }
    }

    /// How long an acknowledgement may take: it waits for the peer's next heartbeat, and the link.
    fn patience(&self, heartbeat: Span) -> Span {
        self.clock
            .rtt()
            .unwrap_or(Span::ZERO)
            .plus(heartbeat)
            .times(2)
    }
}
