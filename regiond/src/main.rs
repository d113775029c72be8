//! The `regiond` binary: everything is in the library, so that tests and the demo use what production runs.

fn main() -> std::process::ExitCode {
    regiond::cli::main()
}
