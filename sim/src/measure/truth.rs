//! What every region's store really admitted, told by the stores themselves.

use std::collections::BTreeMap;

use sync_proto::{CounterName, Epoch, WindowId};

use crate::region::Counted;

/// Windows remembered of each counter and region.
const WINDOWS_MAX: usize = 4;

/// Units admitted in one window and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TruthCell {
    pub(crate) window: WindowId,
    pub(crate) epoch: Epoch,
    pub(crate) count: u64,
}

/// All of it, by counter and number of the region.
#[derive(Debug, Default)]
pub(crate) struct Truth(BTreeMap<CounterName, BTreeMap<usize, Vec<TruthCell>>>);

impl Truth {
    /// The store of `region` answered.
    pub(crate) fn note(&mut self, region: usize, counted: &Counted) {
        let Some(counter) = &counted.counter else {
            return;
        };
        let Counted {
            window,
            epoch,
            admitted: count,
            ..
        } = *counted;
        if !self.0.contains_key(counter) {
            self.0.insert(counter.clone(), BTreeMap::new());
        }
        let Some(cells) = self.0.get_mut(counter) else {
            return;
        };
        let cells = cells.entry(region).or_default();
        match cells
            .iter_mut()
            .find(|cell| cell.window == window && cell.epoch == epoch)
        {
            Some(cell) => cell.count = cell.count.max(count),
            None => {
                cells.push(TruthCell {
                    window,
                    epoch,
                    count,
                });
                if cells.len() > WINDOWS_MAX {
                    cells.remove(0);
                }
            }
        }
    }

    /// Every counter that a store has told of, by region.
    pub(crate) fn counters(
        &self,
    ) -> impl Iterator<Item = (&CounterName, &BTreeMap<usize, Vec<TruthCell>>)> {
        self.0.iter()
    }

    /// Units that `region` admitted in a window and epoch.
    pub(crate) fn count(
        &self,
        region: usize,
        counter: &CounterName,
        window: WindowId,
        epoch: Epoch,
    ) -> u64 {
        let cells = self.0.get(counter).and_then(|regions| regions.get(&region));
        let mut cells = cells.into_iter().flatten();
        let cell = cells.find(|cell| cell.window == window && cell.epoch == epoch);
        cell.map_or(0, |cell| cell.count)
    }
}
