//! Logs on stderr: text for people, JSON for machines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// How logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging for the process.
///
/// # Errors
/// `filter` is no filter, such as `info` or `regiond=debug,warn`.
pub fn start_logging(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        anyhow::anyhow!("--log {filter:?}: {error}; write info, or regiond=debug")
    })?;
    let colour = std::io::stderr().is_terminal() && crate::os::variable("NO_COLOR").is_none();
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A second subscriber in one process is a test's; the first one stays.
    let _ = match format {
        LogFormat::Text => logs.with_ansi(colour).with_target(false).try_init(),
        LogFormat::Json => logs.json().try_init(),
    };
    Ok(())
}
