//! The region's mesh daemon inside this process.
use std::net::SocketAddr;
use std::sync::Arc;

use limiter_core::rule::RuleSet;
use limiter_core::share::{ReportReply, UsageReport};
use sync_proto::{PeerStatus, RegionId, Span};
use tokio::sync::watch;

use crate::config::Peer;
use crate::os::Clock;
use crate::store::StoreLink;
use crate::telemetry::Metrics;

mod tls;
pub use tls::{MeshIdentity, NewCertificate, issue, new_authority};

/// What a mesh daemon is made of.
pub struct MeshNode {
    /// Our region.
    pub region: RegionId,
    /// The bound UDP socket; the demo wraps it in a WAN.
    pub socket: Arc<dyn quinn::AsyncUdpSocket>,
    /// Address that peers reach us at, told to the membership.
    pub advertise: SocketAddr,
    /// Seeds.
    pub peers: Vec<Peer>,
    /// Our certificate, and whom we trust.
    pub identity: MeshIdentity,
    /// The region's store.
    pub store: StoreLink,
    /// The rules in force.
    pub rules: watch::Receiver<Arc<RuleSet>>,
    /// How often busy counts are shared.
    pub tick: Span,
    /// Clock.
    pub clock: Clock,
    /// Metrics.
    pub metrics: Arc<Metrics>,
}

/// A member of the membership, ourselves included, for operators.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its region.
    pub region: RegionId,
    /// Its mesh address.
    pub address: SocketAddr,
    /// Whether the failure detector holds it to be alive.
    pub alive: bool,
}

/// What the mesh looks like now, refreshed several times a second.
#[derive(Clone, Debug, Default)]
pub struct MeshStatus {
    /// Other regions, by name.
    pub peers: Vec<PeerStatus>,
    /// The membership.
    pub members: Vec<Member>,
    /// Counters that are busy.
    pub busy: usize,
    /// Pods that reported within the last few ticks.
    pub pods: u32,
    /// When `peers` was taken, on this process's clock.
    pub at: sync_proto::MonoTime,
}

/// Asks a running mesh daemon. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MeshHandle {}

/// The mesh daemon has stopped.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the mesh daemon has stopped")]
pub struct MeshStopped;

#[allow(unused_variables, clippy::unused_async)]
impl MeshHandle {
    /// Starts the daemon's tasks on the current runtime.
    pub fn start(node: MeshNode) -> anyhow::Result<Self> { unimplemented!() }
    /// A pod reported (`pod`: its life).
    pub async fn report(&self, pod: u64, report: UsageReport) -> Result<ReportReply, MeshStopped> { unimplemented!() }
    /// What the mesh looks like.
    pub fn status(&self) -> Arc<MeshStatus> { unimplemented!() }
    /// Re-read certificates are in force for new connections.
    pub fn swap_identity(&self, identity: MeshIdentity) -> anyhow::Result<()> { unimplemented!() }
    /// Sends the last counts, leaves the membership, closes the endpoint.
    pub async fn stop(&self) { unimplemented!() }
}
