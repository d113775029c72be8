//! The `sim` binary: arguments in, a report out.

fn main() -> std::process::ExitCode {
    sim::cli::main()
}
