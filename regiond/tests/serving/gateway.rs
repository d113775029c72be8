//! `/v1/limits:gateway`: gateways that only speak HTTP sub-requests.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};

use crate::support::{Answer, ask, router};

const RULES: &str = r#"
- id: pay
  match: { route: "POST /v1/payments" }
  key: api_key
  algorithm: fixed_window
  limit: 2
  window: 1h
- id: login
  match: { route: "POST /login" }
  key: api_key
  algorithm: fixed_window
  limit: 0
  window: 1h
  expose: false
"#;

async fn sub_request(router: &Router, method: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri("/v1/limits:gateway");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    ask(router, request.body(Body::empty()).unwrap()).await
}

const TRAEFIK: &[(&str, &str)] = &[
    ("X-Forwarded-Method", "POST"),
    ("X-Forwarded-Uri", "/v1/payments?amount=3"),
    ("X-Limit-Api-Key", "k1"),
];
const NGINX: &[(&str, &str)] = &[
    ("X-Original-Method", "POST"),
    ("X-Original-URI", "/v1/payments?amount=3"),
    ("X-Limit-Api-Key", "k1"),
];

#[tokio::test]
async fn a_gateway_gets_200_with_headers_and_then_the_full_429() {
    let router = router(RULES);
    let answer = sub_request(&router, "GET", TRAEFIK).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("ratelimit-policy"), "\"pay\";q=2;w=3600");
    assert!(answer.header("ratelimit").starts_with("\"pay\";r=1"));
    assert!(answer.headers.get("retry-after").is_none());
    // nginx names the same facts differently; any method of the sub-request will do.
    assert_eq!(
        sub_request(&router, "HEAD", NGINX).await.status,
        StatusCode::OK
    );
    let answer = sub_request(&router, "PUT", NGINX).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(answer.header("cache-control"), "no-store");
    let wait: u64 = answer.header("retry-after").parse().unwrap();
    assert!((1..=3600).contains(&wait));
    assert!(answer.header("ratelimit").starts_with("\"pay\";r=0"));
    assert_eq!(
        answer.json()["violated-policies"],
        serde_json::json!(["pay"])
    );
}

#[tokio::test]
async fn a_hidden_rule_denies_without_a_word() {
    let headers = [
        ("X-Forwarded-Method", "POST"),
        ("X-Forwarded-Uri", "/login"),
        ("X-Limit-Api-Key", "k1"),
    ];
    let answer = sub_request(&router(RULES), "GET", &headers).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    for name in ["ratelimit", "ratelimit-policy", "retry-after"] {
        assert!(answer.headers.get(name).is_none(), "{name}");
    }
    assert!(!answer.text.contains("login"), "{}", answer.text);
}

#[tokio::test]
async fn a_client_cannot_talk_its_way_out_of_the_route() {
    let router = router(RULES);
    let mut headers = TRAEFIK.to_vec();
    headers.push(("X-Limit-Route", "GET /elsewhere"));
    let answer = sub_request(&router, "GET", &headers).await;
    assert!(answer.header("ratelimit-policy").contains("\"pay\""));
    headers.push(("X-Limit-Api-Key", "k2"));
    let answer = sub_request(&router, "GET", &headers).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(answer.json()["field"], "x-limit-api-key");
}

#[tokio::test]
async fn a_route_can_be_told_when_nothing_was_forwarded() {
    let headers = [
        ("X-Limit-Route", "POST /v1/payments"),
        ("X-Limit-Api-Key", "k1"),
        ("X-Limit-Cost", "2"),
    ];
    let answer = sub_request(&router(RULES), "GET", &headers).await;
    assert!(
        answer.header("ratelimit").starts_with("\"pay\";r=0"),
        "{:?}",
        answer.headers
    );
}

#[tokio::test]
async fn a_bad_cost_is_named() {
    for (cost, text) in [
        ("x", "whole number"),
        ("-1", "refunds"),
        ("1000000001", "1000000000"),
    ] {
        let answer = sub_request(&router(RULES), "GET", &[("X-Limit-Cost", cost)]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{cost}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.contains("cost") && detail.contains(text),
            "{cost}: {detail}"
        );
    }
}
