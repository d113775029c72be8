//! Which requests a rule is about.

use core::net::{IpAddr, Ipv6Addr};

use crate::facts::Facts;

/// Conditions on facts, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Matcher(pub(super) Vec<(String, Pattern)>);

/// A condition on one fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The fact is there, and not empty.
    Any,
    Literal(String),
    Prefix(String),
    Cidr(Vec<Network>),
    OneOf(Vec<Self>),
    /// The fact is missing, or does not match.
    Not(Box<Self>),
}

/// A network: every address whose first `bits` are those of `base`. IPv4 is held as IPv4-mapped IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    base: u128,
    bits: u32,
}

impl Matcher {
    pub(super) fn matches(&self, facts: &Facts) -> bool {
        self.0
            .iter()
            .all(|(name, pattern)| pattern.matches(facts.value(name)))
    }

    /// How specific it is: exact conditions count before partial ones, and partial ones before any.
    pub(super) fn specificity(&self) -> (usize, usize, usize) {
        let count = |wanted: usize| {
            self.0
                .iter()
                .filter(|(_, pattern)| pattern.exactness() == wanted)
                .count()
        };
        (count(2), count(1), count(0))
    }

    /// The literal values of `name` that it needs, if it needs one of a few.
    pub(super) fn literals(&self, name: &str) -> Option<Vec<&str>> {
        let (_, pattern) = self.0.iter().find(|(known, _)| known == name)?;
        match pattern {
            Pattern::Literal(text) => Some(vec![text]),
            Pattern::OneOf(patterns) => patterns
                .iter()
                .map(|pattern| match pattern {
                    Pattern::Literal(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect(),
            _ => None,
        }
    }
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        match text.split_once('*') {
            None => Ok(Self::Literal(text.to_owned())),
            Some(("", "")) => Ok(Self::Any),
            Some((prefix, "")) => Ok(Self::Prefix(prefix.to_owned())),
            Some(_) => Err("a '*' stands alone or at the end: \"*\", \"GET /v1/*\""),
        }
    }

    fn matches(&self, value: Option<&str>) -> bool {
        let value = value.filter(|value| !value.is_empty());
        match (self, value) {
            (Self::Not(pattern), value) => !pattern.matches(value),
            (Self::OneOf(patterns), value) => patterns.iter().any(|it| it.matches(value)),
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::Literal(text), Some(value)) => text == value,
            (Self::Prefix(prefix), Some(value)) => value.starts_with(prefix.as_str()),
            (Self::Cidr(networks), Some(value)) => {
                let address = value.parse::<IpAddr>().map(bits);
                address.is_ok_and(|address| networks.iter().any(|it| it.holds(address)))
            }
        }
    }

    fn exactness(&self) -> usize {
        match self {
            Self::Literal(_) => 2,
            Self::Prefix(_) | Self::Cidr(_) | Self::Not(_) => 1,
            Self::Any => 0,
            Self::OneOf(patterns) => patterns.iter().map(Self::exactness).min().unwrap_or(0),
        }
    }
}

impl Network {
    /// `10.0.0.0/8`, `2001:db8::/32`, or one address.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().ok()?;
        let (width, mapped) = if address.is_ipv4() {
            (32, 96)
        } else {
            (128, 0)
        };
        let length = length.unwrap_or(width);
        (length <= width).then(|| {
            let bits_kept = length + mapped;
            Self {
                base: bits(address) & mask(bits_kept),
                bits: bits_kept,
            }
        })
    }

    fn holds(&self, address: u128) -> bool {
        address & mask(self.bits) == self.base
    }
}

fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - bits).unwrap_or(0)
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => Ipv6Addr::to_bits(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_what_they_say() {
        let matches =
            |pattern: &str, value: Option<&str>| Pattern::parse(pattern).unwrap().matches(value);
        assert!(matches("a", Some("a")) && !matches("a", Some("ab")) && !matches("a", None));
        assert!(matches("a*", Some("ab")) && matches("a*", Some("a")) && !matches("a*", Some("b")));
        assert!(matches("*", Some("x")) && !matches("*", None) && !matches("*", Some("")));
        assert!(Pattern::parse("a*b").is_err());
        let not = Pattern::Not(Box::new(Pattern::Literal("a".into())));
        assert!(not.matches(Some("b")) && not.matches(None) && !not.matches(Some("a")));
    }

    #[test]
    fn networks_hold_their_addresses_in_either_family() {
        let holds = |network: &str, address: &str| {
            Pattern::Cidr(vec![Network::parse(network).unwrap()]).matches(Some(address))
        };
        assert!(holds("10.0.0.0/8", "10.255.1.2") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("10.0.0.0/8", "::ffff:10.1.2.3") && !holds("10.0.0.0/8", "::1"));
        assert!(holds("2001:db8::/32", "2001:db8:1::1") && holds("0.0.0.0/0", "192.0.2.1"));
        for text in ["10.0.0.0/33", "10.0.0/8", "x", "::/129"] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
