//! The demo's result as one JSON object, for machines.

use serde::Serialize;
use sync_proto::{Span, WallTime};

use super::tally::{KeyTally, LinkTally, RegionTally, Tally};

/// What `regiond demo --json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    seconds: u64,
    regions: Vec<RegionSummary>,
    keys: Vec<KeySummary>,
    lag_ms: serde_json::Map<String, serde_json::Value>,
    mesh_bytes_per_s: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Serialize)]
struct RegionSummary {
    region: String,
    checks: u64,
    allowed: u64,
    denied: u64,
    failed: u64,
    check_p50_us: u64,
    check_p99_us: u64,
}

#[derive(Debug, Serialize)]
struct KeySummary {
    rule: String,
    key: String,
    limit: u64,
    window_s: u64,
    windows: Vec<WindowSummary>,
}

#[derive(Debug, Serialize)]
struct WindowSummary {
    start_ms: u64,
    allowed: u64,
    by_region: serde_json::Map<String, serde_json::Value>,
    complete: bool,
}

impl Summary {
    /// The tally as of `now`.
    pub(super) fn of(tally: &Tally, now: WallTime) -> Self {
        let ran = tally.ended.unwrap_or(now).since(tally.started);
        let link_name = |&(from, to): &(usize, usize)| {
            format!(
                "{}>{}",
                tally.regions[from].region, tally.regions[to].region
            )
        };
        let lag = tally
            .links
            .iter()
            .map(|(pair, link)| (link_name(pair), lag(link)));
        let bytes = tally
            .links
            .iter()
            .map(|(pair, link)| (link_name(pair), bytes_per_second(link, ran).into()));
        Self {
            seconds: ran.as_millis().div_ceil(1_000),
            regions: tally.regions.iter().map(region).collect(),
            keys: tally
                .keys
                .iter()
                .map(|key| self::key(tally, key, now))
                .collect(),
            lag_ms: lag.collect(),
            mesh_bytes_per_s: bytes.collect(),
        }
    }
}

/// Bytes per second over the whole run.
pub(super) fn bytes_per_second(link: &LinkTally, ran: Span) -> u64 {
    link.bytes_now.saturating_sub(link.bytes_at_start) * 1_000 / ran.as_millis().max(1)
}

fn lag(link: &LinkTally) -> serde_json::Value {
    serde_json::json!({
        "p50": link.lag.value_at_quantile(0.5),
        "p99": link.lag.value_at_quantile(0.99),
        "max": link.lag.max(),
    })
}

fn region(tally: &RegionTally) -> RegionSummary {
    RegionSummary {
        region: tally.region.clone(),
        checks: tally.checks,
        allowed: tally.allowed,
        denied: tally.denied,
        failed: tally.failed,
        check_p50_us: tally.waits.value_at_quantile(0.5),
        check_p99_us: tally.waits.value_at_quantile(0.99),
    }
}

fn key(tally: &Tally, key: &KeyTally, now: WallTime) -> KeySummary {
    let window = |(&start, by_region): (&u64, &Vec<u64>)| WindowSummary {
        start_ms: start / 1_000,
        allowed: by_region.iter().sum(),
        by_region: tally
            .regions
            .iter()
            .zip(by_region)
            .map(|(region, &allowed)| (region.region.clone(), allowed.into()))
            .collect(),
        complete: tally.is_complete(key, start, now),
    };
    KeySummary {
        rule: key.rule.clone(),
        key: key.key.clone(),
        limit: key.limit,
        window_s: key.window.as_secs_ceil(),
        windows: key.windows.iter().map(window).collect(),
    }
}
