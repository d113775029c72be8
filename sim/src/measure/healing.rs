//! How soon after a cut is healed everybody knows what everybody had admitted by then.

use sync_proto::{CounterName, RegionId, Span};

use super::outcome::Healing;
use super::truth::{Truth, TruthCell};
use crate::kernel::VirtualTime;
use crate::region::Region;

/// A cut that was healed.
#[derive(Debug)]
struct Heal {
    region: String,
    at: VirtualTime,
    /// What all others must come to know: of which region, which counter, how much.
    owed: Vec<(usize, CounterName, TruthCell)>,
    known_after: Option<Span>,
}

/// All healed cuts.
#[derive(Debug, Default)]
pub(crate) struct Heals(Vec<Heal>);

impl Heals {
    /// The links of `region` are back.
    pub(crate) fn begin(&mut self, at: VirtualTime, region: &str, truth: &Truth) {
        let mut owed = Vec::new();
        for (counter, regions) in truth.counters() {
            let newest = regions
                .iter()
                .filter_map(|(of, cells)| Some((*of, *cells.last()?)));
            owed.extend(newest.map(|(of, cell)| (of, counter.clone(), cell)));
        }
        self.0.push(Heal {
            region: region.to_owned(),
            at,
            owed,
            known_after: None,
        });
    }

    /// Something was heard.
    pub(crate) fn look(&mut self, at: VirtualTime, regions: &[Region]) {
        for heal in self.0.iter_mut().filter(|heal| heal.known_after.is_none()) {
            heal.owed.retain(|(of, counter, cell)| {
                let Some(id) = regions.get(*of).map(|region| &region.id) else {
                    return false;
                };
                let others = regions.iter().filter(|region| region.id != *id);
                others
                    .into_iter()
                    .any(|region| !knows(region, counter, id, cell))
            });
            if heal.owed.is_empty() {
                heal.known_after = Some(at.since(heal.at));
            }
        }
    }

    /// All of them; `start` is when traffic began.
    pub(crate) fn report(&self, start: VirtualTime) -> Vec<Healing> {
        let heals = self.0.iter().map(|heal| Healing {
            region: heal.region.clone(),
            at_ms: heal.at.since(start).as_millis(),
            known_after_ms: heal.known_after.map(Span::as_millis),
        });
        heals.collect()
    }
}

/// A region that has moved on to a later window knows enough of an earlier one.
fn knows(region: &Region, counter: &CounterName, of: &RegionId, cell: &TruthCell) -> bool {
    region.known(counter, of).iter().any(|known| {
        let same = known.window == cell.window && known.epoch == cell.epoch;
        known.window > cell.window || (same && known.count >= cell.count)
    })
}
