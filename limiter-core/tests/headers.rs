//! What clients see: read back by a strict parser of structured fields, written here for these fields alone.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so"
)]
#![expect(clippy::panic, reason = "a parser that accepts anything tests nothing")]

use std::sync::Arc;

use limiter_core::check::{Decision, GroupOutcome, PolicyState};
use limiter_core::render::{HeaderOptions, LegacyReset};
use limiter_core::share::Outlook;
use limiter_core::store::Wait;
use limiter_core::{EmbeddedStore, Engine, Facts, Plan, Request, RuleSet, headers, problem};
use sync_proto::{Span, WallTime};

const START: WallTime = WallTime::from_micros(1_796_083_200_000_000);

/// A policy's name and its integer parameters.
type Item = (String, Vec<(char, u64)>);

/// Parses a list of strings with integer parameters; panics on anything else.
fn list(field: &str) -> Vec<Item> {
    let mut rest = field;
    let mut items = Vec::new();
    loop {
        rest = rest.strip_prefix('"').expect("a name is a string");
        let mut name = String::new();
        let mut letters = rest.char_indices();
        rest = loop {
            match letters.next().expect("a string ends") {
                (at, '"') => break &rest[at + 1..],
                (_, '\\') => match letters.next().expect("an escape has a letter") {
                    (_, letter @ ('"' | '\\')) => name.push(letter),
                    (_, letter) => panic!("no escape: {letter}"),
                },
                (_, letter @ ' '..='~') => name.push(letter),
                (_, letter) => panic!("not in a string: {letter:?}"),
            }
        };
        let mut parameters = Vec::new();
        while let Some(more) = rest.strip_prefix(';') {
            let name = more.chars().next().expect("a parameter has a name");
            assert!(name.is_ascii_lowercase());
            let value = more[1..]
                .strip_prefix('=')
                .expect("a parameter has a value");
            let digits = value.bytes().take_while(u8::is_ascii_digit).count();
            assert!(
                (1..=15).contains(&digits),
                "an integer has 1 to 15 digits: {value}"
            );
            parameters.push((name, value[..digits].parse().unwrap()));
            rest = &value[digits..];
        }
        items.push((name, parameters));
        match rest.strip_prefix(", ") {
            Some(more) => rest = more,
            None if rest.is_empty() => return items,
            None => panic!("trailing {rest:?}"),
        }
    }
}

fn item(name: &str, parameters: &[(char, u64)]) -> Item {
    (name.to_owned(), parameters.to_vec())
}

fn value<'a>(headers: &'a [(&'static str, String)], name: &str) -> Option<&'a str> {
    let mut found = headers.iter().filter(|(header, _)| *header == name);
    let value = found.next().map(|(_, value)| value.as_str());
    assert!(found.next().is_none(), "{name} is sent once");
    value
}

struct Pod {
    engine: Engine,
    store: EmbeddedStore,
    plan: Plan,
}

impl Pod {
    fn new(rules: &str) -> Self {
        Self {
            engine: Engine::new(Arc::new(RuleSet::parse("rules.yaml", rules, 1).unwrap())),
            store: EmbeddedStore::new(1, 100),
            plan: Plan::default(),
        }
    }

    fn check(&mut self, at: WallTime, cost: u64) -> Decision {
        let facts = Facts::new([("user", "u1")]).unwrap();
        let request = Request {
            domain: "default",
            facts: &facts,
            cost,
        };
        self.engine
            .plan(at, request, Outlook::alone(), &mut self.plan);
        let store = &mut self.store;
        let outcomes: Vec<_> = self
            .plan
            .groups
            .iter()
            .map(|g| GroupOutcome::Stored(store.take(at, g)))
            .collect();
        self.engine.settle(&self.plan, &outcomes).decision
    }

    fn headers(&mut self, at: WallTime, cost: u64) -> Vec<(&'static str, String)> {
        headers(&self.check(at, cost), HeaderOptions::default())
    }
}

#[test]
fn every_answer_has_both_fields_and_counts_down() {
    let mut pod =
        Pod::new("- { id: w, key: user, algorithm: fixed_window, limit: 20, window: 60s }");
    let end = pod.check(START, 0).policies[0].clone();
    assert_eq!(end.remaining, 20);
    let mut last = u64::MAX;
    for second in 1..=25_u64 {
        let headers = pod.headers(START.plus(Span::from_millis(second)), 1);
        assert_eq!(
            list(value(&headers, "ratelimit-policy").unwrap()),
            [item("w", &[('q', 20), ('w', 60)])]
        );
        let state = list(value(&headers, "ratelimit").unwrap());
        let (left, more) = (state[0].1[0], state[0].1[1]);
        assert_eq!(left, ('r', 20_u64.saturating_sub(second)));
        assert!(more.0 == 't' && (1..=60).contains(&more.1) && more.1 <= last);
        last = more.1;
        let denied = second > 20;
        assert_eq!(value(&headers, "retry-after").is_some(), denied);
        assert_eq!(
            value(&headers, "cache-control"),
            denied.then_some("no-store")
        );
    }
}

#[test]
fn retry_after_is_rounded_up_and_is_the_deciding_policys_t() {
    let mut pod = Pod::new(
        "
- { id: fast, key: user, algorithm: token_bucket, rate: 1/100s, burst: 1 }
- { id: day, key: user, algorithm: token_bucket, rate: 100/1h, burst: 100 }
",
    );
    pod.headers(START, 1);
    let headers = pod.headers(START.plus(Span::from_micros(1)), 1);
    assert_eq!(value(&headers, "retry-after"), Some("100"));
    let states = list(value(&headers, "ratelimit").unwrap());
    assert_eq!(states[0], item("fast", &[('r', 0), ('t', 100)]));
    assert_eq!(states[1].1[0], ('r', 99));
    let headers = pod.headers(START.plus(Span::from_micros(99_999_999)), 1);
    assert_eq!(
        value(&headers, "retry-after"),
        Some("1"),
        "never zero on a denial"
    );
}

#[test]
fn what_can_never_pass_has_no_time_to_wait() {
    let mut pod =
        Pod::new("- { id: r, key: user, algorithm: token_bucket, rate_per_s: 1, burst: 5 }");
    let headers = pod.headers(START, 10);
    assert_eq!(value(&headers, "retry-after"), None);
    assert_eq!(
        list(value(&headers, "ratelimit").unwrap()),
        [item("r", &[('r', 5)])]
    );
    let decision = pod.check(START, 10);
    let body: serde_json::Value = serde_json::from_str(&problem(&decision)).unwrap();
    assert!(
        body["detail"]
            .as_str()
            .unwrap()
            .contains("retry cannot succeed")
    );
}

#[test]
fn names_are_escaped_and_values_bounded() {
    let mut decision =
        Pod::new("- { id: burst, key: user, algorithm: fixed_window, limit: 20, window: 60s }")
            .check(START, 1);
    let policy = &mut decision.policies[0];
    policy.limit = u64::MAX;
    policy.remaining = u64::MAX;
    policy.reset = Span::MAX;
    policy.window = Span::from_millis(500);
    let headers = headers(&decision, HeaderOptions::default());
    let policies = list(value(&headers, "ratelimit-policy").unwrap());
    assert_eq!(
        policies,
        [item("burst", &[('q', 999_999_999_999_999)])],
        "no w for half a second"
    );
    list(value(&headers, "ratelimit").unwrap());
}

#[test]
fn a_quote_in_a_name_does_not_break_the_field() {
    let rules = r#"- { id: 'a"b\c', key: user, algorithm: fixed_window, limit: 5, window: 60s }"#;
    let headers = Pod::new(rules).headers(START, 1);
    assert!(
        value(&headers, "ratelimit")
            .unwrap()
            .starts_with(r#""a\"b\\c";r=4;t="#)
    );
    assert_eq!(list(value(&headers, "ratelimit").unwrap())[0].0, r#"a"b\c"#);
}

#[test]
fn policies_come_in_the_rules_order_every_time() {
    let mut pod = Pod::new(
        "
- { id: b, key: user, algorithm: fixed_window, limit: 2, window: 60s }
- { id: a, key: user, algorithm: fixed_window, limit: 5, window: 60s }
",
    );
    for _ in 0..6 {
        let headers = pod.headers(START, 1);
        let expected = "\"b\";q=2;w=60, \"a\";q=5;w=60";
        assert_eq!(value(&headers, "ratelimit-policy"), Some(expected));
    }
}

#[test]
fn a_hidden_rule_shows_nothing_but_the_verdict() {
    let mut pod = Pod::new(
        "
- { id: otp, key: user, algorithm: fixed_window, limit: 1, window: 60s, expose: false }
- { id: seen, key: user, algorithm: fixed_window, limit: 5, window: 60s, legacy_headers: true }
",
    );
    let headers = pod.headers(START, 1);
    assert_eq!(
        list(value(&headers, "ratelimit").unwrap()).len(),
        1,
        "only the one that is seen"
    );
    let denied = pod.headers(START, 1);
    assert_eq!(denied, [("cache-control", "no-store".to_owned())]);
    let body: serde_json::Value = serde_json::from_str(&problem(&pod.check(START, 1))).unwrap();
    assert_eq!(body["violated-policies"], serde_json::json!([]));
}

#[test]
fn a_request_without_rules_has_no_fields() {
    let headers =
        Pod::new("- { id: r, key: other, algorithm: fixed_window, limit: 1, window: 60s }")
            .headers(START, 1);
    assert!(headers.is_empty(), "an empty list is no structured field");
}

#[test]
fn the_problem_names_the_policies_that_denied() {
    let mut pod = Pod::new(
        "
- { id: a, key: user, algorithm: fixed_window, limit: 1, window: 60s }
- { id: b, key: user, algorithm: fixed_window, limit: 1, window: 60s, mode: shadow }
- { id: c, key: user, algorithm: fixed_window, limit: 100, window: 60s }
",
    );
    pod.check(START, 1);
    let body: serde_json::Value = serde_json::from_str(&problem(&pod.check(START, 1))).unwrap();
    let expected = "https://iana.org/assignments/http-problem-types#quota-exceeded";
    assert_eq!(body["type"], expected);
    assert_eq!(body["title"], "Quota Exceeded");
    assert_eq!(body["status"], 429);
    assert_eq!(body["violated-policies"], serde_json::json!(["a"]));
}

#[test]
fn legacy_headers_tell_of_the_rule_nearest_its_limit() {
    let mut pod = Pod::new(
        "
- { id: far, key: user, algorithm: token_bucket, rate_per_s: 5, burst: 5, legacy_headers: true }
- { id: near, key: user, algorithm: token_bucket, rate: 2/60s, burst: 2, legacy_headers: true }
- { id: quiet, key: user, algorithm: fixed_window, limit: 1, window: 60s }
",
    );
    let decision = pod.check(START, 1);
    let delta = headers(&decision, HeaderOptions::default());
    assert_eq!(value(&delta, "x-ratelimit-limit"), Some("2"));
    assert_eq!(value(&delta, "x-ratelimit-remaining"), Some("1"));
    assert_eq!(value(&delta, "x-ratelimit-reset"), Some("30"));
    let options = HeaderOptions {
        now: START,
        legacy_reset: LegacyReset::Unix,
    };
    let unix = headers(&decision, options);
    assert_eq!(value(&unix, "x-ratelimit-reset"), Some("1796083230"));
}

#[test]
fn a_failed_wait_of_no_time_is_told_as_a_second() {
    let mut decision =
        Pod::new("- { id: r, key: user, algorithm: fixed_window, limit: 0, window: 60s }")
            .check(START, 1);
    let wait = Wait::For(Span::ZERO);
    decision.wait = wait;
    decision.policies = vec![PolicyState {
        wait,
        ..decision.policies[0].clone()
    }];
    let headers = headers(&decision, HeaderOptions::default());
    assert_eq!(value(&headers, "retry-after"), Some("1"));
    assert_eq!(
        list(value(&headers, "ratelimit").unwrap()),
        [item("r", &[('r', 0), ('t', 1)])]
    );
}
