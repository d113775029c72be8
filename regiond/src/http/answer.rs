//! The JSON of an answered check.
//!
//! Promises: what gateways need, in the contract's names; rules that are not exposed are left out of `policies`.
//! Never computes anything about a limit.

use limiter_core::check::{Decision, PolicyState};
use serde::Serialize;
use serde::ser::Serializer;

use crate::pod::{mode_name, retry_after_ms};

#[derive(Serialize)]
pub(super) struct Answer<'a> {
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(serialize_with = "exposed")]
    policies: &'a [PolicyState],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shadow: Vec<&'a str>,
    rules_version: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    degraded: Vec<Degraded<'a>>,
}

#[derive(Serialize)]
struct Policy<'a> {
    id: &'a str,
    limit: u64,
    window_s: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<u64>,
    remaining: u64,
    reset_s: u64,
}

#[derive(Serialize)]
struct Degraded<'a> {
    rule: &'a str,
    mode: &'static str,
    reason: String,
}

impl<'a> Answer<'a> {
    pub(super) fn new(decision: &'a Decision) -> Self {
        let degraded = decision.degraded.iter().map(|degraded| Degraded {
            rule: degraded.rule.as_str(),
            mode: mode_name(degraded.mode),
            reason: degraded.fault.to_string(),
        });
        Self {
            allowed: decision.allowed,
            decided_by: decision
                .decided_by
                .as_ref()
                .map(limiter_core::rule::RuleId::as_str),
            reason: decision.reason.map(limiter_core::check::Reason::as_str),
            retry_after_ms: retry_after_ms(decision),
            policies: &decision.policies,
            shadow: decision
                .shadow_denied
                .iter()
                .map(limiter_core::rule::RuleId::as_str)
                .collect(),
            rules_version: decision.rules_version,
            degraded: degraded.collect(),
        }
    }
}

fn exposed<S: Serializer>(policies: &&[PolicyState], serializer: S) -> Result<S::Ok, S::Error> {
    let exposed = policies.iter().filter(|policy| policy.rule.expose);
    serializer.collect_seq(exposed.map(|policy| Policy {
        id: policy.rule.id.as_str(),
        limit: policy.limit,
        window_s: policy.window.as_secs_ceil(),
        burst: policy.burst,
        remaining: policy.remaining,
        reset_s: policy.reset.as_secs_ceil(),
    }))
}
