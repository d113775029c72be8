//! `up`, `limiter`, `mesh`: flags made from the table of knobs.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use super::Outcome;
use crate::app::{self, Role};
use crate::config::{Config, KNOBS, Layers, Texts};

/// The flags of a node.
#[derive(Debug)]
pub(super) struct NodeArgs {
    texts: Texts,
    config: Option<PathBuf>,
    print_addresses: bool,
}

impl NodeArgs {
    pub(super) async fn run(self, role: Role) -> anyhow::Result<Outcome> {
        let (mut config, _) = self.load()?;
        config.print_addresses = self.print_addresses;
        app::run(role, config).await?;
        Ok(Outcome::Done)
    }

    pub(super) fn load(&self) -> anyhow::Result<(Config, Layers)> {
        Config::load(&self.texts, self.config.as_deref())
    }
}

impl clap::Args for NodeArgs {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .env("REGIOND_CONFIG")
            .value_parser(clap::value_parser!(PathBuf))
            .help("Read settings from this file; flags and the environment go above it");
        let print = Arg::new("print-addresses")
            .long("print-addresses")
            .action(ArgAction::SetTrue)
            .help("Print one JSON line with the bound addresses, once ready");
        let knob = |knob: &crate::config::Knob| {
            let default = match knob.default {
                "" => String::new(),
                default => format!(" [default: {default}]"),
            };
            Arg::new(knob.name)
                .long(knob.name)
                .value_name(knob.form)
                .action(if knob.repeats {
                    ArgAction::Append
                } else {
                    ArgAction::Set
                })
                .help(format!("{} [env: {}]{default}", knob.doc, knob.variable()))
        };
        command.args(KNOBS.iter().map(knob)).arg(file).arg(print).after_help(
            "Examples:\n  regiond up --rules rules.yaml\n  \
             regiond up --region mumbai --peer singapore=10.2.0.1:7946 --ca ca.pem --cert mumbai.pem --key mumbai.key\n  \
             regiond mesh --config region.yaml\n  regiond limiter --config region.yaml --mesh-daemon 10.1.0.5:8081",
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for NodeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut texts = Texts::new();
        for knob in KNOBS {
            if let Some(values) = matches.get_many::<String>(knob.name) {
                texts.insert(knob.name, values.cloned().collect());
            }
        }
        Ok(Self {
            texts,
            config: matches.get_one("config").cloned(),
            print_addresses: matches.get_flag("print-addresses"),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
