//! What a counter is told of its use in other regions, or of its part when it is told nothing.
//!
//! Promises: totals that only grow and rates, never verdicts.
//! Never says how a counter applies it; see `bucket` and `remote_windows`.

use sync_proto::{Epoch, WindowId};

/// What a region keeps to by itself when it cannot know what the others use: its part of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cold {
    /// Units of a window's limit, or of a bucket's burst.
    pub units: u64,
    /// Regions that share a bucket's rate.
    pub regions: u64,
}

/// The other regions' use of one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remote {
    /// Of a counter with windows.
    Window(RemoteWindows),
    /// Of a bucket.
    Bucket(RemoteBucket),
}

/// The other regions' use of a windowed counter.
///
/// Between folds a store takes them to go on: their use at time `t` of a window told of is
/// `estimate + rate * (t - folded)`, of a window not told of yet `carry * (t - start)`; it stops once the fold is stale.
/// A take of `n` is allowed when `own + n <= floor`, or when `own + n + use <= limit` and `own + n <= ceiling`.
/// Once stale, `blind` stands for both floor and ceiling; when `blind` is absent, the estimate of that moment goes on standing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteWindows {
    /// The newest window anyone told of, and the one before it.
    pub cells: Vec<RemoteWindow>,
    /// The rate at which a window not told of yet is taken to fill, in thousandths of a unit per second.
    pub carry_milli: u64,
    /// What this region may admit whatever the others did, in units.
    pub floor: u64,
    /// What this region may not exceed whatever the others left, in units; absent: the limit alone.
    pub ceiling: Option<u64>,
    /// Floor and ceiling in one, in units, once the fold is stale.
    pub blind: Option<u64>,
}

/// The other regions' use of one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteWindow {
    /// Which window.
    pub window: WindowId,
    /// Units they are known to have admitted: the sum of cumulative counts. The store keeps the largest it was told.
    pub known: u64,
    /// What they are taken to have admitted by the time of folding; at least `known`.
    pub estimate: u64,
    /// How fast it grows, in thousandths of a unit per second.
    pub rate_milli: u64,
}

/// The other regions' use of a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteBucket {
    /// What each region's store let through, per life of its key. The store remembers what it has applied of each.
    pub parts: Vec<RemotePart>,
    /// How fast they are taken to go on between folds, in thousandths of a unit per second.
    pub rate_milli: u64,
    /// How fast they are taken to go on once the fold is stale, in thousandths of a unit per second.
    pub blind_rate_milli: u64,
}

/// What one region's store let through a bucket in one life of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePart {
    /// Names region and epoch; stable, short, without spaces.
    pub id: String,
    /// Units let through since that epoch began: a running total.
    pub consumed: u64,
    /// When it began. A part never applied before counts for what would still be owed had it drained since then.
    pub epoch: Epoch,
}
