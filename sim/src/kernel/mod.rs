//! What makes a run repeatable: virtual time, one queue, named streams of draws, a hash of everything that happened.

mod clock;
mod draw;
mod queue;
mod rng;
mod trace;

pub(crate) use clock::{RegionClock, VirtualTime};
pub(crate) use draw::{exponential, happens, uniform};
pub(crate) use queue::Queue;
pub(crate) use rng::{Seeds, Stream};
pub(crate) use trace::Trace;
