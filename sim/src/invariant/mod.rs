//! What must hold whatever the network does.
//!
//! | property | file | looked at |
//! | --- | --- | --- |
//! | what is known of a region is never more than it admitted | `known_below_truth.rs` | after every frame |
//! | once links are whole and traffic is over, everybody knows everything | `nothing_lost.rs` | at the end |

use std::fmt;

mod known_below_truth;
mod nothing_lost;

pub(crate) use known_below_truth::known_below_truth;
pub(crate) use nothing_lost::nothing_lost;

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    property: &'static str,
    details: String,
}

impl Violation {
    pub(crate) fn new(property: &'static str, details: String) -> Self {
        Self { property, details }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.details)
    }
}
