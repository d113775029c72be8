//! What a mesh daemon is told once, at its start.

use crate::ids::{Incarnation, RegionId};
use crate::time::Span;

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
