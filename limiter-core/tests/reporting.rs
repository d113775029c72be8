//! What a pod reports, and when.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::sync::Arc;

use limiter_core::check::{GroupOutcome, Local};
use limiter_core::share::{Outlook, ReportReply, Reporter, UsageReport};
use limiter_core::store::StoreFault;
use limiter_core::{EmbeddedStore, Engine, Facts, Plan, Request, RuleSet};
use sync_proto::{Incarnation, MonoTime, Span, WallTime};

const RULES: &str = "
- { id: user, key: user, algorithm: fixed_window, limit: 20, window: 1h }
- { id: region, key: user, algorithm: fixed_window, limit: 99, window: 1h, scope: region }
- { id: strict, key: user, algorithm: fixed_window, limit: 99, window: 1h, sharing: strict }
- { id: ip, key: ip, algorithm: fixed_window, limit: 10, window: 1h, match: { route: /pay } }
";

struct Pod {
    engine: Engine,
    store: EmbeddedStore,
    reporter: Reporter,
    plan: Plan,
    now: MonoTime,
}

impl Pod {
    /// A pod whose first report, an empty one, has been answered.
    fn new() -> Self {
        let mut pod = Self {
            engine: Engine::new(Arc::new(RuleSet::parse("rules.yaml", RULES, 1).unwrap())),
            store: EmbeddedStore::new(1, 1_000),
            reporter: Reporter::new(Span::from_secs(1)),
            plan: Plan::default(),
            now: MonoTime::from_micros(5_000_000),
        };
        assert_eq!(pod.poll(), Some(vec![]), "an outlook is wanted at once");
        pod.answer(1);
        pod
    }

    fn plan(&mut self, user: &str, route: &str, cost: u64) {
        let facts = Facts::new([("user", user), ("ip", "192.0.2.1"), ("route", route)]).unwrap();
        let request = Request {
            domain: "default",
            facts: &facts,
            cost,
        };
        self.engine.plan(
            WallTime::from_micros(1),
            request,
            Outlook::alone(),
            &mut self.plan,
        );
    }

    fn check(&mut self, user: &str, route: &str, cost: u64) -> bool {
        self.plan(user, route, cost);
        let at = WallTime::from_micros(1_796_083_200_000_000 + self.now.as_micros());
        let store = &mut self.store;
        let outcomes: Vec<_> = self
            .plan
            .groups
            .iter()
            .map(|g| GroupOutcome::Stored(store.take(at, g)))
            .collect();
        self.reporter.note(self.now, &self.plan, &outcomes);
        let settled = self.engine.settle(&self.plan, &outcomes);
        settled
            .undo
            .iter()
            .for_each(|undo| self.store.undo(at, undo));
        settled.decision.allowed
    }

    fn report(&mut self) -> Option<UsageReport> {
        self.reporter.poll_report(self.now)
    }

    /// Totals and demands of the report that is due.
    fn poll(&mut self) -> Option<Vec<(u64, u64)>> {
        self.report().map(|report| counts(&report))
    }

    fn answer(&mut self, incarnation: u64) {
        let incarnation = Incarnation(incarnation);
        let reply = ReportReply {
            incarnation,
            outlook: Outlook::alone(),
        };
        self.reporter.handle_reply(self.now, reply);
    }

    fn pass_ms(&mut self, ms: u64) {
        self.now = self.now.plus(Span::from_millis(ms));
    }
}

fn counts(report: &UsageReport) -> Vec<(u64, u64)> {
    report
        .entries
        .iter()
        .map(|entry| (entry.admitted, entry.arrivals))
        .collect()
}

#[test]
fn only_counters_that_regions_share_by_count_are_reported() {
    let mut pod = Pod::new();
    pod.check("u1", "/", 3);
    assert_eq!(
        pod.poll(),
        Some(vec![(3, 3)]),
        "one of four rules, the first of its window at once"
    );
    assert_eq!(pod.poll(), None);
}

#[test]
fn a_quiet_counter_waits_for_the_tick_and_one_past_half_does_not() {
    let mut pod = Pod::new();
    pod.check("u1", "/", 3);
    assert!(pod.report().is_some());
    pod.pass_ms(60);
    pod.check("u1", "/", 3);
    assert_eq!(pod.poll(), None, "six of twenty");
    pod.check("u1", "/", 4);
    assert_eq!(
        pod.reporter.poll_timeout(),
        Some(MonoTime::from_micros(5_050_000))
    );
    assert_eq!(pod.poll(), Some(vec![(10, 7)]), "ten of twenty");
    pod.check("u1", "/", 1);
    assert_eq!(pod.poll(), None, "not sooner than 50 ms after the last");
    pod.pass_ms(50);
    assert_eq!(pod.poll(), Some(vec![(11, 1)]));
}

#[test]
fn a_tick_without_news_asks_for_an_outlook_all_the_same() {
    let mut pod = Pod::new();
    pod.pass_ms(999);
    assert_eq!(pod.poll(), None);
    pod.pass_ms(1);
    assert_eq!(pod.poll(), Some(vec![]));
}

#[test]
fn refused_requests_are_demand_and_the_first_refusal_is_urgent() {
    let mut pod = Pod::new();
    pod.check("u1", "/", 20);
    pod.report().unwrap();
    pod.pass_ms(60);
    assert!(!pod.check("u1", "/", 1));
    assert_eq!(pod.poll(), Some(vec![(20, 1)]));
    pod.pass_ms(60);
    for _ in 0..5 {
        assert!(!pod.check("u1", "/", 1));
    }
    assert_eq!(pod.poll(), None, "nothing is used that was not used before");
    pod.pass_ms(1_000);
    assert_eq!(pod.poll(), Some(vec![(20, 5)]));
}

#[test]
fn a_peek_is_neither_use_nor_demand() {
    let mut pod = Pod::new();
    pod.check("u1", "/", 0);
    pod.pass_ms(1_000);
    assert_eq!(pod.poll(), Some(vec![]));
}

#[test]
fn what_a_denied_request_gives_back_was_never_used() {
    let mut pod = Pod::new();
    pod.check("u1", "/pay", 10);
    let both = pod.poll().unwrap();
    assert_eq!(both, [(10, 10), (10, 10)]);
    pod.pass_ms(60);
    assert!(
        !pod.check("u1", "/pay", 1),
        "the address has used up its limit"
    );
    pod.pass_ms(1_000);
    assert_eq!(pod.poll(), Some(vec![(10, 1), (10, 1)]));
}

#[test]
fn what_the_failure_modes_decide_is_not_reported() {
    let mut pod = Pod::new();
    pod.plan("u1", "/", 5);
    let mut store = EmbeddedStore::new(2, 10);
    let local = Local {
        store: &mut store,
        at: WallTime::from_micros(1),
        pods: 1,
    };
    let outcome = pod
        .engine
        .degrade(&pod.plan, 0, StoreFault::Deadline, local);
    pod.reporter.note(pod.now, &pod.plan, &[outcome]);
    pod.pass_ms(1_000);
    assert_eq!(pod.poll(), Some(vec![]));
}

#[test]
fn an_undelivered_report_goes_into_the_next_one() {
    let mut pod = Pod::new();
    pod.check("u1", "/", 12);
    let report = pod.report().unwrap();
    pod.check("u1", "/", 1);
    pod.reporter.handle_failure(pod.now, report);
    pod.pass_ms(60);
    assert_eq!(
        pod.poll(),
        None,
        "a daemon that does not answer is not asked all the time"
    );
    pod.pass_ms(1_000);
    assert_eq!(pod.poll(), Some(vec![(13, 13)]));
}

#[test]
fn a_daemons_new_life_is_told_everything_again() {
    let mut pod = Pod::new();
    pod.check("u1", "/", 4);
    pod.check("u2", "/", 5);
    pod.report().unwrap();
    pod.answer(1);
    assert_eq!(pod.poll(), None);
    pod.answer(2);
    let mut again = pod.poll().unwrap();
    again.sort_unstable();
    assert_eq!(again, [(4, 0), (5, 0)]);
    pod.answer(2);
    assert_eq!(pod.poll(), None);
}

#[test]
fn a_stopping_pod_tells_all_it_has() {
    let mut pod = Pod::new();
    pod.check("u1", "/", 4);
    pod.report().unwrap();
    pod.check("u1", "/", 1);
    assert_eq!(counts(&pod.reporter.flush(pod.now)), [(5, 1)]);
    assert_eq!(counts(&pod.reporter.flush(pod.now)), []);
}

#[test]
fn a_counter_nobody_uses_is_forgotten() {
    let mut pod = Pod::new();
    pod.check("u1", "/", 4);
    for _ in 0..40 {
        pod.report();
        pod.answer(1);
        pod.pass_ms(500);
    }
    pod.answer(2);
    assert_eq!(pod.poll(), Some(vec![]));
}
