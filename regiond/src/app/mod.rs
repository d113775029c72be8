//! Builds the parts for a role, starts them, owns their lifetimes.
use crate::config::Config;

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Pod and mesh daemon in one.
    Up,
    /// A pod alone.
    Limiter,
    /// A mesh daemon alone.
    Mesh,
}

/// Runs a role until SIGTERM or ctrl-c, then drains within the grace.
pub async fn run(_role: Role, _config: Config) -> anyhow::Result<()> { unimplemented!() }
