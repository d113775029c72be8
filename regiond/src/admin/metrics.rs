//! `GET /metrics`.
//!
//! Promises: the text format that Prometheus scrapes, current as of the scrape.
//! Never shows a client's key.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;

use super::Shared;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

pub(super) async fn metrics(State(shared): State<Shared>) -> impl IntoResponse {
    if let Some(mesh) = &shared.admin.mesh {
        let status = mesh.status();
        shared.admin.metrics.mesh(&status.peers, status.busy);
    }
    (
        [(header::CONTENT_TYPE, OPEN_METRICS)],
        shared.admin.metrics.render(),
    )
}
