//! The whole language spoken to a store, as plain data: take, undo, fold, and their replies.
//!
//! Promises: a store that understands these types decides exactly as every other store does.
//! Never holds a connection; `regiond` does.

use sync_proto::{Epoch, Span, WallTime, WindowId};

use crate::algo::Shape;

mod embedded;
pub mod redis_dialect;

pub use embedded::EmbeddedStore;

/// A key in a store. Keys with the same identity carry the same hash tag, so one script call can hold them all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreKey(pub std::sync::Arc<[u8]>);

/// A request for units of one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// Which counter.
    pub key: StoreKey,
    /// What holds it.
    pub shape: Shape,
    /// Units wanted. Zero peeks: it is judged as one would be, and takes nothing.
    pub cost: u64,
    /// Judged and counted, but its denial denies nobody.
    pub shadow: bool,
    /// A denied request costs, too, as much as is left.
    pub count_rejected: bool,
    /// The most this region may admit (of a window, or as a part in thousandths of a bucket's rate and burst: see
    /// [`Cold`]) while nothing has been folded in; absent when the peers are heard and none has told of the key.
    pub cold: Option<Cold>,
}

/// What a region keeps to by itself when it cannot know what the others use: its part of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cold {
    /// Units of a window's limit, or of a bucket's burst.
    pub units: u64,
    /// Regions that share a bucket's rate.
    pub regions: u64,
}

/// Takes that are decided together in one call: all are checked first, and all take only if all enforced ones pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakeGroup {
    /// All of one identity, hence of one hash tag.
    pub takes: Vec<Take>,
}

/// How long until the same request can pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It passed, or would have.
    None,
    /// After this long, if nobody else takes.
    For(Span),
    /// Never: it asks for more than there can be.
    Never,
}

/// What a store said to one [`Take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeReply {
    /// Whether this limit had room. The group took only if every enforced take of it had.
    pub allowed: bool,
    /// Units left after this call, never above the limit.
    pub available: u64,
    /// Units this region has admitted in `window` and `epoch` so far, this call included.
    pub admitted: u64,
    /// The window that was counted in; [`WindowId::ENDLESS`] for buckets.
    pub window: WindowId,
    /// The life of the key.
    pub epoch: Epoch,
    /// Until the same request can pass.
    pub wait: Wait,
    /// Until more units are there than now; zero when all are.
    pub reset: Span,
    /// Whether other regions' use has been folded into the key and counted here.
    pub shared: bool,
    /// What the other regions were taken to have used of the window; zero for buckets.
    pub remote: u64,
}

/// A store's answer to one [`TakeGroup`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupReply {
    /// The store's clock at the decision.
    pub at: WallTime,
    /// Whether units were taken: the cost was above zero and every enforced take was allowed.
    pub taken: bool,
    /// One per take, in order.
    pub takes: Vec<TakeReply>,
}

/// Gives back what a group took when another group of the same request, decided in parallel, said no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// Which counter.
    pub key: StoreKey,
    /// What holds it.
    pub shape: Shape,
    /// Units to give back; never more than the window or the bucket still shows as taken.
    pub cost: u64,
    /// The window they were taken from; when it is over, nothing is given back.
    pub window: WindowId,
    /// The life they were taken in; when it is over, nothing is given back.
    pub epoch: Epoch,
}

/// Tells a store what the other regions have used of one counter. Idempotent: telling it twice changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Which counter.
    pub key: StoreKey,
    /// What holds it.
    pub shape: Shape,
    /// The others' use.
    pub remote: Remote,
    /// How long the fold may be trusted without a newer one, on the store's clock.
    pub stale_after: Span,
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

/// A store's answer to a [`Fold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldReply {
    /// The store's clock at the folding.
    pub at: WallTime,
    /// What this region itself has admitted in the current window and epoch; zero when the key is new.
    pub admitted: u64,
    /// The current window.
    pub window: WindowId,
    /// The life of the key, begun by this fold when there was none.
    pub epoch: Epoch,
}

/// Why a store did not answer. One variant per reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum StoreFault {
    /// No answer within the deadline.
    #[error("store_timeout")]
    Deadline,
    /// No connection.
    #[error("store_unreachable")]
    Unreachable,
    /// It answered, and refused: out of memory, read-only, loading, no permission.
    #[error("store_refused")]
    Refused,
    /// It answered something that makes no sense: another program's key, or a torn state.
    #[error("store_corrupt")]
    Corrupt,
}
