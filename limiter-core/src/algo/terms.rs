//! A bucket's shape in units that make every rate exact.
//!
//! Promises: a store of any kind computes with the same integers.
//! Never knows a level.

use super::remote::Cold;
use super::units::{EXACT_MAX, MICROS_PER_MILLI, MILLI_MILLIS, exact, product};
use super::{BucketAlgorithm, Rate};

/// A bucket's shape in units: a token is `per` units, and `tokens` units drain in a microsecond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Its formulation.
    pub(crate) algorithm: BucketAlgorithm,
    /// Units drained in a microsecond.
    pub(crate) tokens: u64,
    /// Units of one token.
    pub(crate) per: u64,
    /// Capacity in tokens.
    pub(crate) burst: u64,
}

impl Terms {
    /// The terms of a bucket.
    pub(crate) fn new(algorithm: BucketAlgorithm, rate: Rate, burst: u64) -> Self {
        let tokens = exact(rate.tokens).max(1);
        Self {
            algorithm,
            tokens,
            per: exact(rate.per.as_micros()).max(1),
            burst: exact(burst),
        }
    }

    /// Capacity in units.
    pub(crate) const fn capacity(self) -> u64 {
        product(self.burst, self.per)
    }

    /// Units drained in a millisecond.
    pub(crate) const fn per_milli(self) -> u64 {
        self.tokens.saturating_mul(MICROS_PER_MILLI)
    }

    /// How long a full burst of debt drains, in microseconds, rounded up.
    pub(crate) const fn full_micros(self) -> u64 {
        self.capacity().div_ceil(self.tokens)
    }

    /// By how much `period`s must be divided for `tokens * per` to be exact; 1 for all but extreme rates.
    pub(crate) fn coarseness(self) -> u64 {
        let wide = (u128::from(self.tokens) * u128::from(self.per)) >> EXACT_MAX.trailing_zeros();
        u64::try_from(wide).unwrap_or(EXACT_MAX) + 1
    }

    /// Whole tokens drained in `micros`, rounded down.
    pub(super) fn drained(self, micros: u64) -> u64 {
        let coarse = self.coarseness();
        let whole = product(micros / self.per, self.tokens);
        let rest = (micros % self.per) / coarse * self.tokens;
        whole + rest / (self.per / coarse).max(1)
    }

    /// A rate of others in units per millisecond, rounded down; at most four times what drains.
    pub(crate) fn others_per_milli(self, rate_milli: u64) -> u64 {
        let units = u128::from(rate_milli) * u128::from(self.per) / u128::from(MILLI_MILLIS);
        u64::try_from(units)
            .unwrap_or(EXACT_MAX)
            .min(self.per_milli().saturating_mul(4))
    }

    /// The capacity and the others' drain, in units per millisecond, of a region that keeps to its part.
    pub(crate) fn cold(self, cold: Cold) -> (u64, u64) {
        let own = (self.per_milli() / cold.regions.max(1)).max(1);
        (
            product(cold.units.min(self.burst), self.per),
            self.per_milli() - own,
        )
    }
}
