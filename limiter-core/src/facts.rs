//! What is known of a request: named texts, bounded, sorted, with addresses in their canonical form.
//!
//! Promises: two requests of one caller have equal facts, however an address was written.

use core::net::{IpAddr, Ipv6Addr};

use crate::bounds::{FACT_NAME_BYTES_MAX, FACT_VALUE_BYTES_MAX, FACTS_MAX};

/// The fact that holds the caller's address.
pub(crate) const IP: &str = "ip";

/// Facts of a request, in order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(Vec<(Box<str>, Box<str>)>);

/// Why facts were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactError {
    /// Too many of them.
    #[error("descriptors: more than {FACTS_MAX} facts")]
    TooMany,
    /// A name is empty or too long.
    #[error("descriptors: the name {0:?} must have 1 to {FACT_NAME_BYTES_MAX} bytes")]
    Name(String),
    /// A value is too long.
    #[error("descriptors.{0}: more than {FACT_VALUE_BYTES_MAX} bytes")]
    Value(String),
    /// A name came twice.
    #[error("descriptors.{0}: given twice")]
    Twice(String),
    /// The address is none.
    #[error("descriptors.ip: {0:?} is no IP address")]
    Ip(String),
}

impl FactError {
    /// The field at fault, as a client would name it.
    pub fn field(&self) -> String {
        match self {
            Self::TooMany | Self::Name(_) => "descriptors".to_owned(),
            Self::Value(name) | Self::Twice(name) => format!("descriptors.{name}"),
            Self::Ip(_) => "descriptors.ip".to_owned(),
        }
    }
}

impl Facts {
    /// Canonical facts: an IPv4-mapped address becomes IPv4, and addresses are written in one way.
    ///
    /// # Errors
    /// Too many, too long, given twice, or an `ip` that is no address. An empty `ip` counts as missing.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, FactError> {
        let mut facts: Vec<(Box<str>, Box<str>)> = Vec::new();
        for (name, value) in pairs {
            let (name, value) = (name.as_ref(), value.as_ref());
            if facts.len() == FACTS_MAX {
                return Err(FactError::TooMany);
            }
            if name.is_empty() || name.len() > FACT_NAME_BYTES_MAX {
                return Err(FactError::Name(
                    name.chars().take(FACT_NAME_BYTES_MAX).collect(),
                ));
            }
            if value.len() > FACT_VALUE_BYTES_MAX {
                return Err(FactError::Value(name.to_owned()));
            }
            let value = if name == IP && !value.is_empty() {
                canonical_ip(value)?.to_string().into()
            } else {
                value.into()
            };
            facts.push((name.into(), value));
        }
        facts.sort_unstable();
        match facts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(FactError::Twice(pair[0].0.to_string())),
            None => Ok(Self(facts)),
        }
    }

    /// The value called `name`.
    pub fn value(&self, name: &str) -> Option<&str> {
        let at = self
            .0
            .binary_search_by(|(known, _)| (**known).cmp(name))
            .ok()?;
        self.0.get(at).map(|(_, value)| &**value)
    }

    /// All, in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

fn canonical_ip(text: &str) -> Result<IpAddr, FactError> {
    let address = text.parse::<IpAddr>();
    let address = address.map_err(|_| FactError::Ip(text.chars().take(64).collect()))?;
    Ok(address.to_canonical())
}

/// What an address is keyed by: IPv4 whole, IPv6 by the first `prefix` bits.
pub(crate) fn keyed_ip(text: &str, prefix: u8) -> Option<String> {
    match text.parse::<IpAddr>().ok()? {
        IpAddr::V4(address) => Some(address.to_string()),
        IpAddr::V6(address) => {
            let mask = u128::MAX
                .checked_shl(128 - u32::from(prefix.min(128)))
                .unwrap_or(0);
            let network = Ipv6Addr::from_bits(address.to_bits() & mask);
            Some(format!("{network}/{prefix}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_caller_are_written_in_one_way() {
        for (written, canonical) in [
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:DB8:0:0::1", "2001:db8::1"),
            ("192.0.2.1", "192.0.2.1"),
        ] {
            let facts = Facts::new([("ip", written)]).unwrap();
            assert_eq!(facts.value("ip"), Some(canonical), "{written}");
        }
        assert_eq!(
            keyed_ip("2001:db8:1:2:3::4", 64).as_deref(),
            Some("2001:db8:1:2::/64")
        );
        assert_eq!(keyed_ip("192.0.2.1", 64).as_deref(), Some("192.0.2.1"));
    }

    #[test]
    fn what_is_refused_is_named() {
        let many: Vec<_> = (0..=FACTS_MAX).map(|n| (format!("f{n}"), "v")).collect();
        let long = "x".repeat(FACT_VALUE_BYTES_MAX + 1);
        let table = [
            (Facts::new(many), "descriptors"),
            (
                Facts::new([("a".to_owned(), long.as_str())]),
                "descriptors.a",
            ),
            (
                Facts::new([("a".to_owned(), "1"), ("a".to_owned(), "2")]),
                "descriptors.a",
            ),
            (
                Facts::new([("ip".to_owned(), "300.1.1.1")]),
                "descriptors.ip",
            ),
            (Facts::new([(String::new(), "1")]), "descriptors"),
        ];
        for (facts, field) in table {
            assert_eq!(facts.unwrap_err().field(), field);
        }
    }
}
