//! Virtual time, and what a region's clocks show at a virtual time.

use sync_proto::{MonoTime, Now, Span, WallTime};

/// Microseconds since the start of the run. True everywhere at once, and known to no region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VirtualTime(pub(crate) u64);

impl VirtualTime {
    /// So long after the start.
    pub(crate) const fn after_start(span: Span) -> Self {
        Self(span.as_micros())
    }

    /// So much later; saturates.
    pub(crate) const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.as_micros()))
    }

    /// How long ago `earlier` was; zero when it has not come yet.
    pub(crate) const fn since(self, earlier: Self) -> Span {
        Span::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// The clocks of one region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegionClock {
    /// What the monotonic clock showed at the start: differs between regions, so that no one can compare theirs.
    origin: MonoTime,
    /// What the wall clock showed at the start.
    epoch: WallTime,
}

impl RegionClock {
    /// A wall clock that is `offset_us` ahead of the true time, which was `epoch` at the start.
    pub(crate) fn new(epoch: WallTime, offset_us: i64, origin: MonoTime) -> Self {
        let epoch = WallTime::from_micros(epoch.as_micros().saturating_add_signed(offset_us));
        Self { origin, epoch }
    }

    /// Both clocks.
    pub(crate) fn now(&self, at: VirtualTime) -> Now {
        Now {
            mono: self.origin.plus(Span::from_micros(at.0)),
            wall: self.wall(at),
        }
    }

    /// The wall clock, which is the store's, too.
    pub(crate) fn wall(&self, at: VirtualTime) -> WallTime {
        self.epoch.plus(Span::from_micros(at.0))
    }

    /// When the monotonic clock shows `mono`.
    pub(crate) fn at(&self, mono: MonoTime) -> VirtualTime {
        VirtualTime(mono.since(self.origin).as_micros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_reads_its_own_clocks_and_its_timers_come_back_to_true_time() {
        let epoch = WallTime::from_micros(1_000_000);
        let clock = RegionClock::new(epoch, -300, MonoTime::from_micros(77));
        let at = VirtualTime(500);
        assert_eq!(clock.wall(at), WallTime::from_micros(1_000_200));
        assert_eq!(clock.now(at).mono, MonoTime::from_micros(577));
        assert_eq!(clock.at(clock.now(at).mono), at);
    }
}
