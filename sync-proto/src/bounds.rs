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

const _: () = assert!(FRAME_BYTES_MAX > 8 * COUNTER_NAME_BYTES_MAX);
