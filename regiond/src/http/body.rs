//! The request of a check, read from JSON.
//!
//! Promises: good requests are read in one typed pass; a bad one is read once more for the first thing wrong with it, named by its field.
//! Never guesses: a field that is not known is refused.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::StatusCode;
use limiter_core::bounds::COST_MAX;
use limiter_core::facts::Facts;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::problem::Problem;
use crate::pod::DEFAULT_DOMAIN;

/// A body. A larger one is refused.
const BODY_BYTES_MAX: usize = 64 << 10;

/// The longest wait for a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

const FIELDS: &str = "domain, descriptors, cost, request_id";

/// A check, as asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) domain: String,
    pub(super) facts: Facts,
    pub(super) cost: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    domain: Option<String>,
    descriptors: Pairs,
    cost: Option<i64>,
    /// Matters to refunds alone.
    #[expect(dead_code, reason = "read for its type")]
    request_id: Option<String>,
}

/// The pairs of an object, in its order, for [`Facts`] to judge.
struct Pairs(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> serde::de::Visitor<'de> for Object {
            type Value = Pairs;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Reads a body, bounded in size and time.
pub(super) async fn read(body: Body) -> Result<Bytes, Problem> {
    match timeout(BODY_TIMEOUT, to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => {
            let too_long = std::error::Error::source(&error)
                .is_some_and(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>);
            Err(Problem::field(
                "body",
                if too_long {
                    "must be 64 KiB or less"
                } else {
                    "ended early"
                },
            ))
        }
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "the body took too long to arrive",
        )),
    }
}

/// Reads a check.
pub(super) fn parse(bytes: &[u8]) -> Result<Asked, Problem> {
    let raw: Raw = serde_json::from_slice(bytes).map_err(|error| diagnose(bytes, &error))?;
    Ok(Asked {
        cost: raw.cost.map_or(Ok(1), cost)?,
        facts: Facts::new(raw.descriptors.0)
            .map_err(|error| Problem::field("descriptors", error))?,
        domain: raw.domain.unwrap_or_else(|| DEFAULT_DOMAIN.to_owned()),
    })
}

/// A cost in range.
pub(super) fn cost(cost: i64) -> Result<u64, Problem> {
    match u64::try_from(cost) {
        Ok(cost) if cost <= COST_MAX => Ok(cost),
        Ok(_) => Err(Problem::field(
            "cost",
            format_args!("must be 0 to {COST_MAX}"),
        )),
        Err(_) => Err(Problem::field(
            "cost",
            "refunds are not supported yet; must be 0 or more",
        )),
    }
}

/// The first thing wrong with a body that could not be read.
fn diagnose(bytes: &[u8], error: &serde_json::Error) -> Problem {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return Problem::field("body", format_args!("is not JSON: {error}"));
    };
    let Value::Object(fields) = value else {
        return Problem::field("body", "must be a JSON object");
    };
    for (name, value) in &fields {
        let problem = match (name.as_str(), value) {
            ("domain" | "request_id", Value::String(_) | Value::Null) => continue,
            ("domain" | "request_id", _) => Problem::field(name, "must be a string"),
            ("cost", Value::Null) => continue,
            ("cost", value) if value.is_i64() => continue,
            ("cost", _) => Problem::field(
                name,
                format_args!("must be a whole number from 0 to {COST_MAX}"),
            ),
            ("descriptors", Value::Object(facts)) => {
                match facts.iter().find(|(_, value)| !value.is_string()) {
                    Some((fact, _)) => {
                        Problem::field(format!("descriptors.{fact}"), "must be a string")
                    }
                    None => continue,
                }
            }
            ("descriptors", _) => Problem::field(name, "must be an object of strings"),
            _ => Problem::field(name, format_args!("is not known; the fields are {FIELDS}")),
        };
        return problem;
    }
    if !fields.contains_key("descriptors") {
        return Problem::field("descriptors", "is missing; give an object of strings");
    }
    // A field twice, which a second reading no longer shows.
    Problem::field("body", error)
}
