//! What a request needs from the store: its takes, grouped by identity.
//!
//! Promises: takes of one hash tag are in one group, groups and takes are in the rules' order, and a reused plan allocates nothing new
//! for requests like the ones before.
//! Never judges: only a missing key that the rule wants denied is known to fail already here.

use sync_proto::WallTime;

use crate::facts::Facts;
use crate::rule::{Hit, Limit, Mode, RuleSet, Scope, Sharing};
use crate::share::{Outlook, rights};
use crate::store::{Cold, StoreKey, Take, TakeGroup};

/// A question.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The domain of rules.
    pub domain: &'a str,
    /// The facts.
    pub facts: &'a Facts,
    /// Units wanted; 0 peeks.
    pub cost: u64,
}

/// What a request needs from the store: reusable scratch.
#[derive(Debug, Default)]
pub struct Plan {
    /// Store calls, one per identity, independent of each other.
    pub groups: Vec<TakeGroup>,
    /// The rules that apply, and where each one's take is. Exemptions (`unlimited`) are not among them.
    pub rules: Vec<Planned>,
    /// Units wanted.
    pub cost: u64,
    /// The rules' version.
    pub rules_version: u64,
    /// Rules left out because their key's facts were missing.
    pub missing_key: u32,
    /// Rules left out because the request matched more than the bound.
    pub over_bound: u32,
    hits: Vec<Hit>,
    spare: Vec<TakeGroup>,
}

/// A rule in a plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The rule and the limit that holds.
    pub hit: Hit,
    /// Index of its group and of its take in the group; absent when it needs no store (missing key with `deny`).
    pub take: Option<(usize, usize)>,
}

impl Plan {
    /// The take that a rule of this plan asks for.
    pub fn take_of(&self, planned: &Planned) -> Option<&Take> {
        let (group, take) = planned.take?;
        self.groups.get(group)?.takes.get(take)
    }

    pub(super) fn fill(
        &mut self,
        rules: &RuleSet,
        near: WallTime,
        request: Request<'_>,
        outlook: Outlook,
    ) {
        self.clear();
        self.cost = request.cost;
        self.rules_version = rules.version;
        let mut hits = std::mem::take(&mut self.hits);
        let skipped = rules.matching(request.domain, request.facts, &mut hits);
        self.missing_key = skipped.missing_key;
        self.over_bound = skipped.over_bound;
        for hit in hits.drain(..) {
            if hit.rule.mode != Mode::Off && *hit.limit() != Limit::Unlimited {
                self.add(hit, near, outlook);
            }
        }
        self.hits = hits;
        if self
            .rules
            .iter()
            .any(|p| p.take.is_none() && p.hit.rule.mode == Mode::Enforce)
        {
            self.spend_nothing();
        }
    }

    fn clear(&mut self) {
        self.rules.clear();
        self.hits.clear();
        for mut group in self.groups.drain(..) {
            group.takes.clear();
            self.spare.push(group);
        }
    }

    fn add(&mut self, hit: Hit, near: WallTime, outlook: Outlook) {
        let (Some(key), Some(shape)) = (hit.key.clone(), hit.shape(near)) else {
            self.rules.push(Planned { hit, take: None });
            return;
        };
        let rule = &hit.rule;
        let spread = rule.scope == Scope::Global && outlook.regions > 1;
        let shape = match rule.sharing {
            Sharing::Strict | Sharing::Shares if spread => rights::part_of_shape(shape, outlook),
            _ => shape,
        };
        let blind = spread && rule.sharing == Sharing::Balanced && !outlook.fresh;
        let cold = blind.then(|| Cold {
            units: rights::part(rights::capacity(&shape), outlook.regions, outlook.rank),
            regions: u64::from(outlook.regions),
        });
        let group = self.group_for(&key);
        let takes = &mut self.groups[group].takes;
        takes.push(Take {
            key,
            shape,
            cost: self.cost,
            shadow: rule.mode == Mode::Shadow,
            count_rejected: rule.count_rejected,
            cold,
        });
        let take = Some((group, takes.len() - 1));
        self.rules.push(Planned { hit, take });
    }

    /// The index of the group with this key's hash tag; a new one when there is none yet.
    fn group_for(&mut self, key: &StoreKey) -> usize {
        let same = |group: &TakeGroup| {
            group
                .takes
                .first()
                .is_some_and(|t| hash_tag(&t.key) == hash_tag(key))
        };
        if let Some(index) = self.groups.iter().position(same) {
            return index;
        }
        self.groups.push(self.spare.pop().unwrap_or_default());
        self.groups.len() - 1
    }

    /// The request is denied whatever the store says, so the store is only asked how things stand.
    fn spend_nothing(&mut self) {
        for take in self.groups.iter_mut().flat_map(|group| &mut group.takes) {
            if !take.count_rejected {
                take.cost = 0;
            }
        }
    }
}

/// The part of a key that decides its place in a cluster: between the first brace and the next closing one, else all of it.
fn hash_tag(key: &StoreKey) -> &[u8] {
    let bytes = &*key.0;
    let tag = bytes.iter().position(|&b| b == b'{').and_then(|open| {
        let rest = &bytes[open + 1..];
        let close = rest.iter().position(|&b| b == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    tag.unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_tag_is_what_a_cluster_hashes() {
        let tag = |text: &str| hash_tag(&StoreKey(text.as_bytes().into())).to_vec();
        assert_eq!(tag("a:{user}:b"), b"user");
        assert_eq!(tag("a:{user}:{b}"), b"user");
        assert_eq!(tag("a:user"), b"a:user");
        assert_eq!(tag("a:{}:b"), b"a:{}:b");
        assert_eq!(tag("a:{user"), b"a:{user");
    }
}
