//! Checks over gRPC, and pods' reports.
use std::future::Future;

use tokio::net::TcpListener;

use crate::mesh::MeshHandle;
use crate::pod::LimiterPod;

/// What the gRPC port serves.
#[derive(Clone)]
pub struct GrpcServices {
    /// Checks; absent on a mesh daemon alone.
    pub pod: Option<LimiterPod>,
    /// Pods' reports; absent on a pod alone.
    pub mesh: Option<(sync_proto::RegionId, MeshHandle)>,
}

/// Serves until `stop` resolves, then finishes what is in flight.
pub async fn serve(_listener: TcpListener, _services: GrpcServices, _stop: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> { unimplemented!() }
