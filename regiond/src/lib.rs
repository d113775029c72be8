//! A rate limiter that counts across regions: the live shell around `limiter-core` and `sync-proto`.

pub mod admin;
pub mod app;
pub mod cli;
pub mod config;
pub mod demo;
pub mod grpc;
pub mod http;
pub mod mesh;
pub mod os;
pub mod output;
pub mod pod;
pub mod store;
pub mod telemetry;
pub mod wire;
