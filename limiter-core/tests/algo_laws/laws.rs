//! Properties that hold whatever happens.

use limiter_core::algo::{Rate, Shape};
use limiter_core::store::{Cold, Fold, Remote, RemoteBucket, RemotePart, TakeReply, Undo, Wait};
use proptest::prelude::*;
use sync_proto::{Epoch, Span};

use crate::counter::{BOTH, Counter, SECOND, ZERO, at, key};

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
