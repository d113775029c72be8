//! Labels of metrics: small closed sets, rules and regions. Never a client's key.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};

/// Of checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RuleOutcome {
    pub(super) rule: String,
    pub(super) outcome: Outcome,
}

/// How a rule came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "the names are the label's values")]
pub(super) enum Outcome {
    allowed,
    denied,
    shadow_denied,
    degraded_open,
    degraded_closed,
    degraded_local,
}

/// Of store calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Shard {
    pub(super) shard: String,
}

/// Of store calls that failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ShardFault {
    pub(super) shard: String,
    pub(super) kind: String,
}

/// Of the mesh.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Peer {
    pub(super) peer: String,
}
