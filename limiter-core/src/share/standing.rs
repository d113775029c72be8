//! How the regions that share a limit are heard.
//!
//! Promises: a configured region counts as unheard until the mesh has heard it; ranks follow the names' order, the same in every region.
//! Never forgets a configured region because it is silent.

use std::collections::BTreeMap;

use sync_proto::{Mesh, Now, PeerState, RegionId};

use super::rights;

/// The regions that share limits, at one moment.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    states: BTreeMap<RegionId, PeerState>,
    own: RegionId,
    rank: u32,
    heard: usize,
}

impl Standing {
    pub(super) fn new<'a>(
        own: &RegionId,
        regions: impl Iterator<Item = &'a RegionId>,
        mesh: &Mesh,
        now: Now,
    ) -> Self {
        let mut states: BTreeMap<RegionId, PeerState> = regions
            .map(|region| (region.clone(), PeerState::Unheard))
            .collect();
        for peer in mesh.peers(now) {
            if let Some(state) = states.get_mut(&peer.region) {
                *state = peer.state;
            }
        }
        Self::of(own, states)
    }

    /// Regions in these states; our own is always heard.
    pub(super) fn of(own: &RegionId, mut states: BTreeMap<RegionId, PeerState>) -> Self {
        states.insert(own.clone(), PeerState::Fresh);
        let heard = states
            .values()
            .filter(|state| **state == PeerState::Fresh)
            .count();
        let rank = rank_in(&states, own).unwrap_or(0);
        Self {
            states,
            own: own.clone(),
            rank,
            heard,
        }
    }

    /// Regions that share limits, ours included.
    pub(super) fn regions(&self) -> u32 {
        u32::try_from(self.states.len()).unwrap_or(u32::MAX)
    }

    /// Our place among them.
    pub(super) fn rank(&self) -> u32 {
        self.rank
    }

    /// Whether all are heard and up to date.
    pub(super) fn is_fresh(&self) -> bool {
        self.heard == self.states.len()
    }

    /// Whether more than half of them are, ourselves included.
    pub(super) fn has_majority(&self) -> bool {
        self.heard * 2 > self.states.len()
    }

    /// Our part of `total`.
    pub(super) fn own_part(&self, total: u64) -> u64 {
        rights::part(total, self.regions(), self.rank)
    }

    /// Another region's part of `total`; none for one that has no part any more.
    pub(super) fn part_of(&self, region: &RegionId, total: u64) -> u64 {
        rank_in(&self.states, region).map_or(0, |rank| rights::part(total, self.regions(), rank))
    }

    /// The other regions and how they are heard.
    pub(super) fn others(&self) -> impl Iterator<Item = (&RegionId, PeerState)> {
        let others = self
            .states
            .iter()
            .filter(|(region, _)| **region != self.own);
        others.map(|(region, state)| (region, *state))
    }
}

fn rank_in(states: &BTreeMap<RegionId, PeerState>, region: &RegionId) -> Option<u32> {
    let place = states.keys().position(|name| name == region)?;
    u32::try_from(place).ok()
}
