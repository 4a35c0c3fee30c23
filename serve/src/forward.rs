//! Requests that only another server of the store can answer: they are passed on to it, with the
//! token of their client. That server checks the token itself.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, Method, Response, StatusCode, Uri, header},
};
use ureq::Agent;
use wakeful_agent::http::client;

use crate::problem::Problem;

/// The header of a request that was passed on. It is not passed on again.
pub(crate) const PASSED_ON: &str = "wakeful-passed-on";

/// The time to connect. A server that is gone must not hold its clients up.
const CONNECT: Duration = Duration::from_secs(2);

/// The headers that are passed on.
const HEADERS: [&str; 5] =
    ["authorization", "content-type", "cookie", "idempotency-key", "last-event-id"];

/// The most bytes of an answer.
const MOST: u64 = 16 << 20;

/// What passes requests on.
pub(crate) struct Forward(Agent);

/// A request, as its client sent it.
pub(crate) struct Sent {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Sent {
    /// Whether another server has passed it on already.
    pub(crate) fn was_passed_on(&self) -> bool {
        self.headers.contains_key(PASSED_ON)
    }
}

impl Forward {
    pub(crate) fn new(longest: Duration) -> Self {
        let config = client()
            .allow_non_standard_methods(true)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(longest));
        Self(config.build().new_agent())
    }

    /// Has a server answer a request. It blocks.
    pub(crate) fn to(&self, server: &str, sent: &Sent) -> Result<Response<Body>, Problem> {
        let path = sent.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = ureq::http::Request::builder()
            .method(sent.method.as_str())
            .uri(format!("{}{path}", server.trim_end_matches('/')))
            .header(PASSED_ON, "1");
        for name in HEADERS {
            if let Some(value) = sent.headers.get(name) {
                request = request.header(name, value.as_bytes());
            }
        }
        let silent = |why: &dyn std::fmt::Display| {
            Problem::not_ready(format!(
                "the server at {server} drives the agent, and does not answer ({why}): ask again"
            ))
        };
        let request = request.body(sent.body.clone()).map_err(|why| silent(&why))?;
        let mut answer = self.0.run(request).map_err(|why| silent(&why))?;
        if answer.status().as_u16() == StatusCode::MISDIRECTED_REQUEST.as_u16() {
            // It has given the agent to a third one meanwhile.
            return Err(Problem::not_ready("the agent changes its server: ask again"));
        }
        let body = answer
            .body_mut()
            .with_config()
            .limit(MOST)
            .read_to_vec()
            .map_err(|why| silent(&why))?;
        let mut response = Response::builder().status(answer.status().as_u16());
        for name in [header::CONTENT_TYPE, header::RETRY_AFTER] {
            if let Some(value) = answer.headers().get(name.as_str()) {
                response = response.header(name, value.as_bytes());
            }
        }
        response.body(Body::from(body)).map_err(|why| silent(&why))
    }
}
