//! Three regions in one process.

pub mod wan_socket;

/// What `regiond demo` was asked for.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// How long; none: until ctrl-c.
    pub duration: Option<sync_proto::Span>,
    /// One JSON summary on stdout instead of the live table.
    pub json: bool,
    /// A region to cut off.
    pub cut: Option<Cut>,
    /// Sharing mode of the demo's rules: eager or balanced.
    pub sharing: limiter_core::rule::Sharing,
    /// Seed of the traffic and the WAN.
    pub seed: u64,
}

/// A partition to show.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Who is cut off.
    pub region: String,
    /// From the start, when.
    pub at: sync_proto::Span,
    /// From the start, until when; none: for good.
    pub heal: Option<sync_proto::Span>,
}

/// Runs the demo.
pub async fn run(_options: DemoOptions) -> anyhow::Result<()> { unimplemented!() }
