//! Our own region's part of a counter, and what the others were told of it.
//!
//! Promises: every cell remembers the version of its last change, so that what a peer acknowledged is never sent again and
//! what it did not is. Never asks whether the counter should travel.

use crate::bounds::COUNT_MAX;
use crate::counter::{Cell, Part};
use crate::frame::{Entry, EntryCell};
use crate::ids::{CounterId, CounterName, WindowId};
use crate::pace::{Pace, PaceMeter};
use crate::time::{MonoTime, Span};

use super::Usage;

/// Our own part.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    part: Part,
    marks: Vec<Mark>,
    serial: u64,
    meter: PaceMeter,
    measured_at: MonoTime,
    /// The pace that entries carry: it follows the measured one in steps that matter.
    pace: Pace,
    pace_version: u64,
    name_version: u64,
    /// The version of the last change; zero while the counter does not travel.
    version: u64,
    /// Whether anything that others should know changed since then.
    pending: bool,
    /// Whether the last change said that the counter is not told of any more.
    parted: bool,
    told: Option<Told>,
}

/// What is remembered beside each cell of the part.
#[derive(Clone, Copy, Debug)]
struct Mark {
    cell: Cell,
    serial: u64,
    keyed_version: u64,
    version: u64,
}

/// What the others assume, from what they were sent last.
#[derive(Clone, Copy, Debug)]
struct Told {
    version: u64,
    window: WindowId,
    total: u64,
    pace: Pace,
    at: MonoTime,
}

impl Own {
    /// Takes a report up.
    pub(crate) fn record(&mut self, now: MonoTime, usage: Usage) {
        let Usage { window, epoch, .. } = usage;
        let before = self.part.window_total(window);
        let count = usage.admitted.min(COUNT_MAX);
        let changed = self.part.merge_cell(Cell {
            window,
            epoch,
            count,
        });
        let growth = self.part.window_total(window).saturating_sub(before);
        self.meter.record(now, window, usage.arrivals, growth);
        self.measured_at = now;
        self.pending |= changed | self.meter.pace().departs_from(self.pace);
    }

    /// Lets an idle pace decay.
    pub(crate) fn decay_when_idle(&mut self, now: MonoTime, idle_after: Span) {
        if self.meter.decay_when_idle(now, idle_after) {
            // No report for so long: the count is still what it was.
            self.measured_at = now;
            self.pending |= self.meter.pace().departs_from(self.pace);
        }
    }

    /// Whether a counter that travels has something that no version names yet.
    pub(crate) fn wants_stamp(&self) -> bool {
        self.version == 0 || self.pending || self.parted
    }

    /// Whether the others were told not to count on it going on.
    pub(crate) fn is_parted(&self) -> bool {
        self.parted
    }

    /// The version of the last change; none while the counter does not travel.
    pub(crate) fn version(&self) -> Option<u64> {
        (self.version > 0).then_some(self.version)
    }

    /// Everything that changed since the last version is of `version`; all of it, when the counter begins to travel.
    /// A counter that parts is told once more, without a pace: nobody will correct what others make of one.
    pub(crate) fn stamp(&mut self, version: u64, parts: bool) {
        if self.version == 0 {
            self.marks.clear();
            self.name_version = version;
            self.pace_version = version;
        }
        self.version = version;
        (self.pending, self.parted) = (false, parts);
        let pace = if parts { Pace::NONE } else { self.meter.pace() };
        if pace.departs_from(self.pace) {
            self.pace = pace;
            self.pace_version = version;
        }
        let cells = self.part.cells();
        self.marks
            .retain(|mark| cells.iter().any(|cell| same_cell(cell, &mark.cell)));
        for cell in cells {
            match self
                .marks
                .iter_mut()
                .find(|mark| same_cell(cell, &mark.cell))
            {
                Some(mark) if mark.cell.count == cell.count => {}
                Some(mark) => (mark.cell, mark.version) = (*cell, version),
                None => {
                    self.serial += 1;
                    let (cell, serial) = (*cell, self.serial);
                    self.marks.push(Mark {
                        cell,
                        serial,
                        keyed_version: version,
                        version,
                    });
                }
            }
        }
    }

    /// The counter does not travel any more.
    pub(crate) fn stop(&mut self) {
        self.version = 0;
        self.told = None;
    }

    /// Whether what the others assume is wrong by `tolerance` or more, or about to be.
    pub(crate) fn departs(&self, now: MonoTime, tolerance: u64) -> bool {
        let Some(window) = self.part.newest_window() else {
            return false;
        };
        let Some(told) = self.told else { return true };
        if window > told.window {
            return true;
        }
        let assumed = told
            .total
            .saturating_add(told.pace.growth_in(now.since(told.at)));
        let off = self.part.window_total(window).abs_diff(assumed);
        let ended = self.meter.pace().admitted < told.pace.admitted / 16;
        off >= tolerance.max(1) || ended
    }

    /// The others are being sent the present state.
    pub(crate) fn note_told(&mut self) {
        let Some(window) = self.part.newest_window() else {
            return;
        };
        if self.told.is_none_or(|told| told.version < self.version) {
            self.told = Some(Told {
                version: self.version,
                window,
                total: self.part.window_total(window),
                pace: self.pace,
                at: self.measured_at,
            });
        }
    }

    /// What a peer that acknowledged `acked` has not heard.
    pub(crate) fn entry(
        &self,
        id: CounterId,
        name: &CounterName,
        at: EntryTime,
        acked: u64,
    ) -> Entry {
        let news = self.marks.iter().filter(|mark| mark.version > acked);
        Entry {
            id: id.0,
            name: (self.name_version > acked).then(|| name.clone()),
            age_ms: at.now.since(self.measured_at).as_millis(),
            busy: at.busy,
            pace: (self.pace_version > acked).then_some(self.pace),
            cells: news
                .map(|mark| EntryCell {
                    serial: mark.serial,
                    key: (mark.keyed_version > acked)
                        .then_some((mark.cell.window, mark.cell.epoch)),
                    count: mark.cell.count,
                })
                .collect(),
        }
    }

    /// The cells.
    pub(crate) fn cells(&self) -> &[Cell] {
        self.part.cells()
    }

    /// The pace as measured now.
    pub(crate) fn pace(&self) -> Pace {
        self.meter.pace()
    }

    /// When the last report came.
    pub(crate) fn measured_at(&self) -> MonoTime {
        self.measured_at
    }
}

/// What an entry says of the moment it is made in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryTime {
    /// When the frame is sent.
    pub(crate) now: MonoTime,
    /// Whether our own use makes the counter busy.
    pub(crate) busy: bool,
}

fn same_cell(a: &Cell, b: &Cell) -> bool {
    (a.window, a.epoch) == (b.window, b.epoch)
}
