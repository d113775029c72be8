//! Plans and settlements, played against the embedded store: who is denied, by whom, and what it costs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::sync::Arc;

use limiter_core::check::{GroupOutcome, Local, Reason, Settled};
use limiter_core::share::Outlook;
use limiter_core::store::{StoreFault, Wait};
use limiter_core::{EmbeddedStore, Engine, Facts, Plan, Request, RuleSet};
use sync_proto::{Span, WallTime};

const KEYS_MAX: usize = 1_000;
const PAY: [(&str, &str); 3] = [("user", "u1"), ("ip", "192.0.2.1"), ("route", "/pay")];

struct Bench {
    engine: Engine,
    store: EmbeddedStore,
    local: EmbeddedStore,
    plan: Plan,
    outlook: Outlook,
    now: WallTime,
}

impl Bench {
    fn new(rules: &str) -> Self {
        let rules = RuleSet::parse("rules.yaml", rules, 42).unwrap();
        Self {
            engine: Engine::new(Arc::new(rules)),
            store: EmbeddedStore::new(1, KEYS_MAX),
            local: EmbeddedStore::new(2, KEYS_MAX),
            plan: Plan::default(),
            outlook: Outlook::alone(),
            now: WallTime::from_micros(1_796_083_200_000_000),
        }
    }

    fn plan(&mut self, facts: &[(&str, &str)], cost: u64) {
        let facts = Facts::new(facts.iter().copied()).unwrap();
        let request = Request {
            domain: "default",
            facts: &facts,
            cost,
        };
        self.engine
            .plan(self.now, request, self.outlook, &mut self.plan);
    }

    fn check(&mut self, facts: &[(&str, &str)], cost: u64) -> Settled {
        self.plan(facts, cost);
        let store = &mut self.store;
        let answer = |group| GroupOutcome::Stored(store.take(self.now, group));
        let outcomes: Vec<_> = self.plan.groups.iter().map(answer).collect();
        let settled = self.engine.settle(&self.plan, &outcomes);
        for undo in &settled.undo {
            self.store.undo(self.now, undo);
        }
        settled
    }

    /// The same while the store does not answer.
    fn check_degraded(&mut self, facts: &[(&str, &str)], cost: u64, pods: u32) -> Settled {
        self.plan(facts, cost);
        let outcomes: Vec<_> = (0..self.plan.groups.len())
            .map(|group| {
                let local = Local {
                    store: &mut self.local,
                    at: self.now,
                    pods,
                };
                self.engine
                    .degrade(&self.plan, group, StoreFault::Deadline, local)
            })
            .collect();
        self.engine.settle(&self.plan, &outcomes)
    }

    fn remaining(&self, settled: &Settled, id: &str) -> u64 {
        let found = settled
            .decision
            .policies
            .iter()
            .find(|policy| policy.rule.id.as_str() == id);
        found.unwrap().remaining
    }

    fn pass(&mut self, span: Span) {
        self.now = self.now.plus(span);
    }
}

fn decider(settled: &Settled) -> Option<&str> {
    settled.decision.decided_by.as_ref().map(|id| id.as_str())
}

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

const THREE_MODES: &str = "
- { id: open, key: user, algorithm: fixed_window, limit: 9, window: 60s, on_store_failure: open }
- { id: local, key: user, algorithm: fixed_window, limit: 9, window: 60s, on_store_failure: local }
";

#[test]
fn without_a_store_each_rule_does_what_it_says() {
    let mut bench = Bench::new(THREE_MODES);
    let mut story = String::new();
    for _ in 0..4 {
        let settled = bench.check_degraded(&PAY, 1, 3);
        story.push(if settled.decision.allowed { 'A' } else { 'D' });
        let modes: Vec<_> = settled
            .decision
            .degraded
            .iter()
            .map(|d| d.rule.as_str())
            .collect();
        assert_eq!(modes, ["open", "local"]);
        assert!(
            settled
                .decision
                .degraded
                .iter()
                .all(|d| d.fault == StoreFault::Deadline)
        );
        assert_eq!(bench.remaining(&settled, "open"), 9);
        assert!(settled.undo.is_empty());
    }
    assert_eq!(story, "AAAD", "a third of nine per pod");
}

#[test]
fn a_local_limit_is_never_divided_down_to_nothing() {
    let mut bench = Bench::new(
        "- { id: r, key: user, algorithm: gcra, rate: 60/60s, burst: 2, on_store_failure: local }",
    );
    assert!(bench.check_degraded(&PAY, 1, 10).decision.allowed);
    let denied = bench.check_degraded(&PAY, 1, 10);
    assert_eq!(
        denied.decision.wait,
        Wait::For(Span::from_secs(10)),
        "one per second over ten pods"
    );
    assert_eq!(denied.decision.reason, Some(Reason::QuotaExceeded));
}

#[test]
fn a_rule_that_fails_closed_denies_for_a_second_and_spends_no_local_units() {
    let rules = format!(
        "{THREE_MODES}
- {{ id: closed, key: user, algorithm: fixed_window, limit: 9, window: 60s, on_store_failure: closed, match: {{ route: /pay }} }}
"
    );
    let mut bench = Bench::new(&rules);
    for _ in 0..20 {
        let denied = bench.check_degraded(&PAY, 1, 1);
        assert_eq!(decider(&denied), Some("closed"));
        assert_eq!(denied.decision.wait, Wait::For(Span::from_secs(1)));
        assert_eq!(denied.decision.reason, Some(Reason::StoreFailure));
        assert_eq!(bench.remaining(&denied, "local"), 9);
    }
}

#[test]
fn a_shadow_rule_that_fails_closed_denies_nobody() {
    let mut bench = Bench::new(
        "- { id: r, key: user, algorithm: fixed_window, limit: 9, window: 60s, on_store_failure: closed, mode: shadow }",
    );
    let settled = bench.check_degraded(&PAY, 1, 1);
    assert!(settled.decision.allowed);
    assert!(settled.decision.shadow_denied.is_empty());
    assert!(settled.decision.degraded.is_empty());
}

#[test]
fn one_group_without_an_answer_does_not_decide_for_the_other() {
    let mut bench = Bench::new(
        "
- { id: user, key: user, algorithm: fixed_window, limit: 9, window: 60s }
- { id: ip, key: ip, algorithm: fixed_window, limit: 9, window: 60s, on_store_failure: closed }
",
    );
    bench.plan(&PAY, 1);
    let stored = GroupOutcome::Stored(bench.store.take(bench.now, &bench.plan.groups[0]));
    let local = Local {
        store: &mut bench.local,
        at: bench.now,
        pods: 1,
    };
    let lost = bench
        .engine
        .degrade(&bench.plan, 1, StoreFault::Unreachable, local);
    let settled = bench.engine.settle(&bench.plan, &[stored, lost]);
    assert_eq!(decider(&settled), Some("ip"));
    assert_eq!(settled.undo.len(), 1);
    assert_eq!(bench.remaining(&settled, "user"), 9);
    let degraded: Vec<_> = settled
        .decision
        .degraded
        .iter()
        .map(|d| d.rule.as_str())
        .collect();
    assert_eq!(degraded, ["ip"]);
}

#[test]
fn what_is_left_never_exceeds_a_buckets_burst() {
    let mut bench = Bench::new("- { id: r, key: user, algorithm: gcra, rate: 30/60s, burst: 16 }");
    let settled = bench.check(&PAY, 1);
    let policy = &settled.decision.policies[0];
    assert_eq!((policy.limit, policy.window), (30, Span::from_secs(60)));
    assert_eq!((policy.burst, policy.remaining), (Some(16), 15));
    assert_eq!(policy.reset, Span::from_secs(2));
    bench.pass(Span::from_secs(600));
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
