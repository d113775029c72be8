//! Whether the process lives, and whether it can do its work.
//!
//! Promises: a sick store makes nothing unready: rules degrade one by one.
//! Never asks anybody before it answers.

/// `GET /healthz`.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: a router exists only once rules are loaded.
pub(crate) async fn readyz() -> &'static str {
    "ready\n"
}
