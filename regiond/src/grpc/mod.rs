//! Checks over gRPC, and pods' reports.
//!
//! Promises: the same meaning as over HTTP; what is in flight at a stop is answered.
//! Never decides anything.

use std::future::Future;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::mesh::MeshHandle;
use crate::pod::LimiterPod;
use crate::wire::DESCRIPTORS;
use crate::wire::limiter_v1::limiter_server::LimiterServer;
use crate::wire::limiter_v1::usage_server::UsageServer;

mod limiter;
mod status;
mod usage;

use limiter::LimiterService;
use usage::UsageService;

/// A client that is gone without a word is noticed after about twice this.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// A message of a check. A larger one is refused, as over HTTP.
const CHECK_BYTES_MAX: usize = 64 << 10;

/// What the gRPC port serves.
#[derive(Clone)]
pub struct GrpcServices {
    /// Checks; absent on a mesh daemon alone.
    pub pod: Option<LimiterPod>,
    /// Pods' reports; absent on a pod alone.
    pub mesh: Option<(sync_proto::RegionId, MeshHandle)>,
}

/// Serves until `stop` resolves, then finishes what is in flight.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    services: GrpcServices,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let (health, health_service) = tonic_health::server::health_reporter();
    let mut routes = Routes::new(health_service);
    if let Some(pod) = services.pod {
        let service = LimiterServer::new(LimiterService::new(pod));
        routes = routes.add_service(service.max_decoding_message_size(CHECK_BYTES_MAX));
        health.set_serving::<LimiterServer<LimiterService>>().await;
    }
    if let Some((region, mesh)) = services.mesh {
        routes = routes.add_service(UsageServer::new(UsageService::new(region, mesh)));
        health.set_serving::<UsageServer<UsageService>>().await;
    }
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let broken = "the descriptors for reflection are broken";
    // Older clients know the second one alone.
    routes = routes
        .add_service(reflection().build_v1().context(broken)?)
        .add_service(reflection().build_v1alpha().context(broken)?);
    Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .add_routes(routes)
        .serve_with_incoming_shutdown(incoming, stop)
        .await
        .context("the gRPC port failed")
}
