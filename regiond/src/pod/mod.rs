//! A limiter pod: engine, store link and reporter; answers one question.
//!
//! Promises: an answer to every question, whatever the store or a bug does; a bug allows, and is logged.
//! Never waits for the mesh.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use limiter_core::check::{Decision, Engine, GroupOutcome, Local, Plan, Request};
use limiter_core::rule::RuleSet;
use limiter_core::share::Outlook;
use limiter_core::store::{EmbeddedStore, Undo};
use sync_proto::Span;

use crate::mesh::MeshHandle;
use crate::os::{Clock, entropy};
use crate::store::StoreLink;
use crate::telemetry::Metrics;

mod daemon;
mod guard;
mod reporter;
mod vocabulary;

use guard::Guard;
use reporter::Reporting;
pub use vocabulary::{DEFAULT_DOMAIN, mode_name, retry_after_ms};

/// Buckets that failure mode `local` keeps in memory. At the cap, those that limit nobody go first.
const LOCAL_KEYS_MAX: usize = 100_000;

/// Plans kept for reuse: about as many as checks run at once.
const PLANS_MAX: usize = 64;

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
pub struct LimiterPod {
    inner: Arc<Inner>,
}

struct Inner {
    engine: ArcSwap<Engine>,
    store: StoreLink,
    clock: Clock,
    metrics: Arc<Metrics>,
    outlook: Arc<ArcSwap<Outlook>>,
    local: Mutex<EmbeddedStore>,
    plans: Mutex<Vec<Plan>>,
    reporting: Option<Reporting>,
    guard: Guard,
}

impl LimiterPod {
    /// A pod with `rules`, whose reporter runs on the current runtime.
    pub fn start(config: PodConfig, rules: Arc<RuleSet>) -> Self {
        config.metrics.rules_version(rules.version);
        let outlook = Arc::new(ArcSwap::from_pointee(config.outlook));
        let reporting = Reporting::start(
            config.report_to,
            config.region,
            config.tick,
            config.clock,
            Arc::clone(&outlook),
        );
        Self {
            inner: Arc::new(Inner {
                engine: ArcSwap::from_pointee(Engine::new(rules)),
                store: config.store,
                clock: config.clock,
                metrics: config.metrics,
                outlook,
                local: Mutex::new(EmbeddedStore::new(entropy(), LOCAL_KEYS_MAX)),
                plans: Mutex::new(Vec::new()),
                reporting,
                guard: Guard::new(config.clock),
            }),
        }
    }

    /// Answers. Never fails: what cannot be decided is decided by the rules' failure modes.
    pub async fn check(&self, request: Request<'_>) -> Decision {
        let pod = &*self.inner;
        let began = pod.clock.mono();
        let engine = pod.engine.load_full();
        let outlook = **pod.outlook.load();
        let mut plan = pod.spare_plan();
        let near = pod.clock.wall();
        let decision = match pod
            .guard
            .run(|| engine.plan(near, request, outlook, &mut plan))
        {
            Some(()) => pod.decide(&engine, outlook, &plan).await,
            None => {
                plan = Plan::default();
                guard::allow_all(&plan, engine.rules().version)
            }
        };
        if plan.missing_key > 0 {
            pod.metrics.missing_keys(plan.missing_key);
        }
        pod.metrics
            .checked(&decision, pod.clock.mono().since(began));
        pod.keep_plan(plan);
        decision
    }

    /// New rules for the next check.
    pub fn swap_rules(&self, rules: Arc<RuleSet>) {
        self.inner.metrics.rules_version(rules.version);
        self.inner.engine.store(Arc::new(Engine::new(rules)));
    }

    /// The rules in force.
    pub fn rules(&self) -> Arc<RuleSet> {
        Arc::clone(self.inner.engine.load().rules())
    }

    /// What is known of the mesh.
    pub fn outlook(&self) -> Outlook {
        **self.inner.outlook.load()
    }

    /// The pod's clock.
    pub fn clock(&self) -> Clock {
        self.inner.clock
    }

    /// Runs what may panic by a bug; none when it did, which is logged.
    pub fn guarded<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        self.inner.guard.run(run)
    }

    /// Sends the last report and stops reporting.
    pub async fn stop(&self) {
        if let Some(reporting) = &self.inner.reporting {
            reporting.stop().await;
        }
    }
}

impl Inner {
    /// Asks the store, lets failure modes stand in for it, and settles.
    async fn decide(&self, engine: &Engine, outlook: Outlook, plan: &Plan) -> Decision {
        let outcomes = self.ask(engine, outlook, plan).await;
        let settled = self.guard.run(|| engine.settle(plan, &outcomes));
        if let Some(reporting) = &self.reporting {
            self.guard
                .run(|| reporting.note(self.clock.mono(), plan, &outcomes));
        }
        match settled {
            Some(settled) => {
                self.give_back(settled.undo);
                settled.decision
            }
            None => guard::allow_all(plan, plan.rules_version),
        }
    }

    async fn ask(&self, engine: &Engine, outlook: Outlook, plan: &Plan) -> Vec<GroupOutcome> {
        if plan.groups.is_empty() {
            return Vec::new();
        }
        let asked = self.clock.mono();
        let replies = self.store.take(plan).await;
        let took = self.clock.mono().since(asked);
        let outcome = |(group, reply)| match reply {
            Ok(reply) => {
                self.metrics.stored(self.store.shard(), took, None);
                GroupOutcome::Stored(reply)
            }
            Err(fault) => {
                self.metrics.stored(self.store.shard(), took, Some(fault));
                let mut store = self.local.lock().unwrap_or_else(PoisonError::into_inner);
                let pods = outlook.pods.max(1);
                let local = Local {
                    store: &mut store,
                    at: self.clock.wall(),
                    pods,
                };
                let degraded = self.guard.run(|| engine.degrade(plan, group, fault, local));
                degraded.unwrap_or(GroupOutcome::Degraded {
                    fault,
                    verdicts: Vec::new(),
                })
            }
        };
        replies.into_iter().enumerate().map(outcome).collect()
    }

    /// Nobody waits for it: the answer is already known.
    fn give_back(&self, undo: Vec<Undo>) {
        if !undo.is_empty() {
            let store = self.store.clone();
            tokio::spawn(async move { store.undo(&undo).await });
        }
    }

    fn spare_plan(&self) -> Plan {
        self.plans
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }

    fn keep_plan(&self, plan: Plan) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() < PLANS_MAX {
            plans.push(plan);
        }
    }
}
