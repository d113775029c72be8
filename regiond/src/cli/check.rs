//! `check`: one question from the shell.

use comfy_table::Table;
use comfy_table::presets;
use crossterm::style::Stylize;
use serde_json::{Map, Value, json};

use super::{Outcome, client};
use crate::output::{print_line, wants_colour};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  regiond check route=\"POST /v1/payments\" api_key=k1\n  \
                        regiond check api_key=k1 --cost 0\n\nExits 0 when allowed, 2 when denied."
)]
pub(super) struct Args {
    /// Facts of the request
    #[arg(value_name = "FACT=VALUE", required = true, value_parser = fact)]
    facts: Vec<(String, String)>,
    /// The HTTP port of a limiter pod
    #[arg(
        long,
        value_name = "URL",
        env = "REGIOND_HTTP_URL",
        default_value = "http://127.0.0.1:8080"
    )]
    http: String,
    /// Units wanted; 0 only looks
    #[arg(long, default_value_t = 1)]
    cost: u64,
    /// The domain of rules
    #[arg(long, default_value = "default")]
    domain: String,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

fn fact(text: &str) -> Result<(String, String), String> {
    let fact = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = fact.ok_or("a fact is NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<Outcome> {
        let facts: Map<String, Value> = self
            .facts
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect();
        let question = json!({"domain": self.domain, "descriptors": facts, "cost": self.cost});
        let answer = client::ask(&self.http, "/v1/limits:check", Some(&question), "http").await?;
        if self.json {
            print_line(&answer.to_string());
        } else {
            print_line(&picture(&answer));
        }
        Ok(if answer["allowed"] == true {
            Outcome::Done
        } else {
            Outcome::No
        })
    }
}

fn picture(answer: &Value) -> String {
    let mut lines = vec![verdict(answer)];
    for degraded in answer["degraded"].as_array().into_iter().flatten() {
        let text = |name: &str| degraded[name].as_str().unwrap_or("?");
        let (rule, mode, reason) = (text("rule"), text("mode"), text("reason"));
        lines.push(format!(
            "  {rule} was decided by its failure mode, {mode}: {reason}"
        ));
    }
    for rule in answer["shadow"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        lines.push(format!("  {rule}, in shadow mode, would have denied"));
    }
    let policies = answer["policies"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if policies.is_empty() {
        lines.push("  no rule applies".to_owned());
        return lines.join("\n");
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["rule", "limit", "per", "burst", "left", "more in"]);
    for policy in policies {
        let number = |name: &str, unit: &str| match &policy[name] {
            Value::Null => "·".to_owned(),
            value => format!("{value}{unit}"),
        };
        table.add_row([
            policy["id"].as_str().unwrap_or("?").to_owned(),
            number("limit", ""),
            number("window_s", " s"),
            number("burst", ""),
            number("remaining", ""),
            number("reset_s", " s"),
        ]);
    }
    lines.push(table.to_string());
    lines.join("\n")
}

fn verdict(answer: &Value) -> String {
    if answer["allowed"] == true {
        let text = "allowed";
        return if wants_colour() {
            text.green().bold().to_string()
        } else {
            text.to_owned()
        };
    }
    let text = "denied";
    let text = if wants_colour() {
        text.red().bold().to_string()
    } else {
        text.to_owned()
    };
    let rule = answer["decided_by"].as_str().unwrap_or("a hidden rule");
    match answer["retry_after_ms"].as_u64() {
        Some(millis) => format!("{text} by {rule}; try again in {millis} ms"),
        None => format!("{text} by {rule}; trying again will not help"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_has_a_name() {
        assert_eq!(fact("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(fact("a").is_err() && fact("=b").is_err());
    }

    #[test]
    fn a_denial_names_its_rule_and_the_wait() {
        let answer = json!({"allowed": false, "decided_by": "pay-burst", "retry_after_ms": 50});
        assert!(picture(&answer).starts_with("denied by pay-burst; try again in 50 ms"));
    }
}
