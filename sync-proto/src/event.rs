//! What the shell may want to know, count or log.

use crate::ids::{CounterName, RegionId};

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
