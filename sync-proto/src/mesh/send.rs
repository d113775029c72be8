//! Frames to peers: made when they are polled, so that they carry the newest state.
//!
//! Promises: urgent counts go first, then trains in order, then proof of life. A train is made in one go: no change slips between its pieces.

use crate::bounds::URGENT_COUNTERS_MAX;
use crate::codec;
use crate::delta;
use crate::frame::{Header, Train};
use crate::ids::{CounterId, RegionId};
use crate::session::Timer;
use crate::time::{MonoTime, Now};

use super::Mesh;

/// The way a frame should travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The counts of a tick: a stream of their own.
    Tick,
    /// A few counts that cannot wait for the tick: a datagram when they fit one.
    Urgent,
    /// Proof of life: a datagram.
    Heartbeat,
}

/// A frame to be sent; its bytes are in the caller's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// To whom.
    pub to: RegionId,
    /// How.
    pub lane: Lane,
}

impl Mesh {
    /// The next frame to send, written into `buf` (cleared first).
    pub fn poll_frame(&mut self, now: Now, buf: &mut Vec<u8>) -> Option<Transmit> {
        buf.clear();
        if self.urgent_at.is_some_and(|at| at <= now.mono) {
            self.send_urgent(now.mono);
        }
        while self.ready.is_empty() && self.make_ready(now) {}
        let (transmit, bytes) = self.ready.pop_front()?;
        buf.extend_from_slice(&bytes);
        if let Some(session) = self.sessions.get_mut(&transmit.to) {
            session.traffic.sent_bytes = session
                .traffic
                .sent_bytes
                .saturating_add(bytes.len() as u64);
        }
        Some(transmit)
    }

    /// Counters that cannot wait are handed to every session, as many as one sending may hold.
    fn send_urgent(&mut self, now: MonoTime) {
        self.urgent_at = None;
        let mut ids = Vec::new();
        while ids.len() < URGENT_COUNTERS_MAX {
            let Some(id) = self.urgent.pop_first() else {
                break;
            };
            self.ledger.note_told(id);
            ids.push(id);
        }
        if ids.is_empty() {
            return;
        }
        self.urgent_sent_at = Some(now);
        if !self.urgent.is_empty() {
            self.urgent_at = Some(now.plus(self.config.urgent_spacing));
        }
        for session in self.sessions.values_mut() {
            if !session.is_silent(now, &self.config)
                && session.due.urgent.len() < URGENT_COUNTERS_MAX
            {
                session.due.urgent.extend(&ids);
            }
        }
    }

    /// Makes the frames of one peer and one lane, the most pressing ones; whether any were due.
    fn make_ready(&mut self, now: Now) -> bool {
        let sessions = || self.sessions.values();
        if let Some(session) = sessions().find(|session| !session.due.urgent.is_empty()) {
            let region = session.region.clone();
            self.make_urgent(now, &region);
        } else if let Some(session) = sessions().find(|session| session.due.train) {
            let region = session.region.clone();
            self.make_train(now, &region);
        } else if let Some(session) = sessions().find(|session| session.due.heartbeat) {
            let region = session.region.clone();
            self.push(now, &region, Lane::Heartbeat, &[(None, Vec::new())]);
        } else {
            return false;
        }
        true
    }

    fn make_urgent(&mut self, now: Now, region: &RegionId) {
        let Some(session) = self.sessions.get_mut(region) else {
            return;
        };
        let mut ids: Vec<CounterId> = std::mem::take(&mut session.due.urgent);
        ids.sort_unstable();
        ids.dedup();
        let frames = delta::urgent(&self.ledger, now.mono, session.acked(), &ids);
        let pieces: Vec<_> = frames.into_iter().map(|entries| (None, entries)).collect();
        self.push(now, region, Lane::Urgent, &pieces);
    }

    fn make_train(&mut self, now: Now, region: &RegionId) {
        let Some(session) = self.sessions.get_mut(region) else {
            return;
        };
        session.due.train = false;
        let (acked, base) =
            session.begin_train(now.mono, self.ledger.version(), self.config.heartbeat);
        let pieces = delta::train(&self.ledger, now.mono, acked, base);
        let pieces: Vec<_> = pieces
            .into_iter()
            .map(|piece| (Some(piece.train), piece.entries))
            .collect();
        self.push(now, region, Lane::Tick, &pieces);
    }

    /// Every frame is proof of life, so the next one that is only that can wait.
    fn push(
        &mut self,
        now: Now,
        region: &RegionId,
        lane: Lane,
        pieces: &[(Option<Train>, Vec<u8>)],
    ) {
        let Some(session) = self.sessions.get_mut(region) else {
            return;
        };
        session.due.heartbeat = false;
        session
            .timers
            .set(Timer::Heartbeat, Some(now.mono.plus(self.config.heartbeat)));
        let header = Header {
            from: self.config.region.clone(),
            incarnation: self.config.incarnation,
            to_incarnation: session.incarnation,
            sent_at: now.mono.as_micros(),
            wall: now.wall,
            echo: session.echo(now.mono),
            have: session.have(),
            newest: self.ledger.version(),
        };
        for (train, entries) in pieces {
            let mut bytes = Vec::new();
            codec::encode(&header, *train, entries, &mut bytes);
            self.ready.push_back((
                Transmit {
                    to: region.clone(),
                    lane,
                },
                bytes,
            ));
        }
    }
}
