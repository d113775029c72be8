//! Meshes joined by queues with delivery times, in virtual time: loss, doubling, reordering, cuts and restarts from a seed.
//!
//! After every delivery it checks that nobody knows more than was counted.

use std::collections::{BTreeMap, BTreeSet};

use sync_proto::{
    Cell, CounterName, Epoch, Lane, Mesh, MeshEvent, Now, PeerChange, PeerState, PeerStatus, Push,
    RegionId, Span, Usage, WindowId,
};

use crate::setup::{config, read, region as region_named};

/// How every link behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) delay: Span,
    /// Added to the delay at random: frames overtake each other when it is above zero.
    pub(crate) jitter: Span,
    pub(crate) lost_percent: u64,
    pub(crate) doubled_percent: u64,
}

impl Link {
    pub(crate) fn steady(delay_ms: u64) -> Self {
        let delay = Span::from_millis(delay_ms);
        Self {
            delay,
            jitter: Span::ZERO,
            lost_percent: 0,
            doubled_percent: 0,
        }
    }
}

struct Node {
    region: RegionId,
    mesh: Mesh,
    incarnation: u64,
    /// What its clocks are ahead of the true time.
    clock: Span,
    events: Vec<MeshEvent>,
}

/// From, to, and the bytes.
type Packet = (usize, usize, Vec<u8>);

type Store = BTreeMap<CounterName, BTreeMap<(WindowId, Epoch), u64>>;

pub(crate) struct MeshRing {
    pub(crate) now: u64,
    pub(crate) link: Link,
    pub(crate) urgent_frames: u64,
    nodes: Vec<Node>,
    /// What every region's own store counted: the truth.
    stores: Vec<Store>,
    flights: BTreeMap<(u64, u64), Packet>,
    cuts: BTreeSet<(usize, usize)>,
    sent: u64,
    random: u64,
}

pub(crate) fn name(text: &str) -> CounterName {
    CounterName::new(text.as_bytes()).unwrap()
}

pub(crate) const BUSY: Push = Push {
    busy: true,
    tolerance: 1_000_000,
};
pub(crate) const QUIET: Push = Push {
    busy: false,
    tolerance: 1_000_000,
};

impl MeshRing {
    pub(crate) fn new(regions: &[&str], link: Link, seed: u64) -> Self {
        let mut ring = Self {
            now: 1_000_000,
            link,
            urgent_frames: 0,
            nodes: Vec::new(),
            stores: vec![Store::new(); regions.len()],
            flights: BTreeMap::new(),
            cuts: BTreeSet::new(),
            sent: 0,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        };
        for (at, region) in regions.iter().enumerate() {
            let region = region_named(region);
            let clock = Span::from_millis(777 * at as u64);
            let mesh = Mesh::new(config(&region, 1), read(ring.now, clock));
            ring.nodes.push(Node {
                region,
                mesh,
                incarnation: 1,
                clock,
                events: Vec::new(),
            });
        }
        for at in 0..regions.len() {
            ring.join_all(at);
        }
        ring
    }

    /// `units` more are admitted in `node`, which hears of it from a pod.
    pub(crate) fn count(
        &mut self,
        node: usize,
        name: &CounterName,
        window: u64,
        units: u64,
        push: Push,
    ) {
        self.count_in_epoch(node, name, (WindowId(window), Epoch(window)), units, push);
    }

    pub(crate) fn count_in_epoch(
        &mut self,
        node: usize,
        name: &CounterName,
        (window, epoch): (WindowId, Epoch),
        units: u64,
        push: Push,
    ) {
        let cells = self.stores[node].entry(name.clone()).or_default();
        let admitted = cells.entry((window, epoch)).or_insert(0);
        *admitted += units;
        let usage = Usage {
            window,
            epoch,
            admitted: *admitted,
            arrivals: units,
        };
        self.record(node, name, usage, push);
    }

    /// A pod reports what its region's store said.
    pub(crate) fn record(&mut self, node: usize, name: &CounterName, usage: Usage, push: Push) {
        let now = self.read(node);
        self.nodes[node].mesh.record(now, name, usage, push);
        self.pump(node);
    }

    /// Pods report everything again that is in the region's store.
    pub(crate) fn record_again(&mut self, node: usize) {
        for (name, cells) in self.stores[node].clone() {
            for ((window, epoch), admitted) in cells {
                self.record(
                    node,
                    &name,
                    Usage {
                        window,
                        epoch,
                        admitted,
                        arrivals: 0,
                    },
                    BUSY,
                );
            }
        }
    }

    /// The daemon of `node` dies and a new one starts, which knows nothing and has a clock of its own.
    pub(crate) fn restart(&mut self, node: usize) {
        let clock = Span::from_micros(self.draw(5_000_000));
        let now = read(self.now, clock);
        let it = &mut self.nodes[node];
        it.incarnation += 1;
        it.clock = clock;
        it.mesh = Mesh::new(config(&it.region, it.incarnation), now);
        self.join_all(node);
    }

    pub(crate) fn cut(&mut self, a: usize, b: usize) {
        self.cuts.extend([(a, b), (b, a)]);
    }

    pub(crate) fn heal(&mut self) {
        self.cuts.clear();
    }

    pub(crate) fn change(&mut self, node: usize, change: PeerChange) {
        let now = self.read(node);
        self.nodes[node].mesh.handle_membership(now, change);
        self.pump(node);
    }

    pub(crate) fn flush(&mut self, node: usize) {
        let now = self.read(node);
        self.nodes[node].mesh.flush(now);
        self.pump(node);
    }

    /// Lets `span` pass.
    pub(crate) fn run(&mut self, span: Span) {
        let end = self.now + span.as_micros();
        loop {
            let wake = |node: &Node| {
                node.mesh
                    .poll_timeout()
                    .map(|at| at.minus(node.clock).as_micros())
            };
            let arrival = self.flights.keys().next().map(|(at, _)| *at);
            let next = self
                .nodes
                .iter()
                .filter_map(wake)
                .chain(arrival)
                .min()
                .unwrap();
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            while let Some(flight) = self.flights.first_entry().filter(|f| f.key().0 <= self.now) {
                let packet = flight.remove();
                self.deliver(packet);
            }
            for node in 0..self.nodes.len() {
                if wake(&self.nodes[node]).is_some_and(|at| at <= self.now) {
                    let now = self.read(node);
                    self.nodes[node].mesh.handle_timeout(now);
                    self.pump(node);
                }
            }
        }
    }

    /// What `node` knows of the window, of its own region and all others.
    pub(crate) fn known(&self, node: usize, name: &CounterName, window: u64) -> u64 {
        let Some(view) = self.nodes[node].mesh.view(name) else {
            return 0;
        };
        let cells = view
            .own
            .iter()
            .chain(&view.peers)
            .flat_map(|part| part.cells);
        cells
            .filter(|cell| cell.window == WindowId(window))
            .map(|cell| cell.count)
            .sum()
    }

    /// What all regions counted in the window.
    pub(crate) fn truth(&self, name: &CounterName, window: u64) -> u64 {
        let cells = self
            .stores
            .iter()
            .filter_map(|store| store.get(name))
            .flatten();
        cells
            .filter(|((of, _), _)| *of == WindowId(window))
            .map(|(_, count)| count)
            .sum()
    }

    pub(crate) fn mesh(&self, node: usize) -> &Mesh {
        &self.nodes[node].mesh
    }

    pub(crate) fn events(&mut self, node: usize) -> Vec<MeshEvent> {
        std::mem::take(&mut self.nodes[node].events)
    }

    /// What `node` says of `peer`, if it is a member.
    pub(crate) fn status(&self, node: usize, peer: usize) -> Option<PeerStatus> {
        let region = &self.nodes[peer].region;
        self.mesh(node)
            .peers(self.read(node))
            .into_iter()
            .find(|status| status.region == *region)
    }

    pub(crate) fn state(&self, node: usize, peer: usize) -> PeerState {
        self.status(node, peer).unwrap().state
    }

    /// What `node` takes the count of `peer` to be by now: what it told, gone on with at its pace.
    pub(crate) fn estimate(
        &self,
        node: usize,
        peer: usize,
        name: &CounterName,
        window: u64,
    ) -> u64 {
        let view = self.nodes[node].mesh.view(name).unwrap();
        let part = view
            .peers
            .iter()
            .find(|part| *part.region == self.nodes[peer].region)
            .unwrap();
        let known = part
            .cells
            .iter()
            .filter(|cell| cell.window == WindowId(window));
        let age = self.read(node).mono.since(part.measured_at);
        known.map(|cell| cell.count).sum::<u64>()
            + part.pace.admitted * age.as_micros() / 1_000_000_000
    }

    /// Whatever is drawn, below `bound`.
    pub(crate) fn draw(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound.max(1)
    }

    fn read(&self, node: usize) -> Now {
        read(self.now, self.nodes[node].clock)
    }

    fn join_all(&mut self, node: usize) {
        for peer in 0..self.nodes.len() {
            if peer != node {
                let region = self.nodes[peer].region.clone();
                self.change(node, PeerChange::Joined(region));
            }
        }
    }

    fn pump(&mut self, node: usize) {
        let now = self.read(node);
        let mut bytes = Vec::new();
        while let Some(transmit) = self.nodes[node].mesh.poll_frame(now, &mut bytes) {
            self.urgent_frames += u64::from(transmit.lane == Lane::Urgent);
            let to = self
                .nodes
                .iter()
                .position(|peer| peer.region == transmit.to)
                .unwrap();
            if self.cuts.contains(&(node, to)) || self.draw(100) < self.link.lost_percent {
                continue;
            }
            let copies = 1 + u64::from(self.draw(100) < self.link.doubled_percent);
            for _ in 0..copies {
                let delay = self.link.delay.as_micros() + self.draw(self.link.jitter.as_micros());
                self.sent += 1;
                let packet = (node, to, bytes.clone());
                self.flights.insert((self.now + delay, self.sent), packet);
            }
        }
        while let Some(event) = self.nodes[node].mesh.poll_event() {
            self.nodes[node].events.push(event);
        }
    }

    fn deliver(&mut self, (from, to, bytes): Packet) {
        if self.cuts.contains(&(from, to)) {
            return;
        }
        let now = self.read(to);
        let from = self.nodes[from].region.clone();
        self.nodes[to]
            .mesh
            .handle_frame(now, &from, &bytes)
            .unwrap();
        self.pump(to);
        self.assert_nothing_invented(to);
    }

    /// Every cell that a node knows was counted by its region's store, which is the strictest form of "never counted twice".
    fn assert_nothing_invented(&self, node: usize) {
        for name in self.stores.iter().flat_map(Store::keys) {
            let Some(view) = self.nodes[node].mesh.view(name) else {
                continue;
            };
            for part in view.own.iter().chain(&view.peers) {
                let of = self
                    .nodes
                    .iter()
                    .position(|peer| peer.region == *part.region)
                    .unwrap();
                for Cell {
                    window,
                    epoch,
                    count,
                } in part.cells
                {
                    let counted = self.stores[of]
                        .get(name)
                        .and_then(|c| c.get(&(*window, *epoch)));
                    assert!(
                        counted.is_some_and(|counted| count <= counted),
                        "{name:?} of {of}"
                    );
                }
            }
        }
    }
}
