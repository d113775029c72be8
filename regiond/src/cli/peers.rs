//! `peers`: the members of the mesh.

use comfy_table::Table;
use comfy_table::presets;

use super::{Outcome, client};
use crate::output::print_line;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  regiond peers\n  regiond peers --admin http://10.1.0.5:9090 --json"
)]
pub(super) struct Args {
    /// The admin port of a region's mesh daemon
    #[arg(
        long,
        value_name = "URL",
        env = "REGIOND_ADMIN_URL",
        default_value = "http://127.0.0.1:9090"
    )]
    admin: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<Outcome> {
        let answer = client::ask(&self.admin, "/v1/mesh/peers", None, "admin").await?;
        if self.json {
            print_line(&answer.to_string());
            return Ok(Outcome::Done);
        }
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(["region", "address", "alive", "state"]);
        for member in answer["members"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
        {
            let alive = if member["alive"] == true { "yes" } else { "no" };
            let text = |name: &str| member[name].as_str().unwrap_or("·").to_owned();
            table.add_row([
                text("region"),
                text("address"),
                alive.to_owned(),
                text("state"),
            ]);
        }
        print_line(&table.to_string());
        Ok(Outcome::Done)
    }
}
