//! Metrics and logs: what the process tells about itself.

mod catalog;
mod labels;
mod logging;
mod registry;

pub use logging::{LogFormat, start_logging};
pub use registry::Metrics;
