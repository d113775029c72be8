//! The names of things that travel: regions, daemons' lives, counters, windows and epochs.
//!
//! Promises: a value that exists is valid and bounded in size, wherever it came from.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bounds::{COUNTER_NAME_BYTES_MAX, REGION_BYTES_MAX};

/// Why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// A region's name is a DNS label, because it is also a name in a certificate.
    #[error(
        "region name {0:?} must be 1 to {REGION_BYTES_MAX} of a-z, 0-9 and '-', not starting or ending with '-'"
    )]
    Region(String),
    /// A counter's name is empty or too long.
    #[error("a counter's name has {0} bytes; 1 to {COUNTER_NAME_BYTES_MAX} are allowed")]
    CounterLength(usize),
}

/// A region, by the name that its certificate carries. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RegionId(Arc<str>);

impl RegionId {
    /// The region called `name`.
    ///
    /// # Errors
    /// [`IdError::Region`] when `name` is not a DNS label of lower-case letters, digits and hyphens.
    pub fn new(name: &str) -> Result<Self, IdError> {
        let label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let edge = |name: &str| name.starts_with('-') || name.ends_with('-');
        if name.is_empty()
            || name.len() > REGION_BYTES_MAX
            || edge(name)
            || !name.bytes().all(label)
        {
            return Err(IdError::Region(
                name.chars().take(REGION_BYTES_MAX).collect(),
            ));
        }
        Ok(Self(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RegionId {
    type Error = IdError;

    fn try_from(name: String) -> Result<Self, IdError> {
        Self::new(&name)
    }
}

impl std::str::FromStr for RegionId {
    type Err = IdError;

    fn from_str(name: &str) -> Result<Self, IdError> {
        Self::new(name)
    }
}

impl From<RegionId> for String {
    fn from(region: RegionId) -> Self {
        region.as_str().to_owned()
    }
}

impl fmt::Display for RegionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// One life of a mesh daemon: larger after every restart. What was acknowledged to one life means nothing to the next.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Incarnation(pub u64);

/// What is counted, as bytes that only its owner can read. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterName(Arc<[u8]>);

impl CounterName {
    /// The counter called `bytes`.
    ///
    /// # Errors
    /// [`IdError::CounterLength`] when the name is empty or over the bound.
    pub fn new(bytes: &[u8]) -> Result<Self, IdError> {
        if bytes.is_empty() || bytes.len() > COUNTER_NAME_BYTES_MAX {
            return Err(IdError::CounterLength(bytes.len()));
        }
        Ok(Self(bytes.into()))
    }

    /// The name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for CounterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CounterName(\"{}\")", self.0.escape_ascii())
    }
}

/// A window of a counter: the wall time of its start in microseconds. [`WindowId::ENDLESS`] for counters without windows.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct WindowId(pub u64);

impl WindowId {
    /// The one window of a counter that only ever grows, such as what a bucket has let through.
    pub const ENDLESS: Self = Self(0);
}

/// One life of a counter in a store: the store's wall time in microseconds when the counter's key was created.
///
/// A flushed store starts a new epoch, so a lower count under it is a new start and not a step back.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Epoch(pub u64);

/// A counter's number in one daemon's ledger. Never given to another name in the same life, so that a late frame cannot be misread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CounterId(pub(crate) u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_name_is_a_dns_label() {
        for name in ["mumbai", "ap-south-1", "x", "0"] {
            assert_eq!(RegionId::new(name).unwrap().as_str(), name);
        }
        for name in [
            "",
            "Mumbai",
            "-a",
            "a-",
            "a_b",
            "a.b",
            "ü",
            &"a".repeat(REGION_BYTES_MAX + 1),
        ] {
            assert!(RegionId::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_counter_name_is_bounded() {
        assert!(CounterName::new(b"").is_err());
        assert!(CounterName::new(&vec![b'a'; COUNTER_NAME_BYTES_MAX]).is_ok());
        assert!(CounterName::new(&vec![b'a'; COUNTER_NAME_BYTES_MAX + 1]).is_err());
    }
}
