//! From what people typed to rules: every refusal names the rule, the field, the line and the accepted form.

mod amount;
mod condition;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::policy::{Choice, Mode, OnMissingKey, OnPartition, OnStoreFailure, Scope, Sharing};
use super::{Limit, Matcher, Rule, RuleId, Variant};
use crate::bounds::{OVERRIDES_MAX, RULE_ID_BYTES_MAX, RULES_MAX};
use crate::key::{DEFAULT_DOMAIN, KeyTemplate, stable_hash};
use crate::yaml::{Document, Field, Fields, Refusals, unknown};
use amount::{Amount, Kind};

/// An IPv6 caller is keyed by so many bits, since a subscriber holds a whole /64.
const IPV6_PREFIX: u8 = 64;

/// The rules of a text; what is wrong is added to `refusals`.
pub(super) fn compile(text: &str, refusals: &mut Refusals) -> Vec<Rule> {
    let document = Document::read(text, refusals);
    let Some(root) = document.root() else {
        return Vec::new();
    };
    let Some(items) = items(&root, refusals) else {
        return Vec::new();
    };
    if items.len() > RULES_MAX {
        refusals.add(
            root.line,
            "file",
            format!("holds more than {RULES_MAX} rules"),
        );
        return Vec::new();
    }
    let mut seen: BTreeMap<(Arc<str>, Arc<str>), usize> = BTreeMap::new();
    let mut rules = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let Some(rule) = rule(item, place, refusals) else {
            continue;
        };
        let id = (rule.domain.clone(), rule.id.0.clone());
        if let Some(first) = seen.insert(id, item.line) {
            let message =
                format!("is taken by the rule in line {first}; ids are unique in a domain");
            refusals.add(item.line, format!("rule {}, id", rule.id), message);
        }
        rules.push(rule);
    }
    rules
}

/// A list of rules, or a map with `rules:` in it.
fn items<'d>(root: &Field<'d>, refusals: &mut Refusals) -> Option<Vec<Field<'d>>> {
    if let Some(items) = root.items() {
        return Some(items);
    }
    let Some(mut fields) = root.fields("file", refusals) else {
        root.refuse(refusals, "rules are a list, or a map with `rules:`");
        return None;
    };
    let rules = fields.take("rules");
    fields.finish(refusals);
    let rules = rules?;
    let items = rules.items();
    if items.is_none() {
        rules.refuse(refusals, "`rules:` is a list");
    }
    items
}

fn rule(item: &Field<'_>, place: usize, refusals: &mut Refusals) -> Option<Rule> {
    let Some(mut fields) = item.fields(&format!("rule {}", place + 1), refusals) else {
        item.refuse(refusals, "a rule is a map of fields");
        return None;
    };
    let id = id(&mut fields, refusals)?;
    fields.call(format!("rule {id}"));
    refuse_groups(&mut fields, refusals);
    let domain = text(&mut fields, "domain", refusals).unwrap_or_else(|| DEFAULT_DOMAIN.into());
    let matcher = fields.take("match");
    let matcher = matcher.map_or_else(Matcher::default, |it| condition::matcher(&it, refusals));
    let mode = choice(&mut fields, "mode", Mode::Enforce, refusals);
    let on_store_failure = choice(
        &mut fields,
        "on_store_failure",
        OnStoreFailure::Open,
        refusals,
    );
    let scope = choice(&mut fields, "scope", Scope::Global, refusals);
    let sharing = choice(&mut fields, "sharing", Sharing::Balanced, refusals);
    let on_partition = choice(&mut fields, "on_partition", OnPartition::Reclaim, refusals);
    let on_missing_key = choice(&mut fields, "on_missing_key", OnMissingKey::Skip, refusals);
    let count_rejected = flag(&mut fields, "count_rejected", false, refusals);
    let expose = flag(&mut fields, "expose", true, refusals);
    let legacy_headers = flag(&mut fields, "legacy_headers", false, refusals);
    let order = order(&mut fields, refusals);
    let ipv6_prefix = ipv6_prefix(&mut fields, refusals);

    let kind = Kind::read(&mut fields, refusals);
    let unlimited = flag(&mut fields, "unlimited", false, refusals);
    let amount = Amount::read(&mut fields, refusals);
    let limit = if unlimited {
        amount.refuse_any(
            "has no effect beside `unlimited: true`; leave one out",
            refusals,
        );
        Some(Limit::Unlimited)
    } else {
        amount.limit(kind.as_ref(), &fields.place, fields.line, refusals)
    };
    let key = key(&mut fields, unlimited, refusals);
    let base = fields.take("overrides");
    let overrides = match (base, &kind) {
        (Some(list), Some(kind)) => overrides(&list, kind, &amount, refusals),
        _ => Vec::new(),
    };
    fields.finish(refusals);
    let limit = variant(0, limit?);
    Some(Rule {
        id,
        domain: domain.into(),
        mode,
        on_store_failure,
        scope,
        sharing,
        on_partition,
        on_missing_key,
        count_rejected,
        expose,
        legacy_headers,
        order,
        matcher,
        key: key?,
        ipv6_prefix,
        limit,
        overrides,
    })
}

fn refuse_groups(fields: &mut Fields<'_>, refusals: &mut Refusals) {
    if let Some(groups) = fields.take("groups") {
        refusals.add(
            groups.line,
            groups.place,
            "is not supported by this version",
        );
    }
}

fn variant(id: u32, limit: Limit) -> Variant {
    Variant {
        id,
        shape: limit.shape_name(),
        limit,
    }
}

/// `id`, or `name` in the second dialect.
fn id(fields: &mut Fields<'_>, refusals: &mut Refusals) -> Option<RuleId> {
    let field = match (fields.take("id"), fields.take("name")) {
        (Some(id), None) => id,
        (None, Some(name)) => name,
        (Some(_), Some(name)) => {
            refusals.add(
                name.line,
                name.place,
                "says the same as `id`; leave one out",
            );
            return None;
        }
        (None, None) => {
            refusals.add(fields.line, &fields.place, "has no `id`");
            return None;
        }
    };
    let safe = |c: char| c.is_ascii_graphic() && !matches!(c, '{' | '}' | ':' | '/');
    match field.text() {
        Some(id) if !id.is_empty() && id.len() <= RULE_ID_BYTES_MAX && id.chars().all(safe) => {
            Some(RuleId(id.into()))
        }
        _ => {
            let wanted = format!(
                "an id is 1 to {RULE_ID_BYTES_MAX} printable ASCII characters, without spaces, braces, ':' and '/'"
            );
            field.refuse(refusals, &wanted);
            None
        }
    }
}

fn key(fields: &mut Fields<'_>, unlimited: bool, refusals: &mut Refusals) -> Option<KeyTemplate> {
    let Some(field) = fields.take("key") else {
        if unlimited {
            return Some(KeyTemplate::Facts(Vec::new()));
        }
        let wanted = "has no `key`; name the fact that tells callers apart, such as `key: api_key`";
        refusals.add(fields.line, &fields.place, wanted);
        return None;
    };
    if let Some(items) = field.items() {
        let names: Option<Vec<String>> = items
            .iter()
            .map(|item| item.text().filter(|name| !name.is_empty()))
            .collect();
        match names {
            Some(names) if !names.is_empty() => return Some(KeyTemplate::of_facts(names)),
            _ => field.refuse(refusals, "a list names at least one fact: [tenant, user]"),
        }
        return None;
    }
    match field.text().as_deref().map(KeyTemplate::parse) {
        Some(Ok(key)) => Some(key),
        Some(Err(why)) => {
            field.refuse(refusals, why);
            None
        }
        None => {
            field.refuse(refusals, "name a fact, a list of facts, or a template");
            None
        }
    }
}

fn overrides(
    list: &Field<'_>,
    kind: &Kind,
    base: &Amount<'_>,
    refusals: &mut Refusals,
) -> Vec<(Matcher, Variant)> {
    let Some(items) = list.items().filter(|items| items.len() <= OVERRIDES_MAX) else {
        list.refuse(
            refusals,
            &format!("overrides are a list of at most {OVERRIDES_MAX}"),
        );
        return Vec::new();
    };
    let mut found = Vec::new();
    for item in items {
        let Some(mut fields) = item.fields(&item.place, refusals) else {
            item.refuse(
                refusals,
                "an override is { when: { FACT: VALUE }, limit: N }",
            );
            continue;
        };
        let Some(when) = fields.take("when") else {
            refusals.add(fields.line, &fields.place, "has no `when`");
            continue;
        };
        let when = condition::matcher(&when, refusals);
        let unlimited = flag(&mut fields, "unlimited", false, refusals);
        let amount = Amount::read(&mut fields, refusals);
        let place = (fields.place.clone(), fields.line);
        fields.finish(refusals);
        let limit = if unlimited {
            Some(Limit::Unlimited)
        } else {
            amount
                .over(base)
                .limit(Some(kind), &place.0, place.1, refusals)
        };
        let id = stable_hash(&format!("{when:?}")).max(1);
        found.extend(limit.map(|limit| (when, variant(id, limit))));
    }
    found.sort_by_key(|(when, _)| std::cmp::Reverse(when.specificity()));
    found
}

fn text(fields: &mut Fields<'_>, name: &'static str, refusals: &mut Refusals) -> Option<String> {
    let field = fields.take(name)?;
    let text = field
        .text()
        .filter(|text| !text.is_empty() && text.len() <= RULE_ID_BYTES_MAX);
    if text.is_none() {
        field.refuse(
            refusals,
            &format!("a text of 1 to {RULE_ID_BYTES_MAX} bytes is wanted"),
        );
    }
    text
}

fn flag(
    fields: &mut Fields<'_>,
    name: &'static str,
    default: bool,
    refusals: &mut Refusals,
) -> bool {
    let Some(field) = fields.take(name) else {
        return default;
    };
    field.flag().unwrap_or_else(|| {
        field.refuse(refusals, "write true or false");
        default
    })
}

fn choice<T: Choice>(
    fields: &mut Fields<'_>,
    name: &'static str,
    default: T,
    refusals: &mut Refusals,
) -> T {
    let Some(field) = fields.take(name) else {
        return default;
    };
    // YAML 1.1 readers would take a bare `off` for false; both are what their writer meant.
    let word = match field.flag() {
        Some(false) => Some("off".to_owned()),
        _ => field.text(),
    };
    let known = word
        .as_ref()
        .and_then(|word| T::WORDS.iter().find(|(name, _)| name == word));
    match known {
        Some((_, choice)) => *choice,
        None => {
            let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
            field.refuse(refusals, &format!("write one of {}", words.join(", ")));
            default
        }
    }
}

fn order(fields: &mut Fields<'_>, refusals: &mut Refusals) -> i32 {
    let Some(field) = fields.take("order") else {
        return 0;
    };
    let order = field.signed().and_then(|order| i32::try_from(order).ok());
    order.unwrap_or_else(|| {
        field.refuse(
            refusals,
            "a whole number is wanted; lower ones are asked first",
        );
        0
    })
}

fn ipv6_prefix(fields: &mut Fields<'_>, refusals: &mut Refusals) -> u8 {
    let Some(field) = fields.take("ipv6_prefix") else {
        return IPV6_PREFIX;
    };
    let prefix = field.whole().and_then(|bits| u8::try_from(bits).ok());
    prefix
        .filter(|bits| (1..=128).contains(bits))
        .unwrap_or_else(|| {
            field.refuse(refusals, "a number of bits from 1 to 128 is wanted");
            IPV6_PREFIX
        })
}

/// Refuses a word with the nearest one that is known.
fn refuse_word(field: &Field<'_>, known: &[&str], refusals: &mut Refusals) {
    let word = field.text().unwrap_or_else(|| field.found());
    let message = unknown(&word, known).replace("unknown key", "unknown");
    refusals.add(field.line, &field.place, message);
}
