//! The Redis scripts decide what the embedded store decides.

use std::sync::Arc;

use limiter_core::algo::{BucketAlgorithm, Rate, Shape, Windows};
use limiter_core::store::redis_dialect::{
    Call, Script, decode_fold, decode_take, encode_fold, encode_take, encode_undo,
};
use limiter_core::store::{
    Cold, EmbeddedStore, Fold, FoldReply, GroupReply, Remote, RemoteBucket, RemotePart,
    RemoteWindow, RemoteWindows, StoreKey, Take, TakeGroup, Undo, Wait,
};
use sync_proto::{Epoch, Span, WallTime, WindowId};
use tests::RedisServer;

const SECOND: u64 = 1_000_000;
const ZERO: u64 = 1_796_083_200 * SECOND;

/// A generator of which any spread will do; a failure names its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

fn eval(script: Script, call: &Call) -> redis::Cmd {
    let mut command = redis::cmd("EVAL");
    command
        .arg(script.source())
        .arg(call.keys.len())
        .arg(&call.keys)
        .arg(&call.args);
    command
}

fn call(
    redis: &mut redis::Connection,
    script: Script,
    call: &Call,
) -> redis::RedisResult<Vec<i64>> {
    eval(script, call).query(redis)
}

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

fn random_shape(dice: &mut Dice) -> Shape {
    let algorithm = dice.pick(&[BucketAlgorithm::TokenBucket, BucketAlgorithm::Gcra]);
    match dice.below(4) {
        0 | 1 => {
            let per = dice.pick(&[
                1,
                17,
                1_000,
                60 * SECOND / 7,
                SECOND,
                60 * SECOND,
                86_400 * SECOND,
            ]);
            let tokens = dice.pick(&[1, 3, 7, 1_000, 999_983, 1_000_000_007]);
            let burst = dice.pick(&[0, 1, 2, 5, 20, 1_000]);
            Shape::Bucket {
                algorithm,
                rate: Rate {
                    tokens,
                    per: Span::from_micros(per),
                },
                burst,
            }
        }
        2 => {
            let length = dice.pick(&[SECOND, 10 * SECOND, 61 * SECOND]);
            let phase = Span::from_micros(dice.below(length));
            let windows = Windows::Every {
                length: Span::from_micros(length),
                phase,
            };
            Shape::FixedWindow {
                limit: dice.pick(&[0, 1, 5, 20, 1_000]),
                windows,
            }
        }
        _ => {
            let first = ZERO - dice.below(20) * SECOND;
            let mut edge = first;
            let edges = [(); 4].map(|()| {
                edge += (1 + dice.below(30)) * SECOND;
                WallTime::from_micros(edge)
            });
            Shape::FixedWindow {
                limit: dice.pick(&[1, 5, 20]),
                windows: Windows::Edges(edges),
            }
        }
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
                let takes = counters
                    .iter()
                    .filter_map(|(key, shape)| {
                        dice.one_in(2).then(|| random_take(dice, key, *shape))
                    })
                    .collect();
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

fn second_bucket(key: &str, burst: u64) -> Take {
    let rate = Rate {
        tokens: 1,
        per: Span::from_secs(1),
    };
    let shape = Shape::Bucket {
        algorithm: BucketAlgorithm::TokenBucket,
        rate,
        burst,
    };
    plain(key, shape)
}

fn plain(key: &str, shape: Shape) -> Take {
    let key = StoreKey(Arc::from(key.as_bytes()));
    Take {
        key,
        shape,
        cost: 1,
        shadow: false,
        count_rejected: false,
        cold: None,
    }
}

fn take_now(connection: &mut redis::Connection, takes: Vec<Take>) -> GroupReply {
    let group = TakeGroup { takes };
    let reply = call(connection, Script::Take, &encode_take(&group)).unwrap();
    decode_take(&group, &reply).unwrap()
}

fn ttl_millis(connection: &mut redis::Connection, key: &str) -> i64 {
    redis::cmd("PTTL").arg(key).query(connection).unwrap()
}

/// A key of 40 bytes.
const KEY: &str = "rl:{user:42:0123456789abcdef}:0123456789";

#[test]
fn keys_expire_when_they_tell_nothing_any_more() {
    let server = RedisServer::start().unwrap();
    let mut redis = server.connection().unwrap();
    let bucket = second_bucket("{k}:bucket", 10);
    for used in 1..=3 {
        assert!(take_now(&mut redis, vec![bucket.clone()]).taken);
        let ttl = ttl_millis(&mut redis, "{k}:bucket");
        assert!(
            (used - 1) * 1000 < ttl && ttl <= used * 1000 + 2,
            "{used} s of debt: {ttl} ms"
        );
    }
    // B33: a key that lost its expiry gets it back.
    redis::cmd("PERSIST")
        .arg("{k}:bucket")
        .exec(&mut redis)
        .unwrap();
    take_now(&mut redis, vec![bucket.clone()]);
    assert!(ttl_millis(&mut redis, "{k}:bucket") > 0);

    let windows = Windows::Every {
        length: Span::from_secs(60),
        phase: Span::from_secs(7),
    };
    let window = plain("{k}:window", Shape::FixedWindow { limit: 5, windows });
    let reply = take_now(&mut redis, vec![window]).takes[0];
    let ttl = u64::try_from(ttl_millis(&mut redis, "{k}:window")).unwrap();
    assert!(ttl <= reply.reset.as_millis() + 2 && ttl + 1_000 > reply.reset.as_millis());

    // A fold keeps a key for as long as it is fresh, and its ledger for longer.
    let fold = Fold {
        key: StoreKey(Arc::from(&b"{k}:folded"[..])),
        shape: bucket.shape,
        remote: Remote::Bucket(RemoteBucket::default()),
        stale_after: Span::from_secs(5),
    };
    call(&mut redis, Script::Fold, &encode_fold(&fold)).unwrap();
    assert!((4_000..=5_002).contains(&ttl_millis(&mut redis, "{k}:folded")));
    assert!((74_000..=75_002).contains(&ttl_millis(&mut redis, "{k}:folded:a")));
}

#[test]
fn a_denied_request_and_a_peek_write_nothing() {
    let server = RedisServer::start().unwrap();
    let mut redis = server.connection().unwrap();
    let peek = Take {
        cost: 0,
        ..second_bucket("{k}:a", 5)
    };
    let denied = Take {
        cost: 6,
        ..second_bucket("{k}:b", 5)
    };
    assert!(!take_now(&mut redis, vec![peek]).taken);
    assert!(!take_now(&mut redis, vec![second_bucket("{k}:a", 5), denied]).taken);
    let keys: u64 = redis::cmd("DBSIZE").query(&mut redis).unwrap();
    assert_eq!(keys, 0);
}

#[test]
fn a_key_costs_less_than_150_bytes() {
    let server = RedisServer::start().unwrap();
    let mut redis = server.connection().unwrap();
    let rate = Rate {
        tokens: 1,
        per: Span::from_secs(1),
    };
    let windows = Windows::Every {
        length: Span::from_secs(60),
        phase: Span::ZERO,
    };
    for shape in [
        Shape::Bucket {
            algorithm: BucketAlgorithm::TokenBucket,
            rate,
            burst: 100,
        },
        Shape::Bucket {
            algorithm: BucketAlgorithm::Gcra,
            rate,
            burst: 100,
        },
        Shape::FixedWindow {
            limit: 100,
            windows,
        },
    ] {
        redis::cmd("FLUSHALL").exec(&mut redis).unwrap();
        assert!(take_now(&mut redis, vec![plain(KEY, shape)]).taken);
        let bytes: u64 = redis::cmd("MEMORY")
            .arg("USAGE")
            .arg(KEY)
            .query(&mut redis)
            .unwrap();
        assert!(
            KEY.len() == 40 && bytes < 150,
            "{bytes} bytes for {shape:?}"
        );
    }
}

#[test]
fn a_flushed_server_starts_new_lives() {
    let server = RedisServer::start().unwrap();
    let mut redis = server.connection().unwrap();
    let first = take_now(&mut redis, vec![second_bucket(KEY, 9)]).takes[0];
    let second = take_now(&mut redis, vec![second_bucket(KEY, 9)]).takes[0];
    assert_eq!((second.admitted, second.epoch), (2, first.epoch));
    redis::cmd("FLUSHALL").exec(&mut redis).unwrap();
    let third = take_now(&mut redis, vec![second_bucket(KEY, 9)]).takes[0];
    assert_eq!(third.admitted, 1);
    assert!(third.epoch > first.epoch);
}

#[test]
fn another_programs_key_is_an_error_and_stays_as_it_was() {
    let server = RedisServer::start().unwrap();
    let mut redis = server.connection().unwrap();
    redis::cmd("RPUSH")
        .arg("{k}:list")
        .arg("x")
        .exec(&mut redis)
        .unwrap();
    let mut odd: Vec<Vec<u8>> = vec![Vec::new(), b"17".to_vec(), vec![0; 36], vec![255; 200]];
    odd.extend(
        (0..130)
            .map(|length| vec![3; length])
            .filter(|odd| odd.len() != 29 && odd.len() != 127),
    );
    let shapes = [
        second_bucket("", 5).shape,
        Shape::FixedWindow {
            limit: 5,
            windows: Windows::Every {
                length: Span::from_secs(60),
                phase: Span::ZERO,
            },
        },
    ];
    for shape in shapes {
        let fault = |redis: &mut redis::Connection, key: &str| {
            let group = TakeGroup {
                takes: vec![plain("{k}:good", shape), plain(key, shape)],
            };
            let error = call(redis, Script::Take, &encode_take(&group)).unwrap_err();
            error
                .code()
                .map(str::to_owned)
                .unwrap_or_else(|| error.to_string())
        };
        assert_eq!(fault(&mut redis, "{k}:list"), "WRONGTYPE");
        for value in &odd {
            redis::cmd("SET")
                .arg("{k}:odd")
                .arg(value)
                .exec(&mut redis)
                .unwrap();
            assert_eq!(fault(&mut redis, "{k}:odd"), "CORRUPT", "{value:?}");
            let kept: Vec<u8> = redis::cmd("GET").arg("{k}:odd").query(&mut redis).unwrap();
            assert_eq!(&kept, value);
        }
        let good: bool = redis::cmd("EXISTS")
            .arg("{k}:good")
            .query(&mut redis)
            .unwrap();
        assert!(!good, "nothing is taken of a group that cannot be judged");
    }
}

#[test]
fn bytes_of_the_right_length_are_judged_without_a_crash() {
    let server = RedisServer::start().unwrap();
    let mut redis = server.connection().unwrap();
    let dice = &mut Dice(11);
    for round in 0..300 {
        let (layout, length) = dice.pick(&[(1, 36), (1, 78), (2, 43), (2, 85), (3, 29), (3, 127)]);
        let mut value: Vec<u8> = (0..length)
            .map(|_| u8::try_from(dice.below(256)).unwrap())
            .collect();
        value[0] = layout;
        redis::cmd("SET")
            .arg("{k}")
            .arg(&value)
            .exec(&mut redis)
            .unwrap();
        let shape = random_shape(dice);
        let group = TakeGroup {
            takes: vec![plain("{k}", shape)],
        };
        let reply = call(&mut redis, Script::Take, &encode_take(&group));
        let reply = reply.unwrap_or_else(|error| panic!("round {round}: {error}, {value:?}"));
        assert!(decode_take(&group, &reply).is_ok(), "{reply:?}");
    }
}

#[test]
fn the_servers_clock_decides() {
    let server = RedisServer::start().unwrap();
    let mut redis = server.connection().unwrap();
    let [seconds, micros]: [u64; 2] = redis::cmd("TIME")
        .query::<Vec<u64>>(&mut redis)
        .unwrap()
        .try_into()
        .unwrap();
    let reply = take_now(&mut redis, vec![second_bucket("{k}", 1)]);
    let before = seconds * SECOND + micros;
    assert!((before..before + 10 * SECOND).contains(&reply.at.as_micros()));
    assert_eq!(reply.takes[0].epoch.0, reply.at.as_micros());
    let denied = take_now(&mut redis, vec![second_bucket("{k}", 1)]).takes[0];
    assert!(
        matches!(denied.wait, Wait::For(wait) if wait <= Span::from_secs(1)),
        "{denied:?}"
    );
}
