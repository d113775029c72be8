//! Checks over HTTP.
use crate::pod::LimiterPod;

/// The router of the data port: `POST /v1/limits:check`, `/v1/limits:gateway`, `/healthz`, `/readyz`.
pub fn router(_pod: LimiterPod) -> axum::Router { unimplemented!() }
