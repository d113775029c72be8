//! Frames of peers: checked as a whole, then merged.
//!
//! Promises: a refused frame changes nothing but its peer's count of refused frames; a frame changes its own sender's parts alone.

use crate::bounds::CELLS_PER_PART_MAX;
use crate::codec;
use crate::error::FrameError;
use crate::event::MeshEvent;
use crate::frame::{Entry, Frame};
use crate::ids::{CounterId, RegionId};
use crate::ledger::{Ledger, Report, Stamp};
use crate::session::{Life, Session, Term};
use crate::time::{MonoTime, Now, Span};

use super::Mesh;

impl Mesh {
    /// Bytes arrived from an authenticated peer.
    ///
    /// # Errors
    /// When the bytes are no frame of that peer, or its region is one too many.
    pub fn handle_frame(
        &mut self,
        now: Now,
        from: &RegionId,
        bytes: &[u8],
    ) -> Result<(), FrameError> {
        if *from == self.config.region {
            return Err(FrameError::OwnRegion(from.clone()));
        }
        let frame = self.check(from, bytes).inspect_err(|_| {
            if let Some(session) = self.sessions.get_mut(from) {
                session.traffic.refused_frames = session.traffic.refused_frames.saturating_add(1);
            }
        })?;
        if self
            .left
            .get(from)
            .is_some_and(|at| now.mono.since(*at) <= self.config.down_after)
        {
            // On its way when the region left.
            return Ok(());
        }
        let silence = self.silence();
        let session = self
            .session(now.mono, from)
            .ok_or_else(|| FrameError::Stranger(from.clone()))?;
        session.traffic.received_bytes = session
            .traffic
            .received_bytes
            .saturating_add(bytes.len() as u64);
        match session.handle_life(now.mono, frame.header.incarnation, silence) {
            Life::Same => {}
            Life::Begun => self.emit(MeshEvent::PeerRestarted(from.clone())),
            Life::Ended => return Ok(()),
        }
        self.take_up(now, from, &frame);
        self.judge_peers(now.mono);
        Ok(())
    }

    fn check(&self, from: &RegionId, bytes: &[u8]) -> Result<Frame, FrameError> {
        let frame = codec::decode(bytes)?;
        if frame.header.from != *from {
            let (claimed, sender) = (frame.header.from, from.clone());
            return Err(FrameError::WrongRegion { claimed, sender });
        }
        Ok(frame)
    }

    fn take_up(&mut self, now: Now, from: &RegionId, frame: &Frame) {
        let to_us = frame.header.to_incarnation == Some(self.config.incarnation);
        let (version, heartbeat) = (self.ledger.version(), self.config.heartbeat);
        let Some(session) = self.sessions.get_mut(from) else {
            return;
        };
        if session.is_silent(now.mono, &self.config) || session.clock.heard_at().is_none() {
            // Whatever changed in the meantime need not wait for the tick.
            session.due.train = true;
        }
        session.clock.note_heard(now.mono);
        session.handle_header(now.mono, &frame.header, to_us, version, heartbeat);
        session.clock.note_wall(now, frame.header.wall);
        let mut merging = Merging {
            now: now.mono,
            ledger: &mut self.ledger,
            session,
            changed: Vec::new(),
            refused: None,
            understood: true,
        };
        for entry in &frame.entries {
            merging.take_up(frame, entry);
        }
        let Merging {
            changed,
            refused,
            understood,
            ..
        } = merging;
        session.handle_merged(frame, understood);
        if frame.train.is_some() || !frame.entries.is_empty() {
            session.traffic.applied_at = Some(now.mono);
        }
        for id in changed {
            if self.ledger.announce(id) {
                self.changed.push_back(id);
            }
        }
        if let Some(bound) = refused {
            self.emit(MeshEvent::Refused(bound));
        }
    }
}

/// Entries of one frame on their way into the ledger.
struct Merging<'a> {
    now: MonoTime,
    ledger: &'a mut Ledger,
    session: &'a mut Session,
    changed: Vec<CounterId>,
    refused: Option<&'static str>,
    /// Whether every number so far stood for something.
    understood: bool,
}

impl Merging<'_> {
    fn take_up(&mut self, frame: &Frame, entry: &Entry) {
        let now = self.now;
        let Some(term) = self.term(entry) else { return };
        let Some(id) = term.counter else { return };
        let mut cells = Vec::with_capacity(entry.cells.len().min(CELLS_PER_PART_MAX));
        let mut understood = true;
        for cell in &entry.cells {
            match term.resolve(cell) {
                Some(cell) => cells.push(cell),
                None => understood = false,
            }
        }
        self.understood &= understood;
        let age = Span::from_millis(entry.age_ms);
        let report = Report {
            stamp: Stamp {
                incarnation: frame.header.incarnation,
                micros: frame.header.sent_at.saturating_sub(age.as_micros()),
            },
            measured_at: self.session.clock.sent_time(now).minus(age),
            pace: entry.pace,
            cells,
        };
        if self
            .ledger
            .merge(now, id, &self.session.region, &report, entry.busy)
        {
            self.changed.push(id);
        }
    }

    /// What the entry's number stands for; none when that was not told, or cannot be remembered.
    fn term(&mut self, entry: &Entry) -> Option<&mut Term> {
        let room = self.session.dictionary.has_room();
        let known = self.session.dictionary.find(entry.id).is_some_and(|term| {
            term.counter
                .is_none_or(|id| self.ledger.counter(id).is_some())
        });
        match &entry.name {
            Some(_) if !known && !room => {
                self.refused = Some("counters of one peer");
                None
            }
            Some(name) => {
                let counter = self.ledger.intern(self.now, name).ok();
                if counter.is_none() {
                    self.refused = Some("counters in the ledger");
                }
                Some(self.session.dictionary.learn(entry.id, counter))
            }
            None if known => self.session.dictionary.find(entry.id),
            None => {
                // Past the bound it would be asked for again and again.
                self.understood &= !room;
                None
            }
        }
    }
}
