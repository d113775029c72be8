//! Once links are whole and traffic is over, everybody knows everything that still matters: the newest window of every counter.

use sync_proto::{Cell, CounterName, RegionId};

use super::Violation;
use crate::measure::{Truth, TruthCell};
use crate::region::Region;

/// Looks at what every region knows of every other.
pub(crate) fn nothing_lost(regions: &[Region], truth: &Truth, travels_from: u64) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (counter, cells) in truth.counters() {
        // A window that nobody used much does not travel: see the busy threshold.
        let newest = cells
            .values()
            .filter_map(|cells| cells.last())
            .map(|cell| cell.window)
            .max();
        for (of, heard) in regions.iter().enumerate() {
            let cells = cells.get(&of).into_iter().flatten();
            let live =
                cells.filter(|cell| Some(cell.window) == newest && cell.count >= travels_from);
            for cell in live {
                for knowing in regions.iter().filter(|region| region.id != heard.id) {
                    let known = knowing.known(counter, &heard.id);
                    violations.extend(missing(counter, &known, cell, (&knowing.id, &heard.id)));
                }
            }
        }
    }
    violations
}

fn missing(
    counter: &CounterName,
    known: &[Cell],
    truth: &TruthCell,
    (by, of): (&RegionId, &RegionId),
) -> Option<Violation> {
    let same = |cell: &&Cell| cell.window == truth.window && cell.epoch == truth.epoch;
    let count = known.iter().find(same).map_or(0, |cell| cell.count);
    (count != truth.count).then(|| {
        let details = format!(
            "{by} knows {count} of {of}'s {} in {counter:?} at the end",
            truth.count
        );
        Violation::new("nothing_lost", details)
    })
}

#[cfg(test)]
mod tests {
    use sync_proto::{Epoch, WindowId};

    use super::*;

    #[test]
    fn a_count_short_by_one_and_a_window_never_heard_are_seen() {
        let counter = CounterName::new(b"partner/acme").unwrap();
        let names = (
            &RegionId::new("mumbai").unwrap(),
            &RegionId::new("singapore").unwrap(),
        );
        let truth = TruthCell {
            window: WindowId(7),
            epoch: Epoch(1),
            count: 5,
        };
        let known = |window, count| {
            [Cell {
                window: WindowId(window),
                epoch: Epoch(1),
                count,
            }]
        };
        assert_eq!(missing(&counter, &known(7, 5), &truth, names), None);
        assert!(missing(&counter, &known(7, 4), &truth, names).is_some());
        assert!(missing(&counter, &known(6, 5), &truth, names).is_some());
    }
}
