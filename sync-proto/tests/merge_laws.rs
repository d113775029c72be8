//! The laws that let frames be lost, doubled and late: merging parts is commutative, associative, idempotent and monotone, at the bounds, too.

use proptest::prelude::*;
use sync_proto::bounds::{CELLS_PER_PART_MAX, COUNT_MAX};
use sync_proto::{Cell, Epoch, Part, WindowId};

/// Few windows and epochs, so that cells meet, and more of them than the bounds keep.
fn cells() -> impl Strategy<Value = Vec<Cell>> {
    let cell = (0..4_u64, 0..7_u64, 0..50_u64).prop_map(|(window, epoch, count)| Cell {
        window: WindowId(window),
        epoch: Epoch(epoch),
        count,
    });
    prop::collection::vec(cell, 0..24)
}

fn part(cells: &[Cell]) -> Part {
    let mut part = Part::default();
    cells.iter().for_each(|cell| {
        part.merge_cell(*cell);
    });
    part
}

fn merged(a: &Part, b: &Part) -> Part {
    let mut both = a.clone();
    both.merge(b);
    both
}

proptest! {
    #[test]
    fn the_order_of_arrival_changes_nothing(
        (cells, shuffled) in cells().prop_flat_map(|cells| (Just(cells.clone()), Just(cells).prop_shuffle()))
    ) {
        prop_assert_eq!(part(&cells), part(&shuffled));
    }

    #[test]
    fn merging_is_commutative_associative_and_idempotent(a in cells(), b in cells(), c in cells()) {
        let (a, b, c) = (part(&a), part(&b), part(&c));
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(merged(&a, &a), a);
    }

    #[test]
    fn merging_says_whether_it_changed_anything(a in cells(), b in cells()) {
        let (a, b) = (part(&a), part(&b));
        let mut both = a.clone();
        prop_assert_eq!(both.merge(&b), both != a);
        prop_assert!(!both.merge(&b));
    }

    #[test]
    fn a_total_never_falls_while_its_window_is_kept(a in cells(), b in cells()) {
        let (a, both) = (part(&a), merged(&part(&a), &part(&b)));
        prop_assert!(both.cells().len() <= CELLS_PER_PART_MAX);
        prop_assert!(both.newest_window() >= a.newest_window());
        for window in both.cells().iter().map(|cell| cell.window) {
            prop_assert!(both.window_total(window) >= a.window_total(window));
        }
    }

    #[test]
    fn a_total_is_at_most_what_all_epochs_counted(cells in cells()) {
        let part = part(&cells);
        for window in part.cells().iter().map(|cell| cell.window) {
            let largest = |epoch| {
                let same = cells.iter().filter(|c| c.window == window && c.epoch == Epoch(epoch));
                same.map(|cell| cell.count).max().unwrap_or(0)
            };
            prop_assert!(part.window_total(window) <= (0..7).map(largest).sum());
        }
    }
}

#[test]
fn sums_of_the_largest_counts_do_not_overflow() {
    let cell = Cell {
        window: WindowId(1),
        epoch: Epoch(1),
        count: u64::MAX,
    };
    let part = part(&[
        cell,
        Cell {
            epoch: Epoch(2),
            ..cell
        },
    ]);
    assert_eq!(part.window_total(WindowId(1)), 2 * COUNT_MAX);
}
