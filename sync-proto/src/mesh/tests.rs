//! What cannot be seen from outside: numbers that lost their meaning, and counters that are forgotten.

use super::*;
use crate::bounds::{OWN_COUNTER_IDLE_MAX, SHARED_COUNTER_IDLE_MAX};
use crate::ids::{Epoch, Incarnation, WindowId};
use crate::time::WallTime;

fn at(span: Span) -> Now {
    let mono = MonoTime::default().plus(span);
    Now {
        mono,
        wall: WallTime::from_micros(1_700_000_000_000_000).plus(span),
    }
}

fn secs(secs: u64) -> Now {
    at(Span::from_secs(secs))
}

fn mesh(name: &str, peer: &str) -> Mesh {
    let config = MeshConfig {
        region: RegionId::new(name).unwrap(),
        incarnation: Incarnation(1),
        tick: Span::from_secs(1),
        heartbeat: Span::from_millis(200),
        urgent_spacing: Span::from_millis(100),
        late_after: Span::from_millis(2_500),
        down_after: Span::from_secs(5),
        busy_linger: Span::from_secs(30),
    };
    let mut mesh = Mesh::new(config, secs(0));
    mesh.handle_membership(secs(0), PeerChange::Joined(RegionId::new(peer).unwrap()));
    mesh
}

fn pair() -> (Mesh, Mesh) {
    (mesh("mumbai", "sydney"), mesh("sydney", "mumbai"))
}

fn name(text: &str) -> CounterName {
    CounterName::new(text.as_bytes()).unwrap()
}

fn count(mesh: &mut Mesh, now: Now, text: &str, admitted: u64, busy: bool) {
    let usage = Usage {
        window: WindowId(1),
        epoch: Epoch(1),
        admitted,
        arrivals: 1,
    };
    mesh.record(
        now,
        &name(text),
        usage,
        Push {
            busy,
            tolerance: 1_000_000,
        },
    );
}

/// All frames of `from` are handed to `to`; how many there were.
fn pass(now: Now, from: &mut Mesh, to: &mut Mesh) -> usize {
    from.handle_timeout(now);
    let (mut frames, mut bytes) = (0, Vec::new());
    while from.poll_frame(now, &mut bytes).is_some() {
        to.handle_frame(now, &from.config.region, &bytes).unwrap();
        frames += 1;
    }
    frames
}

fn exchange(now: Now, a: &mut Mesh, b: &mut Mesh) {
    pass(now, a, b);
    pass(now, b, a);
}

fn heard(mesh: &Mesh, text: &str) -> Option<u64> {
    let view = mesh.view(&name(text))?;
    view.peers
        .first()
        .map(|part| part.cells.iter().map(|cell| cell.count).sum())
}

#[test]
fn a_number_that_lost_its_meaning_is_asked_for_again() {
    let (mut mumbai, mut sydney) = pair();
    count(&mut mumbai, secs(0), "a", 5, true);
    count(&mut mumbai, secs(0), "b", 6, true);
    (1..=2).for_each(|s| exchange(secs(s), &mut mumbai, &mut sydney));
    assert_eq!(mumbai.peers(secs(2))[0].pending, 0);

    sydney
        .sessions
        .values_mut()
        .for_each(|session| session.dictionary.clear());
    count(&mut mumbai, secs(2), "a", 9, true);
    exchange(secs(3), &mut mumbai, &mut sydney);
    assert_eq!(
        heard(&sydney, "a"),
        Some(5),
        "the number alone says nothing"
    );
    assert_eq!(
        mumbai.peers(secs(3))[0].pending,
        2,
        "everything is to be told again"
    );
    exchange(secs(4), &mut mumbai, &mut sydney);
    assert_eq!(
        (heard(&sydney, "a"), heard(&sydney, "b")),
        (Some(9), Some(6))
    );
    assert_eq!(mumbai.peers(secs(4))[0].pending, 0);
}

#[test]
fn idle_counters_are_forgotten_our_own_long_before_those_of_others() {
    let (mut mumbai, mut sydney) = pair();
    count(&mut mumbai, secs(0), "shared", 5, true);
    count(&mut sydney, secs(0), "own", 5, false);
    (1..=40).for_each(|s| exchange(secs(s), &mut mumbai, &mut sydney));
    assert_eq!(sydney.busy().count(), 0);
    let later = |idle: Span| at(idle.plus(Span::from_secs(60)));
    sydney.handle_timeout(later(OWN_COUNTER_IDLE_MAX));
    assert!(sydney.view(&name("own")).is_none());
    assert_eq!(heard(&sydney, "shared"), Some(5));
    sydney.handle_timeout(later(SHARED_COUNTER_IDLE_MAX));
    assert!(sydney.view(&name("shared")).is_none());
}

#[test]
fn a_silent_peer_costs_heartbeats_alone_until_it_is_heard_again() {
    let (mut mumbai, mut sydney) = pair();
    exchange(secs(1), &mut mumbai, &mut sydney);
    let mut lanes = Vec::new();
    for s in 2..30 {
        count(&mut mumbai, secs(s), "a", s, true);
        mumbai.handle_timeout(secs(s));
        let mut bytes = Vec::new();
        while let Some(transmit) = mumbai.poll_frame(secs(s), &mut bytes) {
            lanes.push((s, transmit.lane));
        }
    }
    assert!(lanes.contains(&(8, Lane::Tick)));
    assert!(
        lanes
            .iter()
            .filter(|(s, _)| *s > 9)
            .all(|(_, lane)| *lane == Lane::Heartbeat)
    );
    assert_eq!(mumbai.peers(secs(30))[0].state, PeerState::Down);

    let half = at(Span::from_millis(30_500));
    pass(half, &mut sydney, &mut mumbai);
    pass(half, &mut mumbai, &mut sydney);
    assert_eq!(
        heard(&sydney, "a"),
        Some(29),
        "what was missed does not wait for the tick"
    );
}

#[test]
fn events_that_nobody_polls_stay_bounded_and_a_bound_is_told_once() {
    let (mut mumbai, _) = pair();
    for _ in 0..EVENTS_MAX + 10 {
        mumbai.emit(MeshEvent::Refused("counters in the ledger"));
        mumbai.emit(MeshEvent::PeerRestarted(RegionId::new("sydney").unwrap()));
    }
    assert_eq!(mumbai.events.len(), EVENTS_MAX);
    let refused = |event: &&MeshEvent| matches!(event, MeshEvent::Refused(_));
    assert!(mumbai.events.iter().filter(refused).count() <= 2);
}
