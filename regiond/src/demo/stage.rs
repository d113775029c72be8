//! Sets the three regions up, drives the cut, samples the lag, and takes everything down.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use limiter_core::facts::Facts;
use limiter_core::rule::RuleSet;
use limiter_core::{algo, rule};
use quinn::Runtime;
use sync_proto::{MonoTime, PeerState, PeerStatus, RegionId, Span, WallTime};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;

use super::script::{CALLERS, Caller, JITTER, LINKS, REGIONS, rules};
use super::tally::{KeyTally, Tally};
use super::traffic::Source;
use super::wan_socket::{WanLinks, WanSocket};
use super::{Cut, DemoOptions};
use crate::app::{MeshSocket, Node, Role, Surroundings};
use crate::config::{Config, Peer};
use crate::mesh::{MeshIdentity, issue, new_authority};
use crate::os::Clock;
use crate::wire::limiter_v1::limiter_client::LimiterClient;

/// How long the regions may take to hear each other before the traffic starts.
const WARM_UP: Duration = Duration::from_secs(10);

/// How long the throw-away certificates are good for.
const CERTIFICATE_DAYS: u32 = 2;

/// Something that happened, for the screen.
#[derive(Clone, Debug)]
pub(super) struct Happening {
    /// From the start of the traffic.
    pub(super) at: Span,
    pub(super) text: String,
}

/// The moment, as the screen shows it.
pub(super) struct Snapshot {
    pub(super) tally: Tally,
    pub(super) now: WallTime,
    pub(super) elapsed: Span,
    pub(super) happenings: Vec<Happening>,
    /// The region that is cut off now, as an index.
    pub(super) cut_off: Option<usize>,
}

/// Three running regions and their traffic.
pub(super) struct Stage {
    clock: Clock,
    started: MonoTime,
    nodes: Vec<Node>,
    wans: Vec<WanLinks>,
    mesh_addresses: Vec<SocketAddr>,
    tally: Arc<Mutex<Tally>>,
    traffic: JoinSet<()>,
    stop_traffic: CancellationToken,
    cut: Option<(usize, Cut)>,
    cut_off: Option<usize>,
    happenings: Vec<Happening>,
}

impl Stage {
    /// Starts the regions, waits until they hear each other, then starts the traffic.
    pub(super) async fn set(options: &DemoOptions) -> anyhow::Result<Self> {
        let cut = options
            .cut
            .clone()
            .map(|cut| region_index(&cut.region).map(|at| (at, cut)));
        let cut = cut.transpose()?;
        let clock = Clock::start();
        let rules = RuleSet::parse("demo", &rules(options.sharing), 1)?;
        let keys = CALLERS
            .iter()
            .map(|caller| key_tally(&rules, caller))
            .collect::<Result<_, _>>()?;
        let rules = Arc::new(rules);

        let wans: Vec<WanLinks> = REGIONS
            .iter()
            .zip(options.seed.max(1)..)
            .map(|(_, seed)| WanLinks::new(seed))
            .collect();
        let sockets: Vec<MeshSocket> =
            wans.iter().map(bind_behind_wan).collect::<Result<_, _>>()?;
        let mesh_addresses: Vec<SocketAddr> = sockets.iter().map(|socket| socket.1).collect();
        for (a, b, delay) in LINKS {
            wans[a].set_delay(mesh_addresses[b], delay, JITTER);
            wans[b].set_delay(mesh_addresses[a], delay, JITTER);
        }

        let nodes = start_nodes(clock, &rules, sockets, &mesh_addresses).await?;
        wait_until_heard(&nodes).await?;
        let now = clock.now();
        let mut stage = Self {
            clock,
            started: now.mono,
            nodes,
            wans,
            mesh_addresses,
            tally: Arc::new(Mutex::new(Tally::new(now.wall, &REGIONS, keys))),
            traffic: JoinSet::new(),
            stop_traffic: CancellationToken::new(),
            cut,
            cut_off: None,
            happenings: Vec::new(),
        };
        stage.sample_links(true);
        stage.start_traffic(options.seed)?;
        Ok(stage)
    }

    fn start_traffic(&mut self, seed: u64) -> anyhow::Result<()> {
        for (region, node) in self.nodes.iter().enumerate() {
            let grpc = node
                .addresses()
                .grpc
                .context("the demo's nodes serve gRPC")?;
            let channel = Endpoint::from_shared(format!("http://{grpc}"))?.connect_lazy();
            for (key, caller) in CALLERS.into_iter().enumerate() {
                let source = Source {
                    caller,
                    key,
                    region,
                    client: LimiterClient::new(channel.clone()),
                    tally: self.tally.clone(),
                    clock: self.clock,
                    seed: seed
                        .wrapping_mul(0x9E37_79B9)
                        .wrapping_add((region * 16 + key) as u64)
                        | 1,
                };
                self.traffic.spawn(source.run(self.stop_traffic.clone()));
            }
        }
        Ok(())
    }

    /// Since the traffic began.
    pub(super) fn elapsed(&self) -> Span {
        self.clock.mono().since(self.started)
    }

    /// Where operators would look, per region.
    pub(super) fn admin_urls(&self) -> Vec<String> {
        self.nodes
            .iter()
            .map(|node| format!("http://{}", node.addresses().admin))
            .collect()
    }

    /// Carries out what is due: the cut, its end, a sample of every link.
    pub(super) fn advance(&mut self) {
        let elapsed = self.elapsed();
        if let Some((region, cut)) = self.cut.clone() {
            let wanted = elapsed >= cut.at && cut.heal.is_none_or(|heal| elapsed < heal);
            if wanted != self.cut_off.is_some() {
                self.set_cut(region, wanted);
                let what = if wanted {
                    "is cut off from the others"
                } else {
                    "is back"
                };
                self.happenings.push(Happening {
                    at: elapsed,
                    text: format!("{} {what}", cut.region),
                });
            }
        }
        self.sample_links(false);
    }

    fn set_cut(&mut self, region: usize, cut: bool) {
        for other in (0..REGIONS.len()).filter(|&other| other != region) {
            let ends = [(region, other), (other, region)];
            for (from, to) in ends {
                let address = self.mesh_addresses[to];
                if cut {
                    self.wans[from].cut(address);
                } else {
                    self.wans[from].heal(address);
                }
            }
        }
        self.cut_off = cut.then_some(region);
    }

    fn sample_links(&self, at_start: bool) {
        let statuses: Vec<Vec<PeerStatus>> = self.nodes.iter().map(peers_of).collect();
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        for (here, status) in statuses.into_iter().enumerate() {
            for peer in status {
                let Ok(there) = region_index(peer.region.as_str()) else {
                    continue;
                };
                if let Some(link) = tally.links.get_mut(&(there, here)) {
                    link.lag_now = peer.lag;
                    if let (Some(lag), false) = (peer.lag, at_start) {
                        link.lag.saturating_record(lag.as_millis());
                    }
                }
                if let Some(link) = tally.links.get_mut(&(here, there)) {
                    link.bytes_now = peer.sent_bytes;
                    if at_start {
                        link.bytes_at_start = peer.sent_bytes;
                    }
                }
            }
        }
    }

    /// The moment.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            tally: self
                .tally
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            now: self.clock.wall(),
            elapsed: self.elapsed(),
            happenings: self.happenings.clone(),
            cut_off: self.cut_off,
        }
    }

    /// Ends the traffic, waits for the answers in flight, and tells when it ended.
    pub(super) async fn end_traffic(&mut self) -> WallTime {
        let ended = self.clock.wall();
        self.stop_traffic.cancel();
        while self.traffic.join_next().await.is_some() {}
        self.tally
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .ended = Some(ended);
        ended
    }

    /// Stops the regions.
    pub(super) async fn strike(self) {
        let stops = self
            .nodes
            .into_iter()
            .map(|node| node.stop(Span::from_secs(2)));
        futures_util::future::join_all(stops).await;
    }
}

fn region_index(name: &str) -> anyhow::Result<usize> {
    REGIONS
        .iter()
        .position(|region| *region == name)
        .with_context(|| {
            format!(
                "the demo has no region {name:?}; its regions are {}",
                REGIONS.join(", ")
            )
        })
}

fn peers_of(node: &Node) -> Vec<PeerStatus> {
    node.mesh()
        .map(|mesh| mesh.status().peers.clone())
        .unwrap_or_default()
}

fn bind_behind_wan(wan: &WanLinks) -> anyhow::Result<MeshSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot bind a UDP port")?;
    let address = socket.local_addr()?;
    let socket = quinn::TokioRuntime.wrap_udp_socket(socket)?;
    Ok((WanSocket::wrap(socket, wan.clone()), address))
}

async fn start_nodes(
    clock: Clock,
    rules: &Arc<RuleSet>,
    sockets: Vec<MeshSocket>,
    mesh_addresses: &[SocketAddr],
) -> anyhow::Result<Vec<Node>> {
    let authority = new_authority("regiond demo")?;
    let mut nodes = Vec::new();
    for (name, socket) in REGIONS.iter().zip(sockets) {
        let region = RegionId::new(name)?;
        let certificate = issue(&authority, &region, CERTIFICATE_DAYS)?;
        let peers = REGIONS
            .iter()
            .zip(mesh_addresses)
            .filter(|(peer, _)| *peer != name);
        let peers = peers.map(|(peer, address)| {
            anyhow::Ok(Peer {
                region: RegionId::new(peer)?,
                address: address.to_string(),
            })
        });
        let config = Config::on_free_ports(region.clone(), peers.collect::<Result<_, _>>()?);
        let around = Surroundings {
            clock,
            mesh_socket: Some(socket),
            identity: Some(MeshIdentity::from_pem(
                &region,
                &authority.cert_pem,
                &certificate,
            )?),
            rules: Some(rules.clone()),
        };
        let node = Node::start(Role::Up, &config, around).await;
        nodes.push(node.with_context(|| format!("the demo's region {name} did not start"))?);
    }
    Ok(nodes)
}

/// Traffic before the regions have heard each other would show the first seconds of a cold start, not the system.
async fn wait_until_heard(nodes: &[Node]) -> anyhow::Result<()> {
    let all_heard = || {
        nodes.iter().all(|node| {
            let peers = peers_of(node);
            peers.len() == REGIONS.len() - 1
                && peers.iter().all(|peer| peer.state == PeerState::Fresh)
        })
    };
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    let heard = async {
        while !all_heard() {
            looks.tick().await;
        }
    };
    tokio::time::timeout(WARM_UP, heard).await.context(
        "the demo's regions did not hear each other within 10 s; is UDP on loopback blocked?",
    )
}

fn key_tally(rules: &RuleSet, caller: &Caller) -> anyhow::Result<KeyTally> {
    let facts = Facts::new([(caller.fact, caller.key)])?;
    let mut hits = Vec::new();
    rules.matching("default", &facts, &mut hits);
    let shape = hits
        .first()
        .and_then(|hit: &rule::Hit| hit.shape(WallTime::default()));
    let Some(algo::Shape::FixedWindow {
        limit,
        windows: algo::Windows::Every { length, phase },
    }) = shape
    else {
        anyhow::bail!("the demo's rule {} must be a fixed window", caller.rule);
    };
    Ok(KeyTally {
        rule: caller.rule.to_owned(),
        key: caller.key.to_owned(),
        limit,
        window: length,
        phase,
        windows: std::collections::BTreeMap::default(),
    })
}
