//! One counter in a pod's mind: what its store said last, and what of that the daemon was told.
//!
//! Promises: totals only grow within a (window, epoch); what is not told yet is never the first to be forgotten while its window is newest.
//! Never decides when to report.

use sync_proto::{CounterName, Epoch, MonoTime, WindowId};

use super::UsageEntry;
use crate::bounds::REPORTER_CELLS_MAX;

/// What one check showed of a counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) at: MonoTime,
    pub(super) window: WindowId,
    pub(super) epoch: Epoch,
    pub(super) admitted: u64,
    pub(super) arrivals: u64,
    /// Half of the limit or more is used, by all regions as far as the store knows.
    pub(super) half_used: bool,
    pub(super) denied: bool,
}

/// A counter.
#[derive(Debug)]
pub(super) struct Tally {
    name: CounterName,
    /// Newest window and epoch last.
    cells: Vec<Told>,
    arrivals: u64,
    denied_in: Option<(WindowId, Epoch)>,
    pub(super) seen_at: MonoTime,
    /// In the queue of news.
    pub(super) queued: bool,
    /// In the queue of urgent news.
    pub(super) urgent: bool,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    window: WindowId,
    epoch: Epoch,
    admitted: u64,
    told: bool,
}

impl Tally {
    pub(super) fn new(name: CounterName) -> Self {
        Self {
            name,
            cells: Vec::new(),
            arrivals: 0,
            denied_in: None,
            seen_at: MonoTime::default(),
            queued: false,
            urgent: false,
        }
    }

    pub(super) fn name(&self) -> &CounterName {
        &self.name
    }

    /// Takes a sight in; whether the others should hear of it before the tick.
    pub(super) fn see(&mut self, sight: Sight) -> bool {
        self.seen_at = sight.at;
        self.arrivals = self.arrivals.saturating_add(sight.arrivals);
        let (cell, opened) = self.cell(sight.window, sight.epoch);
        let grew = sight.admitted > cell.admitted;
        if grew {
            cell.admitted = sight.admitted;
            cell.told = false;
        }
        let place = Some((sight.window, sight.epoch));
        let flipped = sight.denied && self.denied_in != place;
        if flipped {
            self.denied_in = place;
        }
        (grew && (opened || sight.half_used)) || flipped
    }

    /// The cell, and whether it is new.
    fn cell(&mut self, window: WindowId, epoch: Epoch) -> (&mut Told, bool) {
        let place = self
            .cells
            .binary_search_by_key(&(window, epoch), |c| (c.window, c.epoch));
        let (mut index, opened) = match place {
            Ok(index) => (index, false),
            Err(index) => {
                self.cells.insert(
                    index,
                    Told {
                        window,
                        epoch,
                        admitted: 0,
                        told: true,
                    },
                );
                (index, true)
            }
        };
        // A late reply about a window that is already forgotten may be the oldest itself; it then takes the place of the next.
        if self.cells.len() > REPORTER_CELLS_MAX {
            let oldest = usize::from(index == 0);
            self.cells.remove(oldest);
            index -= usize::from(index > oldest);
        }
        (&mut self.cells[index], opened)
    }

    /// Whether there is anything to tell.
    pub(super) fn has_news(&self) -> bool {
        self.arrivals > 0 || self.cells.iter().any(|cell| !cell.told)
    }

    /// Tells what is new. What was asked for goes with the newest cell.
    pub(super) fn tell(&mut self, entries: &mut Vec<UsageEntry>) {
        let newest = self.cells.len().saturating_sub(1);
        for (index, cell) in self.cells.iter_mut().enumerate() {
            let arrivals = if index == newest {
                std::mem::take(&mut self.arrivals)
            } else {
                0
            };
            if cell.told && arrivals == 0 {
                continue;
            }
            cell.told = true;
            entries.push(UsageEntry {
                name: self.name.clone(),
                window: cell.window,
                epoch: cell.epoch,
                admitted: cell.admitted,
                arrivals,
            });
        }
    }

    /// A telling did not arrive.
    pub(super) fn untell(&mut self, entry: &UsageEntry) {
        self.arrivals = self.arrivals.saturating_add(entry.arrivals);
        let (cell, _) = self.cell(entry.window, entry.epoch);
        cell.admitted = cell.admitted.max(entry.admitted);
        cell.told = false;
    }

    /// Nothing that was told counts any more.
    pub(super) fn tell_again(&mut self) {
        for cell in &mut self.cells {
            cell.told = cell.admitted == 0;
        }
    }
}
