//! What operators ask.
use std::sync::Arc;

use crate::mesh::MeshHandle;
use crate::pod::LimiterPod;
use crate::telemetry::Metrics;

/// What the admin port answers from.
#[derive(Clone)]
pub struct AdminState {
    /// Our region.
    pub region: sync_proto::RegionId,
    /// The pod, if this process is one.
    pub pod: Option<LimiterPod>,
    /// The mesh daemon, if this process has one.
    pub mesh: Option<MeshHandle>,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Clock.
    pub clock: crate::os::Clock,
}

/// `GET /v1/mesh/peers`, `/v1/mesh/lag`, `/metrics`, `/healthz`, `/readyz`.
pub fn router(_state: AdminState) -> axum::Router { unimplemented!() }
