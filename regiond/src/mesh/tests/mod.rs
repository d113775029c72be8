//! The mesh's shell over real QUIC on loopback, without the state machines behind it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quinn::{AsyncUdpSocket, Runtime};
use sync_proto::{Incarnation, RegionId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::driver::Input;
use super::gossip::Membership;
use super::links::{Links, Sinks};
use super::refusals::Refusals;
use super::{Member, MeshIdentity, NewCertificate, issue, new_authority, quic};
use crate::config::Peer;
use crate::demo::wan_socket::{WanLinks, WanSocket};
use crate::os::Clock;
use crate::telemetry::Metrics;

mod counts;
mod daemon;
mod identity;
mod membership;
mod transport;
mod wan;

/// Longer than anything here takes, on a busy machine, too.
const PATIENCE: Duration = Duration::from_secs(30);

fn region(name: &str) -> RegionId {
    RegionId::new(name).unwrap()
}

fn identity(authority: &NewCertificate, name: &str) -> MeshIdentity {
    let certificate = issue(authority, &region(name), 1).unwrap();
    MeshIdentity::from_pem(&region(name), &authority.cert_pem, &certificate).unwrap()
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future)
        .await
        .expect("the condition was not met in time")
}

/// Waits until `met` holds.
async fn until(mut met: impl FnMut() -> bool) {
    let mut look = tokio::time::interval(Duration::from_millis(10));
    within(async {
        while !met() {
            look.tick().await;
        }
    })
    .await;
}

fn socket() -> (SocketAddr, Arc<dyn AsyncUdpSocket>) {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    (
        address,
        quinn::TokioRuntime.wrap_udp_socket(socket).unwrap(),
    )
}

/// One region's connections and membership; the test is its driver.
struct Site {
    address: SocketAddr,
    wan: WanLinks,
    links: Links,
    inbox: mpsc::Receiver<Input>,
    members: watch::Receiver<Vec<Member>>,
    leave: mpsc::Sender<oneshot::Sender<()>>,
    tasks: Vec<AbortHandle>,
}

impl Site {
    fn start(identity: MeshIdentity, peers: &[&Self]) -> Self {
        let (address, socket) = socket();
        let wan = WanLinks::new(1);
        let socket = WanSocket::wrap(socket, wan.clone());
        let endpoint = quic::endpoint(socket, &identity).unwrap();
        let (driver, inbox) = mpsc::channel(1_024);
        let (gossip, heard) = mpsc::channel(64);
        let (greet, greet_end) = mpsc::channel(64);
        let (leave, leave_end) = mpsc::channel(1);
        let (members, members_end) = watch::channel(Vec::new());
        let clock = Clock::start();
        let refusals = Arc::new(Refusals::new(clock, Arc::new(Metrics::new())));
        let own = identity.region.clone();
        let links = Links::new(
            endpoint,
            identity,
            refusals,
            Sinks {
                driver,
                gossip,
                greet,
            },
        );
        let membership = Membership {
            region: own,
            incarnation: Incarnation(clock.wall().as_micros()),
            advertise: address,
            configured: peers
                .iter()
                .map(|peer| peer.region())
                .collect::<BTreeSet<_>>(),
            links: links.clone(),
            members,
            heard,
            greet: greet_end,
            leave: leave_end,
        };
        let tasks = vec![
            tokio::spawn(quic::accept(links.clone())).abort_handle(),
            tokio::spawn(membership.run()).abort_handle(),
        ];
        let site = Self {
            address,
            wan,
            links,
            inbox,
            members: members_end,
            leave,
            tasks,
        };
        for peer in peers {
            site.know(peer);
        }
        site
    }

    fn region(&self) -> RegionId {
        self.links.identity().region.clone()
    }

    /// Keeps a connection to `peer`.
    fn know(&self, peer: &Self) {
        self.links.keep(&Peer {
            region: peer.region(),
            address: peer.address.to_string(),
        });
    }

    /// Waits for the next frame.
    async fn frame(&mut self) -> (RegionId, Bytes) {
        loop {
            if let Input::Frame { from, frame } = self.input().await {
                return (from, frame);
            }
        }
    }

    async fn input(&mut self) -> Input {
        within(self.inbox.recv()).await.expect("the inbox is open")
    }

    async fn until_reaches(&self, peer: &Self) {
        until(|| self.links.reaches(&peer.region())).await;
    }

    /// Says farewell and closes.
    async fn leave(&self) {
        self.links.stop_connecting();
        let (left, told) = oneshot::channel();
        self.leave.send(left).await.unwrap();
        within(told).await.unwrap();
        within(self.links.drained()).await;
        self.links.stop();
        quic::close(self.links.endpoint(), PATIENCE).await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
        self.links.stop();
        self.links.endpoint().close(0_u32.into(), b"gone");
    }
}

/// Two sites of one authority; the first dials the second.
fn pair() -> (Site, Site) {
    let ca = new_authority("test").unwrap();
    let delhi = Site::start(identity(&ca, "delhi"), &[]);
    let mumbai = Site::start(identity(&ca, "mumbai"), &[&delhi]);
    (mumbai, delhi)
}
