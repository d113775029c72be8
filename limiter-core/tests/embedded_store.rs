//! The embedded store: groups, giving back, and its bounds.

use std::sync::Arc;

use limiter_core::algo::{BucketAlgorithm, Rate, Shape, Windows};
use limiter_core::store::{EmbeddedStore, GroupReply, StoreKey, Take, TakeGroup, TakeReply, Undo};
use sync_proto::{Epoch, Span, WallTime};

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

fn group(store: &mut EmbeddedStore, micros: u64, takes: &[Take]) -> GroupReply {
    store.take(
        at(micros),
        &TakeGroup {
            takes: takes.to_vec(),
        },
    )
}

fn one(store: &mut EmbeddedStore, micros: u64, take: &Take) -> TakeReply {
    group(store, micros, std::slice::from_ref(take)).takes[0]
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

#[test]
fn a_group_takes_from_all_or_from_none() {
    let mut store = store();
    let takes = [
        take("a", minute(5)),
        take("b", minute(2)),
        take("c", bucket(1, 9)),
    ];
    let taken = (0..4)
        .map(|_| group(&mut store, 0, &takes).taken)
        .collect::<Vec<_>>();
    assert_eq!(taken, [true, true, false, false]);
    let left = takes.each_ref().map(|take| {
        one(
            &mut store,
            0,
            &Take {
                cost: 0,
                ..take.clone()
            },
        )
    });
    assert_eq!(left.map(|reply| reply.available), [3, 0, 7]);
    let said = group(&mut store, 0, &takes);
    assert_eq!(
        said.takes
            .iter()
            .map(|reply| reply.allowed)
            .collect::<Vec<_>>(),
        [true, false, true]
    );
}

// B26
#[test]
fn a_shadow_limit_denies_nobody_and_counts_what_passed() {
    let shadow = Take {
        shadow: true,
        ..take("s", minute(2))
    };
    let (enforced, default) = (take("e", minute(5)), take("d", minute(100)));
    let orders = [
        [shadow.clone(), enforced.clone(), default.clone()],
        [enforced.clone(), default.clone(), shadow.clone()],
    ];
    for takes in orders {
        let mut store = store();
        let taken = (0..8)
            .filter(|_| group(&mut store, SECOND, &takes).taken)
            .count();
        assert_eq!(taken, 5);
        let used = |take: &Take, store: &mut EmbeddedStore| {
            one(
                store,
                SECOND,
                &Take {
                    cost: 0,
                    ..take.clone()
                },
            )
            .admitted
        };
        assert_eq!(used(&default, &mut store), 5);
        assert_eq!(used(&shadow, &mut store), 2);
    }
}

#[test]
fn a_denied_request_costs_what_is_left_where_rejected_ones_count() {
    let mut store = store();
    let counting = Take {
        cost: 3,
        count_rejected: true,
        ..take("a", minute(5))
    };
    let plain = Take {
        cost: 3,
        ..take("b", minute(3))
    };
    let takes = [counting, plain];
    assert!(group(&mut store, 0, &takes).taken);
    let denied = group(&mut store, 0, &takes);
    assert!(!denied.taken);
    assert_eq!(
        denied
            .takes
            .iter()
            .map(|reply| reply.admitted)
            .collect::<Vec<_>>(),
        [5, 3]
    );
}

#[test]
fn what_was_taken_in_this_window_and_this_life_is_given_back() {
    for shape in [minute(2), bucket(1, 2)] {
        let mut store = store();
        let take = take("a", shape);
        let reply = one(&mut store, 0, &take);
        one(&mut store, 0, &take);
        let (window, epoch) = (reply.window, reply.epoch);
        let undo = Undo {
            key: take.key.clone(),
            shape,
            cost: 1,
            window,
            epoch,
        };
        store.undo(
            at(0),
            &Undo {
                epoch: Epoch(epoch.0 + 1),
                ..undo.clone()
            },
        );
        assert!(!one(&mut store, 0, &take).allowed, "another life");
        store.undo(at(0), &undo);
        let again = one(&mut store, 0, &take);
        assert_eq!((again.allowed, again.admitted), (true, 2));
        store.undo(
            at(0),
            &Undo {
                cost: 99,
                ..undo.clone()
            },
        );
        assert_eq!(
            one(&mut store, 0, &take).available,
            1,
            "never more than was taken"
        );
        store.undo(at(60 * SECOND), &undo);
        assert_eq!(
            one(&mut store, 60 * SECOND, &take).admitted,
            1,
            "another window"
        );
    }
}

#[test]
fn expired_keys_go_and_the_rest_is_bounded() {
    let mut store = EmbeddedStore::new(3, 100);
    for index in 0..10_000 {
        one(
            &mut store,
            index * SECOND,
            &take(&index.to_string(), bucket(1, 9)),
        );
        assert!(
            store.len() <= 20,
            "each key tells nothing after a second: {}",
            store.len()
        );
    }
    for index in 0..1_000 {
        one(
            &mut store,
            10_000 * SECOND,
            &take(&index.to_string(), minute(9)),
        );
    }
    assert_eq!(store.len(), 100);
    store.flush();
    assert!(store.is_empty());
}

#[test]
fn at_the_cap_keys_that_deny_stay() {
    let mut store = EmbeddedStore::new(3, 200);
    let limiting: Vec<Take> = (0..50)
        .map(|index| take(&format!("l{index}"), minute(1)))
        .collect();
    for take in &limiting {
        assert_eq!(admitted(&mut store, 0, take, 2), 1);
    }
    for index in 0..2_000 {
        one(
            &mut store,
            SECOND + index,
            &take(&index.to_string(), minute(9)),
        );
    }
    let kept = limiting
        .iter()
        .filter(|take| !one(&mut store, 2 * SECOND, take).allowed)
        .count();
    assert_eq!(kept, 50);
}

#[test]
fn the_same_seed_gives_the_same_store() {
    let run = || {
        let mut store = EmbeddedStore::new(9, 64);
        let mut replies = Vec::new();
        for index in 0..2_000_u64 {
            let name = (index * index % 301).to_string();
            replies.push(one(&mut store, index * 1_000, &take(&name, minute(3))));
        }
        replies
    };
    assert_eq!(run(), run());
}
