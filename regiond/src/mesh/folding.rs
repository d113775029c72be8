//! One pass of folds over the store, beside the driver.
//!
//! Promises: the driver never waits for the store; every fold of the pass is answered, if only by a fault.

use std::sync::Arc;

use limiter_core::store::{Fold, FoldReply, StoreFault};
use sync_proto::{MonoTime, Span};
use tokio::task::JoinHandle;

use crate::os::Clock;
use crate::store::StoreLink;

/// A pass that is under way.
#[derive(Debug)]
pub(super) struct Pass {
    folds: Arc<Vec<Fold>>,
    started: MonoTime,
    task: JoinHandle<Vec<Result<FoldReply, StoreFault>>>,
}

/// A pass that is over.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) folds: Arc<Vec<Fold>>,
    /// One per fold, in order.
    pub(super) replies: Vec<Result<FoldReply, StoreFault>>,
    pub(super) took: Span,
}

impl Pass {
    /// Begins to fold.
    pub(super) fn start(store: &StoreLink, clock: Clock, folds: Vec<Fold>) -> Self {
        let folds = Arc::new(folds);
        let (store, folding) = (store.clone(), folds.clone());
        let task = tokio::spawn(async move { store.fold(&folding).await });
        Self {
            folds,
            started: clock.mono(),
            task,
        }
    }

    /// Waits until it is over. May be cancelled and called again.
    pub(super) async fn finished(&mut self, clock: Clock) -> Folded {
        // A store that panicked has answered nothing.
        let mut replies = (&mut self.task).await.unwrap_or_default();
        replies.resize(self.folds.len(), Err(StoreFault::Corrupt));
        Folded {
            folds: self.folds.clone(),
            replies,
            took: clock.mono().since(self.started),
        }
    }
}
