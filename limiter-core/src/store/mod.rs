//! The whole language spoken to a store, as plain data: take, undo, fold, and their replies.
//!
//! Promises: a store that understands these types decides exactly as every other store does.
//! Never holds a connection; `regiond` does.

use sync_proto::{Epoch, Span, WallTime, WindowId};

use crate::algo::Shape;
pub use crate::algo::{
    Cold, Remote, RemoteBucket, RemotePart, RemoteWindow, RemoteWindows, TakeReply, Wait,
};

mod embedded;
mod keys;
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

/// Takes that are decided together in one call: all are checked first, and all take only if all enforced ones pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakeGroup {
    /// All of one identity, hence of one hash tag.
    pub takes: Vec<Take>,
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
