//! A request that was let in, and its answer.

use std::{collections::HashMap, sync::Arc};

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;
use wakeful_core::{id::AgentId, json};

use crate::{
    access::Grant,
    agents::{Agents, Cell},
    hooks::Hooks,
    problem::Problem,
    route::HIGHEST,
};

/// A request that was let in, for a handler that may block.
pub(crate) struct Asked {
    pub(crate) agents: Arc<Agents>,
    pub(crate) hooks: Arc<Hooks>,
    /// The parts of the path, by name.
    pub(crate) path: HashMap<String, String>,
    pub(crate) query: HashMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Who asks. None for a delivery: its own token is in the path.
    pub(crate) grant: Option<Arc<Grant>>,
}

impl Asked {
    /// The agent of the path.
    pub(crate) fn agent(&self) -> AgentId {
        AgentId::from(self.part("agent"))
    }

    /// The agent of the path, which must be there and live here.
    pub(crate) fn cell(&self) -> Result<Arc<Cell>, Problem> {
        let cell = self.agents.cell(&self.agent())?;
        self.agents.require_here(&cell)?;
        Ok(cell)
    }

    /// A part of the path.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The body as text.
    pub(crate) fn text(&self) -> Result<&str, Problem> {
        std::str::from_utf8(&self.body)
            .map_err(|why| Problem::malformed(format!("the body is not UTF-8: {why}")))
    }

    /// The body as JSON. A field that is not known is an error.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Problem> {
        let text = self.text()?;
        // Serde also reads a struct from a list of its fields, which no schema says.
        if !text.trim_start().starts_with('{') {
            return Err(Problem::malformed("the body is not a JSON object"));
        }
        serde_json::from_str(text).map_err(|why| Problem::of_json(&why))
    }

    /// A header as text, if it is there.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// A number of the query, if it is there.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        self.query.get(name).map(|text| number(name, text)).transpose()
    }

    /// A name of the query, such as that of a decision.
    pub(crate) fn named<T: json::Readable>(&self, name: &str) -> Result<Option<T>, Problem> {
        let read = |given: &String| json::read(&json::write(given));
        let read = self.query.get(name).map(read).transpose();
        read.map_err(|why| Problem::malformed(format!("`{name}`: {why}")))
    }
}

/// A number, as the document limits it.
pub(crate) fn number(name: &str, text: &str) -> Result<u64, Problem> {
    let read = text.parse().ok().filter(|number| *number <= HIGHEST);
    read.ok_or_else(|| {
        Problem::malformed(format!("`{name}` must be a whole number from 0 to {HIGHEST}"))
    })
}

/// An answer: its status and its text.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    /// What the browser of a page keeps.
    pub(crate) cookie: Option<HeaderValue>,
}

impl Answer {
    pub(crate) fn ok(value: &impl Serialize) -> Self {
        Self::with(StatusCode::OK, value)
    }

    pub(crate) fn with(status: StatusCode, value: &impl Serialize) -> Self {
        Self::json(status, json::write(value))
    }

    pub(crate) fn json(status: StatusCode, text: String) -> Self {
        Self { status, kind: "application/json", text, cookie: None }
    }

    pub(crate) fn nothing() -> Self {
        Self { status: StatusCode::NO_CONTENT, kind: "", text: String::new(), cookie: None }
    }
}
