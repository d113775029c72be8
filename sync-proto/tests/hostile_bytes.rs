//! Bytes of a broken or hostile peer: an error or nothing, never a panic, and never another region's counts.
#![expect(clippy::unwrap_used, reason = "what fails here is the test")]

#[path = "support/setup.rs"]
mod setup;

use proptest::prelude::*;
use setup::{config, region};
use sync_proto::bounds::{FRAME_BYTES_MAX, PEERS_MAX};
use sync_proto::{
    CounterName, Epoch, FrameError, Mesh, MeshEvent, Now, PeerChange, Push, Span, Usage, WindowId,
};

fn at(millis: u64) -> Now {
    setup::read(millis * 1_000, Span::ZERO)
}

fn key(number: u64) -> CounterName {
    CounterName::new(format!("login/{number}").as_bytes()).unwrap()
}

fn mesh(name: &str) -> Mesh {
    Mesh::new(config(&region(name), 7), at(0))
}

fn record(mesh: &mut Mesh, now: Now, number: u64, admitted: u64) {
    let usage = Usage {
        window: WindowId(10),
        epoch: Epoch(12),
        admitted,
        arrivals: admitted,
    };
    mesh.record(
        now,
        &key(number),
        usage,
        Push {
            busy: true,
            tolerance: 1_000,
        },
    );
}

/// Frames that `name` sends to mumbai: a tick with three counters, and a heartbeat.
fn frames_of(name: &str) -> Vec<Vec<u8>> {
    let mut sender = mesh(name);
    sender.handle_membership(at(0), PeerChange::Joined(region("mumbai")));
    for number in 0..3 {
        record(&mut sender, at(10), number, 100 + number);
    }
    let (mut frames, mut bytes) = (Vec::new(), Vec::new());
    for millis in [1_000, 1_300] {
        sender.handle_timeout(at(millis));
        while sender.poll_frame(at(millis), &mut bytes).is_some() {
            frames.push(bytes.clone());
        }
    }
    frames
}

/// Mumbai, which counted itself and heard sydney.
fn receiver() -> Mesh {
    let mut mumbai = mesh("mumbai");
    for number in 0..3 {
        record(&mut mumbai, at(10), number, 40 + number);
    }
    for frame in frames_of("sydney") {
        mumbai
            .handle_frame(at(1_400), &region("sydney"), &frame)
            .unwrap();
    }
    mumbai
}

/// What mumbai knows of itself and of sydney.
fn known(mesh: &Mesh) -> Vec<(u64, u64)> {
    let count = |number| {
        let view = mesh.view(&key(number)).unwrap();
        let sydney = view
            .peers
            .iter()
            .find(|part| part.region.as_str() == "sydney");
        let sum = |cells: &[sync_proto::Cell]| cells.iter().map(|cell| cell.count).sum();
        (
            sum(view.own.unwrap().cells),
            sydney.map_or(0, |part| sum(part.cells)),
        )
    };
    (0..3).map(count).collect()
}

/// Gives the bytes to mumbai as if from singapore, and everything mumbai then does is done.
fn assert_harmless(bytes: &[u8]) {
    let mut mumbai = receiver();
    let before = known(&mumbai);
    let result = mumbai.handle_frame(at(1_500), &region("singapore"), bytes);
    assert_eq!(known(&mumbai), before, "{result:?}");
    let mut buf = Vec::new();
    for millis in [1_500, 2_000, 3_000, 70_000] {
        mumbai.handle_timeout(at(millis));
        while mumbai.poll_frame(at(millis), &mut buf).is_some() {
            assert!(buf.len() <= FRAME_BYTES_MAX);
        }
        while mumbai.poll_event().is_some() {}
        mumbai.peers(at(millis));
    }
    assert_eq!(known(&mumbai), before);
}

#[test]
fn a_real_frame_is_applied() {
    let mut mumbai = receiver();
    assert_eq!(known(&mumbai), [(40, 100), (41, 101), (42, 102)]);
    for frame in frames_of("singapore") {
        mumbai
            .handle_frame(at(1_500), &region("singapore"), &frame)
            .unwrap();
    }
    assert_eq!(mumbai.view(&key(1)).unwrap().peers.len(), 2);
}

#[test]
fn every_truncation_is_refused_and_counted() {
    for frame in frames_of("singapore") {
        for len in 0..frame.len() {
            assert_harmless(&frame[..len]);
            let mut mumbai = receiver();
            mumbai.handle_membership(at(1_450), PeerChange::Joined(region("singapore")));
            let result = mumbai.handle_frame(at(1_500), &region("singapore"), &frame[..len]);
            assert!(
                matches!(result, Err(FrameError::Malformed { .. })),
                "{len}: {result:?}"
            );
            let peers = mumbai.peers(at(1_500));
            assert_eq!(peers[0].refused_frames, 1);
            assert_eq!((peers[0].received_bytes, peers[1].refused_frames), (0, 0));
        }
    }
}

#[test]
fn every_flipped_byte_is_harmless() {
    for frame in frames_of("singapore") {
        for place in 0..frame.len() {
            for flip in [0x01, 0x10, 0x7f, 0x80, 0xff] {
                let mut bytes = frame.clone();
                bytes[place] ^= flip;
                assert_harmless(&bytes);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_harmless(&bytes);
        assert_harmless(&[&[1], bytes.as_slice()].concat());
    }

    #[test]
    fn any_splice_of_real_frames_is_harmless(
        cut in 0..200_usize, skip in 0..200_usize, filler in prop::collection::vec(any::<u8>(), 0..12)
    ) {
        let frames = frames_of("singapore");
        let (first, second) = (&frames[0], &frames[frames.len() - 1]);
        let front = &first[..cut.min(first.len())];
        let back = &second[skip.min(second.len())..];
        assert_harmless(&[front, &filler, back].concat());
        let tail = &first[skip.min(first.len())..];
        assert_harmless(&[front, &filler, tail].concat());
    }
}

#[test]
fn a_frame_that_speaks_for_another_region_is_refused() {
    let mut mumbai = receiver();
    let before = known(&mumbai);
    let frame = &frames_of("sydney")[0];
    let (claimed, sender) = (region("sydney"), region("singapore"));
    assert_eq!(
        mumbai.handle_frame(at(1_500), &sender, frame),
        Err(FrameError::WrongRegion {
            claimed,
            sender: sender.clone()
        })
    );
    assert_eq!(known(&mumbai), before);
    let own = region("mumbai");
    let frame = &frames_of("mumbai-2")[0];
    assert_eq!(
        mumbai.handle_frame(at(1_500), &own, frame),
        Err(FrameError::OwnRegion(own))
    );
}

#[test]
fn an_oversized_frame_is_refused_before_it_is_read() {
    let bytes = FRAME_BYTES_MAX + 1;
    let result = receiver().handle_frame(at(1_500), &region("singapore"), &vec![0x93; bytes]);
    assert_eq!(result, Err(FrameError::Oversized { bytes }));
}

#[test]
fn deep_nesting_and_false_lengths_are_refused() {
    let real = frames_of("singapore").remove(0);
    let nested = [&real[..1], &[0x91; 5_000]].concat();
    assert_harmless(&nested);
    // An array, a map, a string and bytes that claim four billion items.
    for claim in [0xdd, 0xdf, 0xdb, 0xc6] {
        assert_harmless(&[1, claim, 0xff, 0xff, 0xff, 0xff]);
        assert_harmless(&[1, 0x9c, claim, 0xff, 0xff, 0xff, 0xff]);
    }
    // One field more than is known, nested deeper than anything may be.
    let mut bytes = real;
    bytes[1] += 1;
    bytes.extend([0x91; 5_000]);
    let result = receiver().handle_frame(at(1_500), &region("singapore"), &bytes);
    assert_eq!(result, Err(FrameError::Malformed { what: "header" }));
}

#[test]
fn one_region_too_many_is_refused_and_told() {
    let mut mumbai = mesh("mumbai");
    for number in 0..PEERS_MAX {
        mumbai.handle_membership(at(0), PeerChange::Joined(region(&format!("r{number}"))));
    }
    let stranger = region("singapore");
    let frame = &frames_of("singapore")[0];
    let result = mumbai.handle_frame(at(1_500), &stranger, frame);
    assert_eq!(result, Err(FrameError::Stranger(stranger)));
    assert_eq!(
        mumbai.poll_event(),
        Some(MeshEvent::Refused("regions in the mesh"))
    );
    assert_eq!(mumbai.peers(at(1_500)).len(), PEERS_MAX);
}
