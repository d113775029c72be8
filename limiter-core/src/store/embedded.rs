//! The embedded store.
use sync_proto::WallTime;

use super::{Fold, FoldReply, GroupReply, TakeGroup, Undo};

/// A store in memory; one shard. Deterministic for a given seed.
#[derive(Debug)]
pub struct EmbeddedStore {}

#[allow(unused_variables)]
impl EmbeddedStore {
    /// An empty store. `seed` keeps callers from choosing keys that collide in the table.
    pub fn new(seed: u64, keys_max: usize) -> Self { unimplemented!() }
    /// Checks all, then takes all.
    pub fn take(&mut self, now: WallTime, group: &TakeGroup) -> GroupReply { unimplemented!() }
    /// Gives back.
    pub fn undo(&mut self, now: WallTime, undo: &Undo) { unimplemented!() }
    /// Folds in others' use.
    pub fn fold(&mut self, now: WallTime, fold: &Fold) -> FoldReply { unimplemented!() }
    /// Forgets everything, as a flushed server would.
    pub fn flush(&mut self) { unimplemented!() }
    /// Live keys.
    pub fn len(&self) -> usize { unimplemented!() }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool { self.len() == 0 }
}
