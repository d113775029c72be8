//! One other region's part of a counter, as its frames told it.
//!
//! Promises: counts only grow, and the time of measurement and the pace never step back to an older report's.

use crate::counter::{Cell, Part};
use crate::ids::{Incarnation, RegionId};
use crate::pace::Pace;
use crate::time::MonoTime;

/// A peer's part.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    region: RegionId,
    part: Part,
    pace: Pace,
    measured_at: MonoTime,
    stamp: Stamp,
}

/// When a report was measured, by the clock of the sender's life: orders the reports of one region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    /// The life.
    pub(crate) incarnation: Incarnation,
    /// Microseconds on its clock.
    pub(crate) micros: u64,
}

/// What an entry tells, its numbers resolved.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// When it was measured, by the sender.
    pub(crate) stamp: Stamp,
    /// The same moment on our clock.
    pub(crate) measured_at: MonoTime,
    /// The pace, if it changed.
    pub(crate) pace: Option<Pace>,
    /// The cells that changed.
    pub(crate) cells: Vec<Cell>,
}

impl Remote {
    /// The part of a region that was never heard of it before.
    pub(crate) fn new(region: RegionId) -> Self {
        Self {
            region,
            part: Part::default(),
            pace: Pace::NONE,
            measured_at: MonoTime::default(),
            stamp: Stamp {
                incarnation: Incarnation(0),
                micros: 0,
            },
        }
    }

    /// Takes a report up; whether it told anything new.
    pub(crate) fn merge(&mut self, report: &Report) -> bool {
        let mut news = false;
        for cell in &report.cells {
            news |= self.part.merge_cell(*cell);
        }
        if report.stamp > self.stamp {
            self.stamp = report.stamp;
            self.measured_at = report.measured_at;
            self.pace = report.pace.unwrap_or(self.pace);
            news = true;
        }
        news
    }

    /// Whose part it is.
    pub(crate) fn region(&self) -> &RegionId {
        &self.region
    }

    /// The cells.
    pub(crate) fn cells(&self) -> &[Cell] {
        self.part.cells()
    }

    /// How fast it goes on.
    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }

    /// When it was measured, on our clock.
    pub(crate) fn measured_at(&self) -> MonoTime {
        self.measured_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Epoch, WindowId};

    #[test]
    fn an_older_report_raises_counts_but_not_the_pace() {
        let report = |incarnation, micros, count, admitted| Report {
            stamp: Stamp {
                incarnation: Incarnation(incarnation),
                micros,
            },
            measured_at: MonoTime::from_micros(micros),
            pace: Some(Pace {
                admitted,
                demand: admitted,
            }),
            cells: vec![Cell {
                window: WindowId(1),
                epoch: Epoch(1),
                count,
            }],
        };
        let mut remote = Remote::new(RegionId::new("mumbai").unwrap());
        assert!(remote.merge(&report(1, 200, 20, 7)));
        assert!(!remote.merge(&report(1, 200, 20, 7)), "a double");
        assert!(!remote.merge(&report(1, 100, 10, 3)), "late");
        assert!(
            remote.merge(&report(1, 150, 21, 3)),
            "late, but higher: another daemon saw more"
        );
        assert_eq!(
            (remote.pace().admitted, remote.measured_at().as_micros()),
            (7, 200)
        );
        assert!(
            remote.merge(&report(2, 5, 1, 0)),
            "a new life has a clock of its own"
        );
        assert_eq!((remote.pace().admitted, remote.cells()[0].count), (0, 21));
    }
}
