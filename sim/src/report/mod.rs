//! What a run came to, for people and for programs.
//!
//! Promises: bytes that depend on the outcome alone.

mod table;

use crate::measure::Outcome;

pub use table::table;

/// The outcome as JSON, with a newline at the end.
///
/// # Errors
/// Never, unless a name cannot be told in JSON.
pub fn json(outcome: &Outcome) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(outcome).map(|text| text + "\n")
}
