//! `match:` and `when:`: conditions on facts.

use super::super::matcher::{Matcher, Network, Pattern};
use crate::yaml::{Field, Refusals};

/// Reads a map of conditions.
pub(super) fn matcher(field: &Field<'_>, refusals: &mut Refusals) -> Matcher {
    let place = field.place.clone();
    let Some(mut fields) = field.fields(&place, refusals) else {
        field.refuse(
            refusals,
            "conditions are a map: { route: \"GET /v1/*\", tier: growth }",
        );
        return Matcher::default();
    };
    let conditions = fields.take_all().into_iter().filter_map(|(name, field)| {
        let pattern = pattern(&field, refusals)?;
        Some((name, pattern))
    });
    Matcher(conditions.collect())
}

/// `"literal"`, `"prefix*"`, `"*"`, a list of those, `{ cidr: [...] }` or `{ not: ... }`.
fn pattern(field: &Field<'_>, refusals: &mut Refusals) -> Option<Pattern> {
    if let Some(text) = field.text() {
        return match Pattern::parse(&text) {
            Ok(pattern) => Some(pattern),
            Err(why) => {
                field.refuse(refusals, why);
                None
            }
        };
    }
    if let Some(items) = field.items() {
        if items.is_empty() {
            field.refuse(
                refusals,
                "an empty list matches nothing; leave the condition out",
            );
            return None;
        }
        let patterns: Vec<_> = items
            .iter()
            .filter_map(|item| pattern(item, refusals))
            .collect();
        return Some(Pattern::OneOf(patterns));
    }
    let wanted = "write a text, a list of texts, { cidr: [10.0.0.0/8] } or { not: ... }";
    let place = field.place.clone();
    let Some(mut fields) = field.fields(&place, refusals) else {
        field.refuse(refusals, wanted);
        return None;
    };
    let (cidr, not) = (fields.take("cidr"), fields.take("not"));
    fields.finish(refusals);
    match (cidr, not) {
        (Some(cidr), None) => networks(&cidr, refusals).map(Pattern::Cidr),
        (None, Some(not)) => Some(Pattern::Not(Box::new(pattern(&not, refusals)?))),
        _ => {
            field.refuse(refusals, wanted);
            None
        }
    }
}

fn networks(field: &Field<'_>, refusals: &mut Refusals) -> Option<Vec<Network>> {
    let items = field.items().unwrap_or_else(|| vec![field.clone()]);
    let mut networks = Vec::new();
    for item in &items {
        match item.text().as_deref().and_then(Network::parse) {
            Some(network) => networks.push(network),
            None => {
                item.refuse(refusals, "a network is written 10.0.0.0/8 or 2001:db8::/32");
                return None;
            }
        }
    }
    Some(networks)
}
