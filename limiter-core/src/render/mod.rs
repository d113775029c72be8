//! What clients see of a decision: the one rendering that every surface uses.
mod headers;
mod problem;

pub use headers::{HeaderOptions, LegacyReset, headers};
pub use problem::problem;
