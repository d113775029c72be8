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

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(window: u64, epoch: u64, admitted: u64) -> Sight {
        Sight {
            at: MonoTime::default(),
            window: WindowId(window),
            epoch: Epoch(epoch),
            admitted,
            arrivals: 1,
            half_used: false,
            denied: false,
        }
    }

    fn tally() -> Tally {
        Tally::new(CounterName::new(b"r:u1").unwrap())
    }

    fn tell(tally: &mut Tally) -> Vec<(u64, u64, u64, u64)> {
        let mut entries = Vec::new();
        tally.tell(&mut entries);
        entries.iter().map(|e| (e.window.0, e.epoch.0, e.admitted, e.arrivals)).collect()
    }

    #[test]
    fn the_largest_total_is_told_once_with_all_that_was_asked() {
        let mut tally = tally();
        assert!(tally.see(sight(1, 1, 3)), "the first of a window is urgent");
        assert!(!tally.see(sight(1, 1, 2)), "replies may come out of order");
        assert_eq!(tell(&mut tally), [(1, 1, 3, 2)]);
        assert!(!tally.has_news());
        assert_eq!(tell(&mut tally), []);
    }

    #[test]
    fn the_last_of_a_window_and_of_a_life_is_told_after_its_end() {
        let mut tally = tally();
        tally.see(sight(1, 1, 3));
        tally.see(sight(2, 1, 1));
        tally.see(sight(2, 5, 1));
        assert_eq!(tell(&mut tally), [(1, 1, 3, 0), (2, 1, 1, 0), (2, 5, 1, 3)]);
    }

    #[test]
    fn a_refusal_is_urgent_once_a_window() {
        let mut tally = tally();
        tally.see(sight(1, 1, 3));
        let denied = Sight { denied: true, ..sight(1, 1, 3) };
        assert!(tally.see(denied));
        assert!(!tally.see(denied));
        assert!(tally.see(Sight { denied: true, ..sight(2, 1, 0) }));
    }

    #[test]
    fn what_did_not_arrive_is_told_again_at_its_newest() {
        let mut tally = tally();
        tally.see(sight(1, 1, 3));
        let mut entries = Vec::new();
        tally.tell(&mut entries);
        tally.see(sight(1, 1, 4));
        tally.untell(&entries[0]);
        assert_eq!(tell(&mut tally), [(1, 1, 4, 2)]);
    }

    #[test]
    fn old_cells_make_room_and_the_newest_stays() {
        let mut tally = tally();
        for window in 1..=20 {
            tally.see(sight(window, 1, 1));
        }
        tally.see(sight(1, 1, 9));
        let told = tell(&mut tally);
        assert!(told.len() <= REPORTER_CELLS_MAX);
        assert_eq!(told.last().map(|cell| cell.0), Some(20));
    }
}
