//! How much the other regions need to hear of a counter.
//!
//! A windowed counter is busy when more than a tenth of its limit is known to be used, or when we alone have used more than half of our part
//! or a tenth of the limit, whichever is less: a threshold of our own, since with many regions a tenth each is a multiple of the limit.
//! A bucket has no window to sum over. It is busy when the known pace of all is above a tenth of its rate, when ours alone is above the
//! lesser threshold of the rate, or when what we took and it has not refilled yet is above that threshold of its burst.

use sync_proto::{CounterView, PartView, Push, WindowId};

use super::rights;
use crate::algo::{Rate, Shape};

/// What is known of a counter when its push is decided.
pub(super) struct Use<'a> {
    pub(super) view: Option<&'a CounterView<'a>>,
    /// The window of the report.
    pub(super) window: WindowId,
    /// What we have admitted in it, over all lives of the key.
    pub(super) own: u64,
    /// What a bucket that only we use would still owe, in units.
    pub(super) debt: u64,
}

pub(super) fn push(shape: &Shape, regions: u32, used: &Use<'_>) -> Push {
    match shape {
        Shape::FixedWindow { limit, .. } => window(*limit, regions, used),
        Shape::Bucket { rate, burst, .. } => bucket(*rate, *burst, regions, used),
    }
}

fn window(limit: u64, regions: u32, used: &Use<'_>) -> Push {
    let peers = used.view.map_or(0, |view| {
        view.peers.iter().map(|p| count_in(p, used.window)).sum()
    });
    let known = used.own.saturating_add(peers);
    Push {
        busy: known > limit / 10 || used.own > threshold(limit, regions),
        tolerance: tolerance(limit.saturating_sub(known), regions),
    }
}

fn bucket(rate: Rate, burst: u64, regions: u32, used: &Use<'_>) -> Push {
    let rate = rights::rate_milli(rate);
    let own = used
        .view
        .and_then(|view| view.own.as_ref())
        .map_or(0, |own| own.pace.admitted);
    let peers = used.view.map_or(0, |view| {
        view.peers.iter().map(|peer| peer.pace.admitted).sum()
    });
    Push {
        busy: own.saturating_add(peers) > rate / 10
            || own > threshold(rate, regions)
            || used.debt > threshold(burst, regions),
        tolerance: tolerance(burst, regions),
    }
}

/// The lesser of a tenth of the whole and half of a region's part.
fn threshold(whole: u64, regions: u32) -> u64 {
    (whole / 10).min(whole / (2 * u64::from(regions.max(1))))
}

fn tolerance(left: u64, regions: u32) -> u64 {
    (left / (10 * u64::from(regions.max(1)))).max(1)
}

/// What a region admitted in one window, over all lives of its key.
pub(super) fn count_in(part: &PartView<'_>, window: WindowId) -> u64 {
    let cells = part.cells.iter().filter(|cell| cell.window == window);
    cells.fold(0, |sum: u64, cell| sum.saturating_add(cell.count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_many_regions_a_small_part_is_busy_already() {
        let used = |own| Use {
            view: None,
            window: WindowId(1),
            own,
            debt: 0,
        };
        assert!(!window(1_000, 3, &used(100)).busy);
        assert!(window(1_000, 3, &used(101)).busy);
        assert!(!window(1_000, 50, &used(10)).busy);
        assert!(window(1_000, 50, &used(11)).busy);
        assert!(window(2, 3, &used(1)).busy);
    }

    #[test]
    fn the_nearer_the_limit_the_less_is_kept_back() {
        let used = |own| Use {
            view: None,
            window: WindowId(1),
            own,
            debt: 0,
        };
        assert_eq!(window(3_000, 3, &used(0)).tolerance, 100);
        assert_eq!(window(3_000, 3, &used(2_700)).tolerance, 10);
        assert_eq!(window(3_000, 3, &used(3_000)).tolerance, 1);
    }
}
