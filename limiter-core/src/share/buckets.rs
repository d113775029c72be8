//! The other regions' use of a bucket, for a fold.
//!
//! Promises: what travels is consumption, per region and life of its key; a region that is not heard is taken to go on at its part of the rate at
//! least, unless a majority takes that part back.
//! Never ships a level: two levels cannot be merged, two totals can.

use sync_proto::{CounterView, Epoch, PartView, PeerState, WindowId};

use super::rights;
use super::standing::Standing;
use crate::algo::Rate;
use crate::rule::{OnPartition, Sharing};
use crate::store::{RemoteBucket, RemotePart};

/// Everything a fold of a bucket is made of.
pub(super) struct BucketFold<'a> {
    pub(super) view: &'a CounterView<'a>,
    pub(super) sharing: Sharing,
    pub(super) on_partition: OnPartition,
    pub(super) standing: &'a Standing,
    pub(super) rate: Rate,
    /// The life of our own key that the store told of last.
    pub(super) live: Option<(WindowId, Epoch)>,
}

impl BucketFold<'_> {
    pub(super) fn remote(&self) -> RemoteBucket {
        let mut parts = self.lost();
        parts.extend(self.view.peers.iter().flat_map(|peer| {
            peer.cells.iter().map(|cell| RemotePart {
                id: id(peer, cell.epoch),
                consumed: cell.count,
                epoch: cell.epoch,
            })
        }));
        if self.sharing == Sharing::Eager {
            return RemoteBucket {
                parts,
                ..RemoteBucket::default()
            };
        }
        let others = rights::others_rate_milli(self.rate, self.standing.regions());
        let rate_milli = if self.standing.has_majority() {
            self.rate_milli()
        } else {
            others
        };
        RemoteBucket {
            parts,
            rate_milli,
            blind_rate_milli: others,
        }
    }

    /// How fast the others are taken to go on while a majority is heard.
    fn rate_milli(&self) -> u64 {
        let part = rights::part_rate_milli(self.rate, self.standing.regions());
        let paces = self.standing.others().map(|(region, state)| {
            let told = self.view.peers.iter().find(|peer| peer.region == region);
            let pace = told.map_or(0, |peer| peer.pace.admitted);
            match state {
                PeerState::Fresh => pace,
                PeerState::Down if self.on_partition == OnPartition::Reclaim => 0,
                PeerState::Unheard | PeerState::Late | PeerState::Down => pace.max(part),
            }
        });
        paces.fold(0, u64::saturating_add)
    }

    /// What we let through in earlier lives of our key: the store forgot it, so it is told as another region's.
    fn lost(&self) -> Vec<RemotePart> {
        let Some(own) = &self.view.own else {
            return Vec::new();
        };
        let told = self.live.map(|(_, epoch)| epoch);
        let live = own.cells.iter().map(|cell| cell.epoch).chain(told).max();
        let lost = own.cells.iter().filter(|cell| Some(cell.epoch) < live);
        lost.map(|cell| RemotePart {
            id: id(own, cell.epoch),
            consumed: cell.count,
            epoch: cell.epoch,
        })
        .collect()
    }
}

fn id(part: &PartView<'_>, epoch: Epoch) -> String {
    format!("{}/{}", part.region, epoch.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sync_proto::{Cell, MonoTime, Pace, RegionId, Span};

    use super::*;

    const RATE: Rate = Rate { tokens: 90, per: Span::from_secs(1) };

    fn cell(epoch: u64, count: u64) -> Cell {
        Cell { window: WindowId::ENDLESS, epoch: Epoch(epoch), count }
    }

    /// Regions a (ours) and b and c; both told of one life, and admit 10 and 40 units a second.
    fn remote(sharing: Sharing, own: &[Cell], (b, c): (PeerState, PeerState)) -> RemoteBucket {
        let names = ["a", "b", "c"].map(|name| RegionId::new(name).unwrap());
        let states = BTreeMap::from([(names[1].clone(), b), (names[2].clone(), c)]);
        let (told_b, told_c) = ([cell(3, 500)], [cell(4, 700)]);
        let part = |place: usize, cells, admitted, state| PartView {
            region: &names[place],
            cells,
            pace: Pace { admitted, demand: admitted },
            measured_at: MonoTime::default(),
            state,
        };
        let view = CounterView {
            own: (!own.is_empty()).then(|| part(0, own, 0, PeerState::Fresh)),
            peers: vec![part(1, &told_b, 10_000, b), part(2, &told_c, 40_000, c)],
        };
        let standing = Standing::of(&names[0], states);
        let fold = BucketFold {
            view: &view,
            sharing,
            on_partition: OnPartition::Reclaim,
            standing: &standing,
            rate: RATE,
            live: None,
        };
        fold.remote()
    }

    #[test]
    fn totals_travel_with_their_life_and_fresh_paces_add_up() {
        let remote = remote(Sharing::Balanced, &[], (PeerState::Fresh, PeerState::Fresh));
        let told: Vec<_> =
            remote.parts.iter().map(|p| (p.id.as_str(), p.consumed, p.epoch)).collect();
        assert_eq!(told, [("b/3", 500, Epoch(3)), ("c/4", 700, Epoch(4))]);
        assert_eq!((remote.rate_milli, remote.blind_rate_milli), (50_000, 60_000));
    }

    #[test]
    fn a_silent_region_is_taken_to_go_on_at_its_part_at_least() {
        let slow = remote(Sharing::Balanced, &[], (PeerState::Late, PeerState::Fresh));
        assert_eq!(slow.rate_milli, 30_000 + 40_000);
        let quick = remote(Sharing::Balanced, &[], (PeerState::Fresh, PeerState::Late));
        assert_eq!(quick.rate_milli, 10_000 + 40_000);
    }

    #[test]
    fn a_majority_takes_back_the_rate_of_a_region_that_is_down() {
        let remote = remote(Sharing::Balanced, &[], (PeerState::Down, PeerState::Fresh));
        assert_eq!(remote.rate_milli, 40_000);
    }

    #[test]
    fn without_a_majority_all_but_our_part_of_the_rate_is_the_others() {
        let remote = remote(Sharing::Balanced, &[], (PeerState::Down, PeerState::Down));
        assert_eq!((remote.rate_milli, remote.blind_rate_milli), (60_000, 60_000));
    }

    #[test]
    fn eager_goes_by_what_was_told() {
        let remote = remote(Sharing::Eager, &[], (PeerState::Fresh, PeerState::Late));
        assert_eq!((remote.rate_milli, remote.blind_rate_milli), (0, 0));
        assert_eq!(remote.parts.len(), 2);
    }

    #[test]
    fn our_own_forgotten_lives_are_told_as_another_regions() {
        let fresh = (PeerState::Fresh, PeerState::Fresh);
        let remote = remote(Sharing::Balanced, &[cell(9, 5), cell(2, 80)], fresh);
        assert_eq!((remote.parts[0].id.as_str(), remote.parts[0].consumed), ("a/2", 80));
        assert_eq!(remote.parts.len(), 3);
    }
}
