//! `limiter.v1.Limiter`: checks, one by one or over a stream.
//!
//! Promises: the meaning of `POST /v1/limits:check`; on a stream, answers carry their request's id and come as they are ready.
//! Never has more than a bounded number of one stream's checks in flight: a client that sends faster waits.

use std::pin::Pin;

use futures_util::{Stream, StreamExt as _};
use limiter_core::bounds::COST_MAX;
use limiter_core::check::{self, Decision};
use limiter_core::facts::Facts;
use limiter_core::render::{HeaderOptions, headers};
use tonic::{Request, Response, Status, Streaming};

use super::status;
use crate::pod::{DEFAULT_DOMAIN, LimiterPod, mode_name, retry_after_ms};
use crate::wire::limiter_v1::limiter_server::Limiter;
use crate::wire::limiter_v1::{CheckRequest, CheckResponse, Degraded, Header, Policy};

/// Checks of one stream that are decided at once.
const IN_FLIGHT: usize = 256;

#[derive(Clone)]
pub(super) struct LimiterService {
    pod: LimiterPod,
}

impl LimiterService {
    pub(super) fn new(pod: LimiterPod) -> Self {
        Self { pod }
    }

    async fn answer(&self, request: CheckRequest) -> Result<CheckResponse, Status> {
        let facts = Facts::new(&request.descriptors).map_err(|error| status::facts(&error))?;
        let cost = cost(request.cost)?;
        let domain = match request.domain.as_str() {
            "" => DEFAULT_DOMAIN,
            named => named,
        };
        let decision = self
            .pod
            .check(check::Request {
                domain,
                facts: &facts,
                cost,
            })
            .await;
        let options = HeaderOptions {
            now: self.pod.clock().wall(),
            ..HeaderOptions::default()
        };
        let rendered = self
            .pod
            .guarded(|| response(request.id, &decision, options));
        Ok(rendered.unwrap_or_else(|| CheckResponse {
            id: request.id,
            allowed: true,
            rules_version: decision.rules_version,
            ..CheckResponse::default()
        }))
    }
}

#[tonic::async_trait]
impl Limiter for LimiterService {
    async fn check(
        &self,
        request: Request<CheckRequest>,
    ) -> Result<Response<CheckResponse>, Status> {
        self.answer(request.into_inner()).await.map(Response::new)
    }

    type CheckStreamStream = Pin<Box<dyn Stream<Item = Result<CheckResponse, Status>> + Send>>;

    async fn check_stream(
        &self,
        request: Request<Streaming<CheckRequest>>,
    ) -> Result<Response<Self::CheckStreamStream>, Status> {
        let service = self.clone();
        let answers = request.into_inner().map(move |request| {
            let service = service.clone();
            async move { service.answer(request?).await }
        });
        Ok(Response::new(Box::pin(answers.buffer_unordered(IN_FLIGHT))))
    }
}

fn cost(cost: Option<i64>) -> Result<u64, Status> {
    let Some(cost) = cost else {
        return Ok(1);
    };
    match u64::try_from(cost) {
        Ok(cost) if cost <= COST_MAX => Ok(cost),
        Ok(_) => Err(status::invalid(
            "cost",
            format_args!("must be 0 to {COST_MAX}"),
        )),
        Err(_) => Err(status::invalid(
            "cost",
            "refunds are not supported yet; must be 0 or more",
        )),
    }
}

fn response(id: u64, decision: &Decision, options: HeaderOptions) -> CheckResponse {
    let exposed = decision.policies.iter().filter(|policy| policy.rule.expose);
    let policies = exposed.map(|policy| Policy {
        id: policy.rule.id.to_string(),
        limit: policy.limit,
        window_s: policy.window.as_secs_ceil(),
        burst: policy.burst,
        remaining: policy.remaining,
        reset_s: policy.reset.as_secs_ceil(),
    });
    let degraded = decision.degraded.iter().map(|degraded| Degraded {
        rule: degraded.rule.to_string(),
        mode: mode_name(degraded.mode).to_owned(),
        reason: degraded.fault.to_string(),
    });
    let headers = headers(decision, options).into_iter();
    CheckResponse {
        id,
        allowed: decision.allowed,
        decided_by: decision
            .decided_by
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        retry_after_ms: retry_after_ms(decision),
        policies: policies.collect(),
        shadow: decision
            .shadow_denied
            .iter()
            .map(ToString::to_string)
            .collect(),
        degraded: degraded.collect(),
        rules_version: decision.rules_version,
        headers: headers
            .map(|(name, value)| Header {
                name: name.to_owned(),
                value,
            })
            .collect(),
        reason: decision
            .reason
            .map(|reason| reason.as_str().to_owned())
            .unwrap_or_default(),
    }
}
