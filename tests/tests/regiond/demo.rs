//! The demo, as a newcomer and as a program would run it.

use serde_json::Value;
use tests::process::run_regiond;

fn summary(args: &[&str]) -> Value {
    let output = run_regiond(["demo", "--json"].iter().chain(args));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"))
}

fn complete_windows(key: &Value) -> Vec<u64> {
    let windows = key["windows"].as_array().expect("a key has windows").iter();
    windows
        .filter(|window| window["complete"] == true)
        .filter_map(|w| w["allowed"].as_u64())
        .collect()
}

#[test]
fn each_complete_window_is_within_five_percent_of_the_limit_and_counts_are_fresh() {
    let summary = summary(&["--for", "32s"]);

    let partner = &summary["keys"][0];
    assert_eq!(partner["limit"], 1000);
    let windows = complete_windows(partner);
    assert!(windows.len() >= 2, "{summary:#}");
    for allowed in windows {
        assert!(
            (950..=1050).contains(&allowed),
            "{allowed} of 1000: {summary:#}"
        );
    }
    for (link, lag) in summary["lag_ms"].as_object().expect("lag by link") {
        assert!(
            lag["p99"].as_u64().is_some_and(|p99| p99 < 1_500),
            "{link}: {lag}"
        );
    }
    for region in summary["regions"].as_array().expect("regions") {
        assert_eq!(region["failed"], 0, "{region}");
        assert!(
            region["denied"].as_u64() > Some(0),
            "the limit holds everywhere: {region}"
        );
    }
}

#[test]
fn a_client_of_one_region_gets_its_limit_in_each_complete_window() {
    let summary = summary(&["--for", "22s", "--seed", "7"]);

    let solo = &summary["keys"][1];
    let windows = complete_windows(solo);
    assert!(!windows.is_empty(), "{summary:#}");
    for allowed in windows {
        assert_eq!(solo["limit"], allowed, "{summary:#}");
    }
}

#[test]
fn a_cut_leaves_everyone_answering_and_heals_into_agreement() {
    let summary = summary(&[
        "--for",
        "44s",
        "--cut",
        "singapore",
        "--at",
        "4s",
        "--heal",
        "12s",
    ]);

    for region in summary["regions"].as_array().expect("regions") {
        assert_eq!(region["failed"], 0, "{region}");
    }
    let windows = complete_windows(&summary["keys"][0]);
    let last = *windows
        .last()
        .expect("a complete window after the cut healed");
    assert!(
        (950..=1050).contains(&last),
        "{last} of 1000 after the cut: {summary:#}"
    );
}

#[test]
fn a_cut_of_an_unknown_region_names_the_known_ones() {
    let output = run_regiond(["demo", "--for", "1s", "--cut", "pune", "--at", "1s"]);

    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("pune") && stderr.contains("hyderabad"),
        "{stderr}"
    );
}
