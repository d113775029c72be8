//! Rules: what people may write, checked once, so that only valid ones exist.
//!
//! Promises: a set is taken whole or refused whole, with everything that is wrong with it. Never asks a store.

mod compile;
mod duration;
mod limit;
mod matcher;
mod policy;
mod set;

use std::sync::Arc;

use sync_proto::{CounterName, WallTime};

use crate::algo::Shape;
use crate::facts::Facts;
use crate::key::{Identity, KeyTemplate, Owner};
use crate::store::StoreKey;
use matcher::Matcher;

pub use crate::yaml::Refusal as RuleError;
pub use duration::parse_span;
pub use limit::{Limit, Window};
pub use policy::{Mode, OnMissingKey, OnPartition, OnStoreFailure, Scope, Sharing};
pub use set::{Resolved, RuleErrors, RuleSet, Skipped};

/// A rule's id. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) Arc<str>);

impl RuleId {
    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RuleId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

/// A valid rule.
#[derive(Debug)]
pub struct Rule {
    /// Its id, unique in its set.
    pub id: RuleId,
    /// The domain it belongs to; requests name theirs.
    pub domain: Arc<str>,
    /// What its verdict does.
    pub mode: Mode,
    /// What decides when the store does not.
    pub on_store_failure: OnStoreFailure,
    /// Who counts together.
    pub scope: Scope,
    /// How regions share it.
    pub sharing: Sharing,
    /// What happens to the part of a region that is not heard.
    pub on_partition: OnPartition,
    /// What happens when a fact of the key is missing.
    pub on_missing_key: OnMissingKey,
    /// A denied request costs, too.
    pub count_rejected: bool,
    /// Whether clients see it in headers.
    pub expose: bool,
    /// Whether X-RateLimit-* headers are sent, too.
    pub legacy_headers: bool,
    /// Lower ones are asked first.
    pub order: i32,
    matcher: Matcher,
    key: KeyTemplate,
    ipv6_prefix: u8,
    limit: Variant,
    /// The most specific first; of equals, the one written first.
    overrides: Vec<(Matcher, Variant)>,
}

/// One of a rule's limits.
#[derive(Debug)]
struct Variant {
    /// 0 for the rule's own, else a hash of the override's condition: the same in every region and version.
    id: u32,
    limit: Limit,
    /// Names algorithm and window.
    shape: u32,
}

impl Rule {
    /// The limit called `variant`.
    pub fn limit_of(&self, variant: u32) -> Option<&Limit> {
        self.variant(variant).map(|variant| &variant.limit)
    }

    fn variant(&self, id: u32) -> Option<&Variant> {
        let overrides = self.overrides.iter().map(|(_, variant)| variant);
        std::iter::once(&self.limit)
            .chain(overrides)
            .find(|variant| variant.id == id)
    }

    /// The limit that holds for `facts`.
    fn variant_for(&self, facts: &Facts) -> &Variant {
        let found = self.overrides.iter().find(|(when, _)| when.matches(facts));
        found.map_or(&self.limit, |(_, variant)| variant)
    }

    fn owner(&self, variant: &Variant) -> Owner<'_> {
        Owner {
            domain: &self.domain,
            rule: self.id.as_str(),
            variant: variant.id,
            shape: variant.shape,
        }
    }

    fn shape(&self, variant: &Variant, identity: &Identity, near: WallTime) -> Option<Shape> {
        let owner = self.owner(variant);
        variant
            .limit
            .shape(near, |length| owner.phase(identity, length))
    }
}

/// A rule that applies to a request, with the limit that holds for it (its own, or an override's).
#[derive(Clone, Debug)]
pub struct Hit {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Which of the rule's limits: 0 is its own, others are an override's stable hash.
    pub variant: u32,
    /// The store key; absent when the key's facts are missing (see [`OnMissingKey`]: `Deny`) or the limit is unlimited.
    pub key: Option<StoreKey>,
    identity: Option<Identity>,
}

impl Hit {
    /// The limit that holds.
    pub fn limit(&self) -> &Limit {
        self.rule
            .limit_of(self.variant)
            .unwrap_or(&self.rule.limit.limit)
    }

    /// What a store must know, for a request at about `near` (matters for calendar windows alone).
    pub fn shape(&self, near: WallTime) -> Option<Shape> {
        self.rule.shape(
            self.rule.variant(self.variant)?,
            self.identity.as_ref()?,
            near,
        )
    }

    /// The name under which regions tell each other of this counter; absent for scope `region`.
    pub fn counter(&self) -> Option<CounterName> {
        if self.rule.scope == Scope::Region {
            return None;
        }
        let variant = self.rule.variant(self.variant)?;
        self.rule.owner(variant).counter(self.identity.as_ref()?)
    }
}
