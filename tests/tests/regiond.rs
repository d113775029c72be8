//! Black-box tests of the `regiond` binary: one module per promise to its users.

#[path = "regiond/cli.rs"]
mod cli;
#[path = "regiond/demo.rs"]
mod demo;
#[path = "regiond/lifecycle.rs"]
mod lifecycle;
#[path = "regiond/three_regions.rs"]
mod three_regions;
