//! Folding: what others have used, as both kinds of counters take it.

use std::sync::Arc;

use limiter_core::algo::{BucketAlgorithm, Rate, Shape, Windows};
use limiter_core::store::{
    EmbeddedStore, Fold, Remote, RemoteBucket, RemotePart, RemoteWindow, RemoteWindows, StoreKey,
    Take, TakeGroup, TakeReply,
};
use sync_proto::{Epoch, Span, WallTime, WindowId};

const SECOND: u64 = 1_000_000;
/// 2026-12-01T00:00:00Z.
const ZERO: u64 = 1_796_083_200 * SECOND;

fn at(micros: u64) -> WallTime {
    WallTime::from_micros(ZERO + micros)
}

fn key(name: &str) -> StoreKey {
    StoreKey(Arc::from(format!("{{k}}:{name}").as_bytes()))
}

fn minute(limit: u64) -> Shape {
    let windows = Windows::Every {
        length: Span::from_secs(60),
        phase: Span::ZERO,
    };
    Shape::FixedWindow { limit, windows }
}

fn bucket(per_second: u64, burst: u64) -> Shape {
    let rate = Rate {
        tokens: per_second,
        per: Span::from_secs(1),
    };
    Shape::Bucket {
        algorithm: BucketAlgorithm::TokenBucket,
        rate,
        burst,
    }
}

fn take(name: &str, shape: Shape) -> Take {
    let key = key(name);
    Take {
        key,
        shape,
        cost: 1,
        shadow: false,
        count_rejected: false,
        cold: None,
    }
}

fn one(store: &mut EmbeddedStore, micros: u64, take: &Take) -> TakeReply {
    store
        .take(
            at(micros),
            &TakeGroup {
                takes: vec![take.clone()],
            },
        )
        .takes[0]
}

/// How many of `times` requests pass.
fn admitted(store: &mut EmbeddedStore, micros: u64, take: &Take, times: usize) -> usize {
    (0..times)
        .filter(|_| one(store, micros, take).allowed)
        .count()
}

fn store() -> EmbeddedStore {
    EmbeddedStore::new(3, 1_000)
}

fn told(cell: RemoteWindow) -> RemoteWindows {
    RemoteWindows {
        cells: vec![cell],
        ..RemoteWindows::default()
    }
}

fn cell(known: u64, estimate: u64, rate_milli: u64) -> RemoteWindow {
    RemoteWindow {
        window: WindowId(ZERO),
        known,
        estimate,
        rate_milli,
    }
}

fn fold_windows(store: &mut EmbeddedStore, micros: u64, take: &Take, remote: RemoteWindows) {
    let remote = Remote::Window(remote);
    let stale_after = Span::from_secs(5);
    let fold = Fold {
        key: take.key.clone(),
        shape: take.shape,
        remote,
        stale_after,
    };
    store.fold(at(micros), &fold);
}

fn fold_bucket(store: &mut EmbeddedStore, micros: u64, take: &Take, consumed: u64, rate: u64) {
    let part = RemotePart {
        id: "b/1".into(),
        consumed,
        epoch: Epoch(ZERO),
    };
    let remote = Remote::Bucket(RemoteBucket {
        parts: vec![part],
        rate_milli: rate * 1_000,
        blind_rate_milli: 0,
    });
    let stale_after = Span::from_secs(5);
    let fold = Fold {
        key: take.key.clone(),
        shape: take.shape,
        remote,
        stale_after,
    };
    store.fold(at(micros), &fold);
}

#[test]
fn others_use_of_a_window_counts_and_goes_on_until_the_fold_is_stale() {
    let mut store = store();
    let take = take("a", minute(100));
    assert!(one(&mut store, 0, &take).allowed);
    fold_windows(&mut store, SECOND, &take, told(cell(20, 30, 2_000)));
    let peek = Take {
        cost: 0,
        ..take.clone()
    };
    let mut seen = |seconds: u64| {
        let reply = one(&mut store, seconds * SECOND, &peek);
        assert!(reply.shared);
        (reply.remote, reply.available)
    };
    assert_eq!(seen(1), (30, 69));
    assert_eq!(seen(3), (34, 65));
    assert_eq!(seen(6), (40, 59));
    assert_eq!(
        seen(30),
        (40, 59),
        "the estimate of that moment goes on standing"
    );
    assert_eq!(admitted(&mut store, 30 * SECOND, &take, 100), 59);
    assert_eq!(
        one(&mut store, 60 * SECOND, &take).remote,
        0,
        "a window later nothing is known"
    );
}

#[test]
fn a_window_not_told_of_yet_fills_at_the_carried_rate() {
    let mut store = store();
    let take = take("a", minute(100));
    let remote = RemoteWindows {
        carry_milli: 3_000,
        ..told(cell(50, 50, 0))
    };
    fold_windows(&mut store, 58 * SECOND, &take, remote);
    let peek = Take { cost: 0, ..take };
    assert_eq!(one(&mut store, 59 * SECOND, &peek).remote, 50);
    assert_eq!(one(&mut store, 62 * SECOND, &peek).remote, 6);
}

#[test]
fn what_is_known_of_a_window_never_shrinks() {
    let mut store = store();
    let take = take("a", minute(100));
    for (known, estimate) in [(20, 25), (10, 12), (30, 30), (0, 0)] {
        fold_windows(&mut store, SECOND, &take, told(cell(known, estimate, 0)));
    }
    assert_eq!(one(&mut store, SECOND, &take).remote, 30);
    fold_windows(&mut store, SECOND, &take, RemoteWindows::default());
    assert_eq!(
        one(&mut store, SECOND, &take).remote,
        30,
        "a fold that leaves it out"
    );
}

/// What is admitted of 100 while the fold is fresh, and how much more once it is stale.
fn bounded(remote: RemoteWindows) -> (usize, usize) {
    let mut store = store();
    let take = take("a", minute(100));
    fold_windows(&mut store, SECOND, &take, remote);
    let fresh = admitted(&mut store, 2 * SECOND, &take, 200);
    (fresh, admitted(&mut store, 20 * SECOND, &take, 200))
}

#[test]
fn floor_ceiling_and_blind_bound_what_a_region_admits() {
    let used_up = || told(cell(100, 100, 0));
    let unused = || told(cell(0, 0, 0));
    let floor = |floor: u64, remote: RemoteWindows| RemoteWindows { floor, ..remote };
    let ceiling = |units: u64, remote: RemoteWindows| RemoteWindows {
        ceiling: Some(units),
        ..remote
    };
    let blind = |units: u64, remote: RemoteWindows| RemoteWindows {
        blind: Some(units),
        ..remote
    };

    assert_eq!(bounded(floor(7, used_up())), (7, 0));
    assert_eq!(bounded(ceiling(40, unused())), (40, 0));
    assert_eq!(bounded(floor(50, ceiling(40, unused()))), (50, 0));
    assert_eq!(bounded(blind(45, ceiling(40, unused()))), (40, 5));
    assert_eq!(bounded(blind(5, floor(7, used_up()))), (7, 0));
    assert_eq!(bounded(blind(900, floor(900, used_up()))), (100, 0));
}

#[test]
fn others_use_of_a_bucket_is_owed_once_however_often_it_is_told() {
    let mut store = store();
    let take = take("a", bucket(1, 100));
    for _ in 0..3 {
        fold_bucket(&mut store, 0, &take, 30, 0);
        fold_bucket(&mut store, 0, &take, 10, 0);
    }
    assert_eq!(admitted(&mut store, 0, &take, 200), 70);
    fold_bucket(&mut store, 0, &take, 31, 0);
    assert_eq!(admitted(&mut store, SECOND, &take, 200), 0);
    assert_eq!(admitted(&mut store, 2 * SECOND, &take, 200), 1);
}

#[test]
fn others_are_charged_for_going_on_and_what_they_tell_is_netted_against_that() {
    let mut store = store();
    let take = take("a", bucket(10, 100));
    // Half of the burst is used here, and the others go on at 4 a second.
    assert_eq!(admitted(&mut store, 0, &take, 50), 50);
    fold_bucket(&mut store, 0, &take, 0, 4);
    let peek = Take {
        cost: 0,
        ..take.clone()
    };
    assert_eq!(one(&mut store, 2 * SECOND, &peek).available, 50 + 2 * 6);
    fold_bucket(&mut store, 2 * SECOND, &take, 8, 4);
    assert_eq!(
        one(&mut store, 2 * SECOND, &peek).available,
        62,
        "as they were taken to"
    );
    fold_bucket(&mut store, 3 * SECOND, &take, 8, 4);
    assert_eq!(
        one(&mut store, 3 * SECOND, &peek).available,
        72,
        "they had stopped"
    );
    fold_bucket(&mut store, 4 * SECOND, &take, 32, 4);
    assert_eq!(
        one(&mut store, 4 * SECOND, &peek).available,
        58,
        "they used 24 in a second"
    );
}

#[test]
fn a_refund_never_gives_back_what_this_region_took() {
    let mut store = store();
    let take = take("a", bucket(10, 100));
    fold_bucket(&mut store, 0, &take, 0, 9);
    // The others' 36 have drained as they came; nothing of them is left to give back.
    assert_eq!(admitted(&mut store, 4 * SECOND, &take, 60), 60);
    fold_bucket(&mut store, 4 * SECOND, &take, 0, 0);
    assert_eq!(admitted(&mut store, 4 * SECOND, &take, 200), 40);
}

#[test]
fn a_peer_pushes_a_bucket_at_most_one_burst_below_empty() {
    let mut store = store();
    let take = take("a", bucket(1, 10));
    fold_bucket(&mut store, 0, &take, 0, 0);
    fold_bucket(&mut store, 0, &take, u64::MAX, 0);
    assert_eq!(admitted(&mut store, 10 * SECOND, &take, 5), 0);
    assert_eq!(admitted(&mut store, 11 * SECOND, &take, 5), 1);
}

#[test]
fn a_part_that_was_never_applied_counts_for_what_is_still_owed() {
    let mut store = store();
    let take = take("a", bucket(1, 10));
    fold_bucket(&mut store, 1_000 * SECOND, &take, 1_004, 0);
    assert_eq!(admitted(&mut store, 1_000 * SECOND, &take, 20), 6);
}

#[test]
fn a_fold_of_another_kind_changes_nothing() {
    let mut store = store();
    let take = take("a", minute(5));
    fold_bucket(&mut store, 0, &take, 5, 5);
    let reply = one(&mut store, 0, &take);
    assert_eq!((reply.available, reply.shared), (4, false));
}
