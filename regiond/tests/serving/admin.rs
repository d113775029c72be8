//! The admin port of a process without a mesh daemon.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use regiond::admin::AdminState;
use regiond::os::Clock;
use regiond::telemetry::Metrics;
use sync_proto::RegionId;

use crate::support::{Answer, ask};

fn router() -> Router {
    regiond::admin::router(AdminState {
        region: RegionId::new("mumbai").unwrap(),
        pod: None,
        mesh: None,
        metrics: Arc::new(Metrics::new()),
        clock: Clock::start(),
    })
}

async fn read(path: &str) -> Answer {
    ask(&router(), Request::get(path).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_process_without_a_mesh_daemon_says_so() {
    for path in ["/v1/mesh/lag", "/v1/mesh/peers"] {
        let answer = read(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
        assert_eq!(answer.header("content-type"), "application/problem+json");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("no mesh daemon"), "{detail}");
    }
}

#[tokio::test]
async fn metrics_are_told_in_the_format_of_a_scrape() {
    let answer = read("/metrics").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(
        answer
            .header("content-type")
            .starts_with("application/openmetrics-text")
    );
    assert!(
        answer.text.contains("# TYPE") && answer.text.ends_with("# EOF\n"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn an_unknown_path_is_a_problem() {
    let answer = read("/v1/nothing").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(read("/healthz").await.status, StatusCode::OK);
    assert_eq!(read("/readyz").await.status, StatusCode::OK);
}
