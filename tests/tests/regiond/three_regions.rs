//! Three regions of real processes, real Redis and real QUIC count together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tests::regions::{REGIONS, Regions};
use tests::wait::{poll_until, wait_until_equal};

/// A window so long that no test sees its end. A key is told of once more than a tenth of its limit is used.
const HOURLY: &str = "- id: hourly
  key: caller
  algorithm: fixed_window
  limit: 1000
  window: 2h
  sharing: balanced
";

#[tokio::test]
async fn what_one_region_takes_is_gone_in_all() {
    let regions = Regions::start(HOURLY).await;
    let facts = json!({"caller": "acme"});

    assert_eq!(regions.take(0, &facts, 200).await, 200);
    assert_eq!(regions.take(1, &facts, 20).await, 20);

    regions.wait_until_all_left(&facts, 780).await;
}

#[tokio::test]
async fn a_client_of_one_region_gets_exactly_its_limit() {
    let regions = Regions::start(HOURLY).await;
    let facts = json!({"caller": "solo"});

    assert_eq!(regions.take(2, &facts, 1_100).await, 1_000);
}

#[tokio::test]
async fn a_mesh_daemon_killed_and_restarted_loses_nothing_and_counts_nothing_twice() {
    let mut regions = Regions::start(HOURLY).await;
    let facts = json!({"caller": "acme"});
    assert_eq!(regions.take(0, &facts, 200).await, 200);
    assert_eq!(regions.take(1, &facts, 100).await, 100);
    regions.wait_until_all_left(&facts, 700).await;

    regions.regions[0].mesh.kill();
    assert_eq!(
        regions.take(0, &facts, 50).await,
        50,
        "the pod goes on without its daemon"
    );
    assert_eq!(
        regions.take(1, &facts, 30).await,
        30,
        "so do the other regions"
    );
    regions.regions[0].restart_mesh();

    regions.wait_until_heard().await;
    regions.wait_until_all_left(&facts, 620).await;
    assert_eq!(regions.take(2, &facts, 20).await, 20);
    regions.wait_until_all_left(&facts, 600).await;
}

#[tokio::test]
async fn a_flushed_store_forgets_nothing_that_others_need_and_wedges_nothing() {
    let regions = Regions::start(HOURLY).await;
    let facts = json!({"caller": "acme"});
    assert_eq!(regions.take(0, &facts, 200).await, 200);
    assert_eq!(regions.take(1, &facts, 100).await, 100);
    regions.wait_until_all_left(&facts, 700).await;

    let mut redis = regions.regions[0].redis.connection().expect("a connection");
    redis::cmd("FLUSHALL")
        .exec(&mut redis)
        .expect("it is flushed");

    assert_eq!(
        regions.take(0, &facts, 10).await,
        10,
        "the flushed region answers at once"
    );
    regions.wait_until_all_left(&facts, 690).await;
}

#[tokio::test]
async fn a_frozen_mesh_daemon_is_late_to_the_others_and_catches_up() {
    let regions = Regions::start(HOURLY).await;
    let facts = json!({"caller": "acme"});
    assert_eq!(regions.take(0, &facts, 200).await, 200);
    regions.wait_until_all_left(&facts, 800).await;

    regions.regions[2].mesh.signal("STOP");
    let seen = async || regions.peer_states(&regions.regions[0]).await.pop();
    let what = "singapore's state at mumbai";
    wait_until_equal(what, Duration::from_secs(10), Some("late".to_owned()), seen).await;
    assert_eq!(regions.take(0, &facts, 10).await, 10, "the survivors go on");
    assert_eq!(regions.take(1, &facts, 10).await, 10, "the survivors go on");
    assert_eq!(
        regions.take(2, &facts, 10).await,
        10,
        "the pod of the frozen daemon goes on"
    );
    regions.regions[2].mesh.signal("CONT");

    regions.wait_until_heard().await;
    regions.wait_until_all_left(&facts, 770).await;
}

/// Demand of three times the limit, 60/30/10: each complete window admits the limit, within 5%.
#[tokio::test]
async fn three_regions_hold_one_limit_under_three_times_the_demand() {
    const LIMIT: u64 = 500;
    const WINDOW_S: u64 = 5;
    let rules = format!(
        "- id: partner\n  key: caller\n  algorithm: fixed_window\n  limit: {LIMIT}\n  window: {WINDOW_S}s\n"
    );
    let regions = Regions::start(&rules).await;
    let facts = json!({"caller": "acme"});

    // The window's end as the pod tells it places each answer in its window.
    let windows: [AtomicU64; 3] = std::array::from_fn(|_| AtomicU64::new(0));
    let first_end = end_of_window(&regions, &facts).await;
    let traffic = (0..REGIONS.len()).map(|region| {
        let (regions, facts, windows) = (&regions, &facts, &windows);
        async move {
            let gap = Duration::from_micros([5_555, 11_111, 33_333][region]);
            let mut due = tokio::time::interval(gap);
            loop {
                due.tick().await;
                let answer = regions.check(region, facts, 1).await;
                let now_s = unix_seconds();
                let place = (now_s - first_end).div_euclid(WINDOW_S as f64);
                if place >= windows.len() as f64 {
                    return;
                }
                if place >= 0.0 && answer["allowed"] == true {
                    windows[place as usize].fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    futures_util::future::join_all(traffic).await;

    let admitted = windows.map(AtomicU64::into_inner);
    for total in admitted {
        let off_permille = total.abs_diff(LIMIT) * 1_000 / LIMIT;
        assert!(
            off_permille <= 50,
            "a window is off by {off_permille} per mille: {admitted:?}"
        );
    }
}

/// The Unix time at which the current window ends, from two answers around a change of `reset_s`.
async fn end_of_window(regions: &Regions, facts: &serde_json::Value) -> f64 {
    let reset = async || regions.check(0, facts, 1).await["policies"][0]["reset_s"].as_u64();
    let mut last = reset().await;
    let turned = poll_until(Duration::from_secs(10), async || {
        let now = unix_seconds();
        let left = reset().await;
        let before = std::mem::replace(&mut last, left);
        // One second less than a look ago: that many whole seconds are left.
        (left.map(|left| left + 1) == before).then_some(now + left.unwrap_or(0) as f64)
    });
    turned.await.expect("reset_s counts down")
}

fn unix_seconds() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("the clock is set").as_secs_f64()
}
