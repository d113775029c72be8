//! The metrics of a process behind typed handles.
//!
//! Promises: nothing is looked up by name at a call site; a check allocates only for a rule's first outcome of a kind.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use limiter_core::check::{Decision, PolicyState};
use limiter_core::rule::OnStoreFailure;
use limiter_core::store::StoreFault;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use sync_proto::{PeerState, PeerStatus, Span};

use super::catalog::{self, Described};
use super::labels::{Outcome, Peer, RuleOutcome, Shard, ShardFault};

/// A gauge of seconds.
type Seconds = Gauge<f64, AtomicU64>;

/// From 50 µs, a good check, to 3 s, a disaster.
const BUCKETS: [f64; 12] = [
    5e-5, 1e-4, 2e-4, 3e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 2.5e-2, 0.25, 3.0,
];

/// Every metric of the process, with typed handles.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    checks: Family<RuleOutcome, Counter>,
    check_seconds: Histogram,
    store_seconds: Family<Shard, Histogram, fn() -> Histogram>,
    store_errors: Family<ShardFault, Counter>,
    rules_version: Gauge,
    missing_keys: Counter,
    lag: Family<Peer, Seconds>,
    rtt: Family<Peer, Seconds>,
    skew: Family<Peer, Seconds>,
    busy_keys: Family<Peer, Gauge>,
    sent: Family<Peer, Counter>,
    received: Family<Peer, Counter>,
    peer_up: Family<Peer, Gauge>,
    fold_seconds: Histogram,
    folded: Counter,
    refused: Family<Peer, Counter>,
    overshoot: Seconds,
    /// Serialises readings of the peers' totals, which are turned into increments.
    peers: Mutex<()>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let store_seconds = Family::new_with_constructor(seconds as fn() -> Histogram);
        Self {
            checks: registered(&mut registry, &catalog::CHECKS, Family::default()),
            check_seconds: registered(&mut registry, &catalog::CHECK_SECONDS, seconds()),
            store_seconds: registered(&mut registry, &catalog::STORE_SECONDS, store_seconds),
            store_errors: registered(&mut registry, &catalog::STORE_ERRORS, Family::default()),
            rules_version: registered(&mut registry, &catalog::RULES_VERSION, Gauge::default()),
            missing_keys: registered(&mut registry, &catalog::MISSING_KEYS, Counter::default()),
            lag: registered(&mut registry, &catalog::LAG, Family::default()),
            rtt: registered(&mut registry, &catalog::RTT, Family::default()),
            skew: registered(&mut registry, &catalog::SKEW, Family::default()),
            busy_keys: registered(&mut registry, &catalog::BUSY_KEYS, Family::default()),
            sent: registered(&mut registry, &catalog::SENT, Family::default()),
            received: registered(&mut registry, &catalog::RECEIVED, Family::default()),
            peer_up: registered(&mut registry, &catalog::PEER_UP, Family::default()),
            fold_seconds: registered(&mut registry, &catalog::FOLD_SECONDS, seconds()),
            folded: registered(&mut registry, &catalog::FOLDED, Counter::default()),
            refused: registered(&mut registry, &catalog::REFUSED, Family::default()),
            overshoot: registered(&mut registry, &catalog::OVERSHOOT, Seconds::default()),
            peers: Mutex::new(()),
            registry,
        }
    }

    /// A check was answered.
    pub fn checked(&self, decision: &Decision, took: Span) {
        self.check_seconds.observe(in_seconds(took));
        for policy in &decision.policies {
            self.judged(policy.rule.id.as_str(), outcome(decision, policy));
        }
        for rule in &decision.shadow_denied {
            self.judged(rule.as_str(), Outcome::shadow_denied);
        }
    }

    fn judged(&self, rule: &str, outcome: Outcome) {
        self.checks
            .get_or_create(&RuleOutcome {
                rule: rule.to_owned(),
                outcome,
            })
            .inc();
    }

    /// A store call was answered, or failed.
    pub fn stored(&self, shard: &str, took: Span, fault: Option<StoreFault>) {
        let shard = shard.to_owned();
        match fault {
            None => self
                .store_seconds
                .get_or_create(&Shard { shard })
                .observe(in_seconds(took)),
            Some(fault) => {
                let kind = fault.to_string();
                self.store_errors
                    .get_or_create(&ShardFault { shard, kind })
                    .inc();
            }
        }
    }

    /// The rules in force.
    pub fn rules_version(&self, version: u64) {
        self.rules_version
            .set(i64::try_from(version).unwrap_or(i64::MAX));
    }

    /// Rules skipped for a missing key.
    pub fn missing_keys(&self, count: u32) {
        self.missing_keys.inc_by(u64::from(count));
    }

    /// The mesh's peers as of now, and how many counters are busy.
    pub fn mesh(&self, peers: &[PeerStatus], busy: usize) {
        let _one_at_a_time = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        for status in peers {
            let peer = Peer {
                peer: status.region.as_str().to_owned(),
            };
            if let Some(lag) = status.lag {
                self.lag.get_or_create(&peer).set(in_seconds(lag));
            }
            if let Some(rtt) = status.rtt {
                self.rtt.get_or_create(&peer).set(in_seconds(rtt));
            }
            if let Some(skew_us) = status.skew_us {
                // Microseconds of any skew that matters are far below 2^53.
                self.skew.get_or_create(&peer).set(skew_us as f64 / 1e6);
            }
            self.busy_keys
                .get_or_create(&peer)
                .set(i64::try_from(busy).unwrap_or(i64::MAX));
            raise(&self.sent.get_or_create(&peer), status.sent_bytes);
            raise(&self.received.get_or_create(&peer), status.received_bytes);
            let up = i64::from(status.state == PeerState::Fresh);
            self.peer_up.get_or_create(&peer).set(up);
        }
    }

    /// A batch of folds was carried out.
    pub fn folded(&self, keys: usize, took: Span) {
        self.fold_seconds.observe(in_seconds(took));
        self.folded.inc_by(keys as u64);
    }

    /// A frame of a peer was refused, or a stranger was turned away.
    pub fn refused_frame(&self, peer: &str) {
        self.refused
            .get_or_create(&Peer {
                peer: peer.to_owned(),
            })
            .inc();
    }

    /// The worst overshoot of the last minute, in thousandths of the limit.
    pub fn overshoot(&self, permille: u64) {
        self.overshoot.set(permille as f64 / 1e3);
    }

    /// Prometheus text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Proof that it can't fail: writing into a String never does.
        let written = encode(&mut text, &self.registry);
        debug_assert!(written.is_ok());
        text
    }
}

fn registered<M: Metric + Clone>(registry: &mut Registry, described: &Described, metric: M) -> M {
    registry.register(described.name, described.help, metric.clone());
    metric
}

fn seconds() -> Histogram {
    Histogram::new(BUCKETS)
}

fn in_seconds(span: Span) -> f64 {
    span.as_micros() as f64 / 1e6
}

/// Brings a counter up to a total that only rises.
fn raise(counter: &Counter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}

fn outcome(decision: &Decision, policy: &PolicyState) -> Outcome {
    let degraded = decision
        .degraded
        .iter()
        .find(|it| it.rule == policy.rule.id);
    match (degraded.map(|degraded| degraded.mode), policy.allowed) {
        (Some(OnStoreFailure::Open), _) => Outcome::degraded_open,
        (Some(OnStoreFailure::Closed), _) => Outcome::degraded_closed,
        (Some(OnStoreFailure::Local), _) => Outcome::degraded_local,
        (None, true) => Outcome::allowed,
        (None, false) => Outcome::denied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_the_names_that_dashboards_depend_on() {
        let metrics = Metrics::new();
        metrics.stored("embedded", Span::from_micros(70), None);
        metrics.stored(
            "embedded",
            Span::from_micros(70),
            Some(StoreFault::Deadline),
        );
        metrics.judged("pay-burst", Outcome::degraded_local);
        metrics.rules_version(42);
        metrics.overshoot(12);
        let text = metrics.render();
        for line in [
            "limiter_checks_total{rule=\"pay-burst\",outcome=\"degraded_local\"} 1",
            "limiter_check_seconds_count 0",
            "limiter_store_seconds_count{shard=\"embedded\"} 1",
            "limiter_store_errors_total{shard=\"embedded\",kind=\"store_timeout\"} 1",
            "limiter_rules_version 42",
            "limiter_missing_keys_total 0",
            "mesh_fold_seconds_count 0",
            "mesh_overshoot_ratio 0.012",
        ] {
            assert!(
                text.lines().any(|known| known == line),
                "{line} is not in\n{text}"
            );
        }
    }

    #[test]
    fn totals_of_peers_become_counters_that_only_rise() {
        let metrics = Metrics::new();
        let status = |sent_bytes| PeerStatus {
            region: "singapore".parse().unwrap(),
            state: PeerState::Fresh,
            incarnation: None,
            lag: Some(Span::from_millis(412)),
            rtt: None,
            skew_us: Some(-3_000),
            pending: 0,
            sent_bytes,
            received_bytes: 0,
            refused_frames: 0,
            applied_at: None,
        };
        for bytes in [100, 250, 40] {
            metrics.mesh(&[status(bytes)], 7);
        }
        let text = metrics.render();
        for line in [
            "mesh_sent_bytes_total{peer=\"singapore\"} 250",
            "mesh_lag_seconds{peer=\"singapore\"} 0.412",
            "mesh_clock_skew_seconds{peer=\"singapore\"} -0.003",
            "mesh_busy_keys{peer=\"singapore\"} 7",
            "mesh_peer_up{peer=\"singapore\"} 1",
        ] {
            assert!(
                text.lines().any(|known| known == line),
                "{line} is not in\n{text}"
            );
        }
    }
}
