//! Metrics and logs.
use sync_proto::{PeerStatus, Span};

use limiter_core::check::{Decision};
use limiter_core::store::StoreFault;

/// Every metric of the process, with typed handles.
#[derive(Debug)]
pub struct Metrics {}

#[allow(unused_variables)]
impl Metrics {
    /// All at zero.
    pub fn new() -> Self { unimplemented!() }
    /// A check was answered (limiter_checks_total per rule and outcome, limiter_check_seconds).
    pub fn checked(&self, decision: &Decision, took: Span) { unimplemented!() }
    /// A store call was answered (limiter_store_seconds, limiter_store_errors_total).
    pub fn stored(&self, shard: &str, took: Span, fault: Option<StoreFault>) { unimplemented!() }
    /// The rules in force.
    pub fn rules_version(&self, version: u64) { unimplemented!() }
    /// Rules skipped for a missing key.
    pub fn missing_keys(&self, count: u32) { unimplemented!() }
    /// The mesh's peers as of now (all mesh_* gauges and byte counters), and busy counters.
    pub fn mesh(&self, peers: &[PeerStatus], busy: usize) { unimplemented!() }
    /// A pass of folding took so long for so many keys (mesh_fold_seconds).
    pub fn folded(&self, keys: usize, took: Span) { unimplemented!() }
    /// A frame of a peer was refused, or a stranger was turned away.
    pub fn refused_frame(&self, peer: &str) { unimplemented!() }
    /// The worst overshoot of the last minute (mesh_overshoot_ratio), in thousandths.
    pub fn overshoot(&self, permille: u64) { unimplemented!() }
    /// Prometheus text.
    pub fn render(&self) -> String { unimplemented!() }
}
