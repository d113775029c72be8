//! The region's mesh daemon inside this process: what the rest of it may start, ask and stop.
//!
//! ```text
//!   pods' reports ─┐                          ┌─► way ──► peers          gossip ◄─► chitchat
//!   receive ◄──────┼── quic, redial (links) ──┘             │ finds addresses, hears farewells
//!        └─ frames ┴─► driver: Mesh + Folder ──► folding ──► store
//! ```
//!
//! Promises: whoever asks waits for the driver alone, never for a peer.
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use limiter_core::rule::RuleSet;
use limiter_core::share::{Folder, FolderConfig, ReportReply, UsageReport};
use sync_proto::{Incarnation, Mesh, MeshConfig, Now, PeerChange, PeerStatus, RegionId, Span};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use crate::config::Peer;
use crate::os::Clock;
use crate::store::StoreLink;
use crate::telemetry::Metrics;
use bounds::{GOSSIP_QUEUE_MAX, INBOX_MAX};
use driver::{Driver, Input, Run};
use gossip::Membership;
use links::{Links, Sinks};
use refusals::Refusals;

mod bounds;
mod certs;
mod driver;
mod folding;
mod gossip;
mod links;
mod names;
mod quic;
mod receive;
mod redial;
mod refusals;
#[cfg(test)]
mod tests;
mod tls;
mod unproven;
mod way;
pub use certs::{NewCertificate, issue, new_authority};
pub use tls::MeshIdentity;

/// The version of the transport, told to the membership.
const PROTOCOL: &str = "1";

/// What a mesh daemon is made of.
pub struct MeshNode {
    /// Our region.
    pub region: RegionId,
    /// The bound UDP socket; the demo wraps it in a WAN.
    pub socket: Arc<dyn quinn::AsyncUdpSocket>,
    /// Address that peers reach us at, told to the membership.
    pub advertise: SocketAddr,
    /// Seeds.
    pub peers: Vec<Peer>,
    /// Our certificate, and whom we trust.
    pub identity: MeshIdentity,
    /// The region's store.
    pub store: StoreLink,
    /// The rules in force.
    pub rules: watch::Receiver<Arc<RuleSet>>,
    /// How often busy counts are shared.
    pub tick: Span,
    /// Clock.
    pub clock: Clock,
    /// Metrics.
    pub metrics: Arc<Metrics>,
}

/// A member of the membership, ourselves included, for operators.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its region.
    pub region: RegionId,
    /// Its mesh address.
    pub address: SocketAddr,
    /// Whether the failure detector holds it to be alive.
    pub alive: bool,
}

/// What the mesh looks like now, refreshed several times a second.
#[derive(Clone, Debug, Default)]
pub struct MeshStatus {
    /// Other regions, by name.
    pub peers: Vec<PeerStatus>,
    /// The membership.
    pub members: Vec<Member>,
    /// Counters that are busy.
    pub busy: usize,
    /// Pods that reported within the last few ticks.
    pub pods: u32,
    /// When `peers` was taken, on this process's clock.
    pub at: sync_proto::MonoTime,
}

/// Asks a running mesh daemon. Cheap to clone. When the last one is dropped, the daemon ends at once, as in a crash.
#[derive(Clone, Debug)]
pub struct MeshHandle(Arc<Daemon>);

/// The mesh daemon has stopped.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the mesh daemon has stopped")]
pub struct MeshStopped;

/// What ends with the daemon.
#[derive(Debug)]
struct Daemon {
    inbox: mpsc::Sender<Input>,
    leave: mpsc::Sender<oneshot::Sender<()>>,
    status: Arc<ArcSwap<MeshStatus>>,
    links: Links,
    tasks: Vec<AbortHandle>,
}

impl MeshHandle {
    /// Starts the daemon's tasks on the current runtime.
    pub fn start(node: MeshNode) -> anyhow::Result<Self> {
        let endpoint = quic::endpoint(node.socket.clone(), &node.identity)?;
        let now = node.clock.now();
        let incarnation = Incarnation(now.wall.as_micros());
        let (inbox, inbox_end) = mpsc::channel(INBOX_MAX);
        let (heard, heard_end) = mpsc::channel(GOSSIP_QUEUE_MAX);
        let (greet, greet_end) = mpsc::channel(GOSSIP_QUEUE_MAX);
        let (leave, leave_end) = mpsc::channel(1);
        let (members, members_end) = watch::channel(Vec::new());
        let refusals = Arc::new(Refusals::new(node.clock, node.metrics.clone()));
        let sinks = Sinks {
            driver: inbox.clone(),
            gossip: heard,
            greet,
        };
        let links = Links::new(endpoint, node.identity.clone(), refusals, sinks);
        let status = Arc::new(ArcSwap::from_pointee(MeshStatus::default()));

        let (mesh, folder) = node.state(now, incarnation);
        let membership = Membership {
            region: node.region.clone(),
            incarnation,
            advertise: node.advertise,
            configured: node.others().map(|peer| peer.region.clone()).collect(),
            links: links.clone(),
            members,
            heard: heard_end,
            greet: greet_end,
            leave: leave_end,
        };
        node.others().for_each(|peer| links.keep(peer));
        let driver = Driver {
            mesh,
            folder,
            incarnation,
            tick: node.tick,
            links: links.clone(),
            store: node.store,
            clock: node.clock,
            metrics: node.metrics,
            inbox: inbox_end,
            rules: node.rules,
            members: members_end,
            status: status.clone(),
            run: Run::default(),
        };
        let tasks = vec![
            tokio::spawn(quic::accept(links.clone())).abort_handle(),
            tokio::spawn(membership.run()).abort_handle(),
            tokio::spawn(driver.run()).abort_handle(),
        ];
        Ok(Self(Arc::new(Daemon {
            inbox,
            leave,
            status,
            links,
            tasks,
        })))
    }

    /// A pod reported (`pod`: its life).
    pub async fn report(&self, pod: u64, report: UsageReport) -> Result<ReportReply, MeshStopped> {
        let (reply, answer) = oneshot::channel();
        let input = Input::Report { pod, report, reply };
        self.0.inbox.send(input).await.map_err(|_| MeshStopped)?;
        answer.await.map_err(|_| MeshStopped)
    }

    /// What the mesh looks like.
    pub fn status(&self) -> Arc<MeshStatus> {
        self.0.status.load_full()
    }

    /// Re-read certificates are in force for new connections.
    pub fn swap_identity(&self, identity: MeshIdentity) -> anyhow::Result<()> {
        let current = self.0.links.identity();
        if identity.region != current.region {
            anyhow::bail!(
                "the new certificate is region {}'s; this is region {}",
                identity.region,
                current.region
            );
        }
        if identity.proven != current.proven {
            anyhow::bail!("whether certificates are in use cannot change without a restart");
        }
        self.0.links.swap_identity(identity);
        Ok(())
    }

    /// Sends the last counts, leaves the membership, closes the endpoint. Takes two seconds at most.
    pub async fn stop(&self) {
        let Daemon {
            inbox,
            leave,
            links,
            ..
        } = &*self.0;
        links.stop_connecting();
        let (stopped, flushed) = oneshot::channel();
        if inbox.send(Input::Stop(stopped)).await.is_ok() && flushed.await.is_ok() {
            links.drained().await;
        }
        let (left, told) = oneshot::channel();
        if leave.send(left).await.is_ok() && told.await.is_ok() {
            links.drained().await;
        }
        links.stop();
        quic::close(links.endpoint(), bounds::FAREWELL_MAX).await;
        self.0.end();
    }
}

impl Daemon {
    fn end(&self) {
        for task in &self.tasks {
            task.abort();
        }
        self.links.stop();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
        self.links.endpoint().close(0_u32.into(), b"gone");
    }
}

impl MeshNode {
    /// The seeds but ourselves.
    fn others(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().filter(|peer| peer.region != self.region)
    }

    /// The state machines; configured peers are members from the start, so that a peer never heard is seen as that.
    fn state(&self, now: Now, incarnation: Incarnation) -> (Mesh, Folder) {
        let late_after = self.tick.times(5).divided_by(2).max(bounds::LATE_MIN);
        let mut mesh = Mesh::new(
            MeshConfig {
                region: self.region.clone(),
                incarnation,
                tick: self.tick,
                heartbeat: self
                    .tick
                    .divided_by(5)
                    .clamp(bounds::HEARTBEAT_MIN, bounds::HEARTBEAT_MAX),
                urgent_spacing: bounds::URGENT_SPACING,
                late_after,
                down_after: bounds::DOWN_AFTER,
                busy_linger: bounds::BUSY_LINGER,
            },
            now,
        );
        for peer in self.others() {
            mesh.handle_membership(now, PeerChange::Joined(peer.region.clone()));
        }
        let regions: BTreeSet<RegionId> = self
            .others()
            .map(|peer| peer.region.clone())
            .chain([self.region.clone()])
            .collect();
        let folder = Folder::new(FolderConfig {
            region: self.region.clone(),
            regions: regions.into_iter().collect(),
            tick: self.tick,
            late_after,
        });
        (mesh, folder)
    }
}
