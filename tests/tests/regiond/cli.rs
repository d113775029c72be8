//! The command line: what it prints, what it refuses, and how it exits.

use std::net::TcpListener;
use std::process::Output;

use serde_json::{Value, json};
use tests::http::HttpClient;
use tests::process::{Regiond, run_regiond};

const RULES: &str = "- id: per-caller
  key: caller
  algorithm: fixed_window
  limit: 3
  window: 1h
";

fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("the file is written");
    (folder, path.display().to_string())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn up(rules: &str) -> Regiond {
    let free = ["--http", "--grpc", "--admin", "--mesh"].iter();
    let free = free.flat_map(|knob| [(*knob).to_owned(), "127.0.0.1:0".to_owned()]);
    let fixed = ["up", "--region", "mumbai", "--rules", rules].map(str::to_owned);
    Regiond::start(fixed.into_iter().chain(free))
}

#[test]
fn valid_rules_pass_and_broken_ones_are_named_by_file_line_and_key() {
    let (_folder, valid) = file("rules.yaml", RULES);
    assert_eq!(
        run_regiond(["rules", "validate", &valid]).status.code(),
        Some(0)
    );

    let (_folder, broken) = file("rules.yaml", &RULES.replace("window: 1h", "window: 90"));
    let output = run_regiond(["rules", "validate", &broken]);
    assert_eq!(output.status.code(), Some(1));
    let text = format!(
        "{}{}",
        stderr(&output),
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(
        text.contains("rules.yaml:5") && text.contains("window"),
        "{text}"
    );
}

#[test]
fn a_node_with_broken_rules_does_not_start_and_says_where_they_are_broken() {
    let (_folder, broken) = file("rules.yaml", &RULES.replace("limit: 3", "limt: 3"));
    let error = Regiond::try_start(["up", "--http", "127.0.0.1:0", "--rules", &broken]).err();
    let error = error.expect("broken rules are refused");
    assert!(
        error.contains("rules.yaml:4") && error.contains("limit"),
        "{error}"
    );
}

#[test]
fn an_unknown_key_of_the_config_file_is_named_with_its_line() {
    let (_folder, config) = file("region.yaml", "region: mumbai\nhtpp: 127.0.0.1:8080\n");
    let output = run_regiond(["up", "--config", &config]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("region.yaml:2") && text.contains("htpp") && text.contains("http"),
        "{text}"
    );
}

#[test]
fn a_port_in_use_is_named_with_its_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let error = Regiond::try_start(["up", "--http", &address]).expect_err("the port is taken");
    assert!(
        error.contains(&address) && error.contains("--http"),
        "{error}"
    );
}

#[test]
fn the_effective_configuration_names_the_origin_of_each_value() {
    let (_folder, config) = file("region.yaml", "region: mumbai\ntick: 2s\n");
    let output = run_regiond([
        "config",
        "print",
        "--config",
        &config,
        "--http",
        "127.0.0.1:7000",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let line = |knob: &str| {
        text.lines()
            .find(|line| line.contains(knob))
            .unwrap_or_else(|| panic!("{knob}: {text}"))
    };
    assert!(line("tick").contains("region.yaml:2"), "{text}");
    assert!(
        line("http").contains("7000") && line("http").contains("--http"),
        "{text}"
    );
    assert!(line("grace").contains("default"), "{text}");
}

#[tokio::test]
async fn checks_from_the_shell_exit_with_their_verdict() {
    let (_folder, rules) = file("rules.yaml", RULES);
    let node = up(&rules);
    let http = format!("http://{}", node.address("http"));
    let ask = || run_regiond(["check", "caller=k1", "--http", &http, "--json"]);

    for left in [2, 1, 0] {
        let output = ask();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(answer["policies"][0]["remaining"], left);
    }
    assert_eq!(ask().status.code(), Some(2), "denied");

    drop(node);
    let output = ask();
    assert_eq!(output.status.code(), Some(1), "unreachable");
    assert!(
        stderr(&output).contains("regiond up"),
        "{}",
        stderr(&output)
    );
}

#[tokio::test]
async fn lag_and_peers_of_a_region_of_one_are_empty_and_fine() {
    let (_folder, rules) = file("rules.yaml", RULES);
    let node = up(&rules);
    let admin = format!("http://{}", node.address("admin"));
    let output = run_regiond(["lag", "--admin", &admin, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lag: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&lag["region"], &lag["peers"]),
        (&json!("mumbai"), &json!([]))
    );
    assert_eq!(
        run_regiond(["peers", "--admin", &admin]).status.code(),
        Some(0)
    );
}

#[tokio::test]
async fn malformed_requests_are_named_and_the_process_goes_on() {
    let (_folder, rules) = file("rules.yaml", RULES);
    let node = up(&rules);
    let client = HttpClient::default();
    let url = node.url("http", "/v1/limits:check");
    let json_type = [("content-type", "application/json")];
    let table = [
        ("{", "line 1"),
        (r#"{"descriptors": {"caller": 7}}"#, "caller"),
        (r#"{"descriptors": {}, "cost": 1.5}"#, "cost"),
        (r#"{"descriptors": {}, "cost": 99999999999999}"#, "cost"),
        (r#"{"descriptor": {}}"#, "descriptor"),
    ];
    for (body, named) in table {
        let answer = client
            .send("POST", &url, &json_type, body)
            .await
            .expect("an answer");
        assert_eq!(answer.status, 400, "{body}: {}", answer.text);
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{body}"
        );
        assert!(
            answer.text.contains(named),
            "{body} should name {named}: {}",
            answer.text
        );
    }
    let answer = client
        .post(&url, &json!({"descriptors": {"caller": "k"}}))
        .await;
    assert_eq!(answer.expect("an answer").json()["allowed"], true);
}

#[tokio::test]
async fn metrics_count_checks_by_rule_and_outcome() {
    let (_folder, rules) = file("rules.yaml", RULES);
    let node = up(&rules);
    let client = HttpClient::default();
    for _ in 0..5 {
        let question = json!({"descriptors": {"caller": "k1"}});
        client
            .post(&node.url("http", "/v1/limits:check"), &question)
            .await
            .expect("an answer");
    }
    let text = client
        .read(&node.url("admin", "/metrics"))
        .await
        .expect("metrics")
        .text;
    for (outcome, count) in [("allowed", 3), ("denied", 2)] {
        let line = text.lines().find(|line| {
            line.starts_with("limiter_checks_total{")
                && line.contains("per-caller")
                && line.contains(&format!("\"{outcome}\""))
        });
        let value = line.and_then(|line| line.rsplit(' ').next());
        assert_eq!(value, Some(count.to_string().as_str()), "{outcome}: {text}");
    }
}
