//! From what the mesh knows of a counter to the fold that tells our store.
//!
//! Promises: the last fold of a counter that nobody is busy with leaves no part of it behind that could limit a client later.
//! Never decides when.

use sync_proto::{CounterView, Epoch, Now, Span, WindowId};

use super::buckets::BucketFold;
use super::standing::Standing;
use super::windows::WindowFold;
use crate::algo::{Rate, Shape, Windows};
use crate::rule::{Resolved, Sharing};
use crate::store::{Fold, Remote};

/// Everything a fold is made of.
pub(super) struct Folding<'a> {
    pub(super) view: &'a CounterView<'a>,
    pub(super) resolved: &'a Resolved,
    pub(super) standing: &'a Standing,
    /// The window and life of our own key that the store told of last.
    pub(super) live: Option<(WindowId, Epoch)>,
    pub(super) now: Now,
    /// How long the fold may be trusted.
    pub(super) stale_after: Span,
    /// No newer fold will follow.
    pub(super) last: bool,
}

impl Folding<'_> {
    /// Whether there is anything to tell the store: others' use, our own from before a flush, or that somebody is not heard.
    pub(super) fn is_needed(&self) -> bool {
        let blind = self.resolved.rule.sharing == Sharing::Balanced && !self.standing.is_fresh();
        let own = self.view.own.as_ref().map_or(&[][..], |own| own.cells);
        let reborn = own.windows(2).any(|pair| pair[0].window == pair[1].window);
        blind || reborn || !self.view.peers.is_empty()
    }

    /// The fold.
    pub(super) fn fold(&self) -> Fold {
        let remote = match self.resolved.shape {
            Shape::FixedWindow { limit, windows } => self.windows(limit, windows),
            Shape::Bucket { rate, .. } => self.bucket(rate),
        };
        Fold {
            key: self.resolved.key.clone(),
            shape: self.resolved.shape,
            remote,
            stale_after: self.stale_after,
        }
    }

    fn windows(&self, limit: u64, windows: Windows) -> Remote {
        let fold = WindowFold {
            view: self.view,
            sharing: self.resolved.rule.sharing,
            on_partition: self.resolved.rule.on_partition,
            standing: self.standing,
            limit,
            windows,
            live: self.live,
            now: self.now,
        };
        let mut remote = fold.remote();
        if self.last {
            remote.carry_milli = 0;
            remote.cells.iter_mut().for_each(|cell| cell.rate_milli = 0);
            if self.standing.is_fresh() {
                remote.blind = None;
            }
        }
        Remote::Window(remote)
    }

    fn bucket(&self, rate: Rate) -> Remote {
        let fold = BucketFold {
            view: self.view,
            sharing: self.resolved.rule.sharing,
            on_partition: self.resolved.rule.on_partition,
            standing: self.standing,
            rate,
            live: self.live,
        };
        let mut remote = fold.remote();
        if self.last && self.standing.is_fresh() {
            remote.rate_milli = 0;
            remote.blind_rate_milli = 0;
        }
        Remote::Bucket(remote)
    }
}
