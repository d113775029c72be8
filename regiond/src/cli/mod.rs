//! The command line.

/// Parses the arguments and runs the subcommand.
pub fn main() -> std::process::ExitCode { unimplemented!() }
