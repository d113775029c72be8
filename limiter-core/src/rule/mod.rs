//! Rules: only valid ones exist.
use std::sync::Arc;

use sync_proto::{CounterName, Span, WallTime};

use crate::algo::{BucketAlgorithm, Rate, Shape};
use crate::facts::Facts;
use crate::store::StoreKey;

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

/// What a rule's verdict does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Denies.
    Enforce,
    /// Is judged with counters of its own, and denies nobody.
    Shadow,
    /// Does not exist.
    Off,
}

/// What decides when the store does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStoreFailure {
    /// Allowed.
    Open,
    /// Denied.
    Closed,
    /// A bucket in the pod's memory with the limit over the region's live pods.
    Local,
}

/// Who counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All regions.
    Global,
    /// Each region alone.
    Region,
}

/// How regions share a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Known counts alone.
    Eager,
    /// Known counts, an estimate of what is not known yet, and a region's part when blind.
    Balanced,
    /// Each region keeps to its part, always, by count.
    Strict,
    /// Each region keeps to its part of rate and burst.
    Shares,
}

/// What happens to the part of a region that is not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnPartition {
    /// A majority takes back what it does not use.
    Reclaim,
    /// Nobody does.
    Hold,
    /// It drops to its floor before the others take it back.
    Fence,
}

/// What happens when a fact of the key is missing or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMissingKey {
    /// The rule does not apply.
    Skip,
    /// The request is denied.
    Deny,
    /// All such requests share one key.
    Shared,
}

/// A limit as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// None.
    Unlimited,
    /// A bucket.
    Bucket {
        /// Its formulation.
        algorithm: BucketAlgorithm,
        /// Its refill, in lowest terms.
        rate: Rate,
        /// Its refill as written: what headers advertise.
        advertised: Rate,
        /// Its capacity, in units.
        burst: u64,
    },
    /// A fixed window.
    FixedWindow {
        /// Units per window.
        limit: u64,
        /// Length.
        window: Window,
    },
}

/// A window's length as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Window {
    /// So long, with a phase per key.
    Every(Span),
    /// Calendar windows in a time zone.
    Calendar(crate::calendar::Calendar),
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
    // owner of rule/ adds private fields: matcher, key template, default limit, overrides
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
}

impl Hit {
    /// The limit that holds.
    pub fn limit(&self) -> &Limit {
        unimplemented!()
    }
    /// What a store must know, for a request at about `near` (matters for calendar windows alone).
    pub fn shape(&self, _near: WallTime) -> Option<Shape> {
        unimplemented!()
    }
    /// The name under which regions tell each other of this counter; absent for scope `region`.
    pub fn counter(&self) -> Option<CounterName> {
        unimplemented!()
    }
}

/// A counter name looked up in a set: what the fold needs.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Which of its limits.
    pub variant: u32,
    /// The key in the store.
    pub key: StoreKey,
    /// What holds it, near the given time.
    pub shape: Shape,
}

/// An immutable, compiled set of rules.
#[derive(Debug, Default)]
pub struct RuleSet {
    /// Its version; 0 for none.
    pub version: u64,
}

impl RuleSet {
    /// Reads rules in either dialect. `source` is the file's name, for errors.
    pub fn parse(_source: &str, _text: &str, _version: u64) -> Result<Self, RuleErrors> {
        unimplemented!()
    }
    /// The rules that apply, by `order` and then file order; missing-key skips are counted in the return value.
    pub fn matching(&self, _domain: &str, _facts: &Facts, _hits: &mut Vec<Hit>) -> Skipped {
        unimplemented!()
    }
    /// The counter of this name; none when no rule of this set has it (any more).
    pub fn resolve(&self, _name: &CounterName, _near: WallTime) -> Option<Resolved> {
        unimplemented!()
    }
    /// All rules, in file order.
    pub fn rules(&self) -> &[Arc<Rule>] {
        unimplemented!()
    }
}

/// What `matching` left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Rules whose key's facts were missing.
    pub missing_key: u32,
    /// Rules past the bound.
    pub over_bound: u32,
}

/// Everything wrong with a rules file, in order of lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct RuleErrors(pub Vec<RuleError>);

/// One thing wrong with a rules file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {key}: {message}")]
pub struct RuleError {
    /// The file.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// Where: `rule pay-burst, window`.
    pub key: String,
    /// What was found, and what is accepted.
    pub message: String,
}
