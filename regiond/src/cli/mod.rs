//! The command line.

/// Parses the arguments and runs the subcommand.
pub fn main() -> std::process::ExitCode { unimplemented!() }

/// Prints one line of data on stdout.
pub(crate) fn print_line(_line: &str) {
    unimplemented!()
}
