//! Whole daemons: their peers' states over a WAN that fails and heals.

use std::net::SocketAddr;
use std::sync::Arc;

use limiter_core::rule::RuleSet;
use sync_proto::{PeerState, PeerStatus, Span};
use tokio::sync::watch;

use super::{
    Clock, Metrics, NewCertificate, Peer, WanLinks, WanSocket, identity, new_authority, region,
    socket, until,
};
use crate::mesh::{MeshHandle, MeshNode};
use crate::store::StoreLink;

const TICK: Span = Span::from_millis(100);

/// A region's daemon, and the WAN in front of it.
pub(super) struct Region {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    pub(super) wan: WanLinks,
    pub(super) mesh: MeshHandle,
    pub(super) store: StoreLink,
    pub(super) clock: Clock,
    /// Held, so that the rules can still change.
    _rules: watch::Sender<Arc<RuleSet>>,
}

impl Region {
    fn peer(&self, name: &str) -> Option<PeerStatus> {
        let status = self.mesh.status();
        status
            .peers
            .iter()
            .find(|peer| peer.region == region(name))
            .cloned()
    }

    async fn until_sees(&self, name: &str, state: PeerState) {
        until(|| self.peer(name).is_some_and(|peer| peer.state == state)).await;
    }

    /// Cuts, or heals, both directions between this region and another.
    pub(super) fn connect(&self, other: &Self, connected: bool) {
        for (from, to) in [(self, other), (other, self)] {
            if connected {
                from.wan.heal(to.address)
            } else {
                from.wan.cut(to.address)
            }
        }
    }
}

/// Daemons that know each other, 20 ms apart.
pub(super) fn regions<const N: usize>(
    names: [&'static str; N],
    rules: &Arc<RuleSet>,
) -> [Region; N] {
    let ca = new_authority("test").unwrap();
    let sockets = names.map(|name| (name, socket()));
    let peers: Vec<Peer> = sockets
        .iter()
        .map(|(name, (address, _))| Peer {
            region: region(name),
            address: address.to_string(),
        })
        .collect();
    let addresses: Vec<SocketAddr> = sockets.iter().map(|(_, (address, _))| *address).collect();
    sockets.map(|(name, (address, socket))| {
        let wan = WanLinks::new(1);
        for to in addresses.iter().filter(|to| **to != address) {
            wan.set_delay(*to, Span::from_millis(20), Span::from_millis(5));
        }
        let socket = WanSocket::wrap(socket, wan.clone());
        let (clock, peers) = (Clock::start(), peers.clone());
        let store = StoreLink::embedded(clock);
        let (rules, rules_end) = watch::channel(rules.clone());
        let mesh = MeshHandle::start(MeshNode {
            region: region(name),
            socket,
            advertise: address,
            peers,
            identity: identity(&ca, name),
            store: store.clone(),
            rules: rules_end,
            tick: TICK,
            clock,
            metrics: Arc::new(Metrics::new()),
        })
        .unwrap();
        Region {
            name,
            address,
            wan,
            mesh,
            store,
            clock,
            _rules: rules,
        }
    })
}

/// A daemon of `name` at a new address that only it itself tells of.
fn newcomer(ca: &NewCertificate, name: &'static str, peers: Vec<Peer>) -> (SocketAddr, MeshHandle) {
    let (address, socket) = socket();
    let clock = Clock::start();
    let mesh = MeshHandle::start(MeshNode {
        region: region(name),
        socket,
        advertise: address,
        peers,
        identity: identity(ca, name),
        store: StoreLink::embedded(clock),
        rules: watch::channel(Arc::new(RuleSet::default())).1,
        tick: TICK,
        clock,
        metrics: Arc::new(Metrics::new()),
    });
    (address, mesh.unwrap())
}

fn state(mesh: &MeshHandle, name: &str) -> Option<PeerState> {
    let status = mesh.status();
    status
        .peers
        .iter()
        .find(|peer| peer.region == region(name))
        .map(|peer| peer.state)
}

#[tokio::test]
async fn three_regions_hear_each_other_and_measure_the_way() {
    let regions = regions(["mumbai", "singapore", "virginia"], &Arc::default());
    for from in &regions {
        for to in regions.iter().filter(|to| to.name != from.name) {
            from.until_sees(to.name, PeerState::Fresh).await;
            until(|| from.peer(to.name).is_some_and(|peer| peer.rtt.is_some())).await;
            let rtt = from.peer(to.name).and_then(|peer| peer.rtt).unwrap();
            assert!(rtt >= Span::from_millis(40), "{rtt}");
        }
        until(|| {
            from.mesh
                .status()
                .members
                .iter()
                .filter(|member| member.alive)
                .count()
                == 3
        })
        .await;
    }
}

#[tokio::test]
async fn a_region_that_is_cut_off_is_late_and_fresh_again_after_healing() {
    let [mumbai, singapore, virginia] =
        regions(["mumbai", "singapore", "virginia"], &Arc::default());
    mumbai.until_sees("singapore", PeerState::Fresh).await;
    virginia.until_sees("singapore", PeerState::Fresh).await;

    mumbai.connect(&singapore, false);
    virginia.connect(&singapore, false);

    mumbai.until_sees("singapore", PeerState::Late).await;
    singapore.until_sees("mumbai", PeerState::Late).await;
    mumbai.until_sees("virginia", PeerState::Fresh).await;
    mumbai.connect(&singapore, true);
    virginia.connect(&singapore, true);
    for (from, to) in [
        (&mumbai, "singapore"),
        (&singapore, "mumbai"),
        (&virginia, "singapore"),
    ] {
        from.until_sees(to, PeerState::Fresh).await;
    }
}

#[tokio::test]
async fn a_peer_that_was_never_there_is_known_as_unheard() {
    let ca = new_authority("test").unwrap();
    let absent = Peer {
        region: region("delhi"),
        address: "127.0.0.1:1".to_owned(),
    };
    let (_, mesh) = newcomer(&ca, "mumbai", vec![absent]);
    until(|| state(&mesh, "delhi") == Some(PeerState::Unheard)).await;
}

#[tokio::test]
async fn a_region_that_nobody_configured_joins_through_a_seed_and_leaves_with_a_farewell() {
    let ca = new_authority("test").unwrap();
    let (address, seed) = newcomer(&ca, "seed", vec![]);
    let to_seed = Peer {
        region: region("seed"),
        address: address.to_string(),
    };
    let (_, mumbai) = newcomer(&ca, "mumbai", vec![to_seed.clone()]);
    let (_, delhi) = newcomer(&ca, "delhi", vec![to_seed]);
    until(|| state(&delhi, "mumbai") == Some(PeerState::Fresh)).await;
    until(|| state(&mumbai, "delhi") == Some(PeerState::Fresh)).await;

    mumbai.stop().await;

    until(|| state(&delhi, "mumbai").is_none() && state(&seed, "mumbai").is_none()).await;
    assert_eq!(state(&delhi, "seed"), Some(PeerState::Fresh));
    assert!(
        mumbai
            .report(1, limiter_core::share::UsageReport::default())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_daemon_that_comes_back_has_a_new_life_and_is_heard_again() {
    let ca = new_authority("test").unwrap();
    let (address, seed) = newcomer(&ca, "seed", vec![]);
    let to_seed = Peer {
        region: region("seed"),
        address: address.to_string(),
    };
    let (_, first) = newcomer(&ca, "mumbai", vec![to_seed.clone()]);
    let life = |mesh: &MeshHandle| {
        let status = mesh.status();
        status
            .peers
            .iter()
            .find(|peer| peer.region == region("mumbai"))?
            .incarnation
    };
    until(|| state(&seed, "mumbai") == Some(PeerState::Fresh) && life(&seed).is_some()).await;
    let before = life(&seed);

    drop(first);
    let (_, _second) = newcomer(&ca, "mumbai", vec![to_seed]);

    until(|| life(&seed) > before && state(&seed, "mumbai") == Some(PeerState::Fresh)).await;
}
