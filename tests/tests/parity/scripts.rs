//! The scripts on a server's own clock: expiry, memory, and keys that are not theirs.

use std::sync::Arc;

use limiter_core::algo::{BucketAlgorithm, Rate, Shape, Windows};
use limiter_core::store::redis_dialect::{Script, decode_take, encode_fold, encode_take};
use limiter_core::store::{
    Fold, GroupReply, Remote, RemoteBucket, StoreKey, Take, TakeGroup, Wait,
};
use sync_proto::Span;
use tests::RedisServer;

use crate::dice::{Dice, SECOND, random_shape};
use crate::eval::call;

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
