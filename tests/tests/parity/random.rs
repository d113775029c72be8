//! The same random operations, played through both stores.

use std::sync::Arc;

use limiter_core::algo::Shape;
use limiter_core::store::redis_dialect::{
    Script, decode_fold, decode_take, encode_fold, encode_take, encode_undo,
};
use limiter_core::store::{
    Cold, EmbeddedStore, Fold, FoldReply, GroupReply, Remote, RemoteBucket, RemotePart,
    RemoteWindow, RemoteWindows, StoreKey, Take, TakeGroup, Undo,
};
use sync_proto::{Epoch, Span, WallTime, WindowId};
use tests::RedisServer;

use crate::dice::{Dice, SECOND, ZERO, random_shape};
use crate::eval::{call, eval};

/// Both stores, on one virtual clock.
struct Both {
    embedded: EmbeddedStore,
    redis: redis::Connection,
    now: u64,
}

impl Both {
    fn take(&mut self, group: &TakeGroup) -> GroupReply {
        let now = WallTime::from_micros(self.now);
        let embedded = self.embedded.take(now, group);
        let reply = call(
            &mut self.redis,
            Script::Take,
            &encode_take(group).replayed_at(now),
        )
        .unwrap();
        assert_eq!(
            Ok(&embedded),
            decode_take(group, &reply).as_ref(),
            "{group:?}"
        );
        embedded
    }

    fn undo(&mut self, undo: &Undo) {
        let now = WallTime::from_micros(self.now);
        self.embedded.undo(now, undo);
        let undo = eval(Script::Undo, &encode_undo(undo).replayed_at(now));
        undo.exec(&mut self.redis).unwrap();
    }

    fn fold(&mut self, fold: &Fold) -> FoldReply {
        let now = WallTime::from_micros(self.now);
        let embedded = self.embedded.fold(now, fold);
        let reply = call(
            &mut self.redis,
            Script::Fold,
            &encode_fold(fold).replayed_at(now),
        )
        .unwrap();
        assert_eq!(Ok(embedded), decode_fold(&reply), "{fold:?}");
        embedded
    }
}

fn random_take(dice: &mut Dice, key: &StoreKey, shape: Shape) -> Take {
    let cold = Cold {
        units: dice.below(8),
        regions: 1 + dice.below(4),
    };
    Take {
        key: key.clone(),
        shape,
        cost: if dice.one_in(20) {
            dice.below(2_000)
        } else {
            dice.below(4)
        },
        shadow: dice.one_in(4),
        count_rejected: dice.one_in(4),
        cold: dice.one_in(5).then_some(cold),
    }
}

/// Folds of random truth: totals go up and down, and windows come in any order.
fn random_fold(dice: &mut Dice, key: &StoreKey, shape: Shape, windows: &[u64]) -> Fold {
    let remote = match shape {
        Shape::Bucket { .. } => Remote::Bucket(RemoteBucket {
            parts: (0..dice.below(4))
                .map(|_| RemotePart {
                    id: format!("r{}/1", dice.below(3)),
                    consumed: dice.below(40),
                    epoch: Epoch(ZERO + dice.below(40) * SECOND),
                })
                .collect(),
            rate_milli: dice.pick(&[0, 1, 500, 7_000, 90_000, 4_000_000_000]),
            blind_rate_milli: dice.pick(&[0, 1, 500, 7_000, 90_000]),
        }),
        Shape::FixedWindow { .. } => Remote::Window(RemoteWindows {
            cells: (0..dice.below(3))
                .map(|_| RemoteWindow {
                    window: WindowId(dice.pick(windows)),
                    known: dice.below(10),
                    estimate: dice.below(15),
                    rate_milli: dice.pick(&[0, 300, 5_000, u64::MAX]),
                })
                .collect(),
            carry_milli: dice.pick(&[0, 400, 3_000]),
            floor: dice.below(4),
            ceiling: dice.one_in(2).then(|| dice.below(12)),
            blind: dice.one_in(2).then(|| dice.below(6)),
        }),
    };
    Fold {
        key: key.clone(),
        shape,
        remote,
        stale_after: Span::from_micros(dice.below(6 * SECOND)),
    }
}

fn step(dice: &mut Dice, now: u64) -> u64 {
    match dice.below(20) {
        0 => now - dice.below(3 * SECOND),
        1 if dice.one_in(4) => now + dice.below(300 * SECOND),
        1 => now + dice.below(40 * SECOND),
        2..=5 => now + dice.below(2 * SECOND),
        6..=12 => now + dice.below(50_000),
        _ => now + dice.below(100),
    }
}

/// One random script of operations. Returns how many takes were allowed and how many were not.
fn play(both: &mut Both, seed: u64) -> (usize, usize) {
    let dice = &mut Dice(seed);
    let counters: Vec<(StoreKey, Shape)> = (0..3)
        .map(|index| {
            let key = StoreKey(Arc::from(format!("{{{seed}}}:{index}").into_bytes()));
            (key, random_shape(dice))
        })
        .collect();
    let mut windows = vec![0, ZERO];
    let mut taken: Option<(Take, Undo)> = None;
    let (mut allowed, mut denied) = (0, 0);
    for _ in 0..60 {
        both.now = step(dice, both.now);
        let (key, shape) = dice.pick(&[&counters[0], &counters[1], &counters[2]]);
        match (dice.below(10), taken.take()) {
            (0, _) => windows.push(
                both.fold(&random_fold(dice, key, *shape, &windows))
                    .window
                    .0,
            ),
            (1, Some((_, mut undo))) => {
                if dice.one_in(5) {
                    undo.epoch.0 += 1;
                }
                both.undo(&undo);
            }
            _ => {
                let mut takes = Vec::new();
                for (key, shape) in &counters {
                    if dice.one_in(2) {
                        takes.push(random_take(dice, key, *shape));
                    }
                }
                let group = TakeGroup { takes };
                let reply = both.take(&group);
                for (take, said) in group.takes.iter().zip(&reply.takes) {
                    let Take {
                        key, shape, cost, ..
                    } = take.clone();
                    let undo = Undo {
                        key,
                        shape,
                        cost,
                        window: said.window,
                        epoch: said.epoch,
                    };
                    taken = Some((take.clone(), undo));
                    windows.push(said.window.0);
                    *(if said.allowed {
                        &mut allowed
                    } else {
                        &mut denied
                    }) += 1;
                }
            }
        }
    }
    (allowed, denied)
}

#[test]
fn random_scripts_of_operations_get_equal_replies_from_both_stores() {
    let server = RedisServer::start().unwrap();
    let mut both = Both {
        embedded: EmbeddedStore::new(1, 10_000),
        redis: server.connection().unwrap(),
        now: ZERO,
    };
    let (mut allowed, mut denied) = (0, 0);
    for seed in 0..500 {
        both.now = ZERO;
        let played =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&mut both, seed)));
        let (more_allowed, more_denied) = played.unwrap_or_else(|_| panic!("seed {seed}"));
        allowed += more_allowed;
        denied += more_denied;
    }
    assert!(
        allowed > 5_000 && denied > 5_000,
        "{allowed} allowed, {denied} denied: lopsided"
    );
}
