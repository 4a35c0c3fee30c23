//! What goes wrong, as problem details (RFC 9457): a code for programs, a sentence that says what
//! to do, and the place in the text that was read.

use std::fmt::Display;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use wakeful_core::{
    host::{ErrorCode, ErrorReport, SchedulerError},
    json::ErrorPlace,
};
use wakeful_host::ledger::{Fault, PostgresError, StoreError};

use crate::access::{Grant, Scope};

/// A refused request. The ledger is whole in every case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The kind of problem: a code of the scheduler, or one of the server.
    pub code: String,
    /// What is wrong and what to do, in a sentence.
    pub detail: String,
    /// The place in the text that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Box<ErrorPlace>>,
    /// The server that must be asked instead, if it has an address.
    #[serde(skip)]
    pub(crate) owner: Option<String>,
}

/// The seconds after which a client that was refused for a limit may come again.
const AGAIN: HeaderValue = HeaderValue::from_static("1");

/// The code for an agent that another process drives.
const DRIVEN: &str = "driven";

/// The code for a token that no trigger has.
const NO_SUCH_TOKEN: &str = "no_such_token";

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self {
            status: status.as_u16(),
            code: code.into(),
            detail: detail.into(),
            place: None,
            owner: None,
        }
    }

    pub(crate) fn no_agent(agent: &str) -> Self {
        let detail = format!(
            "there is no agent `{agent}`: `GET /v1/agents` lists those there are, and `PUT \
             /v1/agents/{{agent}}` makes one"
        );
        Self::new(StatusCode::NOT_FOUND, "no_such_agent", detail)
    }

    /// The agent lives elsewhere. The place is the operator's to know, not the client's.
    pub(crate) fn moved(agent: &str) -> Self {
        let detail = format!(
            "the agent `{agent}` was moved to another place, and nothing is recorded here: \
             `wakeful status` of this store says where it goes on"
        );
        Self::new(StatusCode::NOT_FOUND, "agent_moved", detail)
    }

    /// Another server drives the agent, and only it can do what was asked.
    pub(crate) fn driven_by(worker: &str, address: Option<String>) -> Self {
        let detail = match &address {
            Some(address) => format!("the server at {address} drives the agent: ask it"),
            None => format!(
                "the worker {worker} drives the agent, and has no address: start it with \
                 `--public-url`, or ask it"
            ),
        };
        let problem = Self::new(StatusCode::MISDIRECTED_REQUEST, "driven_elsewhere", detail);
        Self { owner: address, ..problem }
    }

    pub(crate) fn conflicting(detail: String) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "conflicting_duplicate", detail)
    }

    pub(crate) fn no_hook(name: &str) -> Self {
        let detail = format!("there is no hook `{name}`: `GET /v1/hooks` lists those there are");
        Self::new(StatusCode::NOT_FOUND, "no_such_hook", detail)
    }

    pub(crate) fn no_such_token() -> Self {
        let detail =
            "no external trigger has this token: ask the agent's operator for a new address";
        Self::new(StatusCode::NOT_FOUND, NO_SUCH_TOKEN, detail)
    }

    pub(crate) fn no_trigger() -> Self {
        let detail = "the agent has no such trigger or item: `GET …/triggers` and `…/work-items` \
                      list them";
        Self::new(StatusCode::NOT_FOUND, "no_such_trigger", detail)
    }

    pub(crate) fn no_runner() -> Self {
        let detail = "this server has no model: start it with `--provider openai`, or let a host \
                      run the turns with `\"turns\": \"elsewhere\"`";
        Self::new(StatusCode::CONFLICT, "wrong_state", detail)
    }

    pub(crate) fn not_elsewhere(agent: &str) -> Self {
        let detail = format!(
            "the turns of `{agent}` are not run by a host that asks for them: `PUT \
             /v1/agents/{{agent}}` with `\"turns\": \"elsewhere\"` changes that"
        );
        Self::new(StatusCode::CONFLICT, "wrong_state", detail)
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

    /// What fits the schema, and yet cannot be.
    pub(crate) fn unfit(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "malformed", detail)
    }

    /// A body that is not what the route takes.
    pub(crate) fn of_json(why: &serde_json::Error) -> Self {
        let place = ErrorPlace {
            file: None,
            line: why.line() as u64,
            column: why.column() as u64,
            path: String::new(),
        };
        let detail = format!("the body cannot be read: {why}; `/openapi.json` has its schema");
        Self { place: Some(Box::new(place)), ..Self::malformed(detail) }
    }

    /// Something is full.
    pub(crate) fn busy(detail: impl Display) -> Self {
        let detail = format!("{detail}: repeat the request a little later");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", detail)
    }

    pub(crate) fn not_ready(why: impl Display) -> Self {
        let detail = format!("{why}: repeat the request a little later");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", detail)
    }

    pub(crate) fn driven(why: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, DRIVEN, why)
    }

    /// Whether it is [`Problem::driven`].
    pub(crate) fn is_driven(&self) -> bool {
        self.code == DRIVEN
    }

    pub(crate) fn broken(why: impl Display) -> Self {
        let detail = format!("{why}; the ledger is whole: report it with what you did");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "broken", detail)
    }

    pub(crate) fn forbidden(scope: Scope, grant: Option<&Grant>) -> Self {
        let has: Vec<_> =
            grant.into_iter().flat_map(|grant| &grant.scopes).map(|it| it.name()).collect();
        let detail = format!(
            "this needs a token with the scope `{}`; this one has: {}",
            scope.name(),
            has.join(", ")
        );
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// Whether the request is to blame, and not the agent or its ledger.
    pub(crate) fn blames_request(&self) -> bool {
        matches!(self.code.as_str(), "malformed" | "too_large" | "no_such_entry" | "wrong_state")
    }

    /// Whether the token of a trigger was a guess.
    pub(crate) fn is_guess(&self) -> bool {
        self.code == NO_SUCH_TOKEN
    }

    /// Whether the next request will fail in the same way.
    pub(crate) fn is_lasting(&self) -> bool {
        self.code == "cannot_open"
    }
}

impl From<&SchedulerError> for Problem {
    fn from(why: &SchedulerError) -> Self {
        Self::of_report(&why.report())
    }
}

impl Problem {
    /// What the scheduler reports, as an answer.
    pub(crate) fn of_report(ErrorReport { code, message, place }: &ErrorReport) -> Self {
        let status = match code {
            ErrorCode::Malformed => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::NoSuchEntry => StatusCode::NOT_FOUND,
            ErrorCode::Conflict | ErrorCode::WrongState => StatusCode::CONFLICT,
            ErrorCode::LedgerFailed => return Self::store(),
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self {
            place: place.clone().map(Box::new),
            ..Self::new(status, &code.to_string(), message.clone())
        }
    }
}

impl From<SchedulerError> for Problem {
    fn from(why: SchedulerError) -> Self {
        Self::from(&why)
    }
}

impl From<PostgresError> for Problem {
    fn from(why: PostgresError) -> Self {
        match &why.fault {
            Fault::Moved { agent, .. } => Self::moved(agent.as_str()),
            _ => Self::store(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(why: StoreError) -> Self {
        match why {
            StoreError::Postgres(why) => why.into(),
            _ => Self::store(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(&self)).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, AGAIN);
            }
            _ => {}
        }
        response
    }
}
