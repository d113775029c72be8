//! The other regions' use of a windowed counter, for a fold.
//!
//! Promises: a fresh region is taken to go on as it did, never past the limit; one that is not heard is taken to use its part, unless a majority
//! takes that part back; without a majority only our own part is left, so that all regions' parts together stay within the limit.
//! Never lets a peer's clock push the live window out: windows that begin later than the next one are not believed.

use sync_proto::{CounterView, Epoch, Now, PartView, PeerState, Span, WindowId};

use super::push::count_in;
use super::standing::Standing;
use crate::algo::Windows;
use crate::rule::{OnPartition, Rule, Sharing};
use crate::store::{RemoteWindow, RemoteWindows};

/// Everything a fold of a windowed counter is made of.
pub(super) struct WindowFold<'a> {
    pub(super) view: &'a CounterView<'a>,
    pub(super) rule: &'a Rule,
    pub(super) standing: &'a Standing,
    pub(super) limit: u64,
    pub(super) windows: Windows,
    /// The window and life of our own key that the store told of last.
    pub(super) live: Option<(WindowId, Epoch)>,
    pub(super) now: Now,
}

impl WindowFold<'_> {
    pub(super) fn remote(&self) -> RemoteWindows {
        let told = self.told();
        let cells = told
            .iter()
            .enumerate()
            .map(|(place, window)| self.cell(*window, place == 0));
        let mut remote = RemoteWindows {
            cells: cells.collect(),
            ..RemoteWindows::default()
        };
        if self.rule.sharing == Sharing::Eager {
            return remote;
        }
        let part = self.standing.own_part(self.limit);
        let left = part.saturating_sub(told.first().map_or(0, |window| self.lost(*window)));
        remote.blind = Some(part);
        if !self.standing.has_majority() {
            remote.floor = left;
            remote.ceiling = Some(left);
        } else if !self.standing.is_fresh() {
            remote.floor = left;
        }
        remote.carry_milli = self
            .fresh()
            .map(|peer| self.carry(peer))
            .fold(0, u64::saturating_add);
        remote
    }

    /// The two newest windows that anyone told of, newest first.
    fn told(&self) -> Vec<WindowId> {
        let (latest, current) = self.clock();
        let parts = self.view.own.iter().chain(&self.view.peers);
        let mut told: Vec<WindowId> = parts
            .flat_map(|part| part.cells)
            .map(|cell| cell.window)
            .collect();
        // A region that is not heard uses its part of a new window, too, though nobody told of that window yet.
        if self.rule.sharing == Sharing::Balanced && !self.standing.is_fresh() {
            told.push(current);
        }
        told.retain(|window| *window <= latest);
        told.sort_unstable_by(|a, b| b.cmp(a));
        told.dedup();
        told.truncate(sync_proto::bounds::WINDOWS_PER_PART_MAX);
        told
    }

    /// The latest window that is believed, and the one that our clock is in.
    fn clock(&self) -> (WindowId, WindowId) {
        let wall = self.now.wall.as_micros();
        match self.windows {
            Windows::Every { length, phase } => {
                let length = length.as_micros().max(1);
                let into = wall.saturating_sub(phase.as_micros()) % length;
                (
                    WindowId(wall.saturating_add(length)),
                    WindowId(wall.saturating_sub(into)),
                )
            }
            Windows::Edges(edges) => {
                let begun = edges.iter().rev().find(|edge| edge.as_micros() <= wall);
                let current = begun.unwrap_or(&edges[0]);
                (
                    WindowId(edges[3].as_micros()),
                    WindowId(current.as_micros()),
                )
            }
        }
    }

    fn cell(&self, window: WindowId, newest: bool) -> RemoteWindow {
        let counts = self.view.peers.iter().map(|peer| count_in(peer, window));
        let known = counts.fold(self.lost(window), u64::saturating_add);
        let mut cell = RemoteWindow {
            window,
            known,
            estimate: known,
            rate_milli: 0,
        };
        if self.rule.sharing == Sharing::Eager {
            return cell;
        }
        for peer in self.fresh() {
            let (rate_milli, since) = match peer.cells.first().map(|cell| cell.window) {
                Some(own) if own == window => {
                    (peer.pace.admitted, self.now.mono.since(peer.measured_at))
                }
                Some(own) if newest && own < window => (self.carry(peer), self.into(window)),
                _ => continue,
            };
            let grown = grown(rate_milli, since);
            let room = self.limit.saturating_sub(count_in(peer, window));
            cell.estimate = cell.estimate.saturating_add(grown.min(room));
            cell.rate_milli = cell.rate_milli.saturating_add(rate_milli);
        }
        for (region, state) in self.standing.others() {
            let told = self.view.peers.iter().find(|peer| peer.region == region);
            let count = told.map_or(0, |peer| count_in(peer, window));
            if state != PeerState::Fresh && !self.is_reclaimed(state) {
                let part = self.standing.part_of(region, self.limit);
                cell.estimate = cell.estimate.saturating_add(part.saturating_sub(count));
            }
        }
        cell
    }

    /// Peers that are up to date and still share the limit.
    fn fresh(&self) -> impl Iterator<Item = &PartView<'_>> {
        self.view
            .peers
            .iter()
            .filter(|peer| peer.state == PeerState::Fresh)
    }

    /// Whether the part of a region in this state is used by the others.
    fn is_reclaimed(&self, state: PeerState) -> bool {
        state == PeerState::Down
            && self.rule.on_partition == OnPartition::Reclaim
            && self.standing.has_majority()
    }

    /// How fast a peer is taken to fill a window that it has not told of: a new window admits what is asked, but never more than all of it.
    fn carry(&self, peer: &PartView<'_>) -> u64 {
        peer.pace.demand.min(self.limit.saturating_mul(1_000))
    }

    /// How far our clock is into a window.
    fn into(&self, window: WindowId) -> Span {
        Span::from_micros(self.now.wall.as_micros().saturating_sub(window.0))
    }

    /// What we admitted in earlier lives of our key: the store forgot it, so it counts as if another region had.
    fn lost(&self, window: WindowId) -> u64 {
        let Some(own) = &self.view.own else { return 0 };
        let in_window = || own.cells.iter().filter(|cell| cell.window == window);
        let told = self
            .live
            .filter(|(of, _)| *of == window)
            .map(|(_, epoch)| epoch);
        let live = in_window().map(|cell| cell.epoch).chain(told).max();
        let lost = in_window().filter(|cell| Some(cell.epoch) < live);
        lost.fold(0, |sum: u64, cell| sum.saturating_add(cell.count))
    }
}

/// Units that come at `rate_milli` thousandths per second.
pub(super) fn grown(rate_milli: u64, over: Span) -> u64 {
    let units = u128::from(rate_milli) * u128::from(over.as_micros()) / 1_000_000_000;
    u64::try_from(units).unwrap_or(u64::MAX)
}
