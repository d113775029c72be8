//! The other regions' use of a bucket, for a fold.
//!
//! Promises: what travels is consumption, per region and life of its key; a region that is not heard is taken to go on at its part of the rate at
//! least, unless a majority takes that part back.
//! Never ships a level: two levels cannot be merged, two totals can.

use sync_proto::{CounterView, Epoch, PartView, PeerState, WindowId};

use super::rights;
use super::standing::Standing;
use crate::algo::Rate;
use crate::rule::{OnPartition, Rule, Sharing};
use crate::store::{RemoteBucket, RemotePart};

/// Everything a fold of a bucket is made of.
pub(super) struct BucketFold<'a> {
    pub(super) view: &'a CounterView<'a>,
    pub(super) rule: &'a Rule,
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
        if self.rule.sharing == Sharing::Eager {
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
                PeerState::Down if self.rule.on_partition == OnPartition::Reclaim => 0,
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
