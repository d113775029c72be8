//! Who is connected to whom: the connections we dialled, to send on, and those we accepted, to listen to.
//!
//! Promises: a configured or discovered peer is dialled until it answers, at an address resolved anew each time.
//! Sending never waits. Never decides what is sent.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use quinn::{Connection, Endpoint};
use sync_proto::bounds::PEERS_MAX;
use sync_proto::{Lane, RegionId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::bounds::{CONNECTIONS_PER_REGION_MAX, FAREWELL_MAX, HANDSHAKES_MAX};
use super::driver::Input;
use super::gossip::Heard;
use super::quic::Closing;
use super::redial;
use super::refusals::Refusals;
use super::tls::MeshIdentity;
use super::way::{Kind, Way};
use crate::config::Peer;
use crate::os::Clock;

/// Where what peers send goes.
#[derive(Clone, Debug)]
pub(super) struct Sinks {
    /// Frames, and news of connections.
    pub(super) driver: mpsc::Sender<Input>,
    /// Messages of the membership.
    pub(super) gossip: mpsc::Sender<Heard>,
    /// Addresses of peers that we have just connected to.
    pub(super) greet: mpsc::Sender<SocketAddr>,
}

/// All connections of a daemon. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Links(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    identity: ArcSwap<MeshIdentity>,
    handshakes: Arc<Semaphore>,
    refusals: Arc<Refusals>,
    sinks: Sinks,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    dialled: BTreeMap<RegionId, Dialled>,
    accepted: BTreeMap<RegionId, Vec<Way>>,
    /// Addresses under which the membership knows regions.
    known: BTreeMap<SocketAddr, RegionId>,
}

#[derive(Debug)]
struct Dialled {
    address: String,
    way: Option<Way>,
    task: AbortHandle,
}

impl Links {
    /// No connections yet.
    pub(super) fn new(
        endpoint: Endpoint,
        identity: MeshIdentity,
        refusals: Arc<Refusals>,
        sinks: Sinks,
    ) -> Self {
        Self(Arc::new(Shared {
            endpoint,
            identity: ArcSwap::from_pointee(identity),
            handshakes: Arc::new(Semaphore::new(HANDSHAKES_MAX)),
            refusals,
            sinks,
            table: Mutex::default(),
        }))
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.0.endpoint
    }

    pub(super) fn identity(&self) -> Arc<MeshIdentity> {
        self.0.identity.load_full()
    }

    pub(super) fn refusals(&self) -> &Refusals {
        &self.0.refusals
    }

    pub(super) fn clock(&self) -> Clock {
        self.0.refusals.clock
    }

    pub(super) fn sinks(&self) -> &Sinks {
        &self.0.sinks
    }

    /// Whether so many handshakes are under way that strangers must prove their addresses first.
    pub(super) fn is_crowded(&self) -> bool {
        self.0.handshakes.available_permits() < HANDSHAKES_MAX / 2
    }

    /// Leave to make one more stranger's handshake.
    pub(super) fn admit_handshake(&self) -> Option<OwnedSemaphorePermit> {
        self.0.handshakes.clone().try_acquire_owned().ok()
    }

    /// New connections prove and demand what `identity` says.
    pub(super) fn swap_identity(&self, identity: MeshIdentity) {
        self.0
            .endpoint
            .set_server_config(Some(identity.server.clone()));
        self.0.identity.store(Arc::new(identity));
    }

    /// Keeps a connection to `peer`. Again with another address: the connection moves there.
    pub(super) fn keep(&self, peer: &Peer) {
        let mut table = self.table();
        let kept = table.dialled.get(&peer.region);
        if kept.is_some_and(|kept| kept.address == peer.address)
            || kept.is_none() && table.dialled.len() >= PEERS_MAX
        {
            return;
        }
        let task = tokio::spawn(redial::run(self.clone(), peer.clone())).abort_handle();
        let address = peer.address.clone();
        let dialled = Dialled {
            address,
            way: None,
            task,
        };
        if let Some(old) = table.dialled.insert(peer.region.clone(), dialled) {
            old.close();
        }
    }

    /// The regions to which connections are kept.
    pub(super) fn kept(&self) -> Vec<RegionId> {
        self.table().dialled.keys().cloned().collect()
    }

    /// Whether there is a connection to `region` now.
    pub(super) fn reaches(&self, region: &RegionId) -> bool {
        self.table()
            .dialled
            .get(region)
            .is_some_and(|dialled| dialled.way.is_some())
    }

    /// The addresses to which there are connections now.
    pub(super) fn reached(&self) -> Vec<SocketAddr> {
        let table = self.table();
        let ways = table
            .dialled
            .values()
            .filter_map(|dialled| dialled.way.as_ref());
        ways.map(|way| way.connection.remote_address()).collect()
    }

    /// Keeps no connection to `region` any more.
    pub(super) fn forget(&self, region: &RegionId) {
        let mut table = self.table();
        table.known.retain(|_, known| known != region);
        if let Some(old) = table.dialled.remove(region) {
            old.close();
        }
    }

    /// The membership knows `region` under `address`.
    pub(super) fn learn(&self, address: SocketAddr, region: &RegionId) {
        let mut table = self.table();
        if table.known.len() < PEERS_MAX || table.known.contains_key(&address) {
            table.known.insert(address, region.clone());
        }
    }

    /// Sends a frame to a region; whether there was a way, and room on it.
    pub(super) fn send(&self, to: &RegionId, lane: Lane, frame: &[u8]) -> bool {
        let way = self
            .table()
            .dialled
            .get(to)
            .and_then(|dialled| dialled.way.clone());
        way.is_some_and(|way| way.send(lane, Kind::Frame.message(frame)))
    }

    /// Sends a message of the membership to whoever is at `to`.
    pub(super) fn send_gossip(&self, to: SocketAddr, message: &[u8]) -> bool {
        let way = self.table().way_to(to);
        way.is_some_and(|way| way.send(Lane::Tick, Kind::Gossip.message(message)))
    }

    /// Waits, not for long, until everything sent is acknowledged.
    pub(super) async fn drained(&self) {
        let ways: Vec<Way> = {
            let table = self.table();
            let dialled = table
                .dialled
                .values()
                .filter_map(|dialled| dialled.way.clone());
            dialled
                .chain(table.accepted.values().flatten().cloned())
                .collect()
        };
        // What is not acknowledged by then is lost, as it would be with a crash.
        let _late = timeout(FAREWELL_MAX, async {
            for way in &ways {
                way.drained().await;
            }
        })
        .await;
    }

    /// Dials nobody any more, and lets nobody in. Connections stay.
    pub(super) fn stop_connecting(&self) {
        self.0.endpoint.set_server_config(None);
        for dialled in self
            .table()
            .dialled
            .values()
            .filter(|dialled| dialled.way.is_none())
        {
            dialled.task.abort();
        }
    }

    /// Ends everything that runs for a connection.
    pub(super) fn stop(&self) {
        let mut table = self.table();
        std::mem::take(&mut table.dialled)
            .into_values()
            .for_each(Dialled::close);
    }

    /// The dialled connection to `region` is there, or gone.
    pub(super) fn set_way(&self, region: &RegionId, connection: Option<Connection>) {
        if let Some(dialled) = self.table().dialled.get_mut(region) {
            dialled.way = connection.map(Way::new);
        }
    }

    /// Listens to an accepted connection until it closes.
    pub(super) async fn listen(&self, region: RegionId, connection: Connection) {
        {
            let mut table = self.table();
            if !table.accepted.contains_key(&region) && table.accepted.len() >= PEERS_MAX {
                Closing::Done.close(&connection);
                return;
            }
            let ways = table.accepted.entry(region.clone()).or_default();
            ways.push(Way::new(connection.clone()));
            if ways.len() > CONNECTIONS_PER_REGION_MAX {
                Closing::Done.close(&ways.remove(0).connection);
            }
        }
        super::receive::hear(self, &region, &connection).await;
        let mut table = self.table();
        if let Some(ways) = table.accepted.get_mut(&region) {
            ways.retain(|way| way.connection.stable_id() != connection.stable_id());
            if ways.is_empty() {
                table.accepted.remove(&region);
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The connection to whoever is at `address`: dialled, or accepted from there, or to the region known to be there.
    fn way_to(&self, address: SocketAddr) -> Option<Way> {
        let at = |way: &&Way| way.connection.remote_address() == address;
        let dialled = || {
            self.dialled
                .values()
                .filter_map(|dialled| dialled.way.as_ref())
        };
        let accepted = || self.accepted.values().flatten();
        let known = || {
            let region = self.known.get(&address)?;
            let way = self
                .dialled
                .get(region)
                .and_then(|dialled| dialled.way.as_ref());
            way.or_else(|| self.accepted.get(region)?.last())
        };
        dialled()
            .find(at)
            .or_else(|| accepted().rfind(at))
            .or_else(known)
            .cloned()
    }
}

impl Dialled {
    fn close(self) {
        self.task.abort();
        if let Some(way) = self.way {
            Closing::Done.close(&way.connection);
        }
    }
}
