//! What a pod serves: HTTP, gRPC and the admin port, over an embedded store and over a real Redis.

#![cfg(test)]

#[path = "serving/admin.rs"]
mod admin;
#[path = "serving/gateway.rs"]
mod gateway;
#[path = "serving/grpc.rs"]
mod grpc;
#[path = "serving/http.rs"]
mod http;
#[path = "serving/redis.rs"]
mod redis;
#[path = "serving/redis_server.rs"]
mod redis_server;
#[path = "serving/reporting.rs"]
mod reporting;
#[path = "serving/support.rs"]
mod support;
