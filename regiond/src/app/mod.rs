//! A running node: the parts of a role, built from a configuration, started together and stopped in order.
//!
//! Promises: every address is bound before anything is announced; a stop loses no usage that a pod has seen.
//! Never decides or counts: the parts do.

mod addresses;
mod node;
mod reload;
mod signals;

pub use addresses::Addresses;
pub use node::{MeshSocket, Node, Surroundings};

use anyhow::Context;
use tracing::info;

use crate::config::Config;
use crate::os::Clock;
use signals::{Signal, Signals};

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

impl Role {
    /// Whether it answers checks.
    pub fn has_pod(self) -> bool {
        matches!(self, Self::Up | Self::Limiter)
    }

    /// Whether it shares counts with other regions.
    pub fn has_mesh(self) -> bool {
        matches!(self, Self::Up | Self::Mesh)
    }
}

/// Runs a role until SIGTERM or ctrl-c, then drains within the grace. SIGHUP re-reads rules and certificates.
///
/// # Errors
/// What keeps the node from starting: an address in use, rules or certificates that do not load.
pub async fn run(role: Role, config: Config) -> anyhow::Result<()> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let mut node = Node::start(role, &config, Surroundings::of_process(Clock::start())).await?;
    info!(region = %config.region, addresses = %node.addresses(), "Ready.");
    if config.print_addresses {
        crate::output::print_line(&node.addresses().to_json());
    }
    while signals.next().await == Signal::Reload {
        node.reload(&config);
    }
    info!(grace = %config.grace, "Stopping: no new connections, last report, last sync.");
    node.stop(config.grace).await;
    Ok(())
}
