//! Every cap of the mesh in one place, each with what happens when it is hit.

use crate::time::Span;

/// A region's name, in bytes. A longer one is refused.
pub const REGION_BYTES_MAX: usize = 32;

/// A counter's name, in bytes. A longer one is refused by its owner, and by a peer as malformed.
pub const COUNTER_NAME_BYTES_MAX: usize = 512;

/// A frame, in bytes. A larger one is refused before it is decoded; a larger delta is cut and goes on in the next frame.
pub const FRAME_BYTES_MAX: usize = 64 * 1024;

/// Other regions a daemon knows. One more is ignored, and told as an event.
pub const PEERS_MAX: usize = 255;

/// Counters in one daemon's ledger. A new one past it is not recorded, and counted.
pub const COUNTERS_MAX: usize = 1_000_000;

/// Windows kept of one region's part: the current one and the one before it. Older ones are forgotten first.
pub const WINDOWS_PER_PART_MAX: usize = 2;

/// Epochs kept of one window: each is a flush of that region's store. The smallest count is forgotten first.
pub const EPOCHS_PER_WINDOW_MAX: usize = 4;

/// The shortest tick, below which frames would cost more than they tell.
pub const TICK_MIN: Span = Span::from_millis(20);

/// Units in one cell. A larger count is cut to it when recorded, and malformed when received, so that sums over regions cannot overflow.
pub const COUNT_MAX: u64 = 1 << 53;

/// Cells in one part, and in one entry of a frame. An entry with more is malformed.
pub const CELLS_PER_PART_MAX: usize = WINDOWS_PER_PART_MAX * EPOCHS_PER_WINDOW_MAX;

/// Counters one peer may make us remember. Its next ones are not taken up, and told as an event.
pub const PEER_COUNTERS_MAX: usize = COUNTERS_MAX / 2;

/// A counter that nobody used for this long is forgotten.
pub const COUNTER_IDLE_MAX: Span = Span::from_secs(15 * 60);

/// When the ledger is full, counters that nobody used for this long make room.
pub const COUNTER_IDLE_WHEN_FULL_MAX: Span = Span::from_secs(60);

/// How often forgotten counters are looked for.
pub const SWEEP_INTERVAL: Span = Span::from_secs(30);

/// The least time between two searches for room in a full ledger: each costs a walk over it.
pub const SWEEP_WHEN_FULL_INTERVAL: Span = Span::from_secs(1);

/// An urgent frame, in bytes: it fits a datagram on every path. What does not fit goes into the next frame.
pub const URGENT_FRAME_BYTES_MAX: usize = 1_100;

/// Counters in one urgent sending. The rest wait for the next one, or for the tick.
pub const URGENT_COUNTERS_MAX: usize = 256;

/// Everything in a frame but its entries, in bytes, at most.
pub const HEADER_BYTES_MAX: usize = 160;

/// An entry without its name, in bytes, at most.
pub const ENTRY_BYTES_MAX: usize = 48 + 41 * CELLS_PER_PART_MAX;

/// Nesting in a frame, unknown fields included. A deeper one is malformed.
pub const FRAME_DEPTH_MAX: usize = 8;

/// Events that wait to be polled, changed counters aside (each of those waits once). Older ones are dropped first.
pub const EVENTS_MAX: usize = 4_096;

/// Pace is measured over at least this long, so that pods reporting together count as one report.
pub const PACE_STEP: Span = Span::from_millis(200);

/// How far back pace remembers; also what a first report is taken to cover.
pub const PACE_MEMORY: Span = Span::from_secs(1);

/// Pods report at least once a second: silence for longer means that a counter is idle.
pub const PACE_IDLE_MIN: Span = Span::from_millis(1_500);

/// A pace under this, in thousandths of a unit per second, is none once the counter is idle.
pub const PACE_IDLE_FLOOR: u64 = 1_000;

/// A round trip longer than this is a false echo and is not believed.
pub const ROUND_TRIP_MAX: Span = Span::from_secs(30);

/// A skew between two wall clocks beyond this is told as this, in microseconds: some thirty years.
pub const SKEW_US_MAX: i64 = 1_000_000_000_000_000;

const _: () = assert!(URGENT_FRAME_BYTES_MAX > HEADER_BYTES_MAX + COUNTER_NAME_BYTES_MAX);
const _: () =
    assert!(FRAME_BYTES_MAX > HEADER_BYTES_MAX + COUNTER_NAME_BYTES_MAX + ENTRY_BYTES_MAX);
const _: () = assert!(PACE_IDLE_MIN.as_micros() > PACE_MEMORY.as_micros());
const _: () = assert!(FRAME_BYTES_MAX > 8 * COUNTER_NAME_BYTES_MAX);
