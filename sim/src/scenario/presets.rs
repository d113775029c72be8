//! Scenarios that come with the program.

use limiter_core::rule::Sharing;
use sync_proto::{Span, WallTime};

use super::{Arrivals, ClientSpec, LinkSpec, RegionSpec, Scenario, Timing};

/// The names of all presets.
pub const NAMES: [&str; 1] = ["three-regions"];

/// Noon of a day in 2026, UTC.
const NOON: WallTime = WallTime::from_micros(1_767_268_800_000_000);

/// Mumbai, Hyderabad and Singapore share 1000 per 10 s. One client asks for three times as much, spread 60/30/10 over them;
/// another asks for half as much again as its limit, in Mumbai alone.
pub fn three_regions(sharing: Sharing) -> Scenario {
    let region = |name: &str, offset_us| RegionSpec {
        name: name.to_owned(),
        offset_us,
    };
    let link = |a: &str, b: &str, delay_ms| LinkSpec {
        a: a.to_owned(),
        b: b.to_owned(),
        delay: Span::from_millis(delay_ms),
        jitter: Span::from_millis(3),
        loss_permille: 0,
        duplicate_permille: 0,
    };
    let client = |name: &str, per_1000s: &[u64]| ClientSpec {
        name: name.to_owned(),
        arrivals: Arrivals::Poisson,
        per_1000s: per_1000s.to_vec(),
    };
    Scenario {
        name: "three-regions".to_owned(),
        epoch: NOON,
        warm_up: Span::from_secs(3),
        traffic: Span::from_secs(60),
        regions: vec![
            region("mumbai", 0),
            region("hyderabad", 4_000),
            region("singapore", -7_000),
        ],
        links: vec![
            link("mumbai", "hyderabad", 12),
            link("mumbai", "singapore", 30),
            link("hyderabad", "singapore", 28),
        ],
        rules: rules(sharing),
        clients: vec![
            client("acme", &[180_000, 90_000, 30_000]),
            client("solo", &[150_000]),
        ],
        cuts: Vec::new(),
        timing: Timing::default(),
    }
}

fn rules(sharing: Sharing) -> String {
    let sharing = match sharing {
        Sharing::Eager => "eager",
        Sharing::Balanced => "balanced",
        Sharing::Strict => "strict",
        Sharing::Shares => "shares",
    };
    format!(
        "- id: partner\n  match: {{ route: \"*\" }}\n  key: client\n  algorithm: fixed_window\n  \
         limit: 1000\n  window: 10s\n  sharing: {sharing}\n"
    )
}
