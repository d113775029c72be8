//! `config`: the effective configuration.

use serde_json::{Map, json};

use super::Outcome;
use super::node::NodeArgs;
use crate::output::print_line;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Print every setting and where it came from
    Print {
        #[command(flatten)]
        node: NodeArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let Self::Print { node, json } = self;
        let (_, layers) = node.load()?;
        if json {
            let mut object = Map::new();
            for (knob, setting) in layers.iter() {
                let value = if knob.repeats {
                    json!(setting.values)
                } else {
                    json!(setting.values.first())
                };
                let origin = setting.origin.to_string();
                object.insert(knob.file_key(), json!({"value": value, "origin": origin}));
            }
            print_line(&serde_json::Value::Object(object).to_string());
            return Ok(Outcome::Done);
        }
        for (knob, setting) in layers.iter() {
            let value = match (knob.repeats, setting.values.as_slice()) {
                (false, [value, ..]) => value.clone(),
                (false, []) => "~".to_owned(),
                (true, values) => format!("[{}]", values.join(", ")),
            };
            let line = format!("{}: {value}", knob.file_key());
            print_line(&format!("{line:<44}  # {}", setting.origin));
        }
        Ok(Outcome::Done)
    }
}
