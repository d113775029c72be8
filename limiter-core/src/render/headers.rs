//! RateLimit, RateLimit-Policy, Retry-After and X-RateLimit-* headers.
//!
//! Promises: structured fields that a strict parser takes, in the q/w and r/t form of the draft's revisions 08 to 11; seconds rounded up;
//! `Retry-After` is the deciding policy's `t`, and never 0.
//! Never shows a rule that is not exposed: when such a rule decides, the status is all there is.

use std::fmt::Write as _;

use sync_proto::{Span, WallTime};

use super::is_hidden;
use crate::bounds::HEADER_INTEGER_MAX;
use crate::check::{Decision, PolicyState};
use crate::store::Wait;

/// What X-RateLimit-Reset tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegacyReset {
    /// Seconds from now.
    #[default]
    Delta,
    /// Unix time.
    Unix,
}

/// How headers are rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderOptions {
    /// The clock, for [`LegacyReset::Unix`].
    pub now: WallTime,
    /// What X-RateLimit-Reset tells.
    pub legacy_reset: LegacyReset,
}

/// Names in lower case, and values.
pub fn headers(decision: &Decision, options: HeaderOptions) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    if !decision.allowed {
        headers.push(("cache-control", "no-store".to_owned()));
        if is_hidden(decision) {
            return headers;
        }
        if let Some(seconds) = wait_s(decision.wait) {
            headers.push(("retry-after", seconds.to_string()));
        }
    }
    let exposed = || decision.policies.iter().filter(|policy| policy.rule.expose);
    let policies = list(exposed(), policy_item);
    let states = list(exposed(), state_item);
    if !policies.is_empty() {
        headers.push(("ratelimit-policy", policies));
        headers.push(("ratelimit", states));
    }
    legacy(
        exposed().filter(|policy| policy.rule.legacy_headers),
        options,
        &mut headers,
    );
    headers
}

/// A structured-field list. A name that no structured field can hold would void all of it, so it is left out.
fn list<'a>(
    policies: impl Iterator<Item = &'a PolicyState>,
    item: fn(&mut String, &PolicyState),
) -> String {
    let mut field = String::new();
    for policy in policies {
        let id = policy.rule.id.as_str();
        if !id.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
            continue;
        }
        if !field.is_empty() {
            field.push_str(", ");
        }
        quote(&mut field, id);
        item(&mut field, policy);
    }
    field
}

fn quote(field: &mut String, text: &str) {
    field.push('"');
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            field.push('\\');
        }
        field.push(letter);
    }
    field.push('"');
}

fn parameter(field: &mut String, name: char, value: u64) {
    // Writing to a string cannot fail.
    let _ = write!(field, ";{name}={}", value.min(HEADER_INTEGER_MAX));
}

/// `w` is left out unless the window is whole seconds: a rounded one would promise another rate.
fn policy_item(field: &mut String, policy: &PolicyState) {
    parameter(field, 'q', policy.limit);
    let whole = policy.window.as_secs_ceil();
    if whole > 0 && Span::from_secs(whole) == policy.window {
        parameter(field, 'w', whole);
    }
}

/// `t` is left out when no more can come: the quota is full, or nothing will ever help.
fn state_item(field: &mut String, policy: &PolicyState) {
    parameter(field, 'r', policy.remaining);
    if let Some(seconds) = more_s(policy) {
        parameter(field, 't', seconds);
    }
}

/// Seconds until there is more for this client: for a rule that denied, until what it asked for is there.
fn more_s(policy: &PolicyState) -> Option<u64> {
    if !policy.allowed {
        return wait_s(policy.wait);
    }
    (policy.reset > Span::ZERO).then(|| policy.reset.as_secs_ceil())
}

/// Seconds that a denied client is told to wait; none when waiting does not help.
fn wait_s(wait: Wait) -> Option<u64> {
    match wait {
        Wait::None => Some(1),
        Wait::For(span) => Some(span.as_secs_ceil().max(1)),
        Wait::Never => None,
    }
}

/// The rule nearest its limit; the first of equals.
fn legacy<'a>(
    policies: impl Iterator<Item = &'a PolicyState>,
    options: HeaderOptions,
    headers: &mut Vec<(&'static str, String)>,
) {
    let left = |policy: &PolicyState| u128::from(policy.remaining);
    let room = |policy: &PolicyState| u128::from(policy.capacity().max(1));
    let nearest = policies.min_by(|a, b| {
        let by_verdict = a.allowed.cmp(&b.allowed);
        by_verdict.then_with(|| (left(a) * room(b)).cmp(&(left(b) * room(a))))
    });
    let Some(policy) = nearest else {
        return;
    };
    let seconds = more_s(policy).unwrap_or(0);
    let reset = match options.legacy_reset {
        LegacyReset::Delta => seconds,
        LegacyReset::Unix => {
            let now = Span::from_micros(options.now.as_micros());
            let wait = if policy.allowed {
                policy.reset
            } else {
                Span::from_secs(seconds)
            };
            now.plus(wait).as_secs_ceil()
        }
    };
    headers.push(("x-ratelimit-limit", policy.limit.to_string()));
    headers.push(("x-ratelimit-remaining", policy.remaining.to_string()));
    headers.push(("x-ratelimit-reset", reset.to_string()));
}
