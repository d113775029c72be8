//! The command line: the tree of subcommands, and how each one's end becomes an exit code.
//!
//! Promises: 0 done, 1 failed, 2 a check said no or the usage was wrong.

mod certs;
mod check;
mod client;
mod config;
mod demo;
mod lag;
mod node;
mod peers;
mod rules;
mod shell;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::app::Role;
use crate::telemetry::{LogFormat, start_logging};

/// How a subcommand ended, other than by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It did what was asked.
    Done,
    /// It did not work out, and said why.
    Failed,
    /// The answer is no.
    No,
}

/// A rate limiter that counts across regions.
#[derive(Debug, Parser)]
#[command(
    name = "regiond",
    version,
    about,
    after_help = "Examples:\n  regiond demo\n  regiond up --rules rules.yaml\n  \
                  regiond check route=\"POST /v1/payments\" api_key=k1\n  regiond lag --watch"
)]
struct Cli {
    #[command(flatten)]
    logging: Logging,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Args)]
struct Logging {
    /// What is logged: a level, or a filter such as regiond=debug,warn
    #[arg(
        long,
        global = true,
        env = "REGIOND_LOG",
        default_value = "info",
        hide_env_values = true
    )]
    log: String,
    /// How it is logged
    #[arg(long, global = true, value_enum, default_value_t)]
    log_format: LogFormat,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show three regions on this machine holding one limit
    Demo(demo::Args),
    /// Run a region in one process: limiter pod and mesh daemon
    Up(node::NodeArgs),
    /// Run a limiter pod alone
    Limiter(node::NodeArgs),
    /// Run the region's mesh daemon alone
    Mesh(node::NodeArgs),
    /// Show how old the other regions' counts are
    Lag(lag::Args),
    /// Show the members of the mesh
    Peers(peers::Args),
    /// Ask one question
    Check(check::Args),
    /// Check rules files
    #[command(subcommand)]
    Rules(rules::Command),
    /// Show the configuration
    #[command(subcommand)]
    Config(config::Command),
    /// Make the mesh's certificates
    #[command(subcommand)]
    Certs(certs::Command),
    /// Print a completion script for a shell
    Completions(shell::CompletionArgs),
    /// Print the man page, or write one for each subcommand
    Man(shell::ManArgs),
}

/// Parses the arguments and runs the subcommand.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        Ok(Outcome::No) => ExitCode::from(2),
        Err(error) => {
            // One line a cause, the outermost first: what failed, then why.
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  because: {cause}");
            }
            ExitCode::from(1)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<Outcome> {
    start_logging(&default_filter(&cli), cli.logging.log_format)?;
    match cli.command {
        Command::Demo(args) => wait_for(args.run()),
        Command::Up(args) => wait_for(args.run(Role::Up)),
        Command::Limiter(args) => wait_for(args.run(Role::Limiter)),
        Command::Mesh(args) => wait_for(args.run(Role::Mesh)),
        Command::Lag(args) => wait_for(args.run()),
        Command::Peers(args) => wait_for(args.run()),
        Command::Check(args) => wait_for(args.run()),
        Command::Rules(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::Certs(command) => command.run(),
        Command::Completions(args) => Ok(args.run()),
        Command::Man(args) => args.run(),
    }
}

/// The demo's table and its log would write over each other, so it logs errors alone unless told otherwise.
fn default_filter(cli: &Cli) -> String {
    let is_demo = matches!(cli.command, Command::Demo(_));
    if is_demo && cli.logging.log == "info" {
        "error".to_owned()
    } else {
        cli.logging.log.clone()
    }
}

fn wait_for(command: impl Future<Output = anyhow::Result<Outcome>>) -> anyhow::Result<Outcome> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(command)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_subcommand_that_people_type_has_examples() {
        for name in ["demo", "up", "limiter", "mesh", "lag", "peers", "check"] {
            let mut cli = Cli::command();
            let command = cli.find_subcommand_mut(name).unwrap();
            let help = command.render_long_help().to_string();
            assert!(help.contains("Examples:"), "{name}");
        }
    }
}
