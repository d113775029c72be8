//! `lag`: how old the other regions' counts are.

use std::io::Write;
use std::time::Duration;

use comfy_table::presets;
use comfy_table::{Cell, Color, Table};
use crossterm::{cursor, queue, terminal};
use serde_json::Value;
use sync_proto::Span;

use super::{Outcome, client, demo::span};
use crate::output::{print_line, wants_colour};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  regiond lag\n  regiond lag --watch\n  \
                        regiond lag --max 2s || echo behind\n\nExits 2 when a peer is older than --max, or down.")]
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
    /// Draw anew each second until ctrl-c
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Exit with 2 when a peer's counts are older than this, or it is down
    #[arg(long, value_name = "SPAN", value_parser = span)]
    max: Option<Span>,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<Outcome> {
        let mut lines = 0;
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        loop {
            seconds.tick().await;
            let answer = client::ask(&self.admin, "/v1/mesh/lag", None, "admin").await?;
            if self.json {
                print_line(&answer.to_string());
                return Ok(self.verdict(&answer));
            }
            let table = table(&answer);
            if !self.watch {
                print_line(&table);
                return Ok(self.verdict(&answer));
            }
            lines = redraw(&table, lines);
        }
    }

    fn verdict(&self, answer: &Value) -> Outcome {
        let Some(max) = self.max else {
            return Outcome::Done;
        };
        let behind = |peer: &Value| {
            let lag = peer["lag_ms"].as_u64().map(Span::from_millis);
            peer["state"] == "down" || lag.is_none_or(|lag| lag > max)
        };
        let peers = answer["peers"].as_array();
        if peers.is_some_and(|peers| peers.iter().any(behind)) {
            Outcome::No
        } else {
            Outcome::Done
        }
    }
}

fn table(answer: &Value) -> String {
    let peers = answer["peers"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let region = answer["region"].as_str().unwrap_or("?");
    if peers.is_empty() {
        return format!("{region} knows no other region.");
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        region,
        "state",
        "lag",
        "round trip",
        "clock skew",
        "pending keys",
        "bytes/s",
    ]);
    let text = |value: &Value, unit: &str| match value {
        Value::Null => "·".to_owned(),
        value => format!("{value}{unit}"),
    };
    for peer in peers {
        let state = peer["state"].as_str().unwrap_or("?");
        let colour = match state {
            "alive" => Color::Green,
            "late" | "unheard" => Color::Yellow,
            _ => Color::Red,
        };
        let state = Cell::new(state);
        table.add_row([
            Cell::new(peer["region"].as_str().unwrap_or("?")),
            if wants_colour() {
                state.fg(colour)
            } else {
                state
            },
            Cell::new(text(&peer["lag_ms"], " ms")),
            Cell::new(text(&peer["rtt_ms"], " ms")),
            Cell::new(text(&peer["clock_skew_ms"], " ms")),
            Cell::new(text(&peer["pending_keys"], "")),
            Cell::new(text(&peer["bytes_per_s"], "")),
        ]);
    }
    table.to_string()
}

/// Draws over the last picture; how many lines this one has.
fn redraw(picture: &str, lines: u16) -> u16 {
    let mut out = std::io::stdout().lock();
    if lines > 0 {
        let _ = queue!(out, cursor::MoveToPreviousLine(lines));
    }
    let _ = queue!(out, terminal::Clear(terminal::ClearType::FromCursorDown));
    let _ = writeln!(out, "{picture}").and_then(|()| out.flush());
    u16::try_from(picture.lines().count()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_peer_over_the_maximum_or_down_or_unheard_is_a_no() {
        let verdict = |peer: Value| {
            let args = Args {
                admin: String::new(),
                json: false,
                watch: false,
                max: Some(Span::from_secs(2)),
            };
            args.verdict(&json!({"peers": [peer]}))
        };
        assert_eq!(
            verdict(json!({"state": "alive", "lag_ms": 412})),
            Outcome::Done
        );
        assert_eq!(
            verdict(json!({"state": "alive", "lag_ms": 2001})),
            Outcome::No
        );
        assert_eq!(verdict(json!({"state": "down", "lag_ms": 1})), Outcome::No);
        assert_eq!(
            verdict(json!({"state": "unheard", "lag_ms": null})),
            Outcome::No
        );
    }
}
