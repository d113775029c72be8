//! The named deadlines of a session.
//!
//! Promises: one place that says when a session wants to be woken. Never says what is done then.

use crate::time::MonoTime;

/// What a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Proof of life is due.
    Heartbeat,
    /// The peer's state may change by silence alone.
    Judge,
}

impl Timer {
    const ALL: [Self; 2] = [Self::Heartbeat, Self::Judge];
}

/// A deadline for each timer; an absent one is not running.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    deadlines: [Option<MonoTime>; Timer::ALL.len()],
}

impl Timers {
    /// Starts, moves or stops a timer.
    pub(crate) fn set(&mut self, timer: Timer, deadline: Option<MonoTime>) {
        self.deadlines[timer as usize] = deadline;
    }

    /// Whether a timer's deadline has come.
    pub(crate) fn is_due(&self, timer: Timer, now: MonoTime) -> bool {
        self.deadlines[timer as usize].is_some_and(|deadline| deadline <= now)
    }

    /// The next deadline of all.
    pub(crate) fn next(&self) -> Option<MonoTime> {
        self.deadlines.iter().flatten().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_deadline_is_the_earliest_that_runs() {
        let mut timers = Timers::default();
        assert_eq!(timers.next(), None);
        timers.set(Timer::Judge, Some(MonoTime::from_micros(7)));
        timers.set(Timer::Heartbeat, Some(MonoTime::from_micros(5)));
        assert_eq!(timers.next(), Some(MonoTime::from_micros(5)));
        assert!(!timers.is_due(Timer::Judge, MonoTime::from_micros(6)));
        timers.set(Timer::Heartbeat, None);
        assert_eq!(timers.next(), Some(MonoTime::from_micros(7)));
        assert!(timers.is_due(Timer::Judge, MonoTime::from_micros(7)));
    }
}
