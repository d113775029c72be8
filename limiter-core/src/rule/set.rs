//! A set of rules: an immutable snapshot, found by route.

use std::collections::BTreeMap;
use std::sync::Arc;

use sync_proto::{CounterName, WallTime};

use super::compile::compile;
use super::{Hit, Limit, Mode, OnMissingKey, Rule, RuleError};
use crate::algo::Shape;
use crate::bounds::MATCHES_MAX;
use crate::facts::Facts;
use crate::key::parse_counter;
use crate::store::StoreKey;
use crate::yaml::Refusals;

/// The fact that most rules are about.
const ROUTE: &str = "route";

/// An immutable, compiled set of rules.
#[derive(Debug, Default)]
pub struct RuleSet {
    /// Its version; 0 for none.
    pub version: u64,
    rules: Vec<Arc<Rule>>,
    domains: BTreeMap<Arc<str>, Domain>,
    ids: BTreeMap<(Arc<str>, Arc<str>), usize>,
}

/// The rules of one domain, as places in the set; each list in the order in which they are asked.
#[derive(Debug, Default)]
struct Domain {
    by_route: BTreeMap<String, Vec<Place>>,
    any_route: Vec<Place>,
}

/// Orders rules as they are asked: by `order`, then as written.
type Place = (i32, usize);

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

impl RuleSet {
    /// Reads rules in either dialect. `source` is the file's name, for errors.
    ///
    /// # Errors
    /// Everything that is wrong with the text; then none of it is taken.
    pub fn parse(source: &str, text: &str, version: u64) -> Result<Self, RuleErrors> {
        let mut refusals = Refusals::new(source);
        let rules = compile(text, &mut refusals);
        if !refusals.is_empty() {
            return Err(RuleErrors(refusals.into_found()));
        }
        let mut set = Self {
            version,
            ..Self::default()
        };
        for (place, rule) in rules.into_iter().enumerate() {
            let domain = set.domains.entry(rule.domain.clone()).or_default();
            let at = (rule.order, place);
            match rule.matcher.literals(ROUTE) {
                Some(routes) => {
                    for route in routes {
                        domain
                            .by_route
                            .entry(route.to_owned())
                            .or_default()
                            .push(at);
                    }
                }
                None => domain.any_route.push(at),
            }
            set.ids
                .insert((rule.domain.clone(), rule.id.0.clone()), place);
            set.rules.push(Arc::new(rule));
        }
        for domain in set.domains.values_mut() {
            domain.any_route.sort_unstable();
            for places in domain.by_route.values_mut() {
                places.sort_unstable();
                places.dedup();
            }
        }
        Ok(set)
    }

    /// All rules, in file order.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// The rules that apply, by `order` and then file order; missing-key skips are counted in the return value.
    ///
    /// A rule without a limit (`unlimited: true`) exempts from every rule that is less specific than it.
    pub fn matching(&self, domain: &str, facts: &Facts, hits: &mut Vec<Hit>) -> Skipped {
        hits.clear();
        let mut skipped = Skipped::default();
        let Some(domain) = self.domains.get(domain) else {
            return skipped;
        };
        let routed = facts
            .value(ROUTE)
            .and_then(|route| domain.by_route.get(route));
        let mut exempt = None;
        for place in in_order(routed.map_or(&[], Vec::as_slice), &domain.any_route) {
            let Some(rule) = self.rules.get(place).filter(|rule| rule.mode != Mode::Off) else {
                continue;
            };
            if !rule.matcher.matches(facts) {
                continue;
            }
            if rule.limit.limit == Limit::Unlimited && rule.mode == Mode::Enforce {
                exempt = exempt.max(Some(rule.matcher.specificity()));
            }
            if hits.len() == MATCHES_MAX {
                skipped.over_bound += 1;
                continue;
            }
            match hit(rule, facts) {
                Some(hit) => hits.push(hit),
                None => skipped.missing_key += 1,
            }
        }
        if let Some(exempt) = exempt {
            hits.retain(|hit| hit.rule.matcher.specificity() >= exempt);
        }
        skipped
    }

    /// The counter of this name; none when no rule of this set has it (any more).
    pub fn resolve(&self, name: &CounterName, near: WallTime) -> Option<Resolved> {
        let (owner, identity) = parse_counter(name)?;
        let place = self.ids.get(&(owner.domain.into(), owner.rule.into()))?;
        let rule = self.rules.get(*place)?;
        let variant = rule
            .variant(owner.variant)
            .filter(|it| it.shape == owner.shape)?;
        Some(Resolved {
            rule: rule.clone(),
            variant: variant.id,
            key: owner.store_key(&identity),
            shape: rule.shape(variant, &identity, near)?,
        })
    }
}

/// The rule applied to the facts; none when its key's facts are missing and it is skipped for that.
fn hit(rule: &Arc<Rule>, facts: &Facts) -> Option<Hit> {
    let variant = rule.variant_for(facts);
    let hit = |key, identity| Hit {
        rule: rule.clone(),
        variant: variant.id,
        key,
        identity,
    };
    if variant.limit == Limit::Unlimited {
        return Some(hit(None, None));
    }
    let shared = rule.on_missing_key == OnMissingKey::Shared;
    match rule.key.identity(facts, rule.ipv6_prefix, shared) {
        Some(identity) => {
            let key = rule.owner(variant).store_key(&identity);
            Some(hit(Some(key), Some(identity)))
        }
        None => (rule.on_missing_key == OnMissingKey::Deny).then(|| hit(None, None)),
    }
}

/// Both lists as one, in the order of places.
fn in_order(a: &[Place], b: &[Place]) -> impl Iterator<Item = usize> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    std::iter::from_fn(move || {
        let from_a = match (a.peek(), b.peek()) {
            (Some(first), Some(second)) => first <= second,
            (first, _) => first.is_some(),
        };
        let next = if from_a { a.next() } else { b.next() };
        next.map(|(_, place)| *place)
    })
}
