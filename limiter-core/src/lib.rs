//! Rate-limit decisions, without IO.

pub mod algo;
pub mod bounds;
pub mod calendar;
pub mod check;
pub mod facts;
pub mod render;
pub mod rule;
pub mod share;
pub mod store;
