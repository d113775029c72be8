//! Every cap of deciding in one place, each with what happens when it is hit.

use sync_proto::Span;

/// Facts in one request. A request with more is refused as malformed.
pub const FACTS_MAX: usize = 64;

/// A fact's name, in bytes. A longer one is refused.
pub const FACT_NAME_BYTES_MAX: usize = 64;

/// A fact's value, in bytes. A longer one is refused.
pub const FACT_VALUE_BYTES_MAX: usize = 8 * 1024;

/// The identity inside a key, in bytes, escapes included. A longer one is replaced by its hash.
pub const IDENTITY_BYTES_MAX: usize = 256;

/// A rule's id, in bytes. A longer one is refused at load.
pub const RULE_ID_BYTES_MAX: usize = 64;

/// Rules in one set. A larger set is refused at load.
pub const RULES_MAX: usize = 20_000;

/// Overrides of one rule. More are refused at load.
pub const OVERRIDES_MAX: usize = 10_000;

/// Enforced and shadow rules that one request may match. The ones past it, in file order, do not apply, and are counted.
pub const MATCHES_MAX: usize = 64;

/// A limit or a burst. The scripts compute in doubles, which are exact below 2^53, with room for sums.
pub const LIMIT_MAX: u64 = 1_000_000_000_000;

/// The cost of one request. A larger one is refused as malformed.
pub const COST_MAX: u64 = 1_000_000_000;

/// A bucket's capacity in units (burst times period), which the scripts must hold exactly. A larger one is refused at load.
pub const CAPACITY_UNITS_MAX: u64 = 1 << 52;

/// The longest window, and the longest period of a rate.
pub const WINDOW_MAX: Span = Span::from_secs(366 * 24 * 60 * 60);

/// Keys in one embedded store. At the cap, keys that limit nobody go first.
pub const EMBEDDED_KEYS_MAX: usize = 2_000_000;

/// An integer in a structured field: fifteen digits. A larger value is told as this one.
pub const HEADER_INTEGER_MAX: u64 = 999_999_999_999_999;

/// Counters whose use a pod has in mind for its reports. At the cap, reported ones go first; one more than that is not reported until then, and
/// counted.
pub const REPORTER_KEYS_MAX: usize = 200_000;

/// (window, epoch) cells of one counter in a pod's mind. The oldest is forgotten first.
pub const REPORTER_CELLS_MAX: usize = 4;

/// Entries of one report. The rest goes into the next one, at once.
pub const REPORT_ENTRIES_MAX: usize = 10_000;

/// The least time between two reports of a pod outside its tick.
pub const REPORT_SPACING: Span = Span::from_millis(50);

/// Counters a folder has in mind. At the cap, new ones are recorded without being folded, and counted.
pub const FOLDER_KEYS_MAX: usize = 1_000_000;

/// The least time between two folds of one key.
pub const FOLD_SPACING: Span = Span::from_millis(20);

/// Regions that share one limit; more are refused by the mesh already.
pub const REGIONS_MAX: usize = sync_proto::bounds::PEERS_MAX + 1;
