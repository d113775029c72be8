//! One region's part of a counter: bounded cells that only grow.
//!
//! Promises: merging is commutative, associative, idempotent and monotone, bounds included: what a bound drops, it drops in
//! every order of arrival. Never adds two cells of the same window and epoch, so nothing is counted twice.

use std::cmp::Reverse;

use crate::bounds::{COUNT_MAX, EPOCHS_PER_WINDOW_MAX, WINDOWS_PER_PART_MAX};
use crate::ids::{Epoch, WindowId};

/// One (window, epoch) cell of a region's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The window.
    pub window: WindowId,
    /// The life of the counter in that region's store.
    pub epoch: Epoch,
    /// Units admitted.
    pub count: u64,
}

/// What one region counted: the newest windows, each with the epochs that counted most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Newest window first, newest epoch first within a window.
    cells: Vec<Cell>,
}

impl Part {
    /// The cells, newest window first and newest epoch first within it.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The newest window that was counted in.
    pub fn newest_window(&self) -> Option<WindowId> {
        self.cells.first().map(|cell| cell.window)
    }

    /// Units admitted in `window`, all its epochs together.
    pub fn window_total(&self, window: WindowId) -> u64 {
        self.of_window(window)
            .fold(0, |total, cell| total.saturating_add(cell.count))
    }

    /// Takes the larger of what is known and `cell`; whether that changed anything.
    pub fn merge_cell(&mut self, cell: Cell) -> bool {
        let cell = Cell {
            count: cell.count.min(COUNT_MAX),
            ..cell
        };
        let order = |cell: &Cell| (Reverse(cell.window), Reverse(cell.epoch));
        match self.cells.binary_search_by_key(&order(&cell), order) {
            Ok(at) => match self.cells.get_mut(at) {
                Some(known) if known.count < cell.count => {
                    known.count = cell.count;
                    true
                }
                _ => false,
            },
            Err(at) => {
                self.cells.insert(at, cell);
                self.drop_least_epoch(cell.window);
                self.drop_oldest_window();
                self.cells.contains(&cell)
            }
        }
    }

    /// Takes the larger of each cell of both; whether that changed anything.
    pub fn merge(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for cell in &other.cells {
            changed |= self.merge_cell(*cell);
        }
        changed
    }

    fn of_window(&self, window: WindowId) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.window == window)
    }

    /// The smallest count goes first; the order is total, so that every replica drops the same one.
    fn drop_least_epoch(&mut self, window: WindowId) {
        if self.of_window(window).count() <= EPOCHS_PER_WINDOW_MAX {
            return;
        }
        let least = self
            .of_window(window)
            .min_by_key(|cell| (cell.count, cell.epoch))
            .copied();
        self.cells.retain(|cell| Some(*cell) != least);
    }

    fn drop_oldest_window(&mut self) {
        let windows = self.cells.chunk_by(|a, b| a.window == b.window).count();
        if windows > WINDOWS_PER_PART_MAX {
            let oldest = self.cells.last().map(|cell| cell.window);
            self.cells.retain(|cell| Some(cell.window) != oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(window: u64, epoch: u64, count: u64) -> Cell {
        Cell {
            window: WindowId(window),
            epoch: Epoch(epoch),
            count,
        }
    }

    #[test]
    fn a_flushed_store_adds_an_epoch_and_a_step_back_adds_nothing() {
        let mut part = Part::default();
        assert!(part.merge_cell(cell(10, 1, 70)));
        assert!(!part.merge_cell(cell(10, 1, 60)));
        assert!(part.merge_cell(cell(10, 2, 5)));
        assert_eq!(part.window_total(WindowId(10)), 75);
    }

    #[test]
    fn the_least_epoch_and_the_oldest_window_are_dropped() {
        let mut part = Part::default();
        for epoch in 1..=EPOCHS_PER_WINDOW_MAX as u64 {
            part.merge_cell(cell(10, epoch, epoch * 10));
        }
        assert!(
            !part.merge_cell(cell(10, 99, 1)),
            "less than every kept epoch"
        );
        assert!(
            part.merge_cell(cell(10, 99, 11)),
            "more than the least kept epoch"
        );
        assert_eq!(part.cells().len(), EPOCHS_PER_WINDOW_MAX);
        assert!(part.merge_cell(cell(20, 1, 1)));
        assert!(part.merge_cell(cell(30, 1, 1)));
        assert!(!part.merge_cell(cell(10, 1, 1_000)), "its window is gone");
        assert_eq!(part.newest_window(), Some(WindowId(30)));
        assert_eq!(part.cells(), [cell(30, 1, 1), cell(20, 1, 1)]);
    }
}
