//! The embedded store's table: keys to counters, bounded.
//!
//! Promises: what has expired goes, a few per key that comes, before anything else does; at the cap the least
//! recently used goes of a few that have not denied anything lately. Deterministic for a given seed.
//! Never reads a clock, never decides.

use std::hash::Hasher as _;

use foldhash::SharedSeed;
use foldhash::quality::FoldHasher;
use hashbrown::HashTable;

use super::StoreKey;
use crate::algo::counter::State;
use crate::algo::ledger::Ledger;

/// Buckets of the table looked at for each key that comes.
const SWEEP: usize = 4;

/// Keys compared when one must go.
const SAMPLE: usize = 16;

/// Bits without a pattern, so that a small seed does not begin with small numbers.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Where a key is. Good until a key comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(usize);

/// What is kept of one key.
#[derive(Debug)]
pub(super) struct Entry {
    key: StoreKey,
    hash: u64,
    /// The counter.
    pub(super) state: Option<State>,
    /// Which of the others' totals have been applied to it.
    pub(super) ledger: Option<Box<Ledger>>,
    /// When it was asked last, in microseconds.
    pub(super) used: u64,
    /// Whether it denied then.
    pub(super) denied: bool,
}

impl Entry {
    fn expired(&self, now: u64) -> bool {
        self.state
            .as_ref()
            .is_none_or(|state| state.expires() <= now)
            && self
                .ledger
                .as_ref()
                .is_none_or(|ledger| ledger.expires() <= now)
    }
}

/// Keys to counters.
#[derive(Debug)]
pub(super) struct Keys {
    table: HashTable<Entry>,
    seed: u64,
    shared_seed: SharedSeed,
    keys_max: usize,
    /// The bucket of the table that is swept next.
    cursor: usize,
    /// The state of a generator that picks where to sample.
    dice: u64,
}

impl Keys {
    /// No keys; `keys_max` of them at most.
    pub(super) fn new(seed: u64, keys_max: usize) -> Self {
        Self {
            table: HashTable::new(),
            seed,
            shared_seed: SharedSeed::from_u64(seed),
            keys_max: keys_max.max(1),
            cursor: 0,
            dice: (seed ^ SPREAD) | 1,
        }
    }

    /// Keys that are kept.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Forgets all keys.
    pub(super) fn clear(&mut self) {
        self.table.clear();
    }

    /// A key's hash.
    pub(super) fn hash(&self, key: &StoreKey) -> u64 {
        let mut hasher = FoldHasher::with_seed(self.seed, &self.shared_seed);
        hasher.write(&key.0);
        hasher.finish()
    }

    /// Where a key is.
    pub(super) fn find(&self, hash: u64, key: &StoreKey) -> Option<Place> {
        self.table
            .find_bucket_index(hash, |entry| entry.key == *key)
            .map(Place)
    }

    /// What is kept at a place.
    pub(super) fn at(&self, place: Place) -> Option<&Entry> {
        self.table.get_bucket(place.0)
    }

    /// What is kept at a place, to change it.
    pub(super) fn at_mut(&mut self, place: Place) -> Option<&mut Entry> {
        self.table.get_bucket_mut(place.0)
    }

    /// Keeps a key that is not there yet, without a counter, and lets others go to make room.
    pub(super) fn insert(&mut self, hash: u64, key: &StoreKey, now: u64) -> &mut Entry {
        self.sweep(now);
        while self.table.len() >= self.keys_max && self.evict(now) {}
        let entry = Entry {
            key: key.clone(),
            hash,
            state: None,
            ledger: None,
            used: now,
            denied: false,
        };
        self.table
            .insert_unique(hash, entry, |entry| entry.hash)
            .into_mut()
    }

    /// Lets what has expired go from the next few buckets of the table.
    fn sweep(&mut self, now: u64) {
        for _ in 0..SWEEP.min(self.table.num_buckets()) {
            self.cursor = (self.cursor + 1) % self.table.num_buckets();
            if self
                .table
                .get_bucket(self.cursor)
                .is_some_and(|entry| entry.expired(now))
            {
                self.remove(self.cursor);
            }
        }
    }

    /// Lets one key go: one that has expired, else the least recently used of a few, those that deny last.
    fn evict(&mut self, now: u64) -> bool {
        let mut least = None;
        for _ in 0..SAMPLE {
            let start = self.roll();
            let sampled = self
                .occupied(start)
                .map(|(index, entry)| ((!entry.expired(now), entry.denied, entry.used), index));
            least = least.or(sampled).min(sampled.or(least));
        }
        least.is_some_and(|(_, index)| {
            self.remove(index);
            true
        })
    }

    /// The first key at or after a bucket of the table.
    fn occupied(&self, start: usize) -> Option<(usize, &Entry)> {
        let buckets = self.table.num_buckets();
        (0..buckets)
            .map(|step| start.wrapping_add(step) % buckets)
            .find_map(|index| self.table.get_bucket(index).map(|entry| (index, entry)))
    }

    fn remove(&mut self, index: usize) {
        if let Ok(entry) = self.table.get_bucket_entry(index) {
            entry.remove();
        }
    }

    /// A step of xorshift: any spread will do.
    fn roll(&mut self) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        usize::try_from(self.dice >> u32::BITS).unwrap_or_default()
    }
}
