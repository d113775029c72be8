//! What peers and strangers sent that was refused.
//!
//! Promises: each refusal is counted; at most one line a minute and peer is logged.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use sync_proto::MonoTime;
use tracing::warn;

use super::bounds::{REFUSAL_LOG_SPACING, REFUSED_PEERS_MAX};
use crate::os::Clock;
use crate::telemetry::Metrics;

/// The name under which those are counted who have not proven theirs.
pub(super) const STRANGER: &str = "stranger";

/// Counts and logs refusals.
#[derive(Debug)]
pub(super) struct Refusals {
    pub(super) clock: Clock,
    metrics: Arc<Metrics>,
    logged: Mutex<BTreeMap<String, MonoTime>>,
}

impl Refusals {
    /// None yet.
    pub(super) fn new(clock: Clock, metrics: Arc<Metrics>) -> Self {
        Self {
            clock,
            metrics,
            logged: Mutex::default(),
        }
    }

    /// Something of `peer` was refused.
    pub(super) fn record(&self, peer: &str, why: &dyn Display) {
        self.metrics.refused_frame(peer);
        if self.may_log(peer) {
            warn!(peer, %why, "Refused what a peer sent.");
        }
    }

    /// Whether it is time for another line about `topic`.
    pub(super) fn may_log(&self, topic: &str) -> bool {
        let now = self.clock.mono();
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let due = logged
            .get(topic)
            .is_none_or(|at| now.since(*at) >= REFUSAL_LOG_SPACING);
        if due && (logged.contains_key(topic) || logged.len() < REFUSED_PEERS_MAX) {
            logged.insert(topic.to_owned(), now);
            return true;
        }
        false
    }
}
