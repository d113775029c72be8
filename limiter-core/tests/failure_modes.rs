//! What a pod decides while its store does not answer.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod bench;

use bench::{Bench, PAY, decider};
use limiter_core::EmbeddedStore;
use limiter_core::check::{GroupOutcome, Local, Reason, Settled};
use limiter_core::store::{StoreFault, Wait};
use sync_proto::Span;

/// A check while the store does not answer.
fn check_degraded(bench: &mut Bench, memory: &mut EmbeddedStore, pods: u32) -> Settled {
    bench.plan(&PAY, 1);
    let outcomes: Vec<_> = (0..bench.plan.groups.len())
        .map(|group| {
            let local = Local {
                store: memory,
                at: bench.now,
                pods,
            };
            bench
                .engine
                .degrade(&bench.plan, group, StoreFault::Deadline, local)
        })
        .collect();
    bench.engine.settle(&bench.plan, &outcomes)
}

const THREE_MODES: &str = "
- { id: open, key: user, algorithm: fixed_window, limit: 9, window: 60s, on_store_failure: open }
- { id: local, key: user, algorithm: fixed_window, limit: 9, window: 60s, on_store_failure: local }
";

#[test]
fn without_a_store_each_rule_does_what_it_says() {
    let mut bench = Bench::new(THREE_MODES);
    let mut memory = EmbeddedStore::new(2, 100);
    let mut story = String::new();
    for _ in 0..4 {
        let settled = check_degraded(&mut bench, &mut memory, 3);
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
fn what_the_memory_admitted_is_not_the_stores_to_know() {
    let mut bench = Bench::new(THREE_MODES);
    let mut memory = EmbeddedStore::new(2, 100);
    assert!(check_degraded(&mut bench, &mut memory, 1).decision.allowed);
    let settled = bench.check(&PAY, 1);
    assert_eq!(bench.remaining(&settled, "local"), 8);
    assert!(settled.decision.degraded.is_empty());
}

#[test]
fn a_local_limit_is_never_divided_down_to_nothing() {
    let mut bench = Bench::new(
        "- { id: r, key: user, algorithm: gcra, rate: 60/60s, burst: 2, on_store_failure: local }",
    );
    let mut memory = EmbeddedStore::new(2, 100);
    assert!(check_degraded(&mut bench, &mut memory, 10).decision.allowed);
    let denied = check_degraded(&mut bench, &mut memory, 10);
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
    let mut memory = EmbeddedStore::new(2, 100);
    for _ in 0..20 {
        let denied = check_degraded(&mut bench, &mut memory, 1);
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
    let mut memory = EmbeddedStore::new(2, 100);
    let settled = check_degraded(&mut bench, &mut memory, 1);
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
    let mut memory = EmbeddedStore::new(2, 100);
    bench.plan(&PAY, 1);
    let stored = GroupOutcome::Stored(bench.store.take(bench.now, &bench.plan.groups[0]));
    let local = Local {
        store: &mut memory,
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
