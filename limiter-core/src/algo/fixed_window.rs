//! A count per window.
//!
//! Promises: a window is `[start, end)`; only the newest one seen is kept, and a clock that steps back stays in it.
//! Never counts others' use as its own.

use sync_proto::{Epoch, Span, WindowId};

use super::Windows;
use super::remote::{Cold, RemoteWindows};
use super::remote_windows::Told;
use super::reply::{TakeReply, Wait};
use super::units::exact;

/// A counter in a store.
#[derive(Clone, Debug)]
pub(crate) struct FixedWindow {
    start: u64,
    own: u64,
    epoch: u64,
    expires: u64,
    told: Option<Box<Told>>,
}

/// A counter in the window of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    limit: u64,
    start: u64,
    end: u64,
    at: u64,
    own: u64,
    epoch: u64,
    /// What the others are taken to have used of the window.
    used: u64,
    /// The most that this region may have admitted in it.
    bound: u64,
    /// Whether the state there was, if any, tells nothing any more.
    fresh: bool,
    /// When the fold is stale; zero without one.
    fold_ends: u64,
}

impl FixedWindow {
    /// When it carries no information any more, in microseconds.
    pub(crate) const fn expires(&self) -> u64 {
        self.expires
    }

    /// Gives `cost` units back if they were taken in `window` and `epoch`.
    pub(crate) fn undo(&mut self, now: u64, cost: u64, (window, epoch): (WindowId, Epoch)) {
        let live = now.max(self.start) < self.expires;
        if live && self.start == window.0 && self.epoch == epoch.0 {
            self.own = self.own.saturating_sub(cost);
        }
    }

    /// Takes note of what `remote` tells. The counter begins if there was none.
    pub(crate) fn fold(
        state: &mut Option<Self>,
        now: u64,
        (limit, windows): (u64, Windows),
        (remote, stale_after): (&RemoteWindows, Span),
    ) -> Count {
        let mut count = Count::open(state.as_ref(), now, (limit, windows), None);
        let before = state
            .as_ref()
            .filter(|_| !count.fresh)
            .and_then(|state| state.told.as_deref());
        let told = Told::new(before, remote, count.at, stale_after);
        count.fold_ends = told.ends();
        let mut folded = count.closed();
        folded.told = Some(Box::new(told));
        *state = Some(folded);
        count
    }
}

impl Count {
    /// The counter at `now`, or at the latest time it has seen if that was later.
    pub(crate) fn open(
        state: Option<&FixedWindow>,
        now: u64,
        (limit, windows): (u64, Windows),
        cold: Option<Cold>,
    ) -> Self {
        let limit = exact(limit);
        let live = state.filter(|state| now.max(state.start) < state.expires);
        let told = live.and_then(|state| state.told.as_deref());
        let mut at = now;
        if let Some(state) = live {
            at = at.max(state.start).max(told.map_or(0, Told::folded));
        }
        let (mut start, mut end) = window_at(windows, at);
        if let Some(state) = live
            && start < state.start
        {
            // The windows told of end before the one that is counted already.
            (start, end) = (state.start, at + 1);
        }
        let used = told.map_or(0, |told| told.used(start, at));
        let bound = match (told, cold) {
            (Some(told), _) => told.bound(limit, used, at),
            (None, Some(cold)) => cold.units.min(limit),
            (None, None) => limit,
        };
        Self {
            limit,
            start,
            end,
            at,
            own: live
                .filter(|state| state.start == start)
                .map_or(0, |state| state.own),
            epoch: live.map_or(now, |state| state.epoch),
            used,
            bound,
            fresh: live.is_none(),
            fold_ends: told.map_or(0, Told::ends),
        }
    }

    /// Whether there is room for `cost` units, or for one when it is zero.
    pub(crate) const fn allows(&self, cost: u64) -> bool {
        let wanted = if cost == 0 { 1 } else { cost };
        wanted <= self.room()
    }

    /// Units that are left.
    pub(crate) const fn room(&self) -> u64 {
        self.bound.saturating_sub(self.own)
    }

    /// Takes `cost` units, which there must be room for.
    pub(crate) const fn take(&mut self, cost: u64) {
        self.own += cost;
    }

    /// Units that this region has admitted in the window.
    pub(crate) const fn own(&self) -> u64 {
        self.own
    }

    /// The window.
    pub(crate) const fn window(&self) -> WindowId {
        WindowId(self.start)
    }

    /// The life of the key.
    pub(crate) const fn epoch(&self) -> Epoch {
        Epoch(self.epoch)
    }

    /// The answer to a request for `cost` that was judged as `allowed`.
    pub(crate) const fn reply(&self, cost: u64, allowed: bool) -> TakeReply {
        let left = Span::from_micros(self.end.saturating_sub(self.at));
        let wanted = if cost == 0 { 1 } else { cost };
        TakeReply {
            allowed,
            available: self.room(),
            admitted: self.own,
            window: self.window(),
            epoch: self.epoch(),
            wait: if allowed {
                Wait::None
            } else if wanted > self.limit {
                Wait::Never
            } else {
                Wait::For(left)
            },
            reset: if self.own == 0 && self.used == 0 {
                Span::ZERO
            } else {
                left
            },
            shared: self.fold_ends > 0,
            remote: self.used,
        }
    }

    /// Writes what a take changed.
    pub(crate) fn write(&self, state: &mut FixedWindow) {
        let told = if self.fresh { None } else { state.told.take() };
        *state = self.closed();
        state.told = told;
    }

    /// The counter to keep, without what it knows of others.
    pub(crate) const fn closed(&self) -> FixedWindow {
        FixedWindow {
            start: self.start,
            own: self.own,
            epoch: self.epoch,
            expires: if self.end > self.fold_ends {
                self.end
            } else {
                self.fold_ends
            },
            told: None,
        }
    }
}

/// Start and end of the window that `at` is in. Of edges, the first or the last window goes on when it is in none:
/// then the store's clock is off by a window, and a count that ends late is better than none.
fn window_at(windows: Windows, at: u64) -> (u64, u64) {
    match windows {
        Windows::Every { length, phase } => {
            let (length, phase) = (exact(length.as_micros()).max(1), exact(phase.as_micros()));
            match at.checked_sub(phase) {
                Some(since) => {
                    let start = at - since % length;
                    (start, start + length)
                }
                None => (0, phase),
            }
        }
        Windows::Edges(edges) => match edges.map(|edge| exact(edge.as_micros())) {
            [e0, e1, _, _] if at < e1 => (e0, e1),
            [_, e1, e2, _] if at < e2 => (e1, e2),
            [_, _, e2, e3] if at < e3 => (e2, e3),
            [_, _, e2, e3] => (e2, at + e3.saturating_sub(e2).max(1)),
        },
    }
}
