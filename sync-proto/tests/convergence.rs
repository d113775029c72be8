//! Whatever the network does, nobody counts twice, and once it heals everybody knows everything.
#![expect(clippy::unwrap_used, reason = "what fails here is the test")]

#[path = "support/mesh_pair.rs"]
mod mesh_pair;
#[path = "support/setup.rs"]
mod setup;

use mesh_pair::{BUSY, Link, MeshRing, QUIET, name};
use sync_proto::{Epoch, MeshEvent, PeerChange, PeerState, Push, Span, Usage, WindowId};

const TICK: Span = Span::from_secs(1);
const HEALED: Span = Span::from_millis(2_100);

fn pair(delay_ms: u64) -> MeshRing {
    MeshRing::new(&["mumbai", "singapore"], Link::steady(delay_ms), 1)
}

#[test]
fn a_count_is_known_everywhere_within_a_tick_and_a_delay() {
    let mut ring = pair(30);
    let key = name("login/a");
    ring.run(TICK);
    ring.count(0, &key, 10, 5, BUSY);
    ring.count(1, &key, 10, 7, BUSY);
    ring.count(0, &key, 10, 2, BUSY);
    ring.run(Span::from_millis(1_040));
    assert_eq!((ring.known(0, &key, 10), ring.known(1, &key, 10)), (14, 14));
    let events = ring.events(1);
    assert!(events.contains(&MeshEvent::CounterChanged(key.clone())));
    assert_eq!(ring.mesh(1).busy().collect::<Vec<_>>(), [&key]);
}

#[test]
fn after_any_faults_all_views_are_the_truth_two_ticks_after_the_network_heals() {
    for seed in 1..=40 {
        let faulty = Link {
            delay: Span::from_millis(20),
            jitter: Span::from_millis(400),
            lost_percent: 30,
            doubled_percent: 30,
        };
        let mut ring = MeshRing::new(&["mumbai", "singapore", "sydney"], faulty, seed);
        let keys: Vec<_> = (0..8).map(|key| name(&format!("api/{key}"))).collect();
        for step in 0..200_u64 {
            let (node, key) = (ring.draw(3) as usize, ring.draw(8) as usize);
            let window = 10 + step / 80;
            let (units, busy) = (1 + ring.draw(9), ring.draw(3) > 0);
            let tolerance = 1 + ring.draw(30);
            let epoch = Epoch(ring.draw(40) / 39 + window);
            let cell = (WindowId(window), epoch);
            ring.count_in_epoch(node, &keys[key], cell, units, Push { busy, tolerance });
            match ring.draw(60) {
                0 => ring.cut(node, (node + 1) % 3),
                1 => ring.heal(),
                2 => {
                    ring.restart(node);
                    ring.record_again(node);
                }
                _ => {}
            }
            let pause = ring.draw(200);
            ring.run(Span::from_millis(pause));
        }
        ring.heal();
        ring.link = Link::steady(20);
        // Pods report what is in use; a counter that was never busy since a restart need not travel.
        (0..3).for_each(|node| ring.record_again(node));
        ring.run(Span::from_millis(400));
        ring.run(HEALED);
        for key in &keys {
            for window in [11, 12] {
                for node in 0..3 {
                    let (known, truth) = (ring.known(node, key, window), ring.truth(key, window));
                    assert_eq!(
                        known, truth,
                        "seed {seed}, node {node}, {key:?}, window {window}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_restarted_daemon_is_told_everything_again() {
    let mut ring = pair(30);
    let key = name("login/a");
    ring.count(0, &key, 10, 5, BUSY);
    ring.run(HEALED);
    ring.restart(1);
    assert_eq!(ring.known(1, &key, 10), 0);
    ring.run(HEALED);
    assert_eq!(ring.known(1, &key, 10), 5);
    let moved = |event: &MeshEvent| matches!(event, MeshEvent::PeerRestarted(_));
    assert!(ring.events(0).iter().any(moved));
}

#[test]
fn a_restarted_daemon_that_is_told_less_by_its_pods_takes_nothing_back() {
    let mut ring = pair(30);
    let key = name("login/a");
    ring.count(0, &key, 10, 50, BUSY);
    ring.run(HEALED);
    ring.restart(0);
    let usage = Usage {
        window: WindowId(10),
        epoch: Epoch(10),
        admitted: 20,
        arrivals: 0,
    };
    ring.record(0, &key, usage, BUSY);
    ring.run(HEALED);
    assert_eq!(ring.known(1, &key, 10), 50);
}

#[test]
fn epochs_of_a_flushed_store_add_up() {
    let mut ring = pair(30);
    let key = name("login/a");
    ring.count_in_epoch(0, &key, (WindowId(10), Epoch(1)), 40, BUSY);
    ring.run(HEALED);
    ring.count_in_epoch(0, &key, (WindowId(10), Epoch(2)), 3, BUSY);
    ring.run(HEALED);
    assert_eq!((ring.known(0, &key, 10), ring.known(1, &key, 10)), (43, 43));
}

#[test]
fn a_counter_without_windows_travels_like_any_other() {
    let mut ring = pair(30);
    let key = name("bucket/a");
    for _ in 0..5 {
        ring.count_in_epoch(0, &key, (WindowId::ENDLESS, Epoch(77)), 8, BUSY);
        ring.run(TICK);
    }
    ring.run(TICK);
    assert_eq!(ring.known(1, &key, 0), 40);
}

#[test]
fn a_quiet_counter_travels_only_once_a_peer_says_that_it_is_busy() {
    let mut ring = pair(30);
    let key = name("login/a");
    ring.count(0, &key, 10, 9, QUIET);
    ring.run(HEALED);
    assert_eq!(ring.known(1, &key, 10), 0);
    ring.count(1, &key, 10, 90, BUSY);
    ring.run(HEALED);
    ring.run(TICK);
    assert_eq!((ring.known(0, &key, 10), ring.known(1, &key, 10)), (99, 99));
}

#[test]
fn two_quiet_users_do_not_keep_each_other_busy() {
    let mut ring = pair(30);
    let key = name("login/a");
    ring.count(0, &key, 10, 90, BUSY);
    for _ in 0..70 {
        ring.count(0, &key, 10, 1, QUIET);
        ring.count(1, &key, 10, 1, QUIET);
        ring.run(TICK);
    }
    assert_eq!(ring.mesh(0).busy().count() + ring.mesh(1).busy().count(), 0);
    let known = ring.known(1, &key, 10);
    assert!(known < ring.truth(&key, 10), "quiet counts are not told");
    assert_eq!(
        ring.estimate(1, 0, &key, 10),
        known - 70,
        "nobody goes on with a pace that is not told any more"
    );
    ring.count(0, &key, 10, 1, BUSY);
    ring.run(HEALED);
    ring.run(TICK);
    assert_eq!(ring.known(1, &key, 10), ring.truth(&key, 10));
}

#[test]
fn a_departure_above_the_tolerance_does_not_wait_for_the_tick() {
    let mut ring = pair(30);
    let key = name("login/a");
    let push = Push {
        busy: true,
        tolerance: 10,
    };
    ring.count(0, &key, 10, 1, push);
    ring.run(Span::from_millis(4_500));
    let sent = ring.urgent_frames;
    ring.count(0, &key, 10, 5, push);
    ring.run(Span::from_millis(40));
    assert_eq!((ring.known(1, &key, 10), ring.urgent_frames), (1, sent));
    ring.count(0, &key, 10, 5, push);
    ring.run(Span::from_millis(40));
    assert_eq!(
        (ring.known(1, &key, 10), ring.urgent_frames),
        (11, sent + 1)
    );
    // The next one waits for the spacing, and no longer.
    ring.count(0, &key, 10, 20, push);
    ring.run(Span::from_millis(40));
    assert_eq!(ring.known(1, &key, 10), 11);
    ring.run(Span::from_millis(60));
    assert_eq!(ring.known(1, &key, 10), 31);
}

#[test]
fn a_used_up_window_stops_what_the_others_assume() {
    let mut ring = pair(30);
    let key = name("login/a");
    let push = Push {
        busy: true,
        tolerance: 5,
    };
    for _ in 0..20 {
        ring.count(0, &key, 10, 10, push);
        ring.run(Span::from_millis(100));
    }
    assert!(
        ring.estimate(1, 0, &key, 10) >= 190,
        "{}",
        ring.estimate(1, 0, &key, 10)
    );
    let usage = Usage {
        window: WindowId(10),
        epoch: Epoch(10),
        admitted: 200,
        arrivals: 10,
    };
    for _ in 0..5 {
        ring.record(0, &key, usage, push);
        ring.run(Span::from_millis(100));
    }
    for _ in 0..30 {
        ring.record(0, &key, usage, push);
        ring.run(Span::from_millis(100));
        assert!(
            ring.estimate(1, 0, &key, 10) <= 205,
            "{}",
            ring.estimate(1, 0, &key, 10)
        );
    }
}

#[test]
fn an_idle_counter_is_not_assumed_to_go_on() {
    let mut ring = pair(30);
    let key = name("login/a");
    for _ in 0..30 {
        ring.count(0, &key, 10, 10, BUSY);
        ring.run(Span::from_millis(100));
    }
    ring.run(Span::from_secs(6));
    assert_eq!(ring.estimate(1, 0, &key, 10), 300);
}

#[test]
fn lag_stays_under_a_tick_and_a_round_trip_and_grows_while_cut_off() {
    let mut ring = pair(30);
    let key = name("login/a");
    ring.run(Span::from_secs(3));
    for _ in 0..100 {
        ring.count(0, &key, 10, 1, BUSY);
        ring.run(Span::from_millis(50));
        let status = ring.status(1, 0).unwrap();
        assert!(status.lag.unwrap() < Span::from_millis(1_300), "{status:?}");
        assert_eq!(status.state, PeerState::Fresh);
    }
    let status = ring.status(1, 0).unwrap();
    assert!(
        status.rtt.unwrap().as_micros().abs_diff(60_000) < 5_000,
        "{status:?}"
    );
    assert!(
        status.skew_us.unwrap().abs_diff(-777_000) < 5_000,
        "{status:?}"
    );
    let known = ring.known(1, &key, 10);
    assert!(known >= 80);
    ring.cut(0, 1);
    ring.run(Span::from_secs(4));
    let lag = ring.status(1, 0).unwrap().lag.unwrap();
    assert!(
        lag >= Span::from_secs(4) && lag < Span::from_millis(5_300),
        "{lag}"
    );
    assert_eq!(ring.state(1, 0), PeerState::Late);
    ring.run(Span::from_secs(6));
    assert_eq!(ring.state(1, 0), PeerState::Down);
    assert_eq!(ring.known(1, &key, 10), known, "what was known stays known");
    ring.heal();
    ring.run(HEALED);
    assert!(ring.status(1, 0).unwrap().lag.unwrap() < Span::from_millis(1_300));
    let states = ring.events(1).into_iter().filter_map(|event| match event {
        MeshEvent::PeerMoved { to, .. } => Some(to),
        _ => None,
    });
    assert_eq!(
        states.collect::<Vec<_>>(),
        [
            PeerState::Fresh,
            PeerState::Late,
            PeerState::Down,
            PeerState::Fresh
        ]
    );
}

#[test]
fn a_region_that_left_is_sent_nothing_and_keeps_its_counts() {
    let mut ring = pair(30);
    let key = name("login/a");
    ring.count(0, &key, 10, 5, BUSY);
    ring.run(HEALED);
    ring.flush(0);
    ring.run(Span::from_millis(10));
    ring.change(1, PeerChange::Left(setup::region("mumbai")));
    ring.run(TICK);
    assert_eq!(
        ring.status(1, 0),
        None,
        "a frame on its way does not bring it back"
    );
    assert_eq!(ring.known(1, &key, 10), 5);
    assert_eq!(
        ring.mesh(1).view(&key).unwrap().peers[0].state,
        PeerState::Down
    );
    ring.change(1, PeerChange::Joined(setup::region("mumbai")));
    ring.count(0, &key, 10, 1, BUSY);
    ring.run(HEALED);
    assert_eq!(
        (ring.known(1, &key, 10), ring.state(1, 0)),
        (6, PeerState::Fresh)
    );
}

#[test]
fn a_flush_sends_at_once_what_would_have_waited_for_the_tick() {
    let mut ring = pair(30);
    let key = name("login/a");
    ring.count(0, &key, 10, 1, BUSY);
    ring.run(Span::from_millis(1_500));
    ring.count(0, &key, 10, 6, BUSY);
    ring.flush(0);
    ring.run(Span::from_millis(31));
    assert_eq!(ring.known(1, &key, 10), 7);
}

#[test]
fn ten_thousand_counters_travel_in_many_frames_and_are_all_acknowledged() {
    let mut ring = pair(30);
    let keys: Vec<_> = (0..10_000)
        .map(|key| name(&format!("client/{key:032}")))
        .collect();
    for key in &keys {
        ring.count(0, key, 10, 3, BUSY);
    }
    assert_eq!(ring.status(0, 1).unwrap().pending, 10_000);
    ring.run(Span::from_millis(1_500));
    assert_eq!(ring.status(0, 1).unwrap().pending, 0);
    assert!(keys.iter().all(|key| ring.known(1, key, 10) == 3));
    let before = ring.status(0, 1).unwrap().sent_bytes;
    for key in &keys {
        ring.count(0, key, 10, 1_000, BUSY);
    }
    ring.run(Span::from_millis(1_000));
    let sent = ring.status(0, 1).unwrap().sent_bytes - before;
    assert!(keys.iter().all(|key| ring.known(1, key, 10) == 1_003));
    assert!(
        sent < 160_000,
        "{sent} bytes for 10 000 counters and their new paces"
    );
}
