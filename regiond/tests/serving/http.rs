//! `POST /v1/limits:check` and the routes beside it.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{PATIENCE, ask, check, router};

const RULES: &str = r#"
- id: pay-burst
  match: { route: "POST /v1/payments" }
  key: api_key
  algorithm: token_bucket
  rate: 20/1h
  burst: 2
- id: pay-daily
  match: { route: "POST /v1/payments" }
  key: api_key
  algorithm: fixed_window
  limit: 10000
  window: 1h
- id: guard
  match: { route: "POST /v1/payments" }
  key: api_key
  algorithm: fixed_window
  limit: 1000
  window: 1h
  expose: false
- id: trial
  match: { route: "POST /v1/payments" }
  key: api_key
  algorithm: fixed_window
  limit: 1
  window: 1h
  mode: shadow
"#;

const PAYMENT: &str = r#"{"descriptors":{"route":"POST /v1/payments","api_key":"k1"}}"#;

fn payment(cost: u64) -> String {
    json!({"descriptors": {"route": "POST /v1/payments", "api_key": "k1"}, "cost": cost})
        .to_string()
}

fn policy<'a>(answer: &'a Value, id: &str) -> &'a Value {
    let policies = answer["policies"].as_array().unwrap();
    policies
        .iter()
        .find(|p| p["id"] == id)
        .unwrap_or_else(|| panic!("no {id}: {answer}"))
}

#[tokio::test]
async fn an_allowed_check_tells_every_exposed_policy_and_nothing_of_a_denial() {
    let answer = check(&router(RULES), PAYMENT).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(
        answer.headers.get("ratelimit").is_none(),
        "the JSON is for gateways"
    );
    let answer = answer.json();
    assert_eq!(answer["allowed"], true);
    assert_eq!(answer["rules_version"], 7);
    for absent in [
        "decided_by",
        "retry_after_ms",
        "degraded",
        "reason",
        "shadow",
    ] {
        assert!(answer.get(absent).is_none(), "{absent}: {answer}");
    }
    assert_eq!(
        answer["policies"].as_array().unwrap().len(),
        2,
        "hidden and shadow rules are left out"
    );
    let burst = policy(&answer, "pay-burst");
    assert_eq!(
        (&burst["limit"], &burst["window_s"], &burst["burst"]),
        (&json!(20), &json!(3600), &json!(2))
    );
    assert_eq!(burst["remaining"], 1);
    let daily = policy(&answer, "pay-daily");
    assert_eq!(
        (&daily["limit"], &daily["window_s"], &daily["remaining"]),
        (&json!(10000), &json!(3600), &json!(9999))
    );
    assert!(daily.get("burst").is_none());
}

#[tokio::test]
async fn a_denied_check_tells_who_denied_why_and_for_how_long() {
    let router = router(RULES);
    assert_eq!(check(&router, &payment(2)).await.json()["allowed"], true);
    let answer = check(&router, &payment(2)).await;
    assert_eq!(answer.status, StatusCode::OK, "a denial is an answer");
    let answer = answer.json();
    assert_eq!(answer["allowed"], false);
    assert_eq!(answer["decided_by"], "pay-burst");
    assert_eq!(answer["reason"], "quota_exceeded");
    let wait = answer["retry_after_ms"].as_u64().unwrap();
    assert!(
        (350_000..=360_000).contains(&wait),
        "two of 20 an hour: {wait}"
    );
    assert_eq!(policy(&answer, "pay-burst")["remaining"], 0);
    assert_eq!(answer["shadow"], json!(["trial"]));
}

#[tokio::test]
async fn what_can_never_pass_has_a_reason_and_no_retry_time() {
    let answer = check(&router(RULES), &payment(3)).await.json();
    assert_eq!(answer["allowed"], false);
    assert_eq!(answer["decided_by"], "pay-burst");
    assert_eq!(answer["reason"], "cost_above_capacity");
    assert!(answer.get("retry_after_ms").is_none(), "{answer}");
}

#[tokio::test]
async fn a_peek_takes_nothing() {
    let router = router(RULES);
    for _ in 0..5 {
        let answer = check(&router, &payment(0)).await.json();
        assert_eq!(answer["allowed"], true);
        assert_eq!(policy(&answer, "pay-burst")["remaining"], 2);
    }
}

#[tokio::test]
async fn a_request_that_no_rule_matches_is_allowed() {
    let answer = check(&router(RULES), r#"{"descriptors":{}}"#).await.json();
    assert_eq!(
        answer,
        json!({"allowed": true, "policies": [], "rules_version": 7})
    );
}

/// Body, field at fault, and text that the detail must have.
const BAD: &[(&str, &str, &str)] = &[
    ("{", "body", "line 1 column 1"),
    ("", "body", "line 1 column 0"),
    ("{\n \"descriptors\": nope}", "body", "line 2"),
    ("[]", "body", "object"),
    ("3", "body", "object"),
    ("{}", "descriptors", "missing"),
    (
        r#"{"descriptors":{"api_key":7}}"#,
        "descriptors.api_key",
        "string",
    ),
    (
        r#"{"descriptors":{"a":"b","ip":null}}"#,
        "descriptors.ip",
        "string",
    ),
    (r#"{"descriptors":[]}"#, "descriptors", "object"),
    (r#"{"descriptors":{},"domain":1}"#, "domain", "string"),
    (r#"{"descriptors":{},"cost":"1"}"#, "cost", "whole number"),
    (r#"{"descriptors":{},"cost":1.5}"#, "cost", "whole number"),
    (
        r#"{"descriptors":{},"cost":-1}"#,
        "cost",
        "refunds are not supported yet",
    ),
    (
        r#"{"descriptors":{},"cost":1000000001}"#,
        "cost",
        "1000000000",
    ),
    (
        r#"{"descriptors":{},"cost":99999999999999999999}"#,
        "cost",
        "whole number",
    ),
    (
        r#"{"descriptors":{},"descriptor":{}}"#,
        "descriptor",
        "not known",
    ),
    (
        r#"{"descriptors":{},"descriptors":{}}"#,
        "body",
        "duplicate",
    ),
];

#[tokio::test]
async fn a_bad_request_is_a_problem_that_names_the_field() {
    let router = router(RULES);
    let long = format!(r#"{{"descriptors":{{"a":"{}"}}}}"#, "x".repeat(64 << 10));
    let long = (long.as_str(), "body", "64 KiB");
    for (body, field, text) in BAD.iter().chain([&long]) {
        let answer = check(&router, body).await;
        let shown = &body[..body.len().min(80)];
        assert_eq!(
            answer.status,
            StatusCode::BAD_REQUEST,
            "{shown}: {}",
            answer.text
        );
        assert_eq!(
            answer.header("content-type"),
            "application/problem+json",
            "{shown}"
        );
        let problem = answer.json();
        assert_eq!(problem["field"], *field, "{shown}: {problem}");
        assert_eq!(problem["status"], 400);
        assert_eq!(problem["title"], "Bad Request");
        assert!(problem["type"].is_string());
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains(text) && detail.contains(field),
            "{shown}: {detail}"
        );
    }
}

#[tokio::test]
async fn any_content_type_will_do() {
    let router = router(RULES);
    for kind in ["text/plain", "application/json; charset=utf-8", "nonsense"] {
        let request = Request::post("/v1/limits:check").header("content-type", kind);
        let answer = ask(&router, request.body(Body::from(PAYMENT)).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{kind}");
    }
}

#[tokio::test]
async fn a_wrong_method_or_path_is_a_problem_too() {
    let router = router(RULES);
    let request = Request::get("/v1/limits:check")
        .body(Body::empty())
        .unwrap();
    let answer = ask(&router, request).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer.header("allow"), "POST");
    assert_eq!(answer.header("content-type"), "application/problem+json");
    let answer = ask(
        &router,
        Request::get("/v1/limits").body(Body::empty()).unwrap(),
    )
    .await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.json()["status"], 404);
}

#[tokio::test]
async fn the_process_lives_and_is_ready() {
    let router = router("[]");
    for path in ["/healthz", "/readyz"] {
        let answer = ask(&router, Request::get(path).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn a_served_connection_is_kept_and_a_stop_answers_what_is_in_flight() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(regiond::http::serve(listener, router(RULES), async {
        let _ = stopped.await;
    }));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/limits:check HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        PAYMENT.len()
    );
    for _ in 0..2 {
        stream
            .write_all(format!("{head}{PAYMENT}").as_bytes())
            .await
            .unwrap();
        let text = read_answer(&mut stream).await;
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
    // The third request is half sent when the stop comes.
    let (first, rest) = PAYMENT.split_at(10);
    stream
        .write_all(format!("{head}{first}").as_bytes())
        .await
        .unwrap();
    crate::support::poll_until(
        "the head has arrived",
        || async { stream.writable().await.is_ok() },
        |writable| *writable,
    )
    .await;
    stop.send(()).unwrap();
    stream.write_all(rest.as_bytes()).await.unwrap();
    let text = read_answer(&mut stream).await;
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    tokio::time::timeout(PATIENCE, server)
        .await
        .expect("the server ends")
        .unwrap();
}

/// One answer whose body is the JSON of a check.
async fn read_answer(stream: &mut tokio::net::TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.ends_with('}') {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut buffer));
        let read = read.await.expect("an answer comes").unwrap();
        assert!(read > 0, "the connection ended early: {text}");
        text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    text
}
