//! Interface skeleton of the mesh state machine.
use crate::ids::{CounterName, Epoch, Incarnation, RegionId, WindowId};
use crate::time::{MonoTime, Now, Span};

/// What a mesh daemon is told once, at its start.
#[derive(Clone, Debug)]
pub struct MeshConfig {
    /// The region this daemon speaks for.
    pub region: RegionId,
    /// This life of the daemon.
    pub incarnation: Incarnation,
    /// How often changed counts are sent.
    pub tick: Span,
    /// How often a peer hears that we live.
    pub heartbeat: Span,
    /// The least time between two urgent sendings to a peer.
    pub urgent_spacing: Span,
    /// Without proof of being up to date for this long, a peer is late.
    pub late_after: Span,
    /// Late for this long, a peer is down.
    pub down_after: Span,
    /// How long after it was last busy a counter still travels.
    pub busy_linger: Span,
}

/// What a region's own store said about one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The window that was counted in.
    pub window: WindowId,
    /// The life of the counter in the store.
    pub epoch: Epoch,
    /// Units admitted in this window and epoch so far: a running total, not an increment.
    pub admitted: u64,
    /// Units asked for since the last report, refused ones too: an increment.
    pub arrivals: u64,
}

/// How much the others need to hear of a counter; decided by who knows its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Push {
    /// Whether the counter travels at all.
    pub busy: bool,
    /// How far the count may depart from what the others assume before it is sent outside the tick, in units.
    pub tolerance: u64,
}

/// What the membership said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerChange {
    /// A region is (again) a member. Idempotent.
    Joined(RegionId),
    /// A region is no member any more: it left, or was removed. Its counts stay for their window.
    Left(RegionId),
}

/// The way a frame should travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The counts of a tick: a stream of their own.
    Tick,
    /// A few counts that cannot wait for the tick: a datagram when they fit one.
    Urgent,
    /// Proof of life: a datagram.
    Heartbeat,
}

/// A frame to be sent; its bytes are in the caller's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// To whom.
    pub to: RegionId,
    /// How.
    pub lane: Lane,
}

/// How well a peer is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerState {
    /// Never heard yet.
    Unheard,
    /// Up to date within `late_after`.
    Fresh,
    /// Silent, or behind, for longer than `late_after`.
    Late,
    /// Late for longer than `down_after`.
    Down,
}

/// What the shell may want to know, count or log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshEvent {
    /// What the others counted under this name changed.
    CounterChanged(CounterName),
    /// A peer is heard better or worse than before.
    PeerMoved {
        /// Who.
        peer: RegionId,
        /// Before.
        from: PeerState,
        /// Now.
        to: PeerState,
    },
    /// A peer began a new life.
    PeerRestarted(RegionId),
    /// A bound was hit and something was not taken up; the text names the bound.
    Refused(&'static str),
}

/// How busy a region is with a counter, in thousandths of a unit per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// What it admits.
    pub admitted: u64,
    /// What it is asked for.
    pub demand: u64,
}

/// One (window, epoch) cell of a region's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The window.
    pub window: WindowId,
    /// The life of the counter in that region's store.
    pub epoch: Epoch,
    /// Units admitted.
    pub count: u64,
}

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

/// Why a frame was refused: always the peer's fault, and never half applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Placeholder.
    #[error("malformed")]
    Malformed,
}

/// The mesh state machine.
pub struct Mesh {}

#[allow(unused_variables)]
impl Mesh {
    /// A daemon that knows nobody yet.
    pub fn new(config: MeshConfig, now: Now) -> Self { unimplemented!() }
    /// Local usage, from a pod's report.
    pub fn record(&mut self, now: Now, name: &CounterName, usage: Usage, push: Push) { unimplemented!() }
    /// The membership changed.
    pub fn handle_membership(&mut self, now: Now, change: PeerChange) { unimplemented!() }
    /// Bytes arrived from an authenticated peer.
    pub fn handle_frame(&mut self, now: Now, from: &RegionId, bytes: &[u8]) -> Result<(), FrameError> { unimplemented!() }
    /// Time passed.
    pub fn handle_timeout(&mut self, now: Now) { unimplemented!() }
    /// Send everything that is pending at the next poll: the last act before a graceful stop.
    pub fn flush(&mut self, now: Now) { unimplemented!() }
    /// The next frame to send, written into `buf` (cleared first).
    pub fn poll_frame(&mut self, now: Now, buf: &mut Vec<u8>) -> Option<Transmit> { unimplemented!() }
    /// The next event.
    pub fn poll_event(&mut self) -> Option<MeshEvent> { unimplemented!() }
    /// When [`Self::handle_timeout`] is wanted next.
    pub fn poll_timeout(&self) -> Option<MonoTime> { unimplemented!() }
    /// What is known about a counter.
    pub fn view(&self, name: &CounterName) -> Option<CounterView<'_>> { unimplemented!() }
    /// Every member but ourselves, by name.
    pub fn peers(&self, now: Now) -> Vec<PeerStatus> { unimplemented!() }
    /// Names of counters that are busy (ours or heard), for periodic refolding and gauges.
    pub fn busy(&self) -> impl Iterator<Item = &CounterName> { std::iter::empty() }
}
