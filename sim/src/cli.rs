//! The command line of `sim`.
//!
//! Promises: exit code 0 when the run held every invariant, 1 when it did not or could not be made, 2 for a wrong command line.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use limiter_core::rule::Sharing;
use sync_proto::Span;

use crate::report;
use crate::run::run;
use crate::scenario::{Cut, presets};

/// Simulates regions of regiond on a virtual clock: the same scenario and seed give the same bytes.
#[derive(Debug, Parser)]
#[command(name = "sim", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs one scenario and shows what was allowed, window by window.
    Run(RunArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// The scenario.
    #[arg(default_value = "three-regions", value_parser = presets::NAMES)]
    scenario: String,
    /// Where all draws come from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long traffic lasts.
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = span)]
    duration: Span,
    /// How regions share the limit.
    #[arg(long, value_enum, default_value_t = SharingName::Balanced)]
    sharing: SharingName,
    /// A region that loses its links.
    #[arg(long, value_name = "REGION", requires = "at")]
    cut: Option<String>,
    /// When it loses them, after traffic began.
    #[arg(long, value_name = "TIME", value_parser = span, requires = "cut")]
    at: Option<Span>,
    /// When it has them back; without, it never has.
    #[arg(long, value_name = "TIME", value_parser = span, requires = "cut")]
    heal: Option<Span>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SharingName {
    Eager,
    Balanced,
    Strict,
    Shares,
}

impl From<SharingName> for Sharing {
    fn from(name: SharingName) -> Self {
        match name {
            SharingName::Eager => Self::Eager,
            SharingName::Balanced => Self::Balanced,
            SharingName::Strict => Self::Strict,
            SharingName::Shares => Self::Shares,
        }
    }
}

/// Runs what the arguments of the process ask for.
#[must_use]
pub fn main() -> ExitCode {
    let Command::Run(args) = Cli::parse().command;
    let mut scenario = presets::three_regions(args.sharing.into());
    scenario.traffic = args.duration;
    if let (Some(region), Some(at)) = (args.cut, args.at) {
        scenario.cuts.push(Cut {
            region,
            at,
            heal: args.heal,
        });
    }
    let outcome = match run(&scenario, args.seed) {
        Ok(outcome) => outcome,
        Err(error) => return failure(&error.to_string()),
    };
    let text = if args.json {
        report::json(&outcome)
    } else {
        Ok(report::table(&outcome))
    };
    let written = text.map_err(|error| error.to_string()).and_then(|text| {
        std::io::stdout()
            .write_all(text.as_bytes())
            .map_err(|error| error.to_string())
    });
    match written {
        Ok(()) if outcome.violations.is_empty() => ExitCode::SUCCESS,
        Ok(()) => failure("an invariant was broken; the same command shows it again"),
        Err(error) => failure(&error),
    }
}

fn failure(message: &str) -> ExitCode {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(std::io::stderr(), "sim: {message}");
    ExitCode::FAILURE
}

/// A whole number with its unit.
fn span(text: &str) -> Result<Span, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("write it like 60s, not {text:?}"))?;
    match unit {
        "ms" => Ok(Span::from_millis(number)),
        "s" => Ok(Span::from_secs(number)),
        "m" => Ok(Span::from_secs(60).times(number)),
        "h" => Ok(Span::from_secs(3_600).times(number)),
        _ => Err(format!(
            "{text:?} needs one of the units ms, s, m and h: 60s"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_a_unit_that_is_known() {
        assert_eq!(span("60s"), Ok(Span::from_secs(60)));
        assert_eq!(span("1500ms"), Ok(Span::from_millis(1_500)));
        assert_eq!(span("2m"), Ok(Span::from_secs(120)));
        for wrong in ["60", "s", "1.5s", "-1s", "6 s", "3d", ""] {
            assert!(span(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_command_line_is_sound_and_a_cut_needs_its_time() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
        assert!(Cli::try_parse_from(["sim", "run", "--cut", "singapore"]).is_err());
        assert!(Cli::try_parse_from(["sim", "run", "--heal", "3s"]).is_err());
        let good = [
            "sim",
            "run",
            "three-regions",
            "--cut",
            "singapore",
            "--at",
            "20s",
        ];
        assert!(Cli::try_parse_from(good).is_ok());
        assert!(Cli::try_parse_from(["sim", "run", "four-regions"]).is_err());
    }
}
