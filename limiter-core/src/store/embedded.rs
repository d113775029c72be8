//! The store in memory.
//!
//! Promises: the same replies as the Redis scripts give to the same operations at the same times; bounded;
//! deterministic for a given seed. Never reads a clock: each operation brings the store's time.

use sync_proto::WallTime;

use super::keys::{Keys, Place};
use super::{Fold, FoldReply, GroupReply, Take, TakeGroup, Undo};
use crate::algo::counter::{Opened, State};
use crate::algo::units::exact;

/// A store in memory; one shard. Deterministic for a given seed.
#[derive(Debug)]
pub struct EmbeddedStore {
    keys: Keys,
    /// The takes of the group at hand; kept for its memory.
    judged: Vec<Judged>,
}

/// A take that has been judged.
#[derive(Clone, Copy, Debug)]
struct Judged {
    hash: u64,
    place: Option<Place>,
    opened: Opened,
    allowed: bool,
}

impl EmbeddedStore {
    /// An empty store. `seed` keeps callers from choosing keys that collide in the table.
    pub fn new(seed: u64, keys_max: usize) -> Self {
        Self {
            keys: Keys::new(seed, keys_max),
            judged: Vec::new(),
        }
    }

    /// Checks all, then takes all.
    pub fn take(&mut self, now: WallTime, group: &TakeGroup) -> GroupReply {
        let micros = exact(now.as_micros());
        let mut judged = std::mem::take(&mut self.judged);
        judged.extend(group.takes.iter().map(|take| self.judge(micros, take)));
        let passed = judged
            .iter()
            .zip(&group.takes)
            .all(|(judged, take)| judged.allowed || take.shadow);
        let mut moved = false;
        let takes = judged
            .iter_mut()
            .zip(&group.takes)
            .map(|(judged, take)| {
                let cost = exact(take.cost);
                let taken = units_taken(judged, take, passed);
                judged.opened.take(taken);
                moved |= self.keep(micros, judged, take, (taken > 0, moved));
                judged.opened.reply(cost, judged.allowed)
            })
            .collect();
        judged.clear();
        self.judged = judged;
        let taken = passed && group.takes.iter().any(|take| take.cost > 0);
        GroupReply {
            at: now,
            taken,
            takes,
        }
    }

    /// Gives back.
    pub fn undo(&mut self, now: WallTime, undo: &Undo) {
        let hash = self.keys.hash(&undo.key);
        let place = self.keys.find(hash, &undo.key);
        let entry = place.and_then(|place| self.keys.at_mut(place));
        if let Some(state) = entry.and_then(|entry| entry.state.as_mut()) {
            let taken = (undo.window, undo.epoch);
            state.undo(exact(now.as_micros()), &undo.shape, exact(undo.cost), taken);
        }
    }

    /// Folds in others' use.
    pub fn fold(&mut self, now: WallTime, fold: &Fold) -> FoldReply {
        let micros = exact(now.as_micros());
        let hash = self.keys.hash(&fold.key);
        let place = match self.keys.find(hash, &fold.key) {
            Some(place) => Some(place),
            None => {
                self.keys.insert(hash, &fold.key, micros);
                self.keys.find(hash, &fold.key)
            }
        };
        let told = (&fold.remote, fold.stale_after);
        let opened = match place.and_then(|place| self.keys.at_mut(place)) {
            Some(entry) => State::fold(
                &mut entry.state,
                &mut entry.ledger,
                micros,
                &fold.shape,
                told,
            ),
            None => Opened::new(None, micros, &fold.shape, None),
        };
        let (admitted, window, epoch) = opened.admitted();
        FoldReply {
            at: now,
            admitted,
            window,
            epoch,
        }
    }

    /// Forgets everything, as a flushed server would.
    pub fn flush(&mut self) {
        self.keys.clear();
    }

    /// Keys that are kept. Expired ones are, too, until they are swept.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn judge(&self, now: u64, take: &Take) -> Judged {
        let hash = self.keys.hash(&take.key);
        let place = self.keys.find(hash, &take.key);
        let entry = place.and_then(|place| self.keys.at(place));
        let state = entry.and_then(|entry| entry.state.as_ref());
        let opened = Opened::new(state, now, &take.shape, take.cold);
        Judged {
            hash,
            place,
            opened,
            allowed: opened.allows(exact(take.cost)),
        }
    }

    /// Keeps what a take has changed, and whether it was denied. Returns whether keys have moved.
    fn keep(
        &mut self,
        now: u64,
        judged: &Judged,
        take: &Take,
        (changed, moved): (bool, bool),
    ) -> bool {
        let place = if moved {
            self.keys.find(judged.hash, &take.key)
        } else {
            judged.place
        };
        if let Some(entry) = place.and_then(|place| self.keys.at_mut(place)) {
            entry.used = now;
            entry.denied = !judged.allowed;
            if changed {
                judged.opened.write(&mut entry.state);
            }
            return false;
        }
        if changed {
            let entry = self.keys.insert(judged.hash, &take.key, now);
            entry.state = Some(judged.opened.begun());
            entry.denied = !judged.allowed;
        }
        changed
    }
}

/// What a take takes: its cost if the request passed and it has room; nothing if not, but for what is left when
/// denied requests cost, too.
fn units_taken(judged: &Judged, take: &Take, passed: bool) -> u64 {
    let cost = exact(take.cost);
    if passed && judged.allowed {
        cost
    } else if take.count_rejected {
        cost.min(judged.opened.room())
    } else {
        0
    }
}
