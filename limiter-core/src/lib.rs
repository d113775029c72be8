//! Rate-limit decisions, without IO.
//!
//! A decision is made in three steps, so that the same code runs against Redis, in memory and in virtual time:
//!
//! ```text
//!             Engine::plan           the caller            Engine::settle
//! Request  ---------------->  Plan  ------------>  GroupOutcome  ---------->  Settled
//! facts,    rules that apply,  |    each group to   one per       a Decision,  |
//! cost      takes by identity  |    its store, or   group         and Undos    '--> render: headers, problem
//!                              |    Engine::degrade                            '--> the store: undo
//!                              '--------------------> share::Reporter: what other regions must hear
//! ```
//!
//! Promises: the same arguments give the same answer, in every process; a denied request costs nothing; every map, key and number is bounded
//! (see [`bounds`]).
//! Never reads a clock, the environment or a random number: they are arguments.

pub mod algo;
pub mod bounds;
pub mod calendar;
pub mod check;
pub mod facts;
pub mod render;
pub mod rule;
pub mod share;
pub mod store;

pub use check::{Decision, Engine, Plan, Request};
pub use facts::Facts;
pub use render::{headers, problem};
pub use rule::{RuleId, RuleSet};
pub use store::EmbeddedStore;
