//! Frames as version 1 wrote them: they must decode for ever, and are still written byte for byte the same.
//!
//! When a field is appended, add frames of the new form and keep these.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what fails here is the test"
)]

#[path = "support/setup.rs"]
mod setup;

use setup::{config, region};
use sync_proto::{
    CounterName, Epoch, FrameError, Incarnation, Lane, Mesh, Now, Pace, PeerChange, PeerState,
    Push, Span, Usage, WindowId,
};

const URGENT: &str = "\
     019ca973696e6761706f7265cf00060a24181e4000c0ce000c3500cf00060a24182a7500c0000004c000c44a\
     2901b2640e6c6f67696e2f31302e302e302e31b90ad60a038080f28183898506904e82010500a0ac4f071f01\
     f1000b6275636b65742f61636d65851403fffff18183898506c601f0a204";
const TICK: &str = "\
     019ca973696e6761706f7265cf00060a24181e4000c0ce000f4240cf00060a24182d8240c00000040004c44c\
     2a01b2ac020e6c6f67696e2f31302e302e302e31b90ad60a038080f28183898506904e82010500a0ac4f0720\
     01f1c8010b6275636b65742f61636d65851403fffff18183898506c601f0a204";
const HEARTBEAT: &str = "\
     019ca973696e6761706f7265cf00060a24181e4000c0ce0013d620cf00060a2418321620c0000004c000c400";

fn at(millis: u64) -> Now {
    setup::read(millis * 1_000, Span::ZERO)
}

fn login() -> CounterName {
    CounterName::new(b"login/10.0.0.1").unwrap()
}

fn bucket() -> CounterName {
    CounterName::new(b"bucket/acme").unwrap()
}

fn mesh(name: &str) -> Mesh {
    let mut mesh = Mesh::new(config(&region(name), 1_700_000_000_000_000), at(0));
    let peer = if name == "mumbai" {
        "singapore"
    } else {
        "mumbai"
    };
    mesh.handle_membership(at(0), PeerChange::Joined(region(peer)));
    mesh
}

fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What singapore sends to mumbai while its store is flushed once: each lane's first frame.
fn written() -> [(Lane, String); 3] {
    let mut singapore = mesh("singapore");
    let push = Push {
        busy: true,
        tolerance: 1_000_000,
    };
    let window = WindowId(1_700_000_000_000_000);
    for (millis, epoch, admitted) in [(100, 5_000, 40), (400, 5_000, 130), (700, 650_000, 7)] {
        let usage = Usage {
            window,
            epoch: Epoch(window.0 + epoch),
            admitted,
            arrivals: admitted + 2,
        };
        singapore.record(at(millis), &login(), usage, push);
    }
    let usage = Usage {
        window: WindowId::ENDLESS,
        epoch: Epoch(99),
        admitted: 70_000,
        arrivals: 3,
    };
    singapore.record(at(800), &bucket(), usage, push);
    let mut first = |millis, lane| {
        let mut bytes = Vec::new();
        singapore.handle_timeout(at(millis));
        while let Some(transmit) = singapore.poll_frame(at(millis), &mut bytes) {
            if transmit.lane == lane {
                return (lane, hex(&bytes));
            }
        }
        panic!("no frame on {lane:?}");
    };
    [
        first(800, Lane::Urgent),
        first(1_000, Lane::Tick),
        first(1_300, Lane::Heartbeat),
    ]
}

#[test]
fn frames_are_written_as_ever() {
    let golden = [
        (Lane::Urgent, URGENT),
        (Lane::Tick, TICK),
        (Lane::Heartbeat, HEARTBEAT),
    ];
    let golden = golden.map(|(lane, hex)| (lane, hex.to_owned()));
    assert_eq!(written(), golden);
}

/// Gives mumbai a frame of singapore, and what mumbai then knows is checked.
fn assert_known(tick: &[u8]) -> Mesh {
    let mut mumbai = mesh("mumbai");
    mumbai
        .handle_frame(at(50), &region("singapore"), tick)
        .unwrap();
    let view = mumbai.view(&login()).unwrap();
    let [part] = view.peers.as_slice() else {
        panic!("{view:?}")
    };
    let cells = part
        .cells
        .iter()
        .map(|cell| (cell.window.0, cell.epoch.0, cell.count));
    let window = 1_700_000_000_000_000;
    assert_eq!(
        cells.collect::<Vec<_>>(),
        [(window, window + 650_000, 7), (window, window + 5_000, 130)]
    );
    assert_eq!(
        part.pace,
        Pace {
            admitted: 94_720,
            demand: 109_568
        }
    );
    let view = mumbai.view(&bucket()).unwrap();
    assert_eq!(
        (view.peers[0].cells[0].window, view.peers[0].cells[0].count),
        (WindowId(0), 70_000)
    );
    mumbai
}

#[test]
fn a_recorded_tick_is_understood_and_is_proof_of_being_up_to_date() {
    let mut mumbai = assert_known(&unhex(TICK));
    let status = mumbai.peers(at(50)).remove(0);
    assert_eq!(status.state, PeerState::Fresh);
    assert_eq!(status.incarnation, Some(Incarnation(1_700_000_000_000_000)));
    mumbai
        .handle_frame(at(350), &region("singapore"), &unhex(HEARTBEAT))
        .unwrap();
    assert_eq!(mumbai.peers(at(350))[0].lag, Some(Span::ZERO));
}

#[test]
fn a_recorded_urgent_frame_tells_counts_but_is_no_proof() {
    let mumbai = assert_known(&unhex(URGENT));
    assert_eq!(mumbai.peers(at(50))[0].lag, None);
}

#[test]
fn fields_that_a_newer_version_appends_are_skipped() {
    let mut newer = unhex(TICK);
    assert_eq!(newer[1], 0x9c, "an array of twelve fields");
    newer[1] = 0x9e;
    // A map and an array.
    newer.extend([0x81, 0xa1, b'x', 0x01, 0x92, 0x02, 0xc3]);
    assert_known(&newer);
}

#[test]
fn a_frame_without_one_of_its_fields_is_refused() {
    let mut older = unhex(HEARTBEAT);
    older[1] = 0x9b;
    let result = mesh("mumbai").handle_frame(at(50), &region("singapore"), &older);
    assert_eq!(result, Err(FrameError::Malformed { what: "header" }));
}

#[test]
fn a_version_that_is_not_spoken_here_is_told_as_such() {
    let mut next = unhex(TICK);
    next[0] = 2;
    let result = mesh("mumbai").handle_frame(at(50), &region("singapore"), &next);
    assert_eq!(result, Err(FrameError::UnknownVersion { version: 2 }));
}
