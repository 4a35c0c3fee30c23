//! Turns that a host runs elsewhere: it asks for the open turn, and reports what happens in it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use wakeful_core::id::AgentId;

use crate::{
    agents::Turns,
    asked::{Answer, Asked},
    problem::Problem,
};

/// An agent with an open turn.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OpenTurn {
    /// The agent. `GET /v1/agents/{agent}/turn` says what the turn is about.
    agent_id: AgentId,
}

pub(crate) fn all(asked: &Asked) -> Result<Answer, Problem> {
    asked.agents.ready()?;
    let mut open: Vec<_> = asked
        .agents
        .all()
        .iter()
        // What this server knows of the agents of others is old, and those of no one must not run.
        .filter(|cell| cell.turns() == Some(Turns::Elsewhere) && cell.is_own())
        .filter(|cell| cell.brief().has_open_run)
        .map(|cell| OpenTurn { agent_id: cell.agent.clone() })
        .collect();
    open.sort_by(|one, other| one.agent_id.cmp(&other.agent_id));
    Ok(Answer::ok(&open))
}

/// The open turn of the agent now; `None` if there is none.
pub(crate) fn open(asked: &Asked) -> Result<Option<Answer>, Problem> {
    let cell = asked.cell()?;
    if cell.turns() != Some(Turns::Elsewhere) {
        return Err(Problem::not_elsewhere(cell.agent.as_str()));
    }
    Ok(asked.agents.open_turn(&cell)?.map(|request| Answer::ok(&request)))
}

/// The time that a request is willing to wait (RFC 7240): `Prefer: wait=SECONDS`.
pub(crate) fn patience(asked: &Asked) -> Result<Option<Duration>, Problem> {
    let named = asked.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut preferences = named.flat_map(|value| value.split(',')).map(str::trim);
    let wait = preferences.find_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"'))
    });
    let Some(wait) = wait else { return Ok(None) };
    let seconds: u64 = wait.parse().map_err(|_| {
        Problem::malformed("`Prefer: wait=SECONDS` needs a whole number of seconds")
    })?;
    Ok(Some(Duration::from_secs(seconds).min(asked.agents.limits().longest_wait)))
}
