//! The only mapping from errors to HTTP: problem documents of RFC 9457.
//!
//! Promises: the document names the field at fault and what is accepted, in words for the caller.
//! Never tells of anything but the request.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The media type of every problem.
pub(crate) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Something wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    detail: String,
    field: Option<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
}

impl Problem {
    /// A problem with the request as a whole.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            field: None,
        }
    }

    /// A field that cannot be taken. The detail begins with its name.
    pub(crate) fn field(field: impl Into<String>, what: impl std::fmt::Display) -> Self {
        let field = field.into();
        Self {
            status: StatusCode::BAD_REQUEST,
            detail: format!("{field}: {what}"),
            field: Some(field),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let document = Document {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            field: self.field.as_deref(),
        };
        (
            self.status,
            [(header::CONTENT_TYPE, PROBLEM_JSON)],
            Json(document),
        )
            .into_response()
    }
}

/// What any router answers to a path that it does not have.
pub(crate) async fn no_such_path() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path")
}

/// What any router answers to a method that a path does not have; `Allow` tells the ones it has.
pub(crate) async fn no_such_method() -> Problem {
    let detail = "this path does not take this method; see the header Allow";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}
