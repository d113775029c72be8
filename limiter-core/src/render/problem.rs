//! The body of a 429.
//!
//! Promises: an RFC 9457 document of the registered type, naming the exposed policies that denied and no others.
//! Never tells of rules that allowed, are hidden, or only watch.

use serde::Serialize;

use super::is_hidden;
use crate::check::{Decision, Reason};

/// The type's name in IANA's registry of HTTP problem types.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// What the draft calls the type.
const TITLE: &str = "Quota Exceeded";

#[derive(Serialize)]
struct Problem<'a> {
    r#type: &'a str,
    title: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(rename = "violated-policies")]
    violated_policies: Vec<&'a str>,
}

/// An RFC 9457 problem document for a denial.
pub fn problem(decision: &Decision) -> String {
    let hidden = is_hidden(decision);
    let violated = decision
        .policies
        .iter()
        .filter(|policy| !hidden && policy.rule.expose && !policy.allowed)
        .map(|policy| policy.rule.id.as_str());
    let problem = Problem {
        r#type: QUOTA_EXCEEDED,
        title: TITLE,
        status: 429,
        detail: decision.reason.filter(|_| !hidden).and_then(detail),
        violated_policies: violated.collect(),
    };
    serde_json::to_string(&problem).unwrap_or_default()
}

/// What a client could not guess from the headers.
fn detail(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::QuotaExceeded => None,
        Reason::CostAboveCapacity => {
            Some("The request asks for more than the policy ever holds; a retry cannot succeed.")
        }
        Reason::ZeroLimit => Some("The policy allows nothing; a retry cannot succeed."),
        Reason::MissingKey => Some("The request lacks a fact that the policy needs."),
        Reason::StoreFailure => Some("The limit cannot be checked at the moment."),
    }
}
