//! What a peer has not acknowledged yet, cut to a byte budget.
//!
//! Promises: the pieces of a train together hold every change after its base, in the order of the changes.
//! Never decides when to send, and never remembers what was sent.

use crate::bounds::{FRAME_BYTES_MAX, HEADER_BYTES_MAX, URGENT_FRAME_BYTES_MAX};
use crate::frame::{Entry, Train};
use crate::ids::CounterId;
use crate::ledger::{EntryTime, Ledger};
use crate::packing::{Packer, packed_bytes_max};
use crate::time::MonoTime;

/// One frame's worth of a train.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The versions it covers.
    pub(crate) train: Train,
    /// Its entries, packed.
    pub(crate) entries: Vec<u8>,
}

/// Every change after `base`, for a peer that acknowledged `acked`: one piece at least, so that an empty train closes a gap.
pub(crate) fn train(ledger: &Ledger, now: MonoTime, acked: u64, base: u64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut load = Load::new(FRAME_BYTES_MAX - HEADER_BYTES_MAX);
    let mut train = Train { base, to: base };
    for (version, id) in ledger.changes_after(base) {
        let Some(entry) = entry(ledger, now, id, acked) else {
            continue;
        };
        if !load.has_room(&entry) {
            pieces.push(Piece {
                train,
                entries: load.pack(),
            });
            train.base = train.to;
        }
        load.push(entry);
        train.to = version;
    }
    train.to = ledger.version().max(base);
    pieces.push(Piece {
        train,
        entries: load.pack(),
    });
    pieces
}

/// The present state of `ids`, packed into as many small frames as it takes.
pub(crate) fn urgent(
    ledger: &Ledger,
    now: MonoTime,
    acked: u64,
    ids: &[CounterId],
) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut load = Load::new(URGENT_FRAME_BYTES_MAX - HEADER_BYTES_MAX);
    for id in ids {
        let Some(entry) = entry(ledger, now, *id, acked) else {
            continue;
        };
        if !load.has_room(&entry) {
            frames.push(load.pack());
        }
        load.push(entry);
    }
    if !load.entries.is_empty() {
        frames.push(load.pack());
    }
    frames
}

fn entry(ledger: &Ledger, now: MonoTime, id: CounterId, acked: u64) -> Option<Entry> {
    let counter = ledger.counter(id)?;
    let own = counter.own()?;
    own.version()?;
    Some(own.entry(
        id,
        counter.name(),
        EntryTime {
            now,
            busy: counter.is_busy_here(now),
        },
        acked,
    ))
}

/// Entries gathered for one frame.
struct Load {
    budget: usize,
    bytes: usize,
    entries: Vec<Entry>,
}

impl Load {
    fn new(budget: usize) -> Self {
        Self {
            budget,
            bytes: 0,
            entries: Vec::new(),
        }
    }

    /// Whether `entry` fits; an empty load takes any.
    fn has_room(&self, entry: &Entry) -> bool {
        self.entries.is_empty() || self.bytes + packed_bytes_max(entry) <= self.budget
    }

    fn push(&mut self, entry: Entry) {
        self.bytes += packed_bytes_max(&entry);
        self.entries.push(entry);
    }

    /// Packed in order of the numbers, which makes the steps between them short.
    fn pack(&mut self) -> Vec<u8> {
        self.bytes = 0;
        self.entries.sort_unstable_by_key(|entry| entry.id);
        self.entries.dedup_by_key(|entry| entry.id);
        let mut packer = Packer::default();
        self.entries.drain(..).for_each(|entry| packer.push(&entry));
        packer.into_bytes()
    }
}
