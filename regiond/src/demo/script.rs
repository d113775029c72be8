//! The demo's cast: three regions, the links between them, the rules, and who asks how often where.

use limiter_core::rule::Sharing;
use sync_proto::Span;

/// The regions, in the order of the table.
pub(super) const REGIONS: [&str; 3] = ["mumbai", "hyderabad", "singapore"];

/// One-way delays of the links, by index into [`REGIONS`]: what public measurements between these cities show.
pub(super) const LINKS: [(usize, usize, Span); 3] = [
    (0, 1, Span::from_millis(12)),
    (0, 2, Span::from_millis(30)),
    (1, 2, Span::from_millis(28)),
];

/// The most that a link adds to its delay, at random.
pub(super) const JITTER: Span = Span::from_millis(3);

/// A caller of the demo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    /// The rule that holds it.
    pub(super) rule: &'static str,
    /// The fact it is known by, and its value.
    pub(super) fact: &'static str,
    /// The value.
    pub(super) key: &'static str,
    /// Requests per second in each region, by index into [`REGIONS`].
    pub(super) rates: [u64; 3],
}

/// Who asks. `acme` asks for three times its limit, 60/30/10; `solo` for twice its own, from one region alone.
pub(super) const CALLERS: [Caller; 2] = [
    Caller {
        rule: "partner",
        fact: "partner",
        key: "acme",
        rates: [180, 90, 30],
    },
    Caller {
        rule: "single-site",
        fact: "site",
        key: "solo",
        rates: [0, 40, 0],
    },
];

/// The rules that the three regions share.
pub(super) fn rules(sharing: Sharing) -> String {
    let sharing = match sharing {
        Sharing::Eager => "eager",
        Sharing::Balanced => "balanced",
        Sharing::Strict => "strict",
        Sharing::Shares => "shares",
    };
    format!(
        "- id: partner\n  key: partner\n  algorithm: fixed_window\n  limit: 1000\n  window: 10s\n  \
         sharing: {sharing}\n\
         - id: single-site\n  key: site\n  algorithm: fixed_window\n  limit: 200\n  window: 10s\n  \
         sharing: {sharing}\n"
    )
}
