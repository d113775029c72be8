//! `POST /v1/limits:check`.
//!
//! Promises: 200 whether allowed or not; the body tells which.
//! Never looks at the content type: what parses is taken.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use limiter_core::check::Request;

use super::answer::Answer;
use super::body;
use super::problem::Problem;
use crate::pod::LimiterPod;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(super) async fn check(State(pod): State<LimiterPod>, body: Body) -> Result<Response, Problem> {
    let bytes = body::read(body).await?;
    let asked = body::parse(&bytes)?;
    let request = Request {
        domain: &asked.domain,
        facts: &asked.facts,
        cost: asked.cost,
    };
    let decision = pod.check(request).await;
    let json = pod
        .guarded(|| serde_json::to_vec(&Answer::new(&decision)).ok())
        .flatten();
    // What cannot be rendered is allowed, as everything that fails on our side.
    let json = json.unwrap_or_else(|| br#"{"allowed":true,"policies":[]}"#.to_vec());
    Ok(([(header::CONTENT_TYPE, JSON)], json).into_response())
}
