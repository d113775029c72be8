//! The algorithms: what they are told, and one pure step each, in exact integers.
//!
//! Promises: every step means the same here and in the Lua file of the same name, to the unit and the microsecond.
//! Never reads a clock; a clock that steps back neither refills a bucket nor reopens a window.

use sync_proto::{Span, WallTime};

pub(crate) mod bucket;
pub(crate) mod counter;
pub(crate) mod fixed_window;
mod gcra;
pub(crate) mod ledger;
pub(crate) mod remote;
pub(crate) mod remote_windows;
mod reply;
pub(crate) mod terms;
mod token_bucket;
pub(crate) mod units;

pub use remote::{Cold, Remote, RemoteBucket, RemotePart, RemoteWindow, RemoteWindows};
pub use reply::{TakeReply, Wait};

/// A rate: `tokens` per `per`, exact. Kept in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Units.
    pub tokens: u64,
    /// In this time; never zero.
    pub per: Span,
}

/// The two formulations of a bucket; they admit the same requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketAlgorithm {
    /// A level that refills.
    TokenBucket,
    /// One theoretical arrival time.
    Gcra,
}

/// Where the windows of a counter lie on the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// All of one length, shifted by a phase that is the same in every region and differs from key to key.
    Every {
        /// Length of a window.
        length: Span,
        /// A window starts at every `k * length + phase`; below `length`.
        phase: Span,
    },
    /// Calendar windows around the time of the request: `[e0, e1)`, `[e1, e2)`, `[e2, e3)`. The store's clock picks one.
    Edges([WallTime; 4]),
}

/// What holds a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A bucket that refills at `rate` and holds `burst`.
    Bucket {
        /// Its formulation.
        algorithm: BucketAlgorithm,
        /// Its refill.
        rate: Rate,
        /// Its capacity, in units.
        burst: u64,
    },
    /// At most `limit` in each window.
    FixedWindow {
        /// Units per window. Zero denies all.
        limit: u64,
        /// The windows.
        windows: Windows,
    },
}
