//! The embedded store: shards in memory, each behind a lock that is never held across an await.
//!
//! Promises: takes of one group are decided together, since keys of one hash tag are always in one shard.
//! Never waits for anything but a lock held for one call.

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use limiter_core::bounds::EMBEDDED_KEYS_MAX;
use limiter_core::check::Plan;
use limiter_core::store::{
    EmbeddedStore, Fold, FoldReply, GroupReply, StoreFault, StoreKey, TakeGroup, Undo,
};

use crate::os::{Clock, entropy};

/// More than the cores that contend for them; a power of two, so that a hash is cut to an index by a mask.
const SHARDS: usize = 16;

const _: () = assert!(SHARDS.is_power_of_two());

/// The embedded store of this process. Cheap to clone; all clones are one store.
#[derive(Clone, Debug)]
pub struct EmbeddedLink {
    shards: Arc<[Mutex<EmbeddedStore>]>,
    hasher: RandomState,
    clock: Clock,
}

impl EmbeddedLink {
    pub(super) fn new(clock: Clock) -> Self {
        let shard = |_| Mutex::new(EmbeddedStore::new(entropy(), EMBEDDED_KEYS_MAX / SHARDS));
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            hasher: RandomState::new(),
            clock,
        }
    }

    pub(super) fn take(&self, plan: &Plan) -> Vec<Result<GroupReply, StoreFault>> {
        plan.groups
            .iter()
            .map(|group| self.take_group(group))
            .collect()
    }

    fn take_group(&self, group: &TakeGroup) -> Result<GroupReply, StoreFault> {
        let Some(first) = group.takes.first() else {
            return Ok(GroupReply {
                at: self.clock.wall(),
                taken: false,
                takes: Vec::new(),
            });
        };
        self.within(&first.key, |store| store.take(self.clock.wall(), group))
    }

    pub(super) fn undo(&self, undo: &[Undo]) {
        for undo in undo {
            // A fault is logged where it is caught, and nobody waits for the reply.
            let _ = self.within(&undo.key, |store| store.undo(self.clock.wall(), undo));
        }
    }

    pub(super) fn fold(&self, folds: &[Fold]) -> Vec<Result<FoldReply, StoreFault>> {
        let one = |fold: &Fold| self.within(&fold.key, |s| s.fold(self.clock.wall(), fold));
        folds.iter().map(one).collect()
    }

    /// Runs `call` on the key's shard. A bug that panics in there is a fault of this call, not the end of the process.
    fn within<T>(
        &self,
        key: &StoreKey,
        call: impl FnOnce(&mut EmbeddedStore) -> T,
    ) -> Result<T, StoreFault> {
        let hash = self.hasher.hash_one(hash_tag(key));
        let index = usize::try_from(hash & (SHARDS as u64 - 1)).unwrap_or(0);
        let shard = self.shards.get(index).ok_or(StoreFault::Unreachable)?;
        let mut store = shard.lock().unwrap_or_else(PoisonError::into_inner);
        catch_unwind(AssertUnwindSafe(|| call(&mut store))).map_err(|_| {
            tracing::error!("the embedded store panicked; please report this");
            StoreFault::Corrupt
        })
    }
}

/// What keys that are decided together have in common: the text between the first brace and the next closing one.
fn hash_tag(key: &StoreKey) -> &[u8] {
    let bytes = &*key.0;
    let tag = bytes
        .iter()
        .position(|&byte| byte == b'{')
        .and_then(|open| {
            let rest = bytes.get(open + 1..)?;
            let close = rest.iter().position(|&byte| byte == b'}')?;
            rest.get(..close).filter(|tag| !tag.is_empty())
        });
    tag.unwrap_or(bytes)
}
