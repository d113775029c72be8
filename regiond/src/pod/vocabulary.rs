//! What every surface calls the same thing: names and roundings of an answer.
//!
//! Promises: HTTP and gRPC agree.
//! Never renders headers or problems; `limiter_core::render` does.

use limiter_core::check::Decision;
use limiter_core::rule::OnStoreFailure;
use limiter_core::store::Wait;

/// The domain of a request that names none.
pub const DEFAULT_DOMAIN: &str = "default";

/// A failure mode on the wire.
pub const fn mode_name(mode: OnStoreFailure) -> &'static str {
    match mode {
        OnStoreFailure::Open => "open",
        OnStoreFailure::Closed => "closed",
        OnStoreFailure::Local => "local",
    }
}

/// How long a denied caller should wait, in milliseconds, rounded up so that waiting suffices; none when allowed, or when waiting never helps.
pub fn retry_after_ms(decision: &Decision) -> Option<u64> {
    match decision.wait {
        Wait::For(span) if !decision.allowed => Some(span.as_micros().div_ceil(1_000)),
        _ => None,
    }
}
