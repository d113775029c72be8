//! Black-box tests of the `regiond` binary: one module per promise to its users.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "what is not there fails the test"
)]

#[path = "regiond/cli.rs"]
mod cli;
#[path = "regiond/demo.rs"]
mod demo;
#[path = "regiond/lifecycle.rs"]
mod lifecycle;
#[path = "regiond/three_regions.rs"]
mod three_regions;
