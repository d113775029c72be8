//! Every metric once: its name and what it counts, and what it does not.

/// A metric's name, without the suffix that its kind adds, and its help text.
pub(super) struct Described {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
}

const fn described(name: &'static str, help: &'static str) -> Described {
    Described { name, help }
}

pub(super) const CHECKS: Described = described(
    "limiter_checks",
    "Rules judged, by outcome. A request that several rules apply to counts once for each; one without rules not at all",
);
pub(super) const CHECK_SECONDS: Described = described(
    "limiter_check_seconds",
    "Time from a parsed question to its decision, the store included. Network and parsing are not",
);
pub(super) const STORE_SECONDS: Described = described(
    "limiter_store_seconds",
    "Time of a store call that was answered. Calls that failed are in limiter_store_errors_total alone",
);
pub(super) const STORE_ERRORS: Described = described(
    "limiter_store_errors",
    "Store calls that were not answered, by kind. Folds of the mesh daemon are not counted",
);
pub(super) const RULES_VERSION: Described =
    described("limiter_rules_version", "Version of the rules in force");
pub(super) const MISSING_KEYS: Described = described(
    "limiter_missing_keys",
    "Rules that did not apply because a fact of their key was missing or empty",
);
pub(super) const LAG: Described = described(
    "mesh_lag_seconds",
    "Age of the newest counts applied from a peer, on this region's clock, half the round trip added. Grows while it is silent",
);
pub(super) const RTT: Described = described("mesh_rtt_seconds", "Smoothed round trip to a peer");
pub(super) const SKEW: Described = described(
    "mesh_clock_skew_seconds",
    "A peer's wall clock minus ours. No decision uses it",
);
pub(super) const BUSY_KEYS: Described = described(
    "mesh_busy_keys",
    "Keys whose counts travel, by the peer they travel to. Quiet keys are not counted",
);
pub(super) const SENT: Described = described(
    "mesh_sent_bytes",
    "Bytes of frames sent to a peer. QUIC's own bytes are not counted",
);
pub(super) const RECEIVED: Described = described(
    "mesh_received_bytes",
    "Bytes of frames received from a peer. QUIC's own bytes are not counted",
);
pub(super) const PEER_UP: Described = described(
    "mesh_peer_up",
    "1 while a peer is up to date, else 0. A peer never heard is 0",
);
pub(super) const FOLD_SECONDS: Described = described(
    "mesh_fold_seconds",
    "Time to bring one batch of the others' counts into this region's store",
);
pub(super) const FOLDED: Described = described(
    "mesh_folded_keys",
    "Keys folded into this region's store. Failed folds are not counted",
);
pub(super) const REFUSED: Described = described(
    "mesh_refused_frames",
    "Frames and connections of a peer that were refused, strangers together under one name",
);
pub(super) const OVERSHOOT: Described = described(
    "mesh_overshoot_ratio",
    "How far the worst key of the last minute went over its limit; 0 when none did",
);
