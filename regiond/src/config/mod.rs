//! The effective configuration of a process: resolved, typed, nothing optional that has a default.

mod knobs;
mod layers;
mod parse;
mod raw;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sync_proto::{RegionId, Span};

use crate::os;

pub use knobs::{KNOBS, Knob};
pub use layers::{Layers, Origin, Setting, Texts};

/// What `up`, `limiter` and `mesh` run with.
#[derive(Clone, Debug)]
pub struct Config {
    /// This process's region.
    pub region: RegionId,
    /// The rules file; none: no rules, everything is allowed.
    pub rules: Option<PathBuf>,
    /// The region's Redis; empty: the embedded store.
    pub redis: Vec<String>,
    /// Where checks are answered over HTTP.
    pub http: SocketAddr,
    /// Where checks are answered over gRPC, and a mesh daemon takes its pods' reports.
    pub grpc: SocketAddr,
    /// Where operators ask.
    pub admin: SocketAddr,
    /// Where the mesh listens (UDP).
    pub mesh: SocketAddr,
    /// Seeds of the membership: other regions and their mesh addresses (host:port, resolved at use).
    pub peers: Vec<Peer>,
    /// The region's mesh daemon (its gRPC address), for a pod alone.
    pub mesh_daemon: Option<String>,
    /// The mesh's certificates; none: the mesh stays on loopback.
    pub tls: Option<TlsFiles>,
    /// Where state that outlives the process is kept; none: nowhere.
    pub data: Option<PathBuf>,
    /// How often busy counts are shared.
    pub tick: Span,
    /// How long a graceful stop may take.
    pub grace: Span,
    /// The longest wait for the store.
    pub store_deadline: Span,
    /// Print one JSON line with the bound addresses once ready.
    pub print_addresses: bool,
}

/// A seed of the membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its region.
    pub region: RegionId,
    /// Its mesh address, `host:port`.
    pub address: String,
}

/// Files of the mesh's mutual TLS, PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The authorities that peers' certificates must come from.
    pub ca: PathBuf,
    /// This region's chain.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Config {
    /// Reads every layer: `flags`, the environment, and the file called `file`.
    ///
    /// # Errors
    /// Everything that is wrong, naming file, line and key, or the flag or variable.
    pub fn load(flags: &Texts, file: Option<&Path>) -> anyhow::Result<(Self, Layers)> {
        let settings = match file {
            None => BTreeMap::new(),
            Some(path) => {
                let name = path.display().to_string();
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read the config file {name} (--config)"))?;
                raw::read(&name, &text).map_err(|refusals| {
                    let lines: Vec<String> = refusals.iter().map(ToString::to_string).collect();
                    anyhow::anyhow!("{}", lines.join("\n"))
                })?
            }
        };
        let layers = Layers::lay(flags, os::variable, settings);
        Ok((parse::parse(&layers)?, layers))
    }

    /// A region on free loopback ports, for the demo and tests: embedded store, one-second ticks.
    pub fn on_free_ports(region: RegionId, peers: Vec<Peer>) -> Self {
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            region,
            rules: None,
            redis: Vec::new(),
            http: free,
            grpc: free,
            admin: free,
            mesh: free,
            peers,
            mesh_daemon: None,
            tls: None,
            data: None,
            tick: Span::from_secs(1),
            grace: Span::from_secs(5),
            store_deadline: Span::from_millis(3),
            print_addresses: false,
        }
    }
}
