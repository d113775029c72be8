//! Bytes and time per thousand counts: what a tick costs its sender and its receiver.
#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot start must stop"
)]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use sync_proto::{
    CounterName, Epoch, Incarnation, Mesh, MeshConfig, MonoTime, Now, PeerChange, Push, RegionId,
    Span, Usage, WallTime, WindowId,
};

const COUNTERS: u64 = 1_000;

fn at(millis: u64) -> Now {
    Now {
        mono: MonoTime::from_micros(millis * 1_000),
        wall: WallTime::from_micros(1_700_000_000_000_000 + millis * 1_000),
    }
}

fn region(name: &str) -> RegionId {
    RegionId::new(name).expect("a region's name")
}

fn mesh(name: &str, peer: &str) -> Mesh {
    let config = MeshConfig {
        region: region(name),
        incarnation: Incarnation(1),
        tick: Span::from_secs(1),
        heartbeat: Span::from_millis(200),
        urgent_spacing: Span::from_millis(100),
        late_after: Span::from_millis(2_500),
        down_after: Span::from_secs(5),
        busy_linger: Span::from_secs(30),
    };
    let mut mesh = Mesh::new(config, at(0));
    mesh.handle_membership(at(0), PeerChange::Joined(region(peer)));
    mesh
}

struct Pair {
    names: Vec<CounterName>,
    sender: Mesh,
    receiver: Mesh,
    millis: u64,
}

impl Pair {
    fn new() -> Self {
        let name = |key| CounterName::new(format!("client/{key:024}").as_bytes());
        let names = (0..COUNTERS)
            .map(|key| name(key).expect("a counter's name"))
            .collect();
        let (sender, receiver) = (mesh("mumbai", "singapore"), mesh("singapore", "mumbai"));
        let mut pair = Self {
            names,
            sender,
            receiver,
            millis: 0,
        };
        for _ in 0..8 {
            pair.tick();
        }
        pair
    }

    /// Every counter is used and reported.
    fn record(&mut self) {
        self.millis += 1_000;
        let admitted = self.millis / 10;
        let window = WindowId(1_700_000_000_000_000);
        let usage = Usage {
            window,
            epoch: Epoch(window.0 + 5_000),
            admitted,
            arrivals: 100,
        };
        for name in &self.names {
            let push = Push {
                busy: true,
                tolerance: 1_000_000,
            };
            self.sender.record(at(self.millis), name, usage, push);
        }
    }

    fn send(&mut self) -> Vec<Vec<u8>> {
        let now = at(self.millis);
        self.sender.handle_timeout(now);
        let (mut frames, mut bytes) = (Vec::new(), Vec::new());
        while self.sender.poll_frame(now, &mut bytes).is_some() {
            frames.push(bytes.clone());
        }
        frames
    }

    fn receive(&mut self, frames: &[Vec<u8>]) {
        let now = at(self.millis);
        for frame in frames {
            self.receiver
                .handle_frame(now, &region("mumbai"), frame)
                .expect("a frame");
        }
        while self.receiver.poll_event().is_some() {}
        self.receiver.handle_timeout(now);
        let mut bytes = Vec::new();
        while self.receiver.poll_frame(now, &mut bytes).is_some() {
            self.sender
                .handle_frame(now, &region("singapore"), &bytes)
                .expect("a frame");
        }
    }

    fn tick(&mut self) -> usize {
        self.record();
        let frames = self.send();
        self.receive(&frames);
        frames.iter().map(Vec::len).sum()
    }
}

fn thousand_counts(criterion: &mut Criterion) {
    println!("bytes per 1000 counts: {}", Pair::new().tick());
    let mut group = criterion.benchmark_group("thousand counts");
    group.throughput(Throughput::Elements(COUNTERS));
    group.bench_function("record", |bencher| {
        bencher.iter_batched_ref(Pair::new, Pair::record, BatchSize::LargeInput);
    });
    let recorded = || {
        let mut pair = Pair::new();
        pair.record();
        pair
    };
    group.bench_function("send", |bencher| {
        bencher.iter_batched_ref(
            recorded,
            |pair| black_box(pair.send()),
            BatchSize::LargeInput,
        );
    });
    let sent = || {
        let mut pair = recorded();
        let frames = pair.send();
        (pair, frames)
    };
    group.bench_function("receive", |bencher| {
        bencher.iter_batched_ref(
            sent,
            |(pair, frames)| pair.receive(frames),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, thousand_counts);
criterion_main!(benches);
