//! The region's store as the rest of the process sees it: embedded, or a Redis.
//!
//! Promises: every call ends within its deadline, with one reply or one fault per thing asked for.
//! Never decides anything: what a fault means is the caller's to say.

use limiter_core::check::Plan;
use limiter_core::store::{Fold, FoldReply, GroupReply, StoreFault, Undo};

use crate::os::Clock;

mod connection;
mod embedded;
mod fault;
mod redis;

use embedded::EmbeddedLink;
use redis::RedisLink;

/// The region's store. Cheap to clone.
#[derive(Clone, Debug)]
pub enum StoreLink {
    /// In this process.
    Embedded(EmbeddedLink),
    /// A server of its own.
    Redis(RedisLink),
}

impl StoreLink {
    /// An embedded store of this process.
    pub fn embedded(clock: Clock) -> Self {
        Self::Embedded(EmbeddedLink::new(clock))
    }

    /// A Redis. Does not wait for it: a server that is not there yet is a fault per call until it is.
    ///
    /// Must be called on a runtime, which keeps the connection up from then on.
    ///
    /// # Errors
    /// When the URLs name nothing this can connect to; the message says what is accepted.
    pub fn redis(
        urls: &[String],
        deadline: sync_proto::Span,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        RedisLink::open(urls, deadline, clock).map(Self::Redis)
    }

    /// What metrics call this store: never holds a password.
    pub fn shard(&self) -> &str {
        match self {
            Self::Embedded(_) => "embedded",
            Self::Redis(link) => link.address(),
        }
    }

    /// Executes every group of the plan, in parallel, each within the deadline.
    pub async fn take(&self, plan: &Plan) -> Vec<Result<GroupReply, StoreFault>> {
        match self {
            Self::Embedded(link) => link.take(plan),
            Self::Redis(link) => link.take(plan).await,
        }
    }

    /// Gives back. Best effort: an undo that fails is logged, not retried.
    pub async fn undo(&self, undo: &[Undo]) {
        match self {
            Self::Embedded(link) => link.undo(undo),
            Self::Redis(link) => link.undo(undo).await,
        }
    }

    /// Folds, pipelined; one result per fold, in order.
    pub async fn fold(&self, folds: &[Fold]) -> Vec<Result<FoldReply, StoreFault>> {
        match self {
            Self::Embedded(link) => link.fold(folds),
            Self::Redis(link) => link.fold(folds).await,
        }
    }
}
