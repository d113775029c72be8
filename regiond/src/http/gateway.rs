//! `/v1/limits:gateway`, any method: the check for gateways that only speak HTTP sub-requests.
//!
//! Promises: 200 with RateLimit headers, or the full 429 for the gateway to pass on.
//! Never reads a body.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use limiter_core::check::{Decision, Request};
use limiter_core::facts::Facts;
use limiter_core::render::{HeaderOptions, headers, problem};
use sync_proto::WallTime;

use super::body::{Asked, cost};
use super::problem::{PROBLEM_JSON, Problem};
use crate::pod::{DEFAULT_DOMAIN, LimiterPod};

/// `X-Limit-Api-Key: k1` is the fact `api_key`. Names arrive in lower case.
const FACT_PREFIX: &str = "x-limit-";
const COST: &str = "x-limit-cost";
const DOMAIN: &str = "x-limit-domain";

/// The original request's method and target, as Traefik and Caddy, or nginx configurations, call them.
const METHODS: [&str; 2] = ["x-forwarded-method", "x-original-method"];
const TARGETS: [&str; 2] = ["x-forwarded-uri", "x-original-uri"];

pub(super) async fn gateway(
    State(pod): State<LimiterPod>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = read(&headers)?;
    let request = Request {
        domain: &asked.domain,
        facts: &asked.facts,
        cost: asked.cost,
    };
    let decision = pod.check(request).await;
    let rendered = pod.guarded(|| render(&decision, pod.clock().wall()));
    Ok(rendered.unwrap_or_else(|| StatusCode::OK.into_response()))
}

fn read(headers: &HeaderMap) -> Result<Asked, Problem> {
    let route = route(headers)?;
    let mut facts = Vec::new();
    for name in headers.keys().map(HeaderName::as_str) {
        let Some(rest) = name
            .strip_prefix(FACT_PREFIX)
            .filter(|rest| !rest.is_empty())
        else {
            continue;
        };
        if name == COST || name == DOMAIN {
            continue;
        }
        let fact = rest.replace('-', "_");
        // The gateway's own word on the route outweighs a header that it may have passed on.
        if fact == "route" && route.is_some() {
            continue;
        }
        facts.extend(single(headers, name)?.map(|value| (fact, value.to_owned())));
    }
    facts.extend(route.map(|route| ("route".to_owned(), route)));
    let number = |text: &str| {
        let number = text
            .trim()
            .parse()
            .map_err(|_| Problem::field(COST, "must be a whole number"));
        number.and_then(cost)
    };
    Ok(Asked {
        domain: single(headers, DOMAIN)?
            .unwrap_or(DEFAULT_DOMAIN)
            .to_owned(),
        facts: Facts::new(facts).map_err(|error| Problem::field("X-Limit-*", error))?,
        cost: single(headers, COST)?.map_or(Ok(1), number)?,
    })
}

/// `METHOD /path` of the original request, without the query; none unless both are told.
fn route(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let told = |names: [&'static str; 2]| {
        for name in names {
            if let Some(value) = single(headers, name)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    };
    let (Some(method), Some(target)) = (told(METHODS)?, told(TARGETS)?) else {
        return Ok(None);
    };
    let path = match target.parse::<Uri>() {
        Ok(uri) => uri.path().to_owned(),
        // What no URI can hold, a server may still have taken as a path.
        Err(_) => target
            .split(['?', '#'])
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    Ok(Some(format!("{method} {path}")))
}

/// The value of a header. Two values mean that somebody in front added one, and which one counts is anybody's guess.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Problem::field(
            name,
            "must be given once; have the gateway replace what clients send",
        ));
    }
    let text = std::str::from_utf8(value.as_bytes());
    text.map(Some)
        .map_err(|_| Problem::field(name, "must be UTF-8"))
}

fn render(decision: &Decision, now: WallTime) -> Response {
    let mut response = if decision.allowed {
        StatusCode::OK.into_response()
    } else {
        let mut response = Response::new(Body::from(problem(decision)));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
        response
    };
    for (name, value) in headers(
        decision,
        HeaderOptions {
            now,
            ..HeaderOptions::default()
        },
    ) {
        if let Ok(value) = HeaderValue::try_from(value) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
    response
}
