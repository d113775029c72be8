//! Peers that are slow, silent, gone or new.

use sync_proto::{Epoch, MeshEvent, PeerChange, PeerState, Span, Usage, WindowId};

use crate::mesh_pair::{BUSY, name};
use crate::{HEALED, TICK, pair, setup};

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
