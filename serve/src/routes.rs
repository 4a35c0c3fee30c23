//! The table of routes. The router and the OpenAPI document are made from it.

use axum::http::{HeaderMap, StatusCode};
use serde::Serialize;
use std::collections::HashMap;
use wakeful_core::{id::AgentId, json};

use crate::{
    access::{Grant, Scope},
    ingress,
    problem::Problem,
    read,
    store::Store,
    write,
};

/// A request that was let in, for a handler that may block.
pub(crate) struct Asked {
    pub(crate) store: Store,
    /// The agent of the path, if it names one.
    pub(crate) agent: Option<AgentId>,
    /// The other parts of the path, by name.
    pub(crate) path: HashMap<String, String>,
    pub(crate) query: HashMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Who asks. None for a delivery: its own token is in the path.
    pub(crate) grant: Option<Grant>,
}

impl Asked {
    pub(crate) fn agent(&self) -> Result<&AgentId, Problem> {
        // INVARIANT: routes about an agent have it in their path.
        self.agent.as_ref().ok_or_else(|| Problem::no_agent(""))
    }

    /// The body as text.
    pub(crate) fn text(&self) -> Result<&str, Problem> {
        std::str::from_utf8(&self.body)
            .map_err(|why| Problem::malformed(format!("the body is not UTF-8: {why}")))
    }

    /// A header as text, if it is there.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// An answer: its status and its JSON text.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) json: String,
}

impl Answer {
    pub(crate) fn ok(value: &impl Serialize) -> Self {
        Self::with(StatusCode::OK, value)
    }

    pub(crate) fn with(status: StatusCode, value: &impl Serialize) -> Self {
        Self { status, json: json::write(value) }
    }
}

/// What a route does with a request.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// It answers with JSON.
    Answers(fn(&Asked) -> Result<Answer, Problem>),
    /// It streams the stored entries of an agent.
    Streams,
}

/// A route.
pub struct Route {
    /// The HTTP method.
    pub method: &'static str,
    /// The path, with its parts in braces.
    pub path: &'static str,
    /// The scope that a token needs. None if the path has a token of its own, or needs none.
    pub scope: Option<Scope>,
    /// The summary in the OpenAPI document.
    pub summary: &'static str,
    pub(crate) does: Does,
}

const fn get(
    path: &'static str,
    summary: &'static str,
    does: fn(&Asked) -> Result<Answer, Problem>,
) -> Route {
    Route { method: "GET", path, scope: Some(Scope::Read), summary, does: Does::Answers(does) }
}

const fn post(
    path: &'static str,
    scope: Scope,
    summary: &'static str,
    does: fn(&Asked) -> Result<Answer, Problem>,
) -> Route {
    Route { method: "POST", path, scope: Some(scope), summary, does: Does::Answers(does) }
}

/// All routes.
pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/healthz",
        scope: None,
        summary: "Whether the process answers",
        does: Does::Answers(read::health),
    },
    get("/v1/agents", "The agents, each in short", read::agents),
    get("/v1/agents/{agent}", "The summary of an agent", read::agent),
    get("/v1/agents/{agent}/explain", "What would be decided now, and why", read::explain),
    get("/v1/agents/{agent}/why-not", "What would lead to another decision", read::why_not),
    Route {
        method: "GET",
        path: "/v1/agents/{agent}/entries",
        scope: Some(Scope::Read),
        summary: "The stored entries as a stream of server-sent events",
        does: Does::Streams,
    },
    post(
        "/v1/agents/{agent}/messages",
        Scope::Prompt,
        "Say something to an agent as its operator",
        write::message,
    ),
    post(
        "/v1/agents/{agent}/facts",
        Scope::Operate,
        "Report a fact, as a host that runs its own turns does",
        write::fact,
    ),
    Route {
        method: "POST",
        path: "/in/{token}",
        scope: None,
        summary: "Deliver to the external trigger that has this token",
        does: Does::Answers(ingress::deliver),
    },
];
