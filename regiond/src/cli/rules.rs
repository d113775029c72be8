//! `rules`: rules files, offline.

use std::path::PathBuf;

use anyhow::Context;
use limiter_core::rule::{RuleError, RuleSet};
use serde_json::json;

use super::Outcome;
use crate::output::print_line;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Say whether rules files are valid, and where not
    #[command(
        after_help = "Examples:\n  regiond rules validate rules.yaml\n\nExits 1 when a file is not valid."
    )]
    Validate {
        /// The files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let Self::Validate { files, json } = self;
        let mut errors = Vec::new();
        for file in &files {
            let name = file.display().to_string();
            let text =
                std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
            match RuleSet::parse(&name, &text, 0) {
                Ok(set) if !json => {
                    let count = set.rules().len();
                    let rules = if count == 1 { "rule" } else { "rules" };
                    print_line(&format!("{name}: {count} {rules}, valid"));
                }
                Ok(_) => {}
                Err(found) => errors.extend(found.0),
            }
        }
        if json {
            let errors: Vec<_> = errors.iter().map(as_json).collect();
            print_line(&json!({"valid": errors.is_empty(), "errors": errors}).to_string());
        } else {
            for error in &errors {
                eprintln!("{error}");
            }
        }
        Ok(if errors.is_empty() {
            Outcome::Done
        } else {
            Outcome::Failed
        })
    }
}

fn as_json(error: &RuleError) -> serde_json::Value {
    json!({"file": error.file, "line": error.line, "key": error.key, "message": error.message})
}
