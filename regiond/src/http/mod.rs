//! Checks over HTTP.
//!
//! Promises: a request that can be read is answered 200 or 429; one that cannot, with a problem that names the field.
//! Never answers 5xx to a check.

use axum::Router;
use axum::routing::{any, get, post};

use crate::pod::LimiterPod;

mod answer;
mod body;
mod check;
mod gateway;
mod health;
mod problem;
mod serve;

pub(crate) use health::{healthz, readyz};
pub use problem::Problem;
pub(crate) use problem::{no_such_method, no_such_path};
pub use serve::serve;

/// The router of the data port: `POST /v1/limits:check`, `/v1/limits:gateway`, `/healthz`, `/readyz`.
pub fn router(pod: LimiterPod) -> Router {
    Router::new()
        .route("/v1/limits:check", post(check::check))
        .route("/v1/limits:gateway", any(gateway::gateway))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .with_state(pod)
}
