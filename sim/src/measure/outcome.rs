//! The result of a run, as it is reported: plain data, without dates or durations of the host.

use std::collections::BTreeMap;

use serde::Serialize;
use sync_proto::Span;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// How long traffic lasted, in milliseconds.
    pub traffic_ms: u64,
    /// The regions' names, in order.
    pub regions: Vec<String>,
    /// By client and rule.
    pub keys: Vec<KeyOutcome>,
    /// Age of the counts that the second region of a pair `told>hearing` knows of the first, in milliseconds.
    pub lag_ms: BTreeMap<String, LagOutcome>,
    /// Each direction of each link.
    pub links: BTreeMap<String, LinkOutcome>,
    /// Cuts that were healed.
    pub heals: Vec<Healing>,
    /// Broken invariants, the first few of them.
    pub violations: Vec<String>,
    /// Everything that happened, counted.
    pub events: u64,
    /// Everything that happened, hashed.
    pub trace: String,
}

/// One client under one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyOutcome {
    /// The client.
    pub client: String,
    /// The rule.
    pub rule: String,
    /// Its limit.
    pub limit: u64,
    /// Its window.
    pub window_ms: u64,
    /// The most that a complete window was over its limit, in thousandths of it.
    pub worst_over_permille: u64,
    /// The most that a complete window was under what was asked or allowed, in thousandths of the limit.
    pub worst_under_permille: u64,
    /// Every window, in order.
    pub windows: Vec<WindowOutcome>,
}

/// One window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WindowOutcome {
    /// Its start, in milliseconds since traffic began; negative when that was later.
    pub start_ms: i64,
    /// Whether there was traffic from its start to its end, on every region's clock.
    pub complete: bool,
    /// Requests, all regions.
    pub asked: u64,
    /// Of them, allowed.
    pub allowed: u64,
    /// Of them, allowed, by region.
    pub by_region: BTreeMap<String, u64>,
    /// The oldest counts that any region knew of another during it; absent when nobody looked.
    pub lag_ms_max: Option<u64>,
}

/// Ages of counts, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LagOutcome {
    /// Half the time at most this.
    pub p50: u64,
    /// 99 % of the time at most this.
    pub p99: u64,
    /// Always at most this.
    pub max: u64,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkOutcome {
    /// Frames sent.
    pub frames: u64,
    /// Their bytes, without those of QUIC.
    pub bytes: u64,
    /// Frames that did not arrive: lost, or cut off.
    pub lost: u64,
}

/// A cut that was healed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Healing {
    /// The region that was cut off.
    pub region: String,
    /// When its links came back, in milliseconds of traffic.
    pub at_ms: u64,
    /// How soon everybody knew what everybody had admitted by then; absent: not before the end.
    pub known_after_ms: Option<u64>,
}

impl KeyOutcome {
    /// Sums up `windows` of a rule with so many units per window.
    pub(crate) fn new(
        client: String,
        rule: String,
        (limit, window): (u64, Span),
        windows: Vec<WindowOutcome>,
    ) -> Self {
        let complete = || windows.iter().filter(|window| window.complete);
        let permille = |units: u64| units * 1_000 / limit.max(1);
        let over = complete().map(|window| window.allowed.saturating_sub(limit));
        let under = complete().map(|window| window.asked.min(limit).saturating_sub(window.allowed));
        Self {
            client,
            rule,
            limit,
            window_ms: window.as_millis(),
            worst_over_permille: permille(over.max().unwrap_or(0)),
            worst_under_permille: permille(under.max().unwrap_or(0)),
            windows,
        }
    }
}
