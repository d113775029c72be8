//! Laws of the algorithms, and cases that other limiters got wrong.

use std::sync::Arc;

use limiter_core::algo::{BucketAlgorithm, Rate, Shape, Windows};
use limiter_core::store::{
    Cold, EmbeddedStore, Fold, Remote, RemoteBucket, RemotePart, StoreKey, Take, TakeGroup,
    TakeReply, Undo, Wait,
};
use proptest::prelude::*;
use sync_proto::{Epoch, Span, WallTime};

const BOTH: [BucketAlgorithm; 2] = [BucketAlgorithm::TokenBucket, BucketAlgorithm::Gcra];
const SECOND: u64 = 1_000_000;
/// 2026-12-01T00:00:00Z.
const ZERO: u64 = 1_796_083_200 * SECOND;

/// One counter in a store of its own; times are microseconds after [`ZERO`].
struct Counter {
    store: EmbeddedStore,
    shape: Shape,
}

impl Counter {
    fn new(shape: Shape) -> Self {
        Self {
            store: EmbeddedStore::new(7, 16),
            shape,
        }
    }

    fn bucket(algorithm: BucketAlgorithm, tokens: u64, per: Span, burst: u64) -> Self {
        Self::new(Shape::Bucket {
            algorithm,
            rate: Rate { tokens, per },
            burst,
        })
    }

    fn every(limit: u64, seconds: u64) -> Self {
        let windows = Windows::Every {
            length: Span::from_secs(seconds),
            phase: Span::ZERO,
        };
        Self::new(Shape::FixedWindow { limit, windows })
    }

    fn judged(&mut self, micros: u64, cost: u64, cold: Option<Cold>) -> TakeReply {
        let take = Take {
            cold,
            ..take(self.shape, cost)
        };
        self.store
            .take(at(micros), &TakeGroup { takes: vec![take] })
            .takes[0]
    }

    fn take(&mut self, micros: u64, cost: u64) -> TakeReply {
        self.judged(micros, cost, None)
    }

    /// `A` and `D` for requests of one unit at these times.
    fn pattern(&mut self, times: impl IntoIterator<Item = u64>) -> String {
        times
            .into_iter()
            .map(|time| if self.take(time, 1).allowed { 'A' } else { 'D' })
            .collect()
    }

    fn admitted(&mut self, times: impl IntoIterator<Item = u64>) -> usize {
        self.pattern(times).matches('A').count()
    }
}

fn at(micros: u64) -> WallTime {
    WallTime::from_micros(ZERO + micros)
}

fn key() -> StoreKey {
    StoreKey(Arc::from(&b"{k}"[..]))
}

fn take(shape: Shape, cost: u64) -> Take {
    Take {
        key: key(),
        shape,
        cost,
        shadow: false,
        count_rejected: false,
        cold: None,
    }
}

fn millis(millis: u64) -> u64 {
    millis * 1_000
}

fn waits(reply: TakeReply, micros: u64) {
    assert!(!reply.allowed, "{reply:?}");
    assert_eq!(reply.wait, Wait::For(Span::from_micros(micros)));
}

// B01
#[test]
fn a_client_that_waits_as_told_is_admitted() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 2, Span::from_secs(3), 1);
        assert!(counter.take(0, 1).allowed);
        waits(counter.take(millis(200), 1), millis(1300));
        waits(counter.take(millis(1200), 1), millis(300));
        assert!(counter.take(millis(2200), 1).allowed);

        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 1);
        assert!(counter.take(0, 1).allowed);
        waits(counter.take(millis(200), 1), millis(800));
        assert!(!counter.take(millis(1000) - 1, 1).allowed);
        assert!(counter.take(millis(1000), 1).allowed);
    }
}

// B02
#[test]
fn rates_above_a_thousand_per_second_are_exact() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 2000, Span::from_secs(1), 20);
        assert_eq!(counter.admitted([0; 25]), 20);
        assert_eq!(counter.admitted([millis(10); 25]), 20);

        let mut counter = Counter::bucket(algorithm, 100_000, Span::from_secs(1), 100);
        assert_eq!(counter.admitted([0; 150]), 100);
        assert_eq!(counter.admitted([500; 150]), 50);

        let mut counter = Counter::bucket(algorithm, 100, Span::from_secs(1), 11);
        assert_eq!(counter.admitted((0..1000).map(millis)), 110);
    }
}

// B03
#[test]
fn an_idle_spell_gives_no_request_beyond_the_burst() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 5, Span::from_secs(1), 5);
        for rest in [0, 2, 3600] {
            assert_eq!(counter.pattern([rest * SECOND; 6]), "AAAAAD");
        }
    }
}

// B04
#[test]
fn the_documented_worst_cases_hold() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 60);
        assert_eq!(
            counter.admitted((0..120).map(|half| millis(500 * half))),
            119
        );
    }
    let mut counter = Counter::every(60, 60);
    assert_eq!(
        counter.admitted([59 * SECOND; 60].into_iter().chain([60 * SECOND; 61])),
        120
    );
}

// B05
#[test]
fn a_long_idle_time_overflows_nothing() {
    let day = 24 * 3600 * SECOND;
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_micros(1), 1_000_000);
        for time in [0, day / 2, 3650 * day] {
            let reply = counter.take(time, 1);
            assert!(reply.allowed);
            assert_eq!(reply.available, 999_999);
        }
        let mut counter = Counter::bucket(algorithm, 1_000_000_000_000, Span::from_secs(1), 1);
        assert!(counter.take(0, 1).allowed);
        assert!(
            counter.take(u64::MAX - ZERO, 1).allowed,
            "the largest time there is"
        );
    }
}

// B07
#[test]
fn a_bucket_leaks_continuously_and_says_when_the_next_unit_comes() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 3, Span::from_secs(1), 3);
        let tenths = (0..20).map(|tenth| millis(100 * tenth));
        assert_eq!(counter.pattern(tenths), "AAADADDADDADDDADDADD");

        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(3), 10);
        let reply = counter.take(0, 4);
        assert_eq!((reply.available, reply.reset), (6, Span::from_secs(3)));
        let peek = counter.take(3600 * SECOND, 0);
        assert_eq!((peek.available, peek.reset), (10, Span::ZERO));
    }
}

// B11, B18
#[test]
fn attempts_that_were_denied_extend_nothing() {
    let mut counter = Counter::every(5, 60);
    assert_eq!(counter.admitted([0; 5]), 5);
    assert_eq!(counter.admitted((1..60).map(|second| second * SECOND)), 0);
    assert!(counter.take(60 * SECOND, 1).allowed);

    let mut counter = Counter::every(2, 60);
    assert_eq!(counter.admitted([18 * SECOND, 19 * SECOND]), 2);
    waits(counter.take(20 * SECOND, 1), 40 * SECOND);
}

// B13
#[test]
fn a_cost_above_the_capacity_is_denied_for_ever_and_takes_nothing() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 5);
        let reply = counter.take(0, 10);
        assert_eq!(
            (reply.allowed, reply.wait, reply.available),
            (false, Wait::Never, 5)
        );
        assert_eq!(counter.take(0, u64::MAX).wait, Wait::Never);
        assert_eq!(counter.take(0, 1).available, 4);
    }
    let mut counter = Counter::every(5, 60);
    assert_eq!(counter.take(0, 6).wait, Wait::Never);
    assert_eq!(counter.take(0, 1).available, 4);
}

// B14
#[test]
fn a_burst_is_what_is_admitted_back_to_back_from_rest() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 4);
        assert_eq!(counter.pattern([0; 5]), "AAAAD");
        let mut counter = Counter::bucket(algorithm, 10, Span::from_secs(1), 1);
        assert_eq!(counter.pattern([0, millis(10), millis(100)]), "ADA");
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(2), 16);
        let reply = counter.take(0, 1);
        assert_eq!((reply.available, reply.reset), (15, Span::from_secs(2)));
        let mut counter = Counter::bucket(algorithm, 3, Span::from_secs(1), 1);
        assert_eq!(
            counter.pattern([0, 0, 0, 0, 0, millis(334)]),
            "ADDDDA",
            "B29"
        );
    }
}

// B29
#[test]
fn a_limit_of_zero_denies_all() {
    let mut counter = Counter::every(0, 60);
    for cost in [0, 1, 5] {
        let reply = counter.take(0, cost);
        assert_eq!(
            (reply.allowed, reply.wait, reply.available),
            (false, Wait::Never, 0)
        );
    }
    let mut counter = Counter::bucket(BucketAlgorithm::Gcra, 1, Span::from_secs(1), 0);
    assert_eq!(counter.take(0, 1).wait, Wait::Never);
}

// B52
#[test]
fn half_a_second_refills_half_a_second_s_worth() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 2, Span::from_secs(1), 2);
        assert_eq!(counter.pattern([0, 0, millis(500)]), "AAA");
        let mut counter = Counter::bucket(algorithm, 150, Span::from_secs(1), 150);
        let admitted = counter.admitted((0..4000).map(|half| 500 * half));
        assert!((440..=450).contains(&admitted), "{admitted}");
    }
}

// B48
#[test]
fn a_calendar_day_of_25_hours_ends_when_the_calendar_says() {
    let midnight = 1_792_879_200 * SECOND;
    let hours = |hours: u64| WallTime::from_micros(midnight + hours * 3600 * SECOND);
    let yesterday = WallTime::from_micros(midnight - 24 * 3600 * SECOND);
    let edges = [yesterday, hours(0), hours(25), hours(49)];
    let shape = Shape::FixedWindow {
        limit: 1,
        windows: Windows::Edges(edges),
    };
    let mut counter = Counter::new(shape);
    let group = TakeGroup {
        takes: vec![take(shape, 1)],
    };
    let mut at = |time: WallTime| counter.store.take(time, &group).takes[0];
    assert!(at(hours(0)).allowed);
    waits(at(hours(0)), 90_000 * SECOND);
    assert!(!at(WallTime::from_micros(hours(25).as_micros() - 1)).allowed);
    assert!(at(hours(25)).allowed);
    let past = at(hours(99));
    assert_eq!(
        past.window.0,
        hours(25).as_micros(),
        "past the windows told of, the last goes on"
    );
}

#[test]
fn a_clock_that_steps_back_neither_refills_nor_reopens() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 3);
        assert_eq!(counter.admitted([10 * SECOND; 3]), 3);
        for back in [9, 5, 0] {
            waits(counter.take(back * SECOND, 1), SECOND);
        }
        assert!(counter.take(11 * SECOND, 1).allowed);
    }
    let mut counter = Counter::every(3, 60);
    assert_eq!(counter.admitted([61 * SECOND; 3]), 3);
    assert!(!counter.take(59 * SECOND, 1).allowed);
    assert!(!counter.take(0, 1).allowed);
}

#[test]
fn seven_a_minute_does_not_drift_in_a_year() {
    let year = 365 * 24 * 3600;
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 7, Span::from_secs(60), 7);
        let polls = (0..=year).step_by(5);
        let last = polls.clone().last().unwrap();
        let admitted = counter.admitted(polls.map(|second| second * SECOND));
        assert_eq!(admitted as u64, 7 + 7 * last / 60);
    }
}

#[test]
fn windows_of_a_key_start_at_its_phase() {
    let windows = Windows::Every {
        length: Span::from_secs(60),
        phase: Span::from_secs(17),
    };
    let mut counter = Counter::new(Shape::FixedWindow { limit: 1, windows });
    let reply = counter.take(16 * SECOND, 1);
    assert_eq!(
        (reply.window.0, reply.reset),
        (ZERO - 43 * SECOND, Span::from_secs(1))
    );
    assert!(!counter.take(17 * SECOND - 1, 1).allowed);
    assert_eq!(counter.take(17 * SECOND, 1).window.0, ZERO + 17 * SECOND);
}

#[test]
fn a_region_that_keeps_to_its_part_admits_its_part() {
    let cold = Some(Cold {
        units: 20,
        regions: 3,
    });
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 60, Span::from_secs(1), 60);
        let admitted = (0..10_000).filter(|ms| counter.judged(millis(*ms), 1, cold).allowed);
        let admitted = admitted.count();
        assert!(
            (215..=220).contains(&admitted),
            "20 and 20 a second, for 10 s: {admitted}"
        );
    }
    let mut counter = Counter::every(60, 60);
    let admitted = (0..59)
        .filter(|s| counter.judged(s * SECOND, 1, cold).allowed)
        .count();
    assert_eq!(admitted, 20);
}

/// What may happen to a bucket.
#[derive(Clone, Debug)]
enum Happening {
    Take {
        cost: u64,
        cold: Option<Cold>,
    },
    UndoLast,
    Fold {
        consumed: u64,
        rate_milli: u64,
        blind_rate_milli: u64,
        stale_after: u64,
    },
}

fn happenings() -> impl Strategy<Value = Vec<(i64, Happening)>> {
    let cold = prop::option::weighted(0.2, (0..8u64, 1..4u64))
        .prop_map(|cold| cold.map(|(units, regions)| Cold { units, regions }));
    let fold = (0..30u64, 0..20_000u64, 0..9_000u64, 0..5_000_000u64);
    let happening = prop_oneof![
        8 => (0..4u64, cold).prop_map(|(cost, cold)| Happening::Take { cost, cold }),
        1 => Just(Happening::UndoLast),
        1 => fold.prop_map(|(consumed, rate_milli, blind_rate_milli, stale_after)| {
            Happening::Fold { consumed, rate_milli, blind_rate_milli, stale_after }
        }),
    ];
    let step = prop_oneof![6 => 0..400_000i64, 1 => 0..4_000_000i64, 1 => -2_000_000..0i64];
    prop::collection::vec((step, happening), 1..120)
}

/// Everything the store says while it happens.
fn played(shape: Shape, happenings: &[(i64, Happening)]) -> Vec<String> {
    let mut counter = Counter::new(shape);
    let mut now: u64 = 100 * SECOND;
    let mut last: Option<(u64, TakeReply)> = None;
    let mut said = Vec::new();
    for (step, happening) in happenings {
        now = now.saturating_add_signed(*step);
        match happening {
            Happening::Take { cost, cold } => {
                let reply = counter.judged(now, *cost, *cold);
                said.push(format!("{reply:?}"));
                last = reply.allowed.then_some((*cost, reply));
            }
            Happening::UndoLast => {
                if let Some((cost, TakeReply { window, epoch, .. })) = last.take() {
                    counter.store.undo(
                        at(now),
                        &Undo {
                            key: key(),
                            shape,
                            cost,
                            window,
                            epoch,
                        },
                    );
                }
            }
            Happening::Fold {
                consumed,
                rate_milli,
                blind_rate_milli,
                stale_after,
            } => {
                let part = RemotePart {
                    id: "b/1".into(),
                    consumed: *consumed,
                    epoch: Epoch(ZERO),
                };
                let remote = Remote::Bucket(RemoteBucket {
                    parts: vec![part],
                    rate_milli: *rate_milli,
                    blind_rate_milli: *blind_rate_milli,
                });
                let stale_after = Span::from_micros(*stale_after);
                let fold = Fold {
                    key: key(),
                    shape,
                    remote,
                    stale_after,
                };
                said.push(format!("{:?}", counter.store.fold(at(now), &fold)));
            }
        }
    }
    said
}

proptest! {
    #[test]
    fn gcra_says_what_a_token_bucket_says(
        tokens in 1..50u64,
        per in prop_oneof![Just(1_000_000u64), 1..3_000_000u64],
        burst in 0..12u64,
        happenings in happenings(),
    ) {
        let rate = Rate { tokens, per: Span::from_micros(per) };
        let [token, gcra] = BOTH.map(|algorithm| Shape::Bucket { algorithm, rate, burst });
        prop_assert_eq!(played(token, &happenings), played(gcra, &happenings));
    }

    #[test]
    fn no_interval_admits_more_than_the_burst_and_what_refills_in_it(
        gcra in any::<bool>(),
        tokens in 1..50u64,
        per in prop_oneof![Just(1_000_000u64), 1..3_000_000u64],
        burst in 1..12u64,
        arrivals in prop::collection::vec((0..300_000u64, 1..4u64), 1..150),
    ) {
        let algorithm = BOTH[usize::from(gcra)];
        let mut counter = Counter::bucket(algorithm, tokens, Span::from_micros(per), burst);
        let mut now = 0;
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        for (step, cost) in arrivals {
            now += step;
            if counter.take(now, cost).allowed {
                admitted.push((now, cost));
            }
        }
        for (first, (start, _)) in admitted.iter().enumerate() {
            let mut units = 0;
            for (end, cost) in &admitted[first..] {
                units += cost * per;
                prop_assert!(units <= burst * per + tokens * (end - start));
            }
        }
    }

    #[test]
    fn a_denied_request_is_admitted_after_its_wait_and_not_before(
        gcra in any::<bool>(),
        tokens in 1..50u64,
        per in 1..3_000_000u64,
        burst in 1..12u64,
        cost in 1..12u64,
        idle in 0..1_000_000u64,
    ) {
        let algorithm = BOTH[usize::from(gcra)];
        let mut counter = Counter::bucket(algorithm, tokens, Span::from_micros(per), burst);
        counter.take(0, burst);
        let reply = counter.take(idle, cost);
        match reply.wait {
            Wait::None => prop_assert!(reply.allowed),
            Wait::Never => prop_assert!(cost > burst),
            Wait::For(wait) => {
                let wait = wait.as_micros();
                prop_assert!(!counter.take(idle + wait - 1, cost).allowed);
                prop_assert!(counter.take(idle + wait, cost).allowed);
            }
        }
    }
}
