//! The simulator: regions of production code on a virtual clock, joined by a virtual network.
//!
//! Promises: the same scenario, seed and version give the same bytes, on any machine, in any thread.
//! Never decides, merges or encodes by itself: every region is made of the types that the daemon runs.

pub mod cli;
mod invariant;
mod kernel;
mod link;
mod measure;
mod region;
pub mod report;
mod run;
pub mod scenario;
mod workload;

pub use measure::{Healing, KeyOutcome, LagOutcome, LinkOutcome, Outcome, WindowOutcome};
pub use run::{SimError, run};
