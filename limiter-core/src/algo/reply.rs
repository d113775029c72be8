//! What an algorithm says to a request for units.
//!
//! Promises: the same words from every algorithm and every store.
//! Never says what to do about it; the check does.

use sync_proto::{Epoch, Span, WindowId};

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

/// What a store said to one take.
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
