//! The membership: chitchat, carried over the mesh's own QUIC connections.
//!
//! Promises: only proven regions gossip. What the membership says serves to find addresses and to hear a farewell;
//! a region is a peer once it is configured, or has proven its name on a connection. Counts never ride in it, and a
//! failure detector's verdict alone removes nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use anyhow::anyhow;
use chitchat::transport::{Socket, Transport};
use chitchat::{
    ChitchatConfig, ChitchatHandle, ChitchatId, ChitchatMessage, FailureDetectorConfig,
    Serializable, spawn_chitchat,
};
use sync_proto::{Incarnation, RegionId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tracing::{error, info};

use super::bounds::{DEAD_NODE_KEPT, FAREWELL_MAX, GOSSIP_EVERY};
use super::driver::Input;
use super::links::Links;
use super::{Member, PROTOCOL};
use crate::config::Peer;

/// Set by a node that leaves on purpose.
const LEAVING: &str = "leaving";

/// A message of the membership, and where its sender can be answered.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) from: SocketAddr,
    pub(super) message: ChitchatMessage,
}

/// What the membership's task is made of.
#[derive(Debug)]
pub(super) struct Membership {
    pub(super) region: RegionId,
    pub(super) incarnation: Incarnation,
    pub(super) advertise: SocketAddr,
    /// Peers that are never forgotten.
    pub(super) configured: BTreeSet<RegionId>,
    pub(super) links: Links,
    pub(super) members: watch::Sender<Vec<Member>>,
    /// Messages that arrived.
    pub(super) heard: mpsc::Receiver<Heard>,
    /// Whom to speak to at once.
    pub(super) greet: mpsc::Receiver<SocketAddr>,
    /// Asked to leave; answered once the peers have been told.
    pub(super) leave: mpsc::Receiver<oneshot::Sender<()>>,
}

/// What is known of a region's newest node.
#[derive(Clone, Copy, Debug)]
struct Node {
    generation: u64,
    address: SocketAddr,
    alive: bool,
    leaving: bool,
}

impl Membership {
    /// Runs until aborted.
    pub(super) async fn run(self) {
        let region = self.region.clone();
        if let Err(error) = self.gossip().await {
            error!(%region, %error, "The membership has stopped; peers that are not configured are not found any more.");
        }
    }

    async fn gossip(mut self) -> anyhow::Result<()> {
        let (told, mut acks) = watch::channel(0_u64);
        let (unused, heard) = (mpsc::channel(1).1, &mut self.heard);
        let socket = QuicSocket {
            links: self.links.clone(),
            heard: std::mem::replace(heard, unused),
            told,
        };
        let transport = QuicTransport {
            socket: Mutex::new(Some(socket)),
        };
        let handle = spawn_chitchat(self.config(), self.facts(), &transport).await?;
        let mut left = BTreeMap::new();
        let mut look = tokio::time::interval(GOSSIP_EVERY);
        loop {
            tokio::select! {
                _ = look.tick() => self.look(&handle, &mut left).await,
                greeted = self.greet.recv() => match greeted {
                    Some(address) => handle.gossip(address)?,
                    None => return Ok(()),
                },
                asked = self.leave.recv() => {
                    let Some(answer) = asked else { return Ok(()) };
                    self.say_farewell(&handle, &mut acks).await;
                    // Who asked may have lost patience.
                    let _gone = answer.send(());
                }
            }
        }
    }

    fn config(&self) -> ChitchatConfig {
        ChitchatConfig {
            chitchat_id: ChitchatId::new(self.region.as_str(), self.incarnation.0, self.advertise),
            cluster_id: "regiond".to_owned(),
            gossip_interval: GOSSIP_EVERY,
            listen_addr: self.advertise,
            // Peers are greeted when a connection to them is made, at the address where they answered.
            seed_nodes: Vec::new(),
            failure_detector_config: FailureDetectorConfig {
                initial_interval: GOSSIP_EVERY * 2,
                dead_node_grace_period: DEAD_NODE_KEPT,
                ..FailureDetectorConfig::default()
            },
            marked_for_deletion_grace_period: DEAD_NODE_KEPT,
            catchup_callback: None,
            extra_liveness_predicate: None,
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![
            ("region".to_owned(), self.region.to_string()),
            ("protocol".to_owned(), PROTOCOL.to_owned()),
        ]
    }

    /// Looks at who is there, dials whom it finds, and tells the driver who left.
    async fn look(&self, handle: &ChitchatHandle, left: &mut BTreeMap<RegionId, u64>) {
        let nodes = newest(handle).await;
        let members = nodes.iter().map(|(region, node)| Member {
            region: region.clone(),
            address: node.address,
            alive: node.alive,
        });
        self.members.send_replace(members.collect());
        for (region, node) in nodes.iter().filter(|(region, _)| **region != self.region) {
            self.links.learn(node.address, region);
            if !node.leaving {
                let found = !self.configured.contains(region) && node.alive;
                if found {
                    let address = node.address.to_string();
                    self.links.keep(&Peer {
                        region: region.clone(),
                        address,
                    });
                }
            } else if left.get(region) != Some(&node.generation) && !self.links.reaches(region) {
                // Only once its connection is closed, too: nobody can say farewell for another.
                info!(peer = %region, "A region has left.");
                left.insert(region.clone(), node.generation);
                self.tell_left(region).await;
            }
        }
        for region in self.links.kept() {
            if !nodes.contains_key(&region) && !self.configured.contains(&region) {
                info!(peer = %region, "A region was gone for so long that it is forgotten.");
                self.tell_left(&region).await;
            }
        }
    }

    async fn tell_left(&self, region: &RegionId) {
        if !self.configured.contains(region) {
            self.links.forget(region);
        }
        // A driver that has stopped needs to know nothing more.
        let _stopped = self
            .links
            .sinks()
            .driver
            .send(Input::Left(region.clone()))
            .await;
    }

    /// Tells every connected peer that we leave, and waits a little until they were told.
    async fn say_farewell(&self, handle: &ChitchatHandle, acks: &mut watch::Receiver<u64>) {
        handle
            .with_chitchat(|chitchat| chitchat.self_node_state().set(LEAVING, "1"))
            .await;
        let peers = self.links.reached();
        let before = *acks.borrow_and_update();
        let wanted = before.saturating_add(u64::try_from(peers.len()).unwrap_or(u64::MAX));
        for peer in peers {
            // The membership's task may have stopped: then nobody can be told.
            let _stopped = handle.gossip(peer);
        }
        // Whom the farewell does not reach in time will hold us to be down.
        let _late = timeout(FAREWELL_MAX, acks.wait_for(|told| *told >= wanted)).await;
    }
}

/// Each region's newest node.
async fn newest(handle: &ChitchatHandle) -> BTreeMap<RegionId, Node> {
    handle
        .with_chitchat(|chitchat| {
            let live: BTreeSet<&ChitchatId> = chitchat.live_nodes().collect();
            let mut nodes = BTreeMap::<RegionId, Node>::new();
            for (id, state) in chitchat.node_states() {
                let Ok(region) = RegionId::new(&id.node_id) else {
                    continue;
                };
                let node = Node {
                    generation: id.generation_id,
                    address: id.gossip_advertise_addr,
                    alive: live.contains(id),
                    leaving: state.get(LEAVING).is_some(),
                };
                let known = nodes.entry(region).or_insert(node);
                if known.generation < node.generation {
                    *known = node;
                }
            }
            nodes
        })
        .await
}

/// Hands chitchat its one socket.
struct QuicTransport {
    socket: Mutex<Option<QuicSocket>>,
}

/// Chitchat's datagrams, as messages on the mesh's connections.
struct QuicSocket {
    links: Links,
    heard: mpsc::Receiver<Heard>,
    /// How often a peer was told what it did not know of us.
    told: watch::Sender<u64>,
}

/// What chitchat's traits return.
type Answer<'a, T> = Pin<Box<dyn Future<Output = anyhow::Result<T>> + Send + 'a>>;

impl Transport for QuicTransport {
    fn open<'a, 'b>(&'a self, _listen_addr: SocketAddr) -> Answer<'b, Box<dyn Socket>>
    where
        'a: 'b,
        Self: 'b,
    {
        let socket = self
            .socket
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        Box::pin(async move {
            let socket = socket.ok_or_else(|| anyhow!("the membership's socket is taken"))?;
            Ok(Box::new(socket) as Box<dyn Socket>)
        })
    }
}

impl Socket for QuicSocket {
    fn send<'a, 'b>(&'a mut self, to: SocketAddr, message: ChitchatMessage) -> Answer<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            // No way to a node is nothing unusual: it is found again by who has one.
            let sent = self.links.send_gossip(to, &message.serialize_to_vec());
            if sent && matches!(message, ChitchatMessage::Ack { .. }) {
                self.told.send_modify(|told| *told = told.saturating_add(1));
            }
            Ok(())
        })
    }

    fn recv<'a, 'b>(&'a mut self) -> Answer<'b, (SocketAddr, ChitchatMessage)>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let heard = self.heard.recv().await;
            heard
                .map(|heard| (heard.from, heard.message))
                .ok_or_else(|| anyhow!("the mesh has stopped"))
        })
    }
}
