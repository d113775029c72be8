//! What clients see of a decision: the one rendering that every surface uses.
//!
//! Promises: headers and body agree, and a rule that is not exposed shows in neither.
//! Never computes a limit.

mod headers;
mod problem;

pub use headers::{HeaderOptions, LegacyReset, headers};
pub use problem::problem;

use crate::check::Decision;

/// Whether a client must not learn anything about this denial but that it is one.
fn is_hidden(decision: &Decision) -> bool {
    decision.decider().is_some_and(|policy| !policy.rule.expose)
}
