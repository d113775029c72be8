//! From facts to keys: who is counted together, under which name in a store, and when its windows begin.
//!
//! Promises: different identities never share a key, whatever their facts contain; all keys of one identity share a hash
//! tag, and no fact can change it; every region finds the same key and the same phase.

use std::borrow::Cow;

use sync_proto::{CounterName, Span};

use crate::bounds::IDENTITY_BYTES_MAX;
use crate::facts::{Facts, IP, keyed_ip};
use crate::store::StoreKey;

/// What an identity is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyTemplate {
    /// Facts by name, in order of their names.
    Facts(Vec<String>),
    /// Text with facts in it.
    Text(Vec<Piece>),
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Fact(String),
}

/// Who is counted, as text that is safe inside a hash tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(String);

impl KeyTemplate {
    /// `name` alone, or a template such as `user:{user_id}:search`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("a key names at least one fact");
        }
        if !text.contains(['{', '}']) {
            return Ok(Self::Facts(vec![text.to_owned()]));
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (literal, after) = rest.split_at(open);
            let Some((name, tail)) = after[1..].split_once('}') else {
                return Err("a '{' is never closed");
            };
            if name.is_empty() || name.contains('{') || literal.contains('}') {
                return Err("between '{' and '}' stands the name of one fact");
            }
            if !literal.is_empty() {
                pieces.push(Piece::Literal(literal.to_owned()));
            }
            pieces.push(Piece::Fact(name.to_owned()));
            rest = tail;
        }
        if rest.contains('}') {
            return Err("a '}' was never opened");
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        Ok(Self::Text(pieces))
    }

    /// Several facts, in whatever order they were written.
    pub(crate) fn of_facts(mut names: Vec<String>) -> Self {
        names.sort_unstable();
        names.dedup();
        Self::Facts(names)
    }

    /// The identity; none when a fact is missing or empty and `shared` does not stand in for it.
    pub(crate) fn identity(
        &self,
        facts: &Facts,
        ipv6_prefix: u8,
        shared: bool,
    ) -> Option<Identity> {
        let value = |name: &str| -> Option<Cow<'_, str>> {
            match facts.value(name).filter(|value| !value.is_empty()) {
                Some(value) if name == IP => keyed_ip(value, ipv6_prefix).map(Cow::Owned),
                Some(value) => Some(Cow::Owned(value.to_owned())),
                None if shared => Some(Cow::Borrowed("")),
                None => None,
            }
        };
        let mut text = String::new();
        match self {
            Self::Facts(names) => {
                for (place, name) in names.iter().enumerate() {
                    if place > 0 {
                        text.push(',');
                    }
                    escape(name, &mut text);
                    text.push('=');
                    escape(&value(name)?, &mut text);
                }
            }
            Self::Text(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Literal(literal) => text.push_str(literal),
                        Piece::Fact(name) => escape(&value(name)?, &mut text),
                    }
                }
            }
        }
        Some(Identity::bounded(text))
    }
}

impl Identity {
    fn bounded(text: String) -> Self {
        if text.len() <= IDENTITY_BYTES_MAX {
            return Self(text);
        }
        // 128 bits: two callers who choose their keys cannot find a pair that would share a budget.
        let hash = blake3::hash(text.as_bytes()).to_hex();
        Self(format!("#{}", &hash[..32]))
    }

    /// An identity from another region's counter name; none when it is not one that [`KeyTemplate`] makes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let safe = |c: char| !c.is_control() && c != '{' && c != '}';
        (!text.is_empty() && text.len() <= IDENTITY_BYTES_MAX && text.chars().all(safe))
            .then(|| Self(text.to_owned()))
    }
}

/// Escapes what could end a hash tag, separate facts, or hide on a terminal.
fn escape(value: &str, text: &mut String) {
    for c in value.chars() {
        match c {
            '{' | '}' | '%' | ',' | '=' | '#' => text.push_str(&format!("%{:02x}", u32::from(c))),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    text.push_str(&format!("%{byte:02x}"));
                }
            }
            c => text.push(c),
        }
    }
}

/// The rule whose counter it is, and what its state looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    pub(crate) domain: &'a str,
    pub(crate) rule: &'a str,
    /// Which of the rule's limits.
    pub(crate) variant: u32,
    /// Names algorithm and window: state of another shape has another key.
    pub(crate) shape: u32,
}

/// The rule set's default domain, left out of keys.
pub(crate) const DEFAULT_DOMAIN: &str = "default";

impl Owner<'_> {
    /// `rl:{user=u1}:rule:0a1b2c3d`.
    pub(crate) fn store_key(&self, identity: &Identity) -> StoreKey {
        let Identity(identity) = identity;
        let key = if self.domain == DEFAULT_DOMAIN {
            format!("rl:{{{identity}}}:{}:{:08x}", self.rule, self.shape)
        } else {
            let mut domain = String::new();
            escape(self.domain, &mut domain);
            format!(
                "rl:{{{identity}}}:{domain}/{}:{:08x}",
                self.rule, self.shape
            )
        };
        StoreKey(key.into_bytes().into())
    }

    /// When the counter's windows begin: at every `k * length + phase`.
    pub(crate) fn phase(&self, identity: &Identity, length: Span) -> Span {
        let mut hasher = blake3::Hasher::new();
        for part in [self.domain, self.rule, &identity.0] {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        Span::from_micros(first_u64(&hasher) % length.as_micros().max(1))
    }

    /// The name under which regions tell each other of the counter.
    pub(crate) fn counter(&self, identity: &Identity) -> Option<CounterName> {
        let Self {
            domain,
            rule,
            variant,
            shape,
        } = self;
        let name = format!("{domain}\0{rule}\0{variant:x}\0{shape:x}\0{}", identity.0);
        CounterName::new(name.as_bytes()).ok()
    }
}

/// A counter's name, taken apart again.
pub(crate) fn parse_counter(name: &CounterName) -> Option<(Owner<'_>, Identity)> {
    let mut parts = name.as_bytes().splitn(5, |byte| *byte == 0);
    let mut text = || std::str::from_utf8(parts.next()?).ok();
    let (domain, rule) = (text()?, text()?);
    let variant = u32::from_str_radix(text()?, 16).ok()?;
    let shape = u32::from_str_radix(text()?, 16).ok()?;
    let identity = Identity::from_bytes(parts.next()?)?;
    Some((
        Owner {
            domain,
            rule,
            variant,
            shape,
        },
        identity,
    ))
}

/// A hash that is the same in every region and every version.
pub(crate) fn stable_hash(text: &str) -> u32 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes());
    // Truncation keeps the low half, which is as good as any.
    (first_u64(&hasher) & u64::from(u32::MAX))
        .try_into()
        .unwrap_or(0)
}

fn first_u64(hasher: &blake3::Hasher) -> u64 {
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(template: &str, facts: &[(&str, &str)]) -> Option<String> {
        let facts = Facts::new(facts.iter().copied()).unwrap();
        let template = KeyTemplate::parse(template).unwrap();
        template
            .identity(&facts, 64, false)
            .map(|identity| identity.0)
    }

    #[test]
    fn a_value_cannot_leave_its_hash_tag_or_pose_as_another_fact() {
        assert_eq!(
            identity("user", &[("user", "a}{b\n")]).unwrap(),
            "user=a%7d%7bb%0a"
        );
        let both = KeyTemplate::of_facts(vec!["b".into(), "a".into()]);
        let render = |pairs: &[(&str, &str)]| {
            let facts = Facts::new(pairs.iter().copied()).unwrap();
            both.identity(&facts, 64, false).unwrap().0
        };
        assert_eq!(render(&[("a", "1"), ("b", "2")]), "a=1,b=2");
        assert_ne!(
            render(&[("a", "1,b=2"), ("b", "3")]),
            render(&[("a", "1"), ("b", "2,b=3")])
        );
    }

    #[test]
    fn a_missing_or_empty_fact_gives_no_identity() {
        assert_eq!(identity("user", &[]), None);
        assert_eq!(identity("user", &[("user", "")]), None);
        assert_eq!(
            identity("user:{user}:search", &[("user", "u1")]).unwrap(),
            "user:u1:search"
        );
    }

    #[test]
    fn a_long_identity_is_hashed_and_distinct() {
        let long = |end: &str| identity("user", &[("user", &("x".repeat(400) + end))]).unwrap();
        assert_eq!(long("a").len(), 33);
        assert_ne!(long("a"), long("b"));
        assert_ne!(identity("user", &[("user", "#1")]).unwrap(), "#1");
    }

    #[test]
    fn a_counter_name_is_taken_apart_as_it_was_put_together() {
        let owner = Owner {
            domain: "default",
            rule: "r1",
            variant: 7,
            shape: 9,
        };
        let identity = Identity("user=u1".to_owned());
        let name = owner.counter(&identity).unwrap();
        let (parsed, known) = parse_counter(&name).unwrap();
        assert_eq!(
            (parsed.domain, parsed.rule, parsed.variant, parsed.shape),
            ("default", "r1", 7, 9)
        );
        assert_eq!(known, identity);
        for hostile in [
            &b"x"[..],
            b"a\0b\0zz\x001\0c",
            b"a\0b\x001\x001\0{}",
            b"a\0b\x001\x001\0\xff",
        ] {
            assert!(parse_counter(&CounterName::new(hostile).unwrap()).is_none());
        }
    }

    #[test]
    fn the_phase_is_the_same_everywhere_and_differs_between_callers() {
        let owner = Owner {
            domain: "default",
            rule: "partner",
            variant: 0,
            shape: 0,
        };
        let phase = |who: &str| {
            owner
                .phase(&Identity(who.to_owned()), Span::from_secs(10))
                .as_micros()
        };
        assert_eq!(phase("partner=acme"), phase("partner=acme"));
        assert_ne!(phase("partner=acme"), phase("partner=umbrella"));
        assert!(phase("partner=acme") < 10_000_000);
    }

    #[test]
    fn templates_that_make_no_sense_are_refused() {
        for text in ["", "{", "a}", "{}", "{a{b}}", "x{a"] {
            assert!(KeyTemplate::parse(text).is_err(), "{text}");
        }
    }
}
