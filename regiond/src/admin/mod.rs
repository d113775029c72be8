//! What operators ask.
//!
//! Promises: JSON for programs, Prometheus text for scrapes; a question that this process cannot answer is a problem that says why.
//! Never changes anything.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::http::{healthz, no_such_method, no_such_path, readyz};
use crate::mesh::MeshHandle;
use crate::pod::LimiterPod;
use crate::telemetry::Metrics;

mod mesh;
mod metrics;
mod rates;

use rates::Rates;

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

/// The state, and what this router itself remembers.
#[derive(Clone)]
struct Shared {
    admin: AdminState,
    rates: Arc<Rates>,
}

/// `GET /v1/mesh/peers`, `/v1/mesh/lag`, `/metrics`, `/healthz`, `/readyz`.
pub fn router(state: AdminState) -> Router {
    Router::new()
        .route("/v1/mesh/lag", get(mesh::lag))
        .route("/v1/mesh/peers", get(mesh::peers))
        .route("/metrics", get(metrics::metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .with_state(Shared {
            admin: state,
            rates: Arc::default(),
        })
}
