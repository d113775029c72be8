//! Calendar windows.
/// Calendar windows in a zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Calendar {}
