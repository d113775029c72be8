//! A limiter pod: engine, store link and reporter; answers one question.
use std::sync::Arc;

use limiter_core::check::{Decision, Request};
use limiter_core::rule::RuleSet;
use limiter_core::share::Outlook;
use sync_proto::Span;

use crate::mesh::MeshHandle;
use crate::os::Clock;
use crate::store::StoreLink;
use crate::telemetry::Metrics;

/// Where a pod's usage goes.
#[derive(Clone, Debug)]
pub enum ReportTo {
    /// Nowhere: a region of one.
    Nobody,
    /// The mesh daemon in this process.
    Here(MeshHandle),
    /// The region's mesh daemon, at its gRPC address.
    There(String),
}

/// What a pod is made of.
pub struct PodConfig {
    /// The region, told to the mesh daemon.
    pub region: sync_proto::RegionId,
    /// The store.
    pub store: StoreLink,
    /// Where usage goes.
    pub report_to: ReportTo,
    /// Clock.
    pub clock: Clock,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// The mesh's tick.
    pub tick: Span,
    /// What is assumed of the mesh until the daemon answers.
    pub outlook: Outlook,
}

/// A limiter pod. Cheap to clone.
#[derive(Clone)]
pub struct LimiterPod {}

#[allow(unused_variables, clippy::unused_async)]
impl LimiterPod {
    /// A pod with `rules`, whose reporter runs on the current runtime.
    pub fn start(config: PodConfig, rules: Arc<RuleSet>) -> Self { unimplemented!() }
    /// Answers. Never fails: what cannot be decided is decided by the rules' failure modes.
    pub async fn check(&self, request: Request<'_>) -> Decision { unimplemented!() }
    /// New rules for the next check.
    pub fn swap_rules(&self, rules: Arc<RuleSet>) { unimplemented!() }
    /// The rules in force.
    pub fn rules(&self) -> Arc<RuleSet> { unimplemented!() }
    /// Sends the last report and stops reporting.
    pub async fn stop(&self) { unimplemented!() }
}
