//! Plans and settlements, played against the embedded store: who is denied, by whom, and what it costs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod bench;

use bench::{Bench, PAY, decider};
use limiter_core::check::Reason;
use limiter_core::share::Outlook;
use limiter_core::store::Wait;
use sync_proto::Span;

fn ids(rules: &[limiter_core::RuleId]) -> Vec<&str> {
    rules.iter().map(limiter_core::RuleId::as_str).collect()
}

const TWO_OF_ONE_IDENTITY: &str = "
- { id: small, key: user, algorithm: fixed_window, limit: 2, window: 60s }
- { id: large, key: user, algorithm: fixed_window, limit: 5, window: 60s }
";

#[test]
fn a_request_must_pass_every_rule() {
    let mut bench = Bench::new(TWO_OF_ONE_IDENTITY);
    for _ in 0..2 {
        assert!(bench.check(&PAY, 1).decision.allowed);
    }
    let denied = bench.check(&PAY, 1);
    assert!(!denied.decision.allowed);
    assert_eq!(decider(&denied), Some("small"));
    assert_eq!(denied.decision.reason, Some(Reason::QuotaExceeded));
    assert!(matches!(denied.decision.wait, Wait::For(_)));
    assert_eq!(denied.decision.rules_version, 42);
    assert_eq!(bench.remaining(&denied, "small"), 0);
    assert_eq!(bench.remaining(&denied, "large"), 3);
}

#[test]
fn rules_of_one_identity_are_one_call_and_others_are_their_own() {
    let mut bench = Bench::new(
        "
- { id: a, key: user, algorithm: fixed_window, limit: 2, window: 60s }
- { id: b, key: ip, algorithm: fixed_window, limit: 2, window: 60s }
- { id: c, key: user, algorithm: token_bucket, rate_per_s: 1, burst: 2 }
",
    );
    bench.plan(&PAY, 1);
    let sizes: Vec<_> = bench
        .plan
        .groups
        .iter()
        .map(|group| group.takes.len())
        .collect();
    assert_eq!(sizes, [2, 1]);
    let places: Vec<_> = bench
        .plan
        .rules
        .iter()
        .map(|planned| planned.take.unwrap())
        .collect();
    assert_eq!(places, [(0, 0), (1, 0), (0, 1)]);
}

#[test]
fn a_denial_gives_back_what_another_identity_took() {
    let mut bench = Bench::new(
        "
- { id: guard, key: ip, algorithm: fixed_window, limit: 10, window: 60s }
- { id: watch, key: ip, algorithm: fixed_window, limit: 10, window: 60s, mode: shadow }
- { id: user, key: user, algorithm: fixed_window, limit: 1, window: 60s }
",
    );
    assert!(bench.check(&PAY, 1).decision.allowed);
    for _ in 0..20 {
        let denied = bench.check(&PAY, 1);
        assert_eq!(decider(&denied), Some("user"));
        assert_eq!(bench.remaining(&denied, "guard"), 9);
        assert_eq!(denied.undo.len(), 2, "enforced and shadow alike");
        assert!(denied.decision.shadow_denied.is_empty());
    }
    let other = bench.check(&[("user", "u2"), ("ip", "192.0.2.1")], 1);
    assert!(other.decision.allowed);
    assert_eq!(bench.remaining(&other, "guard"), 8);
}

#[test]
fn a_denial_is_not_free_where_denied_requests_cost() {
    let mut bench = Bench::new(
        "
- { id: login, key: ip, algorithm: fixed_window, limit: 3, window: 60s, count_rejected: true }
- { id: user, key: user, algorithm: fixed_window, limit: 1, window: 60s }
",
    );
    for _ in 0..3 {
        bench.check(&PAY, 1);
    }
    let other = bench.check(&[("user", "u2"), ("ip", "192.0.2.1")], 1);
    assert_eq!(decider(&other), Some("login"));
}

#[test]
fn the_rule_with_the_longest_wait_decides() {
    let mut bench = Bench::new(
        "
- { id: second, key: user, algorithm: token_bucket, rate_per_s: 1, burst: 1 }
- { id: hour, key: ip, algorithm: token_bucket, rate: 1/1h, burst: 1 }
- { id: minute, key: user, algorithm: token_bucket, rate: 1/60s, burst: 1 }
",
    );
    assert!(bench.check(&PAY, 1).decision.allowed);
    let denied = bench.check(&PAY, 1);
    assert_eq!(decider(&denied), Some("hour"));
    assert_eq!(denied.decision.wait, Wait::For(Span::from_secs(3_600)));
    let never = bench.check(&PAY, 2);
    assert_eq!(
        decider(&never),
        Some("second"),
        "never is longer than an hour"
    );
    assert_eq!(never.decision.wait, Wait::Never);
}

#[test]
fn a_shadow_rule_denies_nobody_and_counts_on_its_own() {
    let mut bench = Bench::new(
        "
- { id: shadow, key: user, algorithm: fixed_window, limit: 2, window: 60s, mode: shadow }
- { id: enforced, key: user, algorithm: fixed_window, limit: 4, window: 60s }
",
    );
    let mut story = String::new();
    for _ in 0..6 {
        let settled = bench.check(&PAY, 1);
        let shadow = ids(&settled.decision.shadow_denied).contains(&"shadow");
        story.push(if settled.decision.allowed { 'A' } else { 'D' });
        story.push(if shadow { 's' } else { '-' });
        assert!(
            settled
                .decision
                .policies
                .iter()
                .all(|policy| policy.rule.id.as_str() != "shadow")
        );
    }
    assert_eq!(story, "A-A-AsAsDsDs");
}

#[test]
fn a_peek_takes_nothing_and_is_judged_as_one() {
    let mut bench = Bench::new(TWO_OF_ONE_IDENTITY);
    for _ in 0..5 {
        let peek = bench.check(&PAY, 0);
        assert!(peek.decision.allowed);
        assert_eq!(bench.remaining(&peek, "small"), 2);
    }
    bench.check(&PAY, 2);
    let peek = bench.check(&PAY, 0);
    assert!(!peek.decision.allowed);
    assert!(peek.undo.is_empty());
    assert_eq!(bench.remaining(&peek, "large"), 3);
}

#[test]
fn a_cost_above_the_capacity_is_denied_for_good_and_free() {
    for algorithm in ["token_bucket", "gcra"] {
        let rule =
            format!("- {{ id: r, key: user, algorithm: {algorithm}, rate_per_s: 1, burst: 5 }}");
        let mut bench = Bench::new(&rule);
        let denied = bench.check(&PAY, 10);
        assert!(!denied.decision.allowed);
        assert_eq!(denied.decision.wait, Wait::Never);
        assert_eq!(denied.decision.reason, Some(Reason::CostAboveCapacity));
        assert_eq!(bench.remaining(&denied, "r"), 5);
        let allowed = bench.check(&PAY, 1);
        assert!(allowed.decision.allowed);
        assert_eq!(bench.remaining(&allowed, "r"), 4);
    }
}

#[test]
fn a_limit_of_zero_denies_all() {
    let mut bench =
        Bench::new("- { id: r, key: user, algorithm: fixed_window, limit: 0, window: 60s }");
    for cost in [0, 1, 5] {
        let denied = bench.check(&PAY, cost);
        assert!(!denied.decision.allowed);
        assert_eq!(denied.decision.wait, Wait::Never);
        assert_eq!(denied.decision.reason, Some(Reason::ZeroLimit));
    }
}

#[test]
fn a_missing_key_denies_where_the_rule_says_so_and_takes_nothing() {
    let mut bench = Bench::new(
        "
- { id: key, key: api_key, on_missing_key: deny, algorithm: fixed_window, limit: 5, window: 60s }
- { id: skip, key: tenant, algorithm: fixed_window, limit: 5, window: 60s }
- { id: ip, key: ip, algorithm: fixed_window, limit: 5, window: 60s }
",
    );
    for _ in 0..9 {
        let denied = bench.check(&PAY, 1);
        assert_eq!(decider(&denied), Some("key"));
        assert_eq!(denied.decision.reason, Some(Reason::MissingKey));
        assert_eq!(denied.decision.wait, Wait::Never);
        assert_eq!(bench.remaining(&denied, "ip"), 5);
        assert_eq!(bench.plan.missing_key, 1);
    }
}

#[test]
fn an_exemption_needs_no_store_and_shows_no_policy() {
    let mut bench = Bench::new("- { id: free, key: user, unlimited: true }");
    let settled = bench.check(&PAY, 1_000);
    assert!(settled.decision.allowed);
    assert!(settled.decision.policies.is_empty());
    assert!(bench.plan.groups.is_empty());
}

#[test]
fn a_rule_that_is_off_does_not_exist() {
    let mut bench = Bench::new(
        "- { id: r, key: user, algorithm: fixed_window, limit: 0, window: 60s, mode: off }",
    );
    let settled = bench.check(&PAY, 1);
    assert!(settled.decision.allowed);
    assert!(settled.decision.policies.is_empty());
    assert!(settled.decision.shadow_denied.is_empty());
}

#[test]
fn what_is_left_never_exceeds_a_buckets_burst() {
    let mut bench = Bench::new("- { id: r, key: user, algorithm: gcra, rate: 30/60s, burst: 16 }");
    let settled = bench.check(&PAY, 1);
    let policy = &settled.decision.policies[0];
    assert_eq!((policy.limit, policy.window), (30, Span::from_secs(60)));
    assert_eq!((policy.burst, policy.remaining), (Some(16), 15));
    assert_eq!(policy.reset, Span::from_secs(2));
    bench.now = bench.now.plus(Span::from_secs(600));
    let peek = bench.check(&PAY, 0);
    assert_eq!(peek.decision.policies[0].remaining, 16);
}

#[test]
fn strict_regions_keep_to_parts_that_sum_to_the_limit() {
    for (sharing, admitted) in [("strict", 10), ("shares", 10), ("eager", 30)] {
        let rule = format!(
            "- {{ id: r, key: user, algorithm: fixed_window, limit: 10, window: 60s, sharing: {sharing} }}"
        );
        let mut sum = 0;
        for rank in 0..3 {
            let mut bench = Bench::new(&rule);
            bench.outlook = Outlook {
                regions: 3,
                rank,
                fresh: false,
                majority: false,
                pods: 1,
            };
            sum += (0..20)
                .filter(|_| bench.check(&PAY, 1).decision.allowed)
                .count();
        }
        assert_eq!(sum, admitted, "{sharing}");
    }
}

#[test]
fn a_region_that_hears_too_few_starts_new_keys_with_its_part() {
    let rule = |extra: &str| {
        format!("- {{ id: r, key: user, algorithm: fixed_window, limit: 10, window: 60s{extra} }}")
    };
    let cold = |extra: &str, fresh| {
        let mut bench = Bench::new(&rule(extra));
        bench.outlook = Outlook {
            regions: 3,
            rank: 0,
            fresh,
            majority: true,
            pods: 1,
        };
        bench.plan(&PAY, 1);
        bench.plan.groups[0].takes[0]
            .cold
            .map(|cold| (cold.units, cold.regions))
    };
    assert_eq!(cold("", false), Some((4, 3)));
    assert_eq!(cold("", true), None);
    assert_eq!(cold(", sharing: eager", false), None);
    assert_eq!(cold(", scope: region", false), None);
}
