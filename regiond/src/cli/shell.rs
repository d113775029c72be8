//! `completions` and `man`: what a shell and a reader of manuals want.

use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Outcome};

#[derive(Debug, clap::Args)]
pub(super) struct CompletionArgs {
    /// The shell
    shell: Shell,
}

impl CompletionArgs {
    pub(super) fn run(self) -> Outcome {
        clap_complete::generate(
            self.shell,
            &mut Cli::command(),
            "regiond",
            &mut std::io::stdout(),
        );
        Outcome::Done
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct ManArgs {
    /// Write a page for each subcommand into this folder, instead of printing the main one
    folder: Option<PathBuf>,
}

impl ManArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self.folder {
            Some(folder) => clap_mangen::generate_to(Cli::command(), &folder)
                .with_context(|| format!("cannot write pages into {}", folder.display()))?,
            None => clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout())?,
        }
        Ok(Outcome::Done)
    }
}
