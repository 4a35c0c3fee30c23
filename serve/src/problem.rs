//! What goes wrong, as problem details (RFC 9457): a code for programs, a sentence that says what to
//! do, and the place in the text that was read.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use wakeful_core::{
    host::{ErrorCode, ErrorReport, SchedulerError},
    json::ErrorPlace,
};
use wakeful_host::ledger::SqliteError;

/// A refused request. The ledger is whole in every case.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The kind of problem: a code of the scheduler, or one of the server.
    pub code: String,
    /// What is wrong and what to do, in a sentence.
    pub detail: String,
    /// The place in the text that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<ErrorPlace>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self { status: status.as_u16(), code: code.into(), detail: detail.into(), place: None }
    }

    pub(crate) fn no_agent(agent: &str) -> Self {
        let detail = format!("there is no agent `{agent}`: `GET /v1/agents` lists those there are");
        Self::new(StatusCode::NOT_FOUND, "no_such_agent", detail)
    }

    /// The store failed. Which file it was is the operator's to know, not the client's.
    pub(crate) fn store() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ledger_failed",
            "the store did not answer: repeat the request later",
        )
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", detail)
    }
}

impl From<&SchedulerError> for Problem {
    fn from(why: &SchedulerError) -> Self {
        let ErrorReport { code, message, place } = why.report();
        let status = match code {
            ErrorCode::Malformed => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::NoSuchEntry => StatusCode::NOT_FOUND,
            ErrorCode::Conflict | ErrorCode::WrongState => StatusCode::CONFLICT,
            ErrorCode::LedgerFailed => return Self::store(),
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { place, ..Self::new(status, &code.to_string(), message) }
    }
}

impl From<SchedulerError> for Problem {
    fn from(why: SchedulerError) -> Self {
        Self::from(&why)
    }
}

impl From<SqliteError> for Problem {
    fn from(_: SqliteError) -> Self {
        Self::store()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(&self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
