//! Whatever the network does, nobody counts twice, and once it heals everybody knows everything.
#![expect(clippy::unwrap_used, reason = "what fails here is the test")]

#[path = "convergence/busy.rs"]
mod busy;
#[path = "convergence/faults.rs"]
mod faults;
#[path = "support/mesh_pair.rs"]
mod mesh_pair;
#[path = "convergence/peers.rs"]
mod peers;
#[path = "support/setup.rs"]
mod setup;

use mesh_pair::{BUSY, Link, MeshRing, name};
use sync_proto::{Epoch, MeshEvent, Span, WindowId};

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
