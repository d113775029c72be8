//! What is known of a region is never more than it admitted: no frame counts twice, whatever is lost, late or doubled.

use sync_proto::{Cell, CounterName};

use super::Violation;
use crate::measure::Truth;
use crate::region::Region;

/// Looks at everything that `by` knows.
pub(crate) fn known_below_truth(by: usize, regions: &[Region], truth: &Truth) -> Option<Violation> {
    let knowing = regions.get(by)?;
    for (counter, _) in truth.counters() {
        for (of, heard) in regions.iter().enumerate().filter(|(of, _)| *of != by) {
            for cell in knowing.known(counter, &heard.id) {
                let true_count = truth.count(of, counter, cell.window, cell.epoch);
                if let Some(details) = excess(counter, &cell, true_count) {
                    let details = format!("{} knows of {}: {details}", knowing.id, heard.id);
                    return Some(Violation::new("known_below_truth", details));
                }
            }
        }
    }
    None
}

fn excess(counter: &CounterName, known: &Cell, true_count: u64) -> Option<String> {
    (known.count > true_count).then(|| {
        let window = known.window.0;
        format!(
            "{} of {true_count} in window {window} of {counter:?}",
            known.count
        )
    })
}

#[cfg(test)]
mod tests {
    use sync_proto::{Epoch, WindowId};

    use super::*;

    #[test]
    fn one_unit_too_many_is_seen() {
        let counter = CounterName::new(b"partner/acme").unwrap();
        let known = Cell {
            window: WindowId(7),
            epoch: Epoch(1),
            count: 5,
        };
        assert_eq!(excess(&counter, &known, 5), None);
        assert!(excess(&counter, &known, 4).is_some_and(|details| details.starts_with("5 of 4")));
    }
}
