//! Starts the parts of one node and stops them in the order that loses nothing.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use anyhow::Context;
use limiter_core::rule::RuleSet;
use limiter_core::share::Outlook;
use quinn::Runtime;
use sync_proto::{RegionId, Span};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{Addresses, Role, reload};
use crate::admin::{self, AdminState};
use crate::config::Config;
use crate::grpc::{self, GrpcServices};
use crate::http;
use crate::mesh::{MeshHandle, MeshIdentity, MeshNode};
use crate::os::Clock;
use crate::pod::{LimiterPod, PodConfig, ReportTo};
use crate::store::StoreLink;
use crate::telemetry::Metrics;

/// A bound UDP socket for the mesh, and the address it is bound to.
pub type MeshSocket = (Arc<dyn quinn::AsyncUdpSocket>, SocketAddr);

/// What a node finds around it: the process's own, or what the demo puts in its place.
pub struct Surroundings {
    /// The clock of the process.
    pub clock: Clock,
    /// The mesh's socket; absent: one is bound to the configured address.
    pub mesh_socket: Option<MeshSocket>,
    /// The mesh's identity; absent: read from the configured files.
    pub identity: Option<MeshIdentity>,
    /// The rules; absent: read from the configured file.
    pub rules: Option<Arc<RuleSet>>,
}

impl Surroundings {
    /// Nothing replaced.
    pub fn of_process(clock: Clock) -> Self {
        Self {
            clock,
            mesh_socket: None,
            identity: None,
            rules: None,
        }
    }
}

/// A running node.
pub struct Node {
    addresses: Addresses,
    pod: Option<LimiterPod>,
    mesh: Option<MeshHandle>,
    rules: watch::Sender<Arc<RuleSet>>,
    stopping: CancellationToken,
    servers: JoinSet<anyhow::Result<()>>,
}

impl Node {
    /// Binds every address, then starts every part.
    ///
    /// # Errors
    /// What keeps it from starting; nothing is left running then.
    pub async fn start(role: Role, config: &Config, around: Surroundings) -> anyhow::Result<Self> {
        refuse_split_embedded_store(role, config)?;
        let rules = match around.rules {
            Some(rules) => rules,
            None => reload::rules(config.rules.as_deref(), 1)?,
        };
        let listeners = Listeners::bind(role, config).await?;
        let metrics = Arc::new(Metrics::new());
        metrics.rules_version(rules.version);
        let store = open_store(config, around.clock)?;
        let (rules_tx, rules_rx) = watch::channel(rules.clone());

        let socket = match around.mesh_socket {
            Some(socket) => Some(socket),
            None => role
                .has_mesh()
                .then(|| bind_mesh(config.mesh))
                .transpose()?,
        };
        let mesh_address = socket.as_ref().map(|(_, address)| *address);
        let mesh = match socket {
            None => None,
            Some((socket, advertise)) => Some(MeshHandle::start(MeshNode {
                region: config.region.clone(),
                socket,
                advertise,
                peers: config.peers.clone(),
                identity: match around.identity {
                    Some(identity) => identity,
                    None => reload::identity(config)?,
                },
                store: store.clone(),
                rules: rules_rx,
                tick: config.tick,
                clock: around.clock,
                metrics: metrics.clone(),
            })?),
        };

        let pod = role.has_pod().then(|| {
            let report_to = match (&mesh, &config.mesh_daemon) {
                (Some(mesh), _) => ReportTo::Here(mesh.clone()),
                (None, Some(daemon)) => ReportTo::There(daemon.clone()),
                (None, None) => ReportTo::Nobody,
            };
            let parts = pod_parts(config, around.clock, store, report_to, metrics.clone());
            LimiterPod::start(parts, rules)
        });

        let addresses = listeners.addresses(config, mesh_address)?;
        let stopping = CancellationToken::new();
        let admin = AdminState {
            region: config.region.clone(),
            pod: pod.clone(),
            mesh: mesh.clone(),
            metrics,
            clock: around.clock,
        };
        let servers = listeners.serve(admin, &stopping);
        Ok(Self {
            addresses,
            pod,
            mesh,
            rules: rules_tx,
            stopping,
            servers,
        })
    }

    /// Where it listens.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Its mesh daemon, if it has one.
    pub fn mesh(&self) -> Option<&MeshHandle> {
        self.mesh.as_ref()
    }

    /// Reads rules and certificates again. What does not load changes nothing, and is logged.
    pub fn reload(&mut self, config: &Config) {
        let version = self.rules.borrow().version + 1;
        match reload::rules(config.rules.as_deref(), version) {
            Ok(rules) => {
                info!(
                    version,
                    rules = rules.rules().len(),
                    "Rules were read again."
                );
                if let Some(pod) = &self.pod {
                    pod.swap_rules(rules.clone());
                }
                self.rules.send_replace(rules);
            }
            Err(error) => error!("The rules in force stay: {error:#}"),
        }
        let Some(mesh) = &self.mesh else { return };
        match reload::identity(config).and_then(|identity| mesh.swap_identity(identity)) {
            Ok(()) => info!("Certificates were read again: new connections use them."),
            Err(error) => error!("The certificates in force stay: {error:#}"),
        }
    }

    /// Stops accepting, finishes what is in flight, sends the last report and the last counts; within `grace`.
    pub async fn stop(mut self, grace: Span) {
        self.stopping.cancel();
        let drain = async {
            while let Some(ended) = self.servers.join_next().await {
                if let Err(error) = ended.map_err(anyhow::Error::from).flatten() {
                    warn!("A server ended badly: {error:#}");
                }
            }
            if let Some(pod) = &self.pod {
                pod.stop().await;
            }
            if let Some(mesh) = &self.mesh {
                mesh.stop().await;
            }
        };
        let grace = std::time::Duration::from_micros(grace.as_micros());
        if tokio::time::timeout(grace, drain).await.is_err() {
            warn!("The grace is over: what was still in flight is dropped.");
        }
    }
}

/// TCP listeners of a role, bound and not yet served.
struct Listeners {
    http: Option<TcpListener>,
    grpc: TcpListener,
    admin: TcpListener,
}

impl Listeners {
    async fn bind(role: Role, config: &Config) -> anyhow::Result<Self> {
        let http = if role.has_pod() {
            Some(bind_tcp(config.http, "http").await?)
        } else {
            None
        };
        Ok(Self {
            http,
            grpc: bind_tcp(config.grpc, "grpc").await?,
            admin: bind_tcp(config.admin, "admin").await?,
        })
    }

    fn addresses(&self, config: &Config, mesh: Option<SocketAddr>) -> std::io::Result<Addresses> {
        Ok(Addresses {
            region: config.region.clone(),
            http: self
                .http
                .as_ref()
                .map(TcpListener::local_addr)
                .transpose()?,
            grpc: Some(self.grpc.local_addr()?),
            admin: self.admin.local_addr()?,
            mesh,
        })
    }

    fn serve(self, admin: AdminState, stopping: &CancellationToken) -> JoinSet<anyhow::Result<()>> {
        let mut servers = JoinSet::new();
        if let (Some(listener), Some(pod)) = (self.http, admin.pod.clone()) {
            servers.spawn(serve_http(listener, http::router(pod), stopping.clone()));
        }
        let services = GrpcServices {
            pod: admin.pod.clone(),
            mesh: admin.mesh.clone().map(|mesh| (admin.region.clone(), mesh)),
        };
        servers.spawn(grpc::serve(
            self.grpc,
            services,
            stopping.clone().cancelled_owned(),
        ));
        servers.spawn(serve_http(
            self.admin,
            admin::router(admin),
            stopping.clone(),
        ));
        servers
    }
}

async fn serve_http(
    listener: TcpListener,
    router: axum::Router,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    http::serve(listener, router, stopping.cancelled_owned()).await;
    Ok(())
}

async fn bind_tcp(address: SocketAddr, knob: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| bind_advice(address, knob))
}

fn bind_mesh(address: SocketAddr) -> anyhow::Result<MeshSocket> {
    let advice = || bind_advice(address, "mesh");
    let socket = UdpSocket::bind(address).with_context(advice)?;
    let bound = socket.local_addr().with_context(advice)?;
    let socket = quinn::TokioRuntime
        .wrap_udp_socket(socket)
        .with_context(advice)?;
    Ok((socket, bound))
}

fn bind_advice(address: SocketAddr, knob: &str) -> String {
    format!("cannot listen on {address}; name another address with --{knob}, port 0 for a free one")
}

fn open_store(config: &Config, clock: Clock) -> anyhow::Result<StoreLink> {
    if config.redis.is_empty() {
        return Ok(StoreLink::embedded(clock));
    }
    StoreLink::redis(&config.redis, config.store_deadline, clock)
}

/// An embedded store lives in one process: a pod and a mesh daemon apart would never meet in it.
fn refuse_split_embedded_store(role: Role, config: &Config) -> anyhow::Result<()> {
    let apart = role == Role::Mesh || (role == Role::Limiter && config.mesh_daemon.is_some());
    if apart && config.redis.is_empty() {
        anyhow::bail!(
            "a pod and a mesh daemon in separate processes meet in the region's Redis: \
             name it with --redis, or run both in one process with `regiond up`"
        );
    }
    Ok(())
}

fn pod_parts(
    config: &Config,
    clock: Clock,
    store: StoreLink,
    report_to: ReportTo,
    metrics: Arc<Metrics>,
) -> PodConfig {
    let outlook = first_outlook(config, matches!(report_to, ReportTo::Nobody));
    PodConfig {
        region: config.region.clone(),
        store,
        report_to,
        clock,
        metrics,
        tick: config.tick,
        outlook,
    }
}

/// What the pod assumes until the mesh daemon answers: the configured regions, none of them heard.
fn first_outlook(config: &Config, alone: bool) -> Outlook {
    let mut regions: Vec<&RegionId> = config.peers.iter().map(|peer| &peer.region).collect();
    regions.push(&config.region);
    regions.sort_unstable();
    regions.dedup();
    let rank = regions
        .iter()
        .position(|region| **region == config.region)
        .unwrap_or(0);
    let single = alone || regions.len() == 1;
    Outlook {
        regions: if alone {
            1
        } else {
            u32::try_from(regions.len()).unwrap_or(u32::MAX)
        },
        rank: if alone {
            0
        } else {
            u32::try_from(rank).unwrap_or(0)
        },
        fresh: single,
        majority: single,
        pods: 1,
    }
}
