//! The body of a 429.
use crate::check::Decision;

/// An RFC 9457 problem document for a denial.
pub fn problem(_decision: &Decision) -> String { unimplemented!() }
