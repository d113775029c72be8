//! RateLimit, RateLimit-Policy, Retry-After and X-RateLimit-* headers.
use sync_proto::WallTime;

use crate::check::Decision;

/// What X-RateLimit-Reset tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegacyReset {
    /// Seconds from now.
    #[default]
    Delta,
    /// Unix time.
    Unix,
}

/// How headers are rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderOptions {
    /// The clock, for [`LegacyReset::Unix`].
    pub now: WallTime,
    /// What X-RateLimit-Reset tells.
    pub legacy_reset: LegacyReset,
}

/// Names in lower case, and values.
pub fn headers(_decision: &Decision, _options: HeaderOptions) -> Vec<(&'static str, String)> { unimplemented!() }
