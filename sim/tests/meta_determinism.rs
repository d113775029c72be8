//! The promise that everything else here rests on: one scenario and one seed have one outcome.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use limiter_core::rule::Sharing;
use sim::scenario::{Cut, Scenario, presets};
use sim::{Outcome, report, run};
use sync_proto::Span;

/// Everything that draws: jitter, loss, doubling, a cut, skewed clocks.
fn rough() -> Scenario {
    let mut scenario = presets::three_regions(Sharing::Balanced);
    scenario.traffic = Span::from_secs(25);
    for link in &mut scenario.links {
        link.loss_permille = 50;
        link.duplicate_permille = 50;
    }
    let heal = Some(Span::from_secs(15));
    scenario.cuts.push(Cut {
        region: "singapore".to_owned(),
        at: Span::from_secs(7),
        heal,
    });
    scenario
}

fn bytes(outcome: &Outcome) -> String {
    report::json(outcome).expect("an outcome is JSON") + &report::table(outcome)
}

#[test]
fn the_same_seed_gives_the_same_bytes_twice() {
    let first = run(&rough(), 7).expect("the scenario is sound");
    let second = run(&rough(), 7).expect("the scenario is sound");
    assert!(first.events > 10_000, "{} events", first.events);
    assert_eq!(bytes(&first), bytes(&second));
}

#[test]
fn threads_at_the_same_time_give_the_same_bytes() {
    let alone = bytes(&run(&rough(), 8).expect("the scenario is sound"));
    let together: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| bytes(&run(&rough(), 8).expect("the scenario is sound"))))
            .collect();
        runs.into_iter()
            .map(|run| run.join().expect("a run does not panic"))
            .collect()
    });
    assert_eq!(together, [alone.clone(), alone]);
}

#[test]
fn another_seed_goes_another_way() {
    let traces: Vec<String> = (1..=3)
        .map(|seed| run(&rough(), seed).expect("the scenario is sound").trace)
        .collect();
    assert!(traces[0] != traces[1] && traces[1] != traces[2] && traces[0] != traces[2]);
}

#[test]
fn a_draw_more_on_one_link_moves_no_arrival() {
    let mut lossy = rough();
    lossy.links[0].loss_permille = 300;
    let asked = |scenario: &Scenario| {
        let outcome = run(scenario, 9).expect("the scenario is sound");
        let windows = outcome.keys.into_iter().flat_map(|key| key.windows);
        windows
            .map(|window| (window.start_ms, window.asked))
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(&lossy), asked(&rough()));
}
