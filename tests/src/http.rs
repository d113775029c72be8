//! A small HTTP client for tests: JSON in, status and JSON out.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Bytes of a request body.
type Body = Full<hyper::body::Bytes>;

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body as text.
    pub text: String,
}

impl Answer {
    /// The body as JSON; `null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// The first header called `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Asks with pooled connections and a deadline. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Client<HttpConnector, Body>,
}

impl Default for HttpClient {
    fn default() -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }
}

impl HttpClient {
    /// Sends a request and reads the whole answer, within 5 s.
    ///
    /// # Errors
    /// No connection, or no answer in time.
    pub async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<hyper::body::Bytes>,
    ) -> anyhow::Result<Answer> {
        let mut request = hyper::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::new(body.into()))?;
        let exchange = async {
            let answer = self.client.request(request).await?;
            let status = answer.status().as_u16();
            let header =
                |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
                    (
                        name.as_str().to_owned(),
                        String::from_utf8_lossy(value.as_bytes()).into_owned(),
                    )
                };
            let headers = answer.headers().iter().map(header).collect();
            let bytes = answer.into_body().collect().await?.to_bytes();
            anyhow::Ok(Answer {
                status,
                headers,
                text: String::from_utf8_lossy(&bytes).into_owned(),
            })
        };
        tokio::time::timeout(Duration::from_secs(5), exchange).await?
    }

    /// A GET.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn read(&self, url: &str) -> anyhow::Result<Answer> {
        self.send("GET", url, &[], "").await
    }

    /// A POST of JSON.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn post(&self, url: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(
            "POST",
            url,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }
}
