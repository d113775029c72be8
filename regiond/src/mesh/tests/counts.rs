//! Counts of one region in another's store, by way of whole daemons.

use std::sync::Arc;
use std::time::Duration;

use limiter_core::check::{Engine, Plan, Request};
use limiter_core::facts::Facts;
use limiter_core::rule::RuleSet;
use limiter_core::share::{Outlook, UsageEntry, UsageReport};
use limiter_core::store::TakeReply;

use super::daemon::{Region, regions};
use super::within;

/// `eager`: what another region is taken to have used is what it is known to have used.
const RULES: &str = "
rules:
  - id: counted
    match: {}
    key: user
    algorithm: fixed_window
    limit: 20
    window: 1h
    sharing: eager
";

const OUTLOOK: Outlook = Outlook {
    regions: 2,
    rank: 0,
    fresh: true,
    majority: true,
    pods: 1,
};

/// A pod of one region, as far as counting goes.
struct Pod<'a> {
    region: &'a Region,
    engine: Engine,
}

impl<'a> Pod<'a> {
    fn new(region: &'a Region, rules: &Arc<RuleSet>) -> Self {
        Self {
            region,
            engine: Engine::new(rules.clone()),
        }
    }

    /// Takes `cost` units, and reports what the store said.
    async fn take(&self, cost: u64) -> TakeReply {
        let facts = Facts::new([("user", "ada")]).unwrap();
        let mut plan = Plan::default();
        let request = Request {
            domain: "default",
            facts: &facts,
            cost,
        };
        self.engine
            .plan(self.region.clock.wall(), request, OUTLOOK, &mut plan);
        let replies = self.region.store.take(&plan).await;
        let reply = replies[0].as_ref().unwrap().takes[0];
        let entry = UsageEntry {
            name: plan.rules[0].hit.counter().unwrap(),
            window: reply.window,
            epoch: reply.epoch,
            admitted: reply.admitted,
            arrivals: cost,
        };
        let report = UsageReport {
            entries: vec![entry],
        };
        self.region.mesh.report(1, report).await.unwrap();
        reply
    }

    /// Waits until this region's store counts exactly `units` of the others.
    async fn until_others_used(&self, units: u64) {
        let mut look = tokio::time::interval(Duration::from_millis(20));
        within(async {
            while self.take(0).await.remote != units {
                look.tick().await;
            }
        })
        .await;
    }
}

fn rules() -> Arc<RuleSet> {
    Arc::new(RuleSet::parse("rules.yaml", RULES, 1).unwrap())
}

#[tokio::test]
async fn what_one_region_admits_is_counted_in_the_others_stores() {
    let rules = rules();
    let regions = regions(["mumbai", "singapore", "virginia"], &rules);
    let [mumbai, singapore, virginia] = regions.each_ref().map(|region| Pod::new(region, &rules));

    assert!(mumbai.take(7).await.allowed);
    assert!(virginia.take(4).await.allowed);

    singapore.until_others_used(11).await;
    mumbai.until_others_used(4).await;
    assert!(!singapore.take(10).await.allowed);
    assert!(singapore.take(9).await.allowed);
}

#[tokio::test]
async fn counts_of_both_sides_of_a_cut_meet_after_healing() {
    let rules = rules();
    let regions = regions(["mumbai", "singapore"], &rules);
    let [mumbai, singapore] = regions.each_ref().map(|region| Pod::new(region, &rules));
    mumbai.take(3).await;
    singapore.until_others_used(3).await;

    mumbai.region.connect(singapore.region, false);
    assert!(mumbai.take(4).await.allowed);
    assert!(singapore.take(6).await.allowed);
    mumbai.region.connect(singapore.region, true);

    singapore.until_others_used(7).await;
    mumbai.until_others_used(6).await;
}

#[tokio::test]
async fn the_last_counts_leave_with_a_daemon_that_stops() {
    let rules = rules();
    let regions = regions(["mumbai", "singapore"], &rules);
    let [mumbai, singapore] = regions.each_ref().map(|region| Pod::new(region, &rules));
    mumbai.take(3).await;
    singapore.until_others_used(3).await;

    mumbai.take(5).await;
    within(mumbai.region.mesh.stop()).await;

    singapore.until_others_used(8).await;
}
