//! What a session acknowledges, believes and repeats.

use super::*;
use crate::time::WallTime;

fn at(millis: u64) -> MonoTime {
    MonoTime::from_micros(millis * 1_000)
}

fn session() -> Session {
    Session::new(RegionId::new("mumbai").unwrap(), at(0), true)
}

fn frame(sent_at: u64, newest: u64, train: Option<(u64, u64)>) -> Frame {
    let header = Header {
        from: RegionId::new("mumbai").unwrap(),
        incarnation: Incarnation(1),
        to_incarnation: Some(Incarnation(1)),
        sent_at,
        wall: WallTime::default(),
        echo: None,
        have: sent_at,
        newest,
    };
    let train = train.map(|(base, to)| Train { base, to });
    Frame {
        header,
        train,
        entries: Vec::new(),
    }
}

fn have_after(pieces: &[(u64, u64, u64)]) -> u64 {
    let mut session = session();
    for (newest, base, to) in pieces {
        session.handle_merged(&frame(1, *newest, Some((*base, *to))), true);
    }
    session.have()
}

#[test]
fn only_a_whole_train_is_acknowledged() {
    assert_eq!(have_after(&[(9, 0, 4), (9, 4, 7), (9, 7, 9)]), 9);
    assert_eq!(
        have_after(&[(9, 0, 4), (9, 4, 7)]),
        0,
        "the last piece is missing"
    );
    assert_eq!(
        have_after(&[(9, 0, 4), (9, 7, 9)]),
        0,
        "the middle is missing"
    );
    assert_eq!(
        have_after(&[(9, 4, 7), (9, 0, 4), (9, 7, 9)]),
        0,
        "out of order"
    );
    assert_eq!(
        have_after(&[(8, 0, 4), (9, 4, 9)]),
        0,
        "pieces of two trains"
    );
    assert_eq!(
        have_after(&[(4, 0, 4), (9, 4, 9)]),
        9,
        "one train after the other"
    );
    assert_eq!(
        have_after(&[(9, 0, 9), (4, 0, 4)]),
        9,
        "an old train is late"
    );
}

#[test]
fn what_was_not_understood_takes_the_acknowledgement_back() {
    let mut session = session();
    session.handle_merged(&frame(1, 9, Some((0, 9))), true);
    session.handle_merged(&frame(2, 10, None), false);
    assert_eq!(session.have(), 0);
    session.handle_merged(&frame(3, 11, Some((9, 11))), true);
    assert_eq!(session.have(), 0, "the train begins after what is missing");
}

#[test]
fn a_late_or_doubled_frame_acknowledges_and_proves_nothing() {
    let heartbeat = Span::from_millis(200);
    let mut session = session();
    let mut handle = |now: u64, stamp: u64| {
        let frame = frame(stamp, 0, None);
        session.handle_header(at(now), &frame.header, true, 100, heartbeat);
        session.handle_merged(&frame, true);
        (session.acked(), session.clock.lag(at(now)))
    };
    assert_eq!(handle(100, 20), (20, Some(Span::ZERO)));
    assert_eq!(handle(300, 20), (20, Some(Span::from_millis(200))));
    assert_eq!(handle(400, 10), (20, Some(Span::from_millis(300))));
    assert_eq!(handle(500, 21), (21, Some(Span::ZERO)));
}

#[test]
fn what_we_never_had_cannot_be_acknowledged() {
    let mut session = session();
    session.handle_header(at(1), &frame(50, 0, None).header, true, 49, Span::ZERO);
    assert_eq!(session.acked(), 0);
}

#[test]
fn an_older_life_is_believed_only_once_the_newer_one_is_silent() {
    let silence = Span::from_millis(2_500);
    let mut session = session();
    assert_eq!(
        session.handle_life(at(0), Incarnation(5), silence),
        Life::Same
    );
    session.clock.note_heard(at(0));
    assert_eq!(
        session.handle_life(at(100), Incarnation(4), silence),
        Life::Ended
    );
    assert_eq!(
        session.handle_life(at(200), Incarnation(6), silence),
        Life::Begun
    );
    assert_eq!(
        session.handle_life(at(3_000), Incarnation(4), silence),
        Life::Begun
    );
}

#[test]
fn a_train_under_way_is_not_sent_again_until_its_acknowledgement_is_overdue() {
    let heartbeat = Span::from_millis(200);
    let mut session = session();
    assert_eq!(session.begin_train(at(0), 5, heartbeat), (0, 0));
    assert!(!session.wants_train(at(100), 5, heartbeat));
    assert_eq!(session.begin_train(at(100), 8, heartbeat), (0, 5));
    assert!(session.wants_train(at(401), 8, heartbeat));
    assert_eq!(session.begin_train(at(401), 8, heartbeat), (0, 0));
}
