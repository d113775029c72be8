//! What a peer's numbers stand for: its counters, and their cells.
//!
//! Promises: a number stands for what this life of the peer said, or for nothing. Bounded; never guesses.

use std::collections::BTreeMap;

use crate::bounds::{CELLS_PER_PART_MAX, PEER_COUNTERS_MAX};
use crate::counter::Cell;
use crate::frame::EntryCell;
use crate::ids::{CounterId, Epoch, WindowId};

/// A peer's numbers, in one of its lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    terms: BTreeMap<u64, Term>,
}

/// What one number stands for.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// Our own number for the counter; absent when our ledger had no room for it.
    pub(crate) counter: Option<CounterId>,
    cells: Vec<(u64, (WindowId, Epoch))>,
}

impl Dictionary {
    /// The meaning of the peer's number `id`.
    pub(crate) fn find(&mut self, id: u64) -> Option<&mut Term> {
        self.terms.get_mut(&id)
    }

    /// Whether a further number could be learned.
    pub(crate) fn has_room(&self) -> bool {
        self.terms.len() < PEER_COUNTERS_MAX
    }

    /// The peer's number `id` stands for `counter`.
    pub(crate) fn learn(&mut self, id: u64, counter: Option<CounterId>) -> &mut Term {
        let term = self.terms.entry(id).or_insert(Term {
            counter,
            cells: Vec::new(),
        });
        if term.counter != counter {
            *term = Term {
                counter,
                cells: Vec::new(),
            };
        }
        term
    }

    /// Forgets everything: the peer began a new life.
    pub(crate) fn clear(&mut self) {
        self.terms.clear();
    }

    /// Forgets numbers of counters that are gone, so that the peer tells their names again.
    pub(crate) fn retain(&mut self, mut alive: impl FnMut(Option<CounterId>) -> bool) {
        self.terms.retain(|_, term| alive(term.counter));
    }
}

impl Term {
    /// Which cell `entry` means; none when its number was never explained, or long ago.
    pub(crate) fn resolve(&mut self, entry: &EntryCell) -> Option<Cell> {
        let known = self
            .cells
            .iter()
            .find(|(serial, _)| *serial == entry.serial);
        match (known, entry.key) {
            (Some((_, key)), _) => Some(entry.cell(*key)),
            (None, Some(key)) => {
                self.cells.push((entry.serial, key));
                if self.cells.len() > CELLS_PER_PART_MAX {
                    let oldest = self.cells.iter().map(|(serial, _)| *serial).min();
                    self.cells.retain(|(serial, _)| Some(*serial) != oldest);
                }
                Some(entry.cell(key))
            }
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_number_means_what_was_said_first_and_is_forgotten_in_order() {
        let mut dictionary = Dictionary::default();
        let term = dictionary.learn(1, Some(CounterId(5)));
        let number = |serial, key| EntryCell {
            serial,
            key,
            count: 1,
        };
        assert_eq!(term.resolve(&number(1, None)), None);
        for serial in 1..=CELLS_PER_PART_MAX as u64 + 1 {
            let cell = term
                .resolve(&number(serial, Some((WindowId(serial), Epoch(0)))))
                .unwrap();
            assert_eq!(cell.window, WindowId(serial));
        }
        assert_eq!(term.resolve(&number(1, None)), None);
        assert_eq!(term.resolve(&number(2, None)).unwrap().window, WindowId(2));
        assert_eq!(
            dictionary
                .learn(1, Some(CounterId(6)))
                .resolve(&number(2, None)),
            None
        );
    }
}
