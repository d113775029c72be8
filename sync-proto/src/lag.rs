//! Round trip, skew and the age of what is known of one peer, all on this daemon's own clock.
//!
//! Promises: lag grows while the peer is silent. Never compares two wall clocks but for the skew, which decides nothing.

use crate::bounds::{ROUND_TRIP_MAX, SKEW_US_MAX};
use crate::time::{MonoTime, Now, Span, WallTime};

/// What frames of one peer told about the link.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkClock {
    rtt: Option<Span>,
    skew_us: Option<i64>,
    first_heard_at: Option<MonoTime>,
    heard_at: Option<MonoTime>,
    current_at: Option<MonoTime>,
}

impl LinkClock {
    /// Something valid arrived.
    pub(crate) fn note_heard(&mut self, now: MonoTime) {
        self.heard_at = Some(now);
        self.first_heard_at.get_or_insert(now);
    }

    /// Our stamp `sent` came back after the peer kept it for `held`.
    pub(crate) fn note_echo(&mut self, now: MonoTime, sent: MonoTime, held: Span) {
        let sample = now.since(sent).minus(held);
        if sent > now || sample > ROUND_TRIP_MAX {
            return;
        }
        // A shorter trip is nearer the truth than a longer one, which waited somewhere.
        self.rtt = Some(match self.rtt {
            None => sample,
            Some(rtt) if sample < rtt => rtt.plus(sample).divided_by(2),
            Some(rtt) => rtt.plus(sample.minus(rtt).divided_by(8)),
        });
    }

    /// The peer's wall clock said `theirs` when it sent what arrives now.
    pub(crate) fn note_wall(&mut self, now: Now, theirs: WallTime) {
        let Some(rtt) = self.rtt else { return };
        let ours = i128::from(now.wall.as_micros()) - i128::from(rtt.divided_by(2).as_micros());
        let bound = i128::from(SKEW_US_MAX);
        let skew = (i128::from(theirs.as_micros()) - ours).clamp(-bound, bound);
        let skew = i64::try_from(skew).unwrap_or(SKEW_US_MAX);
        self.skew_us = Some(
            self.skew_us
                .map_or(skew, |known| known + (skew - known) / 8),
        );
    }

    /// When a frame that arrives now was sent, on our clock.
    pub(crate) fn sent_time(&self, now: MonoTime) -> MonoTime {
        now.minus(self.one_way())
    }

    /// We know everything that the peer knew at `at`.
    pub(crate) fn note_current(&mut self, at: MonoTime) {
        self.current_at = self.current_at.max(Some(at));
    }

    /// Smoothed round trip.
    pub(crate) fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// The peer's wall clock minus ours, smoothed, in microseconds.
    pub(crate) fn skew_us(&self) -> Option<i64> {
        self.skew_us
    }

    /// When anything valid arrived last.
    pub(crate) fn heard_at(&self) -> Option<MonoTime> {
        self.heard_at
    }

    /// Since when we may be behind: the last time that we provably knew everything, or else the first word of the peer.
    pub(crate) fn behind_since(&self) -> Option<MonoTime> {
        self.current_at.or(self.first_heard_at)
    }

    /// Whether we ever knew everything of the peer.
    pub(crate) fn was_current(&self) -> bool {
        self.current_at.is_some()
    }

    /// Age of what is known.
    pub(crate) fn lag(&self, now: MonoTime) -> Option<Span> {
        self.current_at.map(|at| now.since(at))
    }

    fn one_way(&self) -> Span {
        self.rtt.map_or(Span::ZERO, |rtt| rtt.divided_by(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_micros(millis * 1_000)
    }

    #[test]
    fn the_round_trip_leaves_out_what_the_peer_held_and_prefers_the_shorter() {
        let mut clock = LinkClock::default();
        clock.note_echo(at(300), at(100), Span::from_millis(140));
        assert_eq!(clock.rtt(), Some(Span::from_millis(60)));
        clock.note_echo(at(1_000), at(860), Span::ZERO);
        assert_eq!(clock.rtt(), Some(Span::from_millis(70)));
        clock.note_echo(at(2_000), at(1_970), Span::ZERO);
        assert_eq!(clock.rtt(), Some(Span::from_millis(50)));
    }

    #[test]
    fn a_false_echo_is_not_believed() {
        let mut clock = LinkClock::default();
        clock.note_echo(at(100), at(200), Span::ZERO);
        clock.note_echo(at(100_000), at(1), Span::ZERO);
        assert_eq!(clock.rtt(), None);
    }

    #[test]
    fn the_skew_is_the_peers_wall_clock_minus_ours() {
        let mut clock = LinkClock::default();
        clock.note_echo(at(100), at(0), Span::ZERO);
        let now = Now {
            mono: at(100),
            wall: WallTime::from_micros(1_000_000),
        };
        clock.note_wall(now, WallTime::from_micros(450_000));
        assert_eq!(clock.skew_us(), Some(-500_000));
        let mut far = clock.clone();
        far.skew_us = None;
        far.note_wall(now, WallTime::from_micros(u64::MAX));
        assert_eq!(far.skew_us(), Some(SKEW_US_MAX));
    }
}
