//! Decisions of the embedded store on one core.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use limiter_core::algo::{BucketAlgorithm, Rate, Shape, Windows};
use limiter_core::store::{EmbeddedStore, StoreKey, Take, TakeGroup};
use sync_proto::{Span, WallTime};

const ZERO: u64 = 1_796_083_200_000_000;

fn groups(keys: usize, shape: Shape) -> Vec<TakeGroup> {
    (0..keys)
        .map(|index| {
            let key = format!("rl:{{user:{index:05}:0123456789abcdef}}:01234567");
            let key = StoreKey(Arc::from(key.into_bytes()));
            let take = Take {
                key,
                shape,
                cost: 1,
                shadow: false,
                count_rejected: false,
                cold: None,
            };
            TakeGroup { takes: vec![take] }
        })
        .collect()
}

fn takes(criterion: &mut Criterion) {
    let rate = Rate {
        tokens: 100,
        per: Span::from_secs(1),
    };
    let bucket = |algorithm| Shape::Bucket {
        algorithm,
        rate,
        burst: 1_000_000,
    };
    let windows = Windows::Every {
        length: Span::from_secs(60),
        phase: Span::from_secs(7),
    };
    let shapes = [
        ("token_bucket", bucket(BucketAlgorithm::TokenBucket)),
        ("gcra", bucket(BucketAlgorithm::Gcra)),
        (
            "fixed_window",
            Shape::FixedWindow {
                limit: 1_000_000,
                windows,
            },
        ),
    ];
    let mut group = criterion.benchmark_group("embedded_take");
    group.throughput(Throughput::Elements(1));
    for (name, shape) in shapes {
        let groups = groups(1_000, shape);
        let mut store = EmbeddedStore::new(1, 10_000);
        let mut asked = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                asked += 1;
                let now = WallTime::from_micros(ZERO + asked as u64);
                black_box(store.take(now, &groups[asked % groups.len()]))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, takes);
criterion_main!(benches);
