//! One counter that a folder follows: its rule, the last life of its key, and what it was folded with.
//!
//! Promises: what a bucket still owes is kept in exact integers.
//! Never decides when to fold.

use std::sync::Arc;

use sync_proto::{CounterName, Epoch, MonoTime, WallTime, WindowId};

use super::is_shared;
use crate::algo::{Rate, Shape, Windows};
use crate::rule::{Resolved, RuleSet};

/// A counter.
#[derive(Debug, Default)]
pub(super) struct Following {
    resolved: Option<Resolved>,
    /// The version of the rules that did not know the name, plus one.
    unknown_in: Option<u64>,
    /// The newest window and life that our store told of.
    pub(super) live: Option<(WindowId, Epoch)>,
    /// The total in it.
    admitted: u64,
    /// What a bucket that only we use would owe, in units times the rate's period in microseconds.
    debt: u128,
    debt_at: MonoTime,
    /// Whether the mesh holds it busy.
    pub(super) busy: bool,
    /// Whether the store holds a fold of it that is kept up to date.
    pub(super) folded: bool,
    pub(super) folded_at: Option<MonoTime>,
    /// When it was last reported, heard of or busy.
    pub(super) used_at: MonoTime,
}

impl Following {
    /// The rule behind the name, if it is one whose counts are shared. Looked up again when the calendar moved on.
    pub(super) fn resolve(
        &mut self,
        name: &CounterName,
        rules: &Arc<RuleSet>,
        near: WallTime,
    ) -> Option<&Resolved> {
        if self
            .resolved
            .as_ref()
            .is_some_and(|resolved| is_over(resolved, near))
        {
            self.resolved = None;
        }
        if self.resolved.is_none() && self.unknown_in != Some(rules.version.saturating_add(1)) {
            self.resolved = rules
                .resolve(name, near)
                .filter(|found| is_shared(&found.rule));
            if self.resolved.is_none() {
                self.unknown_in = Some(rules.version.saturating_add(1));
            }
        }
        self.resolved.as_ref()
    }

    /// What [`Self::resolve`] found last.
    pub(super) fn resolved(&self) -> Option<&Resolved> {
        self.resolved.as_ref()
    }

    /// Other rules are in force.
    pub(super) fn forget_rule(&mut self) {
        self.resolved = None;
        self.unknown_in = None;
    }

    /// Takes in a total that our store told. Whether the key began a new life, and so has forgotten what was folded into the last one.
    pub(super) fn advance(
        &mut self,
        now: MonoTime,
        place: (WindowId, Epoch),
        admitted: u64,
    ) -> bool {
        let more = match self.live {
            Some(live) if place < live => return false,
            Some(live) if place == live => admitted.saturating_sub(self.admitted),
            _ => admitted,
        };
        self.owe(now, more);
        self.admitted = if self.live == Some(place) {
            self.admitted.max(admitted)
        } else {
            admitted
        };
        let before = self.live.replace(place);
        before.is_some_and(|(_, epoch)| epoch < place.1)
    }

    /// What a bucket that only we use would owe, in units.
    pub(super) fn debt(&self) -> u64 {
        let per = self
            .bucket()
            .map_or(1, |(rate, _)| rate.per.as_micros().max(1));
        u64::try_from(self.debt / u128::from(per)).unwrap_or(u64::MAX)
    }

    fn owe(&mut self, now: MonoTime, more: u64) {
        let Some((rate, burst)) = self.bucket() else {
            return;
        };
        let per = u128::from(rate.per.as_micros().max(1));
        let drained = u128::from(now.since(self.debt_at).as_micros()) * u128::from(rate.tokens);
        let owed = self.debt.saturating_sub(drained) + u128::from(more) * per;
        self.debt = owed.min(u128::from(burst) * per);
        self.debt_at = now;
    }

    fn bucket(&self) -> Option<(Rate, u64)> {
        match self.resolved.as_ref()?.shape {
            Shape::Bucket { rate, burst, .. } => Some((rate, burst)),
            Shape::FixedWindow { .. } => None,
        }
    }
}

/// Whether a shape with calendar windows no longer has `near` in its middle one.
fn is_over(resolved: &Resolved, near: WallTime) -> bool {
    match resolved.shape {
        Shape::FixedWindow {
            windows: Windows::Edges([_, start, end, _]),
            ..
        } => near < start || near >= end,
        Shape::FixedWindow {
            windows: Windows::Every { .. },
            ..
        }
        | Shape::Bucket { .. } => false,
    }
}
