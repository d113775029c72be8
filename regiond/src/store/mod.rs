//! The region's store as the rest of the process sees it.
use limiter_core::check::Plan;
use limiter_core::store::{Fold, FoldReply, GroupReply, StoreFault, Undo};

use crate::os::Clock;

/// The region's store. Cheap to clone.
#[derive(Clone, Debug)]
pub enum StoreLink {}

#[allow(unused_variables, clippy::unused_async)]
impl StoreLink {
    /// An embedded store of this process.
    pub fn embedded(clock: Clock) -> Self { unimplemented!() }
    /// A Redis. Does not wait for it: a server that is not there yet is a fault per call until it is.
    pub fn redis(urls: &[String], deadline: sync_proto::Span, clock: Clock) -> anyhow::Result<Self> { unimplemented!() }
    /// Executes every group of the plan, in parallel, each within the deadline.
    pub async fn take(&self, plan: &Plan) -> Vec<Result<GroupReply, StoreFault>> { unimplemented!() }
    /// Gives back. Best effort: an undo that fails is counted, not retried.
    pub async fn undo(&self, undo: &[Undo]) { unimplemented!() }
    /// Folds, pipelined; one result per fold, in order.
    pub async fn fold(&self, folds: &[Fold]) -> Vec<Result<FoldReply, StoreFault>> { unimplemented!() }
}
