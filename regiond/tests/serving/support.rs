//! A pod to ask, and ways to ask it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use limiter_core::rule::RuleSet;
use limiter_core::share::Outlook;
use regiond::os::Clock;
use regiond::pod::{LimiterPod, PodConfig, ReportTo};
use regiond::store::StoreLink;
use regiond::telemetry::Metrics;
use serde_json::Value;
use sync_proto::{RegionId, Span};
use tower::ServiceExt as _;

/// Long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn rules(yaml: &str) -> Arc<RuleSet> {
    Arc::new(RuleSet::parse("rules.yaml", yaml, 7).unwrap_or_else(|error| panic!("{error}")))
}

pub(crate) fn pod_on(store: StoreLink, clock: Clock, yaml: &str) -> LimiterPod {
    let config = PodConfig {
        region: RegionId::new("mumbai").unwrap(),
        store,
        report_to: ReportTo::Nobody,
        clock,
        metrics: Arc::new(Metrics::new()),
        tick: Span::from_secs(1),
        outlook: Outlook::alone(),
    };
    LimiterPod::start(config, rules(yaml))
}

pub(crate) fn pod(yaml: &str) -> LimiterPod {
    let clock = Clock::start();
    pod_on(StoreLink::embedded(clock), clock, yaml)
}

pub(crate) fn router(yaml: &str) -> Router {
    regiond::http::router(pod(yaml))
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self
            .headers
            .get(name)
            .unwrap_or_else(|| panic!("no {name}: {:?}", self.headers));
        value.to_str().unwrap()
    }
}

pub(crate) async fn ask(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Answer {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

pub(crate) async fn check(router: &Router, body: &str) -> Answer {
    let request = Request::post("/v1/limits:check")
        .body(Body::from(body.to_owned()))
        .unwrap();
    ask(router, request).await
}

/// Asks until the answer satisfies, for as long as [`PATIENCE`].
pub(crate) async fn poll_until<T, F: Future<Output = T>>(
    what: &str,
    mut ask: impl FnMut() -> F,
    satisfies: impl Fn(&T) -> bool,
) -> T {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let polling = async {
        loop {
            ticks.tick().await;
            let answer = ask().await;
            if satisfies(&answer) {
                return answer;
            }
        }
    };
    tokio::time::timeout(PATIENCE, polling)
        .await
        .unwrap_or_else(|_| panic!("never: {what}"))
}
