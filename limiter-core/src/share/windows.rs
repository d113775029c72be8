//! The other regions' use of a windowed counter, for a fold.
//!
//! Promises: a fresh region is taken to go on as it did, never past the limit; one that is not heard is taken to use its part, unless a majority
//! takes that part back; without a majority only our own part is left, so that all regions' parts together stay within the limit.
//! Never lets a peer's clock push the live window out: windows that begin later than the next one are not believed.

use sync_proto::{CounterView, Epoch, Now, PartView, PeerState, Span, WindowId};

use super::push::count_in;
use super::standing::Standing;
use crate::algo::Windows;
use crate::rule::{OnPartition, Sharing};
use crate::store::{RemoteWindow, RemoteWindows};

/// Everything a fold of a windowed counter is made of.
pub(super) struct WindowFold<'a> {
    pub(super) view: &'a CounterView<'a>,
    pub(super) sharing: Sharing,
    pub(super) on_partition: OnPartition,
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
        if self.sharing == Sharing::Eager {
            return remote;
        }
        let part = self.standing.own_part(self.limit);
        let left = part.saturating_sub(told.first().map_or(0, |window| self.lost(*window)));
        remote.blind = Some(part);
        // No floor while a majority is heard: those who are heard may have used our part already, and then it is gone.
        if !self.standing.has_majority() {
            remote.floor = left;
            remote.ceiling = Some(left);
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
        if self.sharing == Sharing::Balanced && !self.standing.is_fresh() {
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
        if self.sharing == Sharing::Eager {
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
            && self.on_partition == OnPartition::Reclaim
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sync_proto::{Cell, MonoTime, Pace, RegionId, WallTime};

    use super::*;

    const LENGTH: Span = Span::from_secs(10);
    const WINDOWS: Windows = Windows::Every { length: LENGTH, phase: Span::ZERO };
    const NOW: Now =
        Now { mono: MonoTime::from_micros(500_000_000), wall: WallTime::from_micros(104_000_000) };
    const W: WindowId = WindowId(100_000_000);
    const BEFORE: WindowId = WindowId(90_000_000);

    fn region(name: &str) -> RegionId {
        RegionId::new(name).unwrap()
    }

    fn cell(window: WindowId, epoch: u64, count: u64) -> Cell {
        Cell { window, epoch: Epoch(epoch), count }
    }

    /// A peer that measured two seconds ago and admits 10 units a second, asked for 30.
    fn part<'a>(region: &'a RegionId, cells: &'a [Cell], state: PeerState) -> PartView<'a> {
        let pace = Pace { admitted: 10_000, demand: 30_000 };
        PartView { region, cells, pace, measured_at: NOW.mono.minus(Span::from_secs(2)), state }
    }

    /// Regions a (ours), b and c; what b told, and how b and c are heard.
    fn remote(
        sharing: Sharing,
        own: &[Cell],
        told: &[Cell],
        (b, c): (PeerState, PeerState),
    ) -> RemoteWindows {
        let names = [region("a"), region("b"), region("c")];
        let states = BTreeMap::from([(names[1].clone(), b), (names[2].clone(), c)]);
        let view = CounterView {
            own: (!own.is_empty()).then(|| part(&names[0], own, PeerState::Fresh)),
            peers: if told.is_empty() { vec![] } else { vec![part(&names[1], told, b)] },
        };
        WindowFold {
            view: &view,
            sharing,
            on_partition: OnPartition::Reclaim,
            standing: &Standing::of(&names[0], states),
            limit: 100,
            windows: WINDOWS,
            live: None,
            now: NOW,
        }
        .remote()
    }

    const FRESH: (PeerState, PeerState) = (PeerState::Fresh, PeerState::Fresh);

    #[test]
    fn a_fresh_peer_is_taken_to_go_on_as_it_did() {
        let told = [cell(W, 1, 40), cell(BEFORE, 1, 90)];
        let remote = remote(Sharing::Balanced, &[], &told, FRESH);
        let newest =
            RemoteWindow { window: W, known: 40, estimate: 60, rate_milli: 10_000 };
        let before = RemoteWindow { window: BEFORE, known: 90, estimate: 90, rate_milli: 0 };
        assert_eq!(remote.cells, [newest, before]);
        assert_eq!(remote.carry_milli, 30_000);
        assert_eq!((remote.floor, remote.ceiling, remote.blind), (0, None, Some(34)));
    }

    #[test]
    fn a_peer_is_never_taken_to_go_past_the_limit() {
        let remote = remote(Sharing::Balanced, &[], &[cell(W, 1, 95)], FRESH);
        assert_eq!((remote.cells[0].known, remote.cells[0].estimate), (95, 100));
    }

    #[test]
    fn eager_counts_what_is_known_and_nothing_else() {
        let remote = remote(Sharing::Eager, &[], &[cell(W, 1, 40)], (PeerState::Late, PeerState::Down));
        let known = RemoteWindow { window: W, known: 40, estimate: 40, rate_milli: 0 };
        let expected = RemoteWindows { cells: vec![known], ..RemoteWindows::default() };
        assert_eq!(remote, expected);
    }

    #[test]
    fn a_peer_that_has_not_told_of_the_new_window_yet_is_taken_to_ask_on() {
        let remote = remote(Sharing::Balanced, &[cell(W, 1, 5)], &[cell(BEFORE, 1, 90)], FRESH);
        let newest = RemoteWindow { window: W, known: 0, estimate: 100, rate_milli: 30_000 };
        assert_eq!(remote.cells[0], newest, "four seconds at 30 a second, but no more than all");
    }

    #[test]
    fn a_late_peer_is_taken_to_use_its_part_while_a_majority_is_heard() {
        let late = (PeerState::Fresh, PeerState::Late);
        let remote = remote(Sharing::Balanced, &[], &[cell(W, 1, 40)], late);
        assert_eq!((remote.cells[0].known, remote.cells[0].estimate), (40, 60 + 33));
        assert_eq!((remote.floor, remote.ceiling, remote.blind), (0, None, Some(34)));
    }

    #[test]
    fn a_late_peer_is_taken_to_use_its_part_of_a_window_nobody_told_of() {
        let late = (PeerState::Late, PeerState::Fresh);
        let remote = remote(Sharing::Balanced, &[], &[cell(BEFORE, 1, 20)], late);
        assert_eq!((remote.cells[0].window, remote.cells[0].estimate), (W, 33));
        assert_eq!((remote.cells[1].window, remote.cells[1].estimate), (BEFORE, 33));
    }

    #[test]
    fn a_majority_takes_back_what_a_region_that_is_down_does_not_use() {
        let down = (PeerState::Down, PeerState::Fresh);
        let remote = remote(Sharing::Balanced, &[], &[cell(W, 1, 12)], down);
        assert_eq!((remote.cells[0].known, remote.cells[0].estimate), (12, 12));
        assert_eq!((remote.floor, remote.ceiling), (0, None));
    }

    #[test]
    fn without_a_majority_a_region_keeps_to_its_part() {
        let cut = (PeerState::Down, PeerState::Down);
        let remote = remote(Sharing::Balanced, &[cell(W, 1, 5)], &[cell(W, 1, 12)], cut);
        assert_eq!((remote.floor, remote.ceiling, remote.blind), (34, Some(34), Some(34)));
    }

    #[test]
    fn what_our_own_store_forgot_counts_as_used() {
        let own = [cell(W, 7, 3), cell(W, 5, 20), cell(BEFORE, 5, 60)];
        let remote = remote(Sharing::Balanced, &own, &[cell(W, 1, 40)], FRESH);
        assert_eq!((remote.cells[0].known, remote.cells[0].estimate), (60, 80));
        assert_eq!(remote.cells[1].known, 0, "the life that counted in it is the newest of it");
    }

    #[test]
    fn a_window_far_in_the_future_is_not_believed() {
        let told = [cell(WindowId(900_000_000), 1, 99), cell(W, 1, 40)];
        let remote = remote(Sharing::Balanced, &[], &told, FRESH);
        assert_eq!(remote.cells.len(), 1);
        assert_eq!((remote.cells[0].window, remote.cells[0].known), (W, 40));
    }
}
