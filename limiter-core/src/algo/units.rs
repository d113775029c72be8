//! Integers that are exact in Rust and in the doubles of Lua alike.
//!
//! Promises: what passes through here is at most [`EXACT_MAX`], so that a sum of two is below 2^53.
//! Never rounds without saying in which direction.

/// The largest quantity that is told to a store; larger ones count as this.
pub(crate) const EXACT_MAX: u64 = 1 << 52;

/// Microseconds in a millisecond: what is extrapolated between folds grows in whole milliseconds.
pub(crate) const MICROS_PER_MILLI: u64 = 1_000;

/// A rate in thousandths of a unit per second, times milliseconds, over this, is units.
pub(crate) const MILLI_MILLIS: u64 = 1_000_000;

/// How long a ledger is kept after the last debt it tells of has drained, in microseconds.
pub(crate) const LEDGER_GRACE_MICROS: u64 = 60_000_000;

/// Totals in one ledger. With more it keeps those that the newest fold told of.
pub(crate) const LEDGER_PARTS_MAX: usize = 256;

/// `value`, or the largest exact quantity.
pub(crate) const fn exact(value: u64) -> u64 {
    if value < EXACT_MAX { value } else { EXACT_MAX }
}

/// The product, or the largest exact quantity. In doubles this is `min(a * b, 2^52)`: rounding is monotone.
pub(crate) const fn product(a: u64, b: u64) -> u64 {
    exact(a.saturating_mul(b))
}
