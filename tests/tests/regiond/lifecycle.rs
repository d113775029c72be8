//! How a node starts, reloads and stops.

use std::time::Duration;

use serde_json::json;
use tests::http::HttpClient;
use tests::process::Regiond;
use tests::redis_server::RedisServer;
use tests::wait::wait_until_equal;

const FREE: [&str; 6] = [
    "--grpc",
    "127.0.0.1:0",
    "--admin",
    "127.0.0.1:0",
    "--http",
    "127.0.0.1:0",
];

fn rules(limit: u64) -> String {
    format!("- {{id: r, key: caller, algorithm: fixed_window, limit: {limit}, window: 1h}}\n")
}

#[tokio::test]
async fn sigterm_drains_and_exits_with_success() {
    let args = ["up", "--mesh", "127.0.0.1:0"];
    let mut node = Regiond::start(args.iter().chain(&FREE));

    let status = node
        .terminate(Duration::from_secs(6))
        .await
        .expect("it ends within the grace");

    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn sighup_puts_new_rules_in_force_and_keeps_the_old_ones_when_the_new_are_broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rules.yaml");
    std::fs::write(&file, rules(10)).expect("written");
    let path = file.display().to_string();
    let args = ["up", "--mesh", "127.0.0.1:0", "--rules", &path];
    let node = Regiond::start(args.iter().chain(&FREE));
    let client = HttpClient::default();
    let limit = async || {
        let question = json!({"descriptors": {"caller": "k"}, "cost": 0});
        let answer = client
            .post(&node.url("http", "/v1/limits:check"), &question)
            .await;
        answer
            .ok()
            .and_then(|answer| answer.json()["policies"][0]["limit"].as_u64())
    };
    assert_eq!(limit().await, Some(10));

    std::fs::write(&file, rules(20)).expect("written");
    node.signal("HUP");
    wait_until_equal("the limit", Duration::from_secs(5), Some(20), limit).await;

    std::fs::write(&file, "- id: r\n  nonsense: true\n").expect("written");
    node.signal("HUP");
    std::fs::write(&file, rules(30)).expect("written");
    node.signal("HUP");
    wait_until_equal("the limit", Duration::from_secs(5), Some(30), limit).await;
}

#[tokio::test]
async fn a_pod_starts_degraded_without_its_redis_and_recovers_when_it_comes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rules.yaml");
    std::fs::write(&file, rules(10)).expect("written");
    let redis = RedisServer::start().expect("redis-server starts");
    let (url, port) = (redis.url(), redis.port());
    drop(redis);
    let path = file.display().to_string();
    let args = ["limiter", "--redis", &url, "--rules", &path];
    let node = Regiond::start(args.iter().chain(&FREE));
    let client = HttpClient::default();
    let ask = async || {
        let question = json!({"descriptors": {"caller": "k"}});
        client
            .post(&node.url("http", "/v1/limits:check"), &question)
            .await
            .map(|it| it.json())
    };

    let answer = ask().await.expect("it answers without a store");
    assert_eq!(
        answer["allowed"], true,
        "the default failure mode is open: {answer}"
    );
    assert_eq!(answer["degraded"][0]["rule"], "r", "{answer}");
    let ready = client
        .read(&node.url("http", "/readyz"))
        .await
        .expect("an answer");
    assert_eq!(
        ready.status, 200,
        "a sick store does not make a pod unready"
    );

    let _redis = RedisServer::start_on(port, &[])
        .expect("redis-server starts")
        .expect("the port is free");
    let degraded = async || {
        ask()
            .await
            .map(|answer| {
                answer
                    .get("degraded")
                    .is_some_and(|it| it.as_array().is_some_and(|it| !it.is_empty()))
            })
            .ok()
    };
    wait_until_equal(
        "being degraded",
        Duration::from_secs(10),
        Some(false),
        degraded,
    )
    .await;
}
