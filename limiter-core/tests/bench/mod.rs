//! One pod with its store in memory, whose clock stands still until it is moved.
//!
//! Promises: a check is planned, carried out, settled and undone as a pod does it.
//! Never decides anything: the engine and the store under test do.

use std::sync::Arc;

use limiter_core::check::{GroupOutcome, Settled};
use limiter_core::share::Outlook;
use limiter_core::{EmbeddedStore, Engine, Facts, Plan, Request, RuleSet};
use sync_proto::WallTime;

const KEYS_MAX: usize = 1_000;
pub(crate) const PAY: [(&str, &str); 3] = [("user", "u1"), ("ip", "192.0.2.1"), ("route", "/pay")];

pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) store: EmbeddedStore,
    pub(crate) plan: Plan,
    pub(crate) outlook: Outlook,
    pub(crate) now: WallTime,
}

impl Bench {
    pub(crate) fn new(rules: &str) -> Self {
        let rules = RuleSet::parse("rules.yaml", rules, 42).unwrap();
        Self {
            engine: Engine::new(Arc::new(rules)),
            store: EmbeddedStore::new(1, KEYS_MAX),
            plan: Plan::default(),
            outlook: Outlook::alone(),
            now: WallTime::from_micros(1_796_083_200_000_000),
        }
    }

    pub(crate) fn plan(&mut self, facts: &[(&str, &str)], cost: u64) {
        let facts = Facts::new(facts.iter().copied()).unwrap();
        let request = Request {
            domain: "default",
            facts: &facts,
            cost,
        };
        self.engine
            .plan(self.now, request, self.outlook, &mut self.plan);
    }

    pub(crate) fn check(&mut self, facts: &[(&str, &str)], cost: u64) -> Settled {
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

    pub(crate) fn remaining(&self, settled: &Settled, id: &str) -> u64 {
        let found = settled
            .decision
            .policies
            .iter()
            .find(|policy| policy.rule.id.as_str() == id);
        found.unwrap().remaining
    }
}

pub(crate) fn decider(settled: &Settled) -> Option<&str> {
    settled.decision.decided_by.as_ref().map(|id| id.as_str())
}
