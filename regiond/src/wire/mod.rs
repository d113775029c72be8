//! The messages and services of `proto/`, as generated code.
//!
//! Promises: `gen/` is what `proto/` says; a test generates it anew and compares.
//! Never edited by hand.

/// Package `limiter.v1`: checks, and what a pod tells its mesh daemon.
#[expect(
    missing_docs,
    unused_qualifications,
    clippy::allow_attributes_without_reason,
    clippy::too_many_lines,
    reason = "generated"
)]
pub mod limiter_v1 {
    include!("gen/limiter.v1.rs");
}

/// The descriptors of every package, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!("gen/descriptors.bin");
