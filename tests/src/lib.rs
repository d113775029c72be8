//! Fixtures of the black-box tests: servers of one's own, and waiting without sleeping.
//!
//! Promises: every server picks a free port, keeps its files in a directory that goes with it, and is killed by its
//! own process id when it is dropped.

pub mod http;
pub mod process;
pub mod redis_server;
pub mod regions;
pub mod wait;

pub use redis_server::RedisServer;
pub use wait::{poll_until, wait_until};
