//! One counter in a store of its own.

use std::sync::Arc;

use limiter_core::algo::{BucketAlgorithm, Rate, Shape, Windows};
use limiter_core::store::{Cold, EmbeddedStore, StoreKey, Take, TakeGroup, TakeReply, Wait};
use sync_proto::{Span, WallTime};

pub(crate) const BOTH: [BucketAlgorithm; 2] = [BucketAlgorithm::TokenBucket, BucketAlgorithm::Gcra];
pub(crate) const SECOND: u64 = 1_000_000;
/// 2026-12-01T00:00:00Z.
pub(crate) const ZERO: u64 = 1_796_083_200 * SECOND;

/// One counter in a store of its own; times are microseconds after [`ZERO`].
pub(crate) struct Counter {
    pub(crate) store: EmbeddedStore,
    pub(crate) shape: Shape,
}

impl Counter {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            store: EmbeddedStore::new(7, 16),
            shape,
        }
    }

    pub(crate) fn bucket(algorithm: BucketAlgorithm, tokens: u64, per: Span, burst: u64) -> Self {
        Self::new(Shape::Bucket {
            algorithm,
            rate: Rate { tokens, per },
            burst,
        })
    }

    pub(crate) fn every(limit: u64, seconds: u64) -> Self {
        let windows = Windows::Every {
            length: Span::from_secs(seconds),
            phase: Span::ZERO,
        };
        Self::new(Shape::FixedWindow { limit, windows })
    }

    pub(crate) fn judged(&mut self, micros: u64, cost: u64, cold: Option<Cold>) -> TakeReply {
        let take = Take {
            cold,
            ..take(self.shape, cost)
        };
        self.store
            .take(at(micros), &TakeGroup { takes: vec![take] })
            .takes[0]
    }

    pub(crate) fn take(&mut self, micros: u64, cost: u64) -> TakeReply {
        self.judged(micros, cost, None)
    }

    /// `A` and `D` for requests of one unit at these times.
    pub(crate) fn pattern(&mut self, times: impl IntoIterator<Item = u64>) -> String {
        times
            .into_iter()
            .map(|time| if self.take(time, 1).allowed { 'A' } else { 'D' })
            .collect()
    }

    pub(crate) fn admitted(&mut self, times: impl IntoIterator<Item = u64>) -> usize {
        self.pattern(times).matches('A').count()
    }
}

pub(crate) fn at(micros: u64) -> WallTime {
    WallTime::from_micros(ZERO + micros)
}

pub(crate) fn key() -> StoreKey {
    StoreKey(Arc::from(&b"{k}"[..]))
}

pub(crate) fn take(shape: Shape, cost: u64) -> Take {
    Take {
        key: key(),
        shape,
        cost,
        shadow: false,
        count_rejected: false,
        cold: None,
    }
}

pub(crate) fn millis(millis: u64) -> u64 {
    millis * 1_000
}

pub(crate) fn waits(reply: TakeReply, micros: u64) {
    assert!(!reply.allowed, "{reply:?}");
    assert_eq!(reply.wait, Wait::For(Span::from_micros(micros)));
}
