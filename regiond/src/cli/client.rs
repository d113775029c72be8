//! Asks a running node over HTTP, for the subcommands that do.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends `body`, or a GET without one, and reads the JSON answer. `flag` names the URL in errors.
pub(super) async fn ask(
    base: &str,
    path: &str,
    body: Option<&Value>,
    flag: &str,
) -> anyhow::Result<Value> {
    let base = base.trim_end_matches('/');
    let base = if base.contains("://") {
        base.to_owned()
    } else {
        format!("http://{base}")
    };
    let url = format!("{base}{path}");
    let request = axum::http::Request::builder()
        .method(if body.is_some() { "POST" } else { "GET" })
        .uri(&url)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(
            body.map(Value::to_string).unwrap_or_default(),
        )))
        .with_context(|| format!("{base:?} is no URL; write --{flag} http://host:port"))?;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let exchange = async {
        let answer = client.request(request).await?;
        let status = answer.status();
        let bytes = answer.into_body().collect().await?.to_bytes();
        anyhow::Ok((status, bytes))
    };
    let unreachable = || {
        format!(
            "could not reach {base}: is regiond running there? \
             Start one with `regiond up`, or name it with --{flag}"
        )
    };
    let (status, bytes) = tokio::time::timeout(PATIENCE, exchange)
        .await
        .with_context(unreachable)?
        .with_context(unreachable)?;
    let answer: Value = serde_json::from_slice(&bytes)
        .with_context(|| format!("{url} did not answer in JSON; is it regiond's {flag} port?"))?;
    if !status.is_success() {
        let why = answer["detail"]
            .as_str()
            .or_else(|| answer["title"].as_str())
            .unwrap_or("no reason given");
        anyhow::bail!("{url} answered {status}: {why}");
    }
    Ok(answer)
}
