//! What the mesh tells about counters and peers when it is asked.

use crate::counter::Cell;
use crate::event::PeerState;
use crate::ids::{Incarnation, RegionId};
use crate::pace::Pace;
use crate::time::{MonoTime, Span};

/// One region's part of a counter, as known here.
#[derive(Clone, Copy, Debug)]
pub struct PartView<'a> {
    /// Whose part.
    pub region: &'a RegionId,
    /// Its cells, newest window first; epochs of one window are to be summed.
    pub cells: &'a [Cell],
    /// How fast it goes on.
    pub pace: Pace,
    /// When the part was measured, on this daemon's clock (one-way delay taken off).
    pub measured_at: MonoTime,
    /// How well that region is heard; [`PeerState::Fresh`] for our own.
    pub state: PeerState,
}

/// Everything known about one counter.
#[derive(Clone, Debug)]
pub struct CounterView<'a> {
    /// Our own region's part; absent when only others have used it.
    pub own: Option<PartView<'a>>,
    /// The other regions' parts, in order of their names; a member that never told of it is left out.
    pub peers: Vec<PartView<'a>>,
}

/// A peer, for operators and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Who.
    pub region: RegionId,
    /// How well it is heard.
    pub state: PeerState,
    /// Its life, once heard.
    pub incarnation: Option<Incarnation>,
    /// Age of the newest counts applied, half the round trip added; grows while the peer is silent.
    pub lag: Option<Span>,
    /// Smoothed round trip.
    pub rtt: Option<Span>,
    /// Its wall clock minus ours, in microseconds.
    pub skew_us: Option<i64>,
    /// Our counters that it has not acknowledged yet.
    pub pending: usize,
    /// Frame bytes sent to it so far.
    pub sent_bytes: u64,
    /// Frame bytes received from it so far.
    pub received_bytes: u64,
    /// Frames from it that were refused.
    pub refused_frames: u64,
    /// When something of its was last applied, on this daemon's clock.
    pub applied_at: Option<MonoTime>,
}
