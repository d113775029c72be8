//! What is written down about a run, and what of it is reported.
//!
//! Never part of the simulated world: a region that could see this would know what nobody knows.

mod healing;
mod lag;
mod outcome;
mod truth;
mod windows;

pub(crate) use healing::Heals;
pub(crate) use lag::Lags;
pub use outcome::{Healing, KeyOutcome, LagOutcome, LinkOutcome, Outcome, WindowOutcome};
pub(crate) use truth::{Truth, TruthCell};
pub(crate) use windows::{Frame, Windows};
