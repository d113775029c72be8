//! What is simulated, as plain data.
//!
//! Promises: nothing about a run comes from elsewhere but its seed.

use sync_proto::{Span, WallTime};

pub mod presets;

/// A world to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, for reports.
    pub name: String,
    /// The true wall time at the start of the run.
    pub epoch: WallTime,
    /// How long regions run before traffic begins, so that they have heard each other.
    pub warm_up: Span,
    /// How long traffic lasts.
    pub traffic: Span,
    /// The regions.
    pub regions: Vec<RegionSpec>,
    /// The links between them; each pair once, both ways alike.
    pub links: Vec<LinkSpec>,
    /// Rules in force everywhere, as people write them.
    pub rules: String,
    /// Who asks.
    pub clients: Vec<ClientSpec>,
    /// Which regions are cut off, and when.
    pub cuts: Vec<Cut>,
    /// The mesh's timing.
    pub timing: Timing,
}

/// A region.
#[derive(Clone, Debug)]
pub struct RegionSpec {
    /// Its name.
    pub name: String,
    /// How far its wall clock is ahead of the true time, in microseconds.
    pub offset_us: i64,
}

/// A link between two regions.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// One end.
    pub a: String,
    /// The other.
    pub b: String,
    /// The least time one way.
    pub delay: Span,
    /// Up to so much more, evenly; what is sent later can overtake.
    pub jitter: Span,
    /// Of 1000 frames, so many are lost. A tick is lost as well, which is harsher than QUIC: it would repeat it.
    pub loss_permille: u64,
    /// Of 1000 frames, so many arrive twice.
    pub duplicate_permille: u64,
}

/// Somebody who asks.
#[derive(Clone, Debug)]
pub struct ClientSpec {
    /// The name, which is the value of the fact `client`.
    pub name: String,
    /// How the asking is spread in time.
    pub arrivals: Arrivals,
    /// Requests in 1000 seconds, by region, in the order of [`Scenario::regions`]; none past its end.
    pub per_1000s: Vec<u64>,
}

/// How requests are spread in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// Independently of each other.
    Poisson,
}

/// A region loses every link.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Which region.
    pub region: String,
    /// From when, since the beginning of traffic.
    pub at: Span,
    /// Until when; absent: for good.
    pub heal: Option<Span>,
}

/// The timing of the mesh, alike in every region: what the daemon's configuration says.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How often changed counts are sent.
    pub tick: Span,
    /// How often peers hear that a region lives.
    pub heartbeat: Span,
    /// The least time between urgent sendings to a peer.
    pub urgent_spacing: Span,
    /// Silent or behind for so long, a peer is late.
    pub late_after: Span,
    /// Late for so long, it is down.
    pub down_after: Span,
    /// For so long after it was busy, a counter still travels.
    pub busy_linger: Span,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            tick: Span::from_secs(1),
            heartbeat: Span::from_millis(200),
            urgent_spacing: Span::from_millis(50),
            late_after: Span::from_millis(2_500),
            down_after: Span::from_secs(10),
            busy_linger: Span::from_secs(15),
        }
    }
}
