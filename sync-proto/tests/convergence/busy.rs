//! Which counters travel, when they do not wait for the tick, and what others may assume of them.

use sync_proto::{Epoch, Push, Span, Usage, WindowId};

use crate::mesh_pair::{BUSY, QUIET, name};
use crate::{HEALED, TICK, pair};

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
