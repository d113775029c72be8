//! Three regions in virtual time: how near the limit they stay together, and what a cut, a flush and a restart do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod world;

use world::World;

const NAMES: [&str; 3] = ["hyderabad", "mumbai", "singapore"];
const WINDOW: &str = "- { id: w, key: key, algorithm: fixed_window, limit: 1000, window: 10s }";
const BUCKET: &str = "- { id: b, key: key, algorithm: token_bucket, rate_per_s: 100, burst: 100 }";
const GCRA: &str = "- { id: b, key: key, algorithm: gcra, rate_per_s: 100, burst: 100 }";

/// A steady demand: so many requests per second in each region, evenly spread.
fn demand(per_s: [u64; 3]) -> impl FnMut(&mut World, u64) {
    move |world, ms| {
        for (region, per_s) in per_s.into_iter().enumerate() {
            for _ in ms * per_s / 1_000..(ms + 1) * per_s / 1_000 {
                world.check(region);
            }
        }
    }
}

/// The windows that began and ended while there was demand.
fn whole_windows(world: &World) -> Vec<u64> {
    let totals: Vec<_> = world.totals().into_values().collect();
    totals[1..totals.len() - 1].to_vec()
}

#[test]
fn three_overloaded_regions_keep_to_one_limit_together() {
    let mut world = World::new(&NAMES, WINDOW);
    world.run_ms(65_000, demand([180, 90, 30]));
    let windows = whole_windows(&world);
    assert!(windows.len() >= 5, "{windows:?}");
    for total in &windows {
        assert!(
            (980..=1_020).contains(total),
            "within two percent of 1000: {windows:?}"
        );
    }
}

#[test]
fn the_first_window_of_a_new_key_is_held_too() {
    let mut world = World::new(&NAMES, WINDOW);
    world.run_ms(30_000, demand([180, 90, 30]));
    let first = *world.totals().values().next().unwrap();
    assert!(first <= 1_050, "{first}");
}

#[test]
fn three_regions_under_the_limit_are_never_refused() {
    let mut world = World::new(&NAMES, WINDOW);
    let mut refused = 0;
    world.run_ms(60_000, |world, ms| {
        for (region, every_ms) in [(0, 20), (1, 40), (2, 100)] {
            if ms % every_ms == 0 && !world.check(region) {
                refused += 1;
            }
        }
    });
    assert_eq!(refused, 0, "85 of 100 per second");
}

#[test]
fn a_bucket_is_refilled_once_for_all_regions() {
    for rule in [BUCKET, GCRA] {
        let mut world = World::new(&NAMES, rule);
        world.run_ms(60_000, demand([180, 90, 30]));
        let total: u64 = world.totals().values().sum();
        let exact = 100 * 60 + 100;
        assert!(total * 100 <= exact * 105, "{total} of {exact}: {rule}");
        assert!(total * 100 >= exact * 95, "{total} of {exact}: {rule}");
    }
}

#[test]
fn a_bucket_in_use_below_its_rate_refuses_nobody() {
    let mut world = World::new(&NAMES, BUCKET);
    let mut refused = 0;
    world.run_ms(60_000, |world, ms| {
        for (region, every_ms) in [(0, 20), (1, 40), (2, 100)] {
            if ms % every_ms == 0 && !world.check(region) {
                refused += 1;
            }
        }
    });
    assert_eq!(refused, 0, "85 of 100 per second");
}

#[test]
fn a_client_of_one_region_has_exactly_its_limit() {
    let mut world = World::new(&NAMES, WINDOW);
    world.run_ms(65_000, demand([0, 300, 0]));
    let windows = whole_windows(&world);
    assert!(windows.iter().all(|total| *total == 1_000), "{windows:?}");
}

#[test]
fn a_client_that_comes_back_after_a_pause_has_its_limit_again() {
    let mut world = World::new(&NAMES, WINDOW);
    world.run_ms(20_000, demand([180, 90, 30]));
    world.run_ms(60_000, |_, _| {});
    world.admitted.clear();
    world.run_ms(35_000, demand([0, 0, 2_000]));
    let windows = whole_windows(&world);
    assert!(windows.iter().all(|total| *total == 1_000), "{windows:?}");
}

#[test]
fn a_region_that_is_cut_off_keeps_its_part_and_the_others_go_on() {
    let mut world = World::new(&NAMES, WINDOW);
    world.run_ms(20_000, demand([180, 90, 130]));
    world.cut(2);
    world.run_ms(15_000, demand([180, 90, 130]));
    world.admitted.clear();
    world.run_ms(65_000, demand([180, 90, 130]));
    let (first, last) = ends(&world);
    for ((region, window), units) in &world.admitted {
        if *region == 2 && *window != first && *window != last {
            assert_eq!(*units, 333, "the part of the region that hears nobody");
        }
    }
    let majority = |window| {
        (0..2)
            .filter_map(|r| world.admitted.get(&(r, window)))
            .sum::<u64>()
    };
    let windows = world
        .totals()
        .into_keys()
        .filter(|w| *w != first && *w != last);
    for units in windows.map(majority) {
        assert!(
            (980..=1_020).contains(&units),
            "the majority has taken the rest back: {units}"
        );
    }
}

#[test]
fn where_nothing_is_taken_back_a_cut_never_exceeds_the_limit() {
    let rule = WINDOW.replace(" }", ", on_partition: hold }");
    let mut world = World::new(&NAMES, &rule);
    world.run_ms(20_000, demand([180, 90, 130]));
    world.cut(2);
    world.run_ms(15_000, demand([180, 90, 130]));
    world.admitted.clear();
    world.run_ms(65_000, demand([180, 90, 130]));
    for total in whole_windows(&world) {
        assert!((980..=1_020).contains(&total), "{total}");
    }
}

#[test]
fn regions_that_all_hear_nobody_stay_within_the_limit_together() {
    let mut world = World::new(&NAMES, WINDOW);
    world.run_ms(20_000, demand([180, 180, 180]));
    world.cut(0);
    world.cut(1);
    world.run_ms(15_000, demand([180, 180, 180]));
    world.admitted.clear();
    world.run_ms(65_000, demand([180, 180, 180]));
    for total in whole_windows(&world) {
        assert_eq!(total, 1_000);
    }
    world.heal();
    world.run_ms(20_000, demand([180, 90, 30]));
    world.admitted.clear();
    world.run_ms(45_000, demand([180, 90, 30]));
    for total in whole_windows(&world) {
        assert!((980..=1_020).contains(&total), "{total}");
    }
}

#[test]
fn a_flushed_store_is_told_again_what_it_forgot() {
    let mut world = World::new(&NAMES, WINDOW);
    world.run_ms(22_000, demand([180, 90, 30]));
    for _ in 0..4 {
        world.flush_store(0);
        world.run_ms(11_300, demand([180, 90, 30]));
    }
    for total in whole_windows(&world) {
        assert!((950..=1_050).contains(&total), "{:?}", world.totals());
    }
}

#[test]
fn a_flushed_store_does_not_forget_a_bucket() {
    let mut world = World::new(&NAMES, BUCKET);
    world.run_ms(20_000, demand([180, 90, 30]));
    world.admitted.clear();
    world.flush_store(0);
    world.run_ms(40_000, demand([180, 90, 30]));
    let total: u64 = world.totals().values().sum();
    assert!((3_800..=4_200).contains(&total), "{total} of 4000");
}

#[test]
fn a_restarted_daemon_counts_nothing_twice() {
    let mut world = World::new(&NAMES, WINDOW);
    world.run_ms(22_000, demand([180, 90, 30]));
    for region in [0, 1, 2, 0] {
        world.restart_daemon(region);
        world.run_ms(11_300, demand([180, 90, 30]));
    }
    for total in whole_windows(&world) {
        assert!((950..=1_050).contains(&total), "{:?}", world.totals());
    }
}

#[test]
fn a_region_alone_folds_nothing() {
    let mut world = World::new(&["mumbai"], WINDOW);
    world.run_ms(25_000, |world, _| {
        world.check(0);
    });
    assert_eq!(world.folds, 0);
    assert!(whole_windows(&world).iter().all(|total| *total == 1_000));
}

/// The first and the last window with demand, which may not be whole.
fn ends(world: &World) -> (sync_proto::WindowId, sync_proto::WindowId) {
    let totals = world.totals();
    (
        *totals.keys().next().unwrap(),
        *totals.keys().next_back().unwrap(),
    )
}
