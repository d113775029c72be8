//! What a windowed counter keeps of what it was told of the others.
//!
//! Promises: what is known of a window never shrinks, in whatever order it is told.
//! Never counts what this region admitted; see `fixed_window`.

use sync_proto::{Span, WindowId};

use super::remote::{RemoteWindow, RemoteWindows};
use super::units::{MICROS_PER_MILLI, MILLI_MILLIS, exact, product};

/// The newest fold of a windowed counter.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// Newest first.
    cells: [Option<RemoteWindow>; 2],
    carry_milli: u64,
    floor: u64,
    ceiling: Option<u64>,
    blind: Option<u64>,
    folded: u64,
    stale_after: u64,
}

impl Told {
    /// What is told by `remote` at `at`, with what was known before.
    pub(super) fn new(
        before: Option<&Self>,
        remote: &RemoteWindows,
        at: u64,
        stale_after: Span,
    ) -> Self {
        let old = before.map_or([None; 2], |told| told.cells);
        let known_before = |window: WindowId| {
            old.iter()
                .flatten()
                .find(|cell| cell.window == window)
                .map_or(0, |cell| cell.known)
        };
        let mut cells: Vec<RemoteWindow> = newest(&remote.cells)
            .into_iter()
            .flatten()
            .map(|cell| {
                let known = cell.known.max(known_before(cell.window));
                RemoteWindow {
                    known,
                    estimate: cell.estimate.max(known),
                    ..cell
                }
            })
            .collect();
        for cell in old.into_iter().flatten() {
            if cells.iter().all(|newer| newer.window != cell.window) {
                cells.push(RemoteWindow {
                    estimate: cell.known,
                    rate_milli: 0,
                    ..cell
                });
            }
        }
        Self {
            cells: newest(&cells),
            carry_milli: exact(remote.carry_milli),
            floor: exact(remote.floor),
            ceiling: remote.ceiling.map(exact),
            blind: remote.blind.map(exact),
            folded: at,
            stale_after: exact(stale_after.as_micros()),
        }
    }

    /// When it was folded.
    pub(super) const fn folded(&self) -> u64 {
        self.folded
    }

    /// When it is stale.
    pub(super) const fn ends(&self) -> u64 {
        self.folded + self.stale_after
    }

    /// What the others are taken to have used, at `at`, of the window that begins at `start`.
    pub(super) fn used(&self, start: u64, at: u64) -> u64 {
        let until = at.min(self.ends());
        let (base, rate_milli, since) = match self
            .cells
            .iter()
            .flatten()
            .find(|cell| cell.window.0 == start)
        {
            Some(cell) => (cell.estimate, cell.rate_milli, self.folded),
            None => (0, self.carry_milli, start),
        };
        let millis = until.saturating_sub(since) / MICROS_PER_MILLI;
        base + product(rate_milli, millis) / MILLI_MILLIS
    }

    /// The most that this region may have admitted, at `at`, of a window of which the others used `used`.
    pub(super) fn bound(&self, limit: u64, used: u64, at: u64) -> u64 {
        let open = limit.saturating_sub(used);
        match self.blind {
            Some(blind) if at >= self.ends() => blind.min(limit),
            _ => self
                .floor
                .min(limit)
                .max(self.ceiling.map_or(open, |ceiling| open.min(ceiling))),
        }
    }
}

/// The two newest windows, newest first, in quantities that are exact.
pub(crate) fn newest(cells: &[RemoteWindow]) -> [Option<RemoteWindow>; 2] {
    let mut kept: [Option<RemoteWindow>; 2] = [None; 2];
    for cell in cells {
        let cell = RemoteWindow {
            window: cell.window,
            known: exact(cell.known),
            estimate: exact(cell.estimate.max(cell.known)),
            rate_milli: exact(cell.rate_milli),
        };
        let newer = |kept: Option<RemoteWindow>| kept.is_none_or(|kept| cell.window > kept.window);
        if kept.iter().flatten().any(|kept| kept.window == cell.window) {
            continue;
        }
        if newer(kept[0]) {
            kept = [Some(cell), kept[0]];
        } else if newer(kept[1]) {
            kept[1] = Some(cell);
        }
    }
    kept
}
