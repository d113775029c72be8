//! What three regions promise together, on seeds that differ: accuracy, exactness for a client of one region, healing.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use limiter_core::rule::Sharing;
use sim::scenario::{Cut, Scenario, presets};
use sim::{KeyOutcome, Outcome, run};
use sync_proto::Span;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

fn outcome(scenario: &Scenario, seed: u64) -> Outcome {
    let outcome = run(scenario, seed).expect("the scenario is sound");
    assert!(
        outcome.violations.is_empty(),
        "seed {seed}: {:#?}",
        outcome.violations
    );
    outcome
}

fn key<'a>(outcome: &'a Outcome, client: &str) -> &'a KeyOutcome {
    outcome
        .keys
        .iter()
        .find(|key| key.client == client)
        .expect("the client asked")
}

fn cut(scenario: &mut Scenario, region: &str, at_s: u64, heal_s: Option<u64>) {
    let (at, heal) = (Span::from_secs(at_s), heal_s.map(Span::from_secs));
    scenario.cuts.push(Cut {
        region: region.to_owned(),
        at,
        heal,
    });
}

#[test]
fn three_times_the_demand_gets_the_limit_in_every_window() {
    for seed in SEEDS {
        let outcome = outcome(&presets::three_regions(Sharing::Balanced), seed);
        let acme = key(&outcome, "acme");
        assert!(acme.windows.iter().filter(|window| window.complete).count() >= 4);
        for window in acme.windows.iter().filter(|window| window.complete) {
            assert!(window.asked > 2_700, "seed {seed}: {window:?}");
            assert!(
                (950..=1_050).contains(&window.allowed),
                "seed {seed}: {window:?}"
            );
            // The limit holds by what all use together: no region is starved, and none has it all.
            assert!(
                window.by_region.values().all(|allowed| *allowed > 0),
                "{window:?}"
            );
        }
    }
}

#[test]
fn a_client_of_one_region_gets_exactly_its_limit() {
    for seed in SEEDS {
        let outcome = outcome(&presets::three_regions(Sharing::Balanced), seed);
        for window in key(&outcome, "solo")
            .windows
            .iter()
            .filter(|window| window.complete)
        {
            assert_eq!(
                window.allowed,
                window.asked.min(1_000),
                "seed {seed}: {window:?}"
            );
        }
    }
}

#[test]
fn a_client_within_its_limit_is_never_turned_away() {
    for seed in SEEDS {
        let mut scenario = presets::three_regions(Sharing::Balanced);
        // 84 % of the limit: far enough below it that no window's chance reaches it.
        scenario.clients[0].per_1000s = vec![50_000, 25_000, 9_000];
        let outcome = outcome(&scenario, seed);
        for window in &key(&outcome, "acme").windows {
            assert!(
                window.asked < 1_000,
                "seed {seed}: the client is above its limit: {window:?}"
            );
            assert_eq!(window.allowed, window.asked, "seed {seed}: {window:?}");
        }
    }
}

#[test]
fn after_a_cut_all_is_known_within_two_ticks() {
    for seed in SEEDS {
        let mut scenario = presets::three_regions(Sharing::Balanced);
        cut(&mut scenario, "singapore", 20, Some(35));
        let outcome = outcome(&scenario, seed);
        let [heal] = outcome.heals.as_slice() else {
            panic!("one cut was healed")
        };
        let after = heal.known_after_ms.expect("it heals");
        assert!(after <= 2_000, "seed {seed}: known after {after} ms");
    }
}

#[test]
fn a_cut_lets_no_window_pass_its_bound() {
    for seed in SEEDS {
        let mut scenario = presets::three_regions(Sharing::Balanced);
        cut(&mut scenario, "singapore", 20, Some(45));
        let outcome = outcome(&scenario, seed);
        for window in key(&outcome, "acme")
            .windows
            .iter()
            .filter(|window| window.complete)
        {
            // At worst the limit, on top the part of the region that is cut off, and what was on its way.
            assert!(window.allowed <= 1_360, "seed {seed}: {window:?}");
        }
    }
}

#[test]
fn loss_and_doubling_neither_lose_nor_double_a_count() {
    for seed in SEEDS {
        let mut scenario = presets::three_regions(Sharing::Balanced);
        for link in &mut scenario.links {
            link.loss_permille = 200;
            link.duplicate_permille = 200;
        }
        scenario.timing.late_after = Span::from_secs(5);
        let outcome = outcome(&scenario, seed);
        for window in key(&outcome, "acme")
            .windows
            .iter()
            .filter(|window| window.complete)
        {
            assert!(
                (900..=1_100).contains(&window.allowed),
                "seed {seed}: {window:?}"
            );
        }
    }
}

#[test]
fn the_age_of_counts_is_at_most_a_tick_and_the_way() {
    let outcome = outcome(&presets::three_regions(Sharing::Balanced), 1);
    assert_eq!(outcome.lag_ms.len(), 6);
    for (pair, lag) in &outcome.lag_ms {
        assert!(lag.max <= 1_500, "{pair}: {lag:?}");
        assert!(lag.p50 > 0, "{pair}: {lag:?}");
    }
}

#[test]
fn a_count_that_is_overtaken_does_not_look_older_than_it_is() {
    for seed in SEEDS {
        let mut scenario = presets::three_regions(Sharing::Balanced);
        for link in &mut scenario.links {
            link.jitter = Span::from_millis(100);
        }
        let outcome = outcome(&scenario, seed);
        for (pair, lag) in &outcome.lag_ms {
            // A tick, the slowest way, and what the round trip is thought to be too much.
            assert!(lag.max <= 1_400, "seed {seed}, {pair}: {lag:?}");
        }
    }
}

#[test]
fn clocks_half_a_second_apart_cost_less_than_five_percent() {
    for seed in SEEDS {
        let mut scenario = presets::three_regions(Sharing::Balanced);
        scenario.regions[0].offset_us = 500_000;
        scenario.regions[2].offset_us = -500_000;
        let outcome = outcome(&scenario, seed);
        let acme = key(&outcome, "acme");
        assert!(acme.worst_over_permille < 50, "seed {seed}: {acme:#?}");
        assert!(acme.worst_under_permille < 50, "seed {seed}: {acme:#?}");
    }
}

#[test]
fn links_that_flap_break_no_invariant() {
    for seed in SEEDS {
        let mut scenario = presets::three_regions(Sharing::Balanced);
        for flap in 0..10 {
            cut(&mut scenario, "singapore", 5 + 4 * flap, Some(7 + 4 * flap));
        }
        let outcome = outcome(&scenario, seed);
        assert_eq!(outcome.heals.len(), 10);
        assert!(
            outcome
                .heals
                .iter()
                .all(|heal| heal.known_after_ms.is_some_and(|ms| ms <= 2_000))
        );
    }
}

#[test]
fn an_estimate_of_what_is_unknown_beats_known_counts_alone() {
    let worst = |sharing| {
        let outcomes = SEEDS.map(|seed| outcome(&presets::three_regions(sharing), seed));
        outcomes
            .map(|outcome| key(&outcome, "acme").worst_over_permille)
            .max()
    };
    assert!(worst(Sharing::Balanced) < worst(Sharing::Eager));
}
