//! What one daemon tells another, as data: one kind of frame, whose header acknowledges and whose entries carry counts.
//!
//! Promises: every frame can be lost, doubled or late without harm. Never an increment: entries are running totals.

use crate::counter::Cell;
use crate::ids::{CounterName, Epoch, Incarnation, RegionId, WindowId};
use crate::pace::Pace;
use crate::time::WallTime;

/// What every frame carries, whatever else is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The region that speaks.
    pub(crate) from: RegionId,
    /// Its daemon's life.
    pub(crate) incarnation: Incarnation,
    /// The receiver's life that `have` and `echo` are about; absent before the sender heard anything.
    pub(crate) to_incarnation: Option<Incarnation>,
    /// The sender's monotonic clock in microseconds: an opaque stamp to everybody else, comparable within one life.
    pub(crate) sent_at: u64,
    /// The sender's wall clock, for skew.
    pub(crate) wall: WallTime,
    /// The receiver's newest stamp that the sender has seen.
    pub(crate) echo: Option<Echo>,
    /// The receiver's version up to which the sender has everything.
    pub(crate) have: u64,
    /// The sender's version when the frame was made.
    pub(crate) newest: u64,
}

/// A stamp on its way back to who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Echo {
    /// The stamp.
    pub(crate) sent_at: u64,
    /// How long it was kept before it was sent back, in microseconds.
    pub(crate) held_us: u64,
}

/// The versions that the entries cover. All pieces of a train name the same `newest` in their header;
/// only who got every piece has everything up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Train {
    /// Changes up to this version are not repeated.
    pub(crate) base: u64,
    /// Changes up to this version are in this piece or an earlier one.
    pub(crate) to: u64,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Acknowledgement, clocks and versions.
    pub(crate) header: Header,
    /// Absent in frames that are no proof of completeness: urgent counts and heartbeats.
    pub(crate) train: Option<Train>,
    /// The counts.
    pub(crate) entries: Vec<Entry>,
}

/// What changed of one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The sender's number for the counter, at least 1.
    pub(crate) id: u64,
    /// Its name, when the receiver may not know the number.
    pub(crate) name: Option<CounterName>,
    /// How long before `sent_at` it was measured, in milliseconds.
    pub(crate) age_ms: u64,
    /// Whether the sender's own use makes it busy, rather than what the sender heard.
    pub(crate) busy: bool,
    /// The pace, when the receiver may not know it.
    pub(crate) pace: Option<Pace>,
    /// The cells that the receiver may not know.
    pub(crate) cells: Vec<EntryCell>,
}

/// A cell under a number of its own, so that window and epoch travel once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryCell {
    /// The cell's number within the counter. Never used again for another cell in the same life.
    pub(crate) serial: u64,
    /// Which cell that is, when the receiver may not know the number.
    pub(crate) key: Option<(WindowId, Epoch)>,
    /// Units admitted.
    pub(crate) count: u64,
}

impl EntryCell {
    /// The cell, when it is `key`.
    pub(crate) fn cell(self, (window, epoch): (WindowId, Epoch)) -> Cell {
        Cell {
            window,
            epoch,
            count: self.count,
        }
    }
}
