//! Agents as a whole: the list, making them, and putting them away.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wakeful_core::{
    derive::{posture::Posture, summary::AgentListEntry},
    id::{AgentId, fault_in},
    machine::Options,
    time::Timestamp,
};
use wakeful_host::ledger::{DrivenBy, Owner, Placed};

use crate::{
    agents::{Listed, Turns},
    asked::{Answer, Asked},
    problem::Problem,
};

/// The agents of a page, if the request does not say.
const PAGE: u64 = 100;

/// The most agents of a page.
const MOST: u64 = 1_000;

/// A number of agents.
#[derive(JsonSchema)]
pub(crate) struct Limit(
    #[schemars(range(min = 1, max = 1000))]
    #[allow(dead_code)]
    u64,
);

/// A page of the list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Page {
    /// The agents, sorted by id.
    agents: Vec<Listed>,
    /// Which of them a process drives, this server among others.
    driven: Vec<Driven>,
    /// The `cursor` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<AgentId>,
}

/// An agent that a process drives: one of this machine, or a worker of a store.
#[derive(Serialize, JsonSchema)]
struct Driven {
    /// The agent.
    agent_id: AgentId,
    /// The number of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// The name of its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// The id of the worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    /// Its address, if others can reach it.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Since when it does.
    since: Timestamp,
}

impl From<DrivenBy> for Driven {
    fn from(by: DrivenBy) -> Self {
        match by {
            DrivenBy::Process(Owner { agent_id, pid, program, since, .. }) => {
                let (pid, program) = (Some(pid), Some(program));
                Self { agent_id, pid, program, worker: None, address: None, since }
            }
            DrivenBy::Worker(Placed { agent, worker, address, since }) => {
                let worker = Some(worker);
                Self { agent_id: agent, pid: None, program: None, worker, address, since }
            }
        }
    }
}

pub(crate) fn list(asked: &Asked) -> Result<Answer, Problem> {
    let posture: Option<Posture> = asked.named("posture")?;
    let parked = match asked.query.get("parked").map(String::as_str) {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => return Err(Problem::malformed("`parked` is `true` or `false`")),
    };
    let limit = asked.number("limit")?.unwrap_or(PAGE);
    if !(1..=MOST).contains(&limit) {
        return Err(Problem::malformed(format!("`limit` is a number from 1 to {MOST}")));
    }
    asked.agents.ready()?;
    let after = asked.query.get("cursor").map_or("", String::as_str);
    let (cells, mut next) = asked.agents.after(after, MOST)?;
    let mut agents = Vec::new();
    let mut listed = Vec::new();
    for cell in cells {
        if cell.is_put_away() {
            continue;
        }
        let brief = asked.agents.brief(&cell);
        let is_asked = posture.is_none_or(|posture| posture == brief.posture)
            && parked.is_none_or(|parked| parked == brief.is_parked);
        if !is_asked || !brief.is_read {
            continue;
        }
        if agents.len() as u64 == limit {
            next = listed.last().cloned();
            break;
        }
        let state =
            asked.agents.with(&cell, |scheduler, _| Ok(AgentListEntry::new(scheduler.state())));
        agents.push(Listed::new(&cell, &brief, state));
        listed.push(cell.agent.clone());
    }
    let driven = asked.agents.owners_of(&listed)?.into_iter().map(Driven::from).collect();
    Ok(Answer::ok(&Page { agents, driven, next }))
}

/// The body of a request for an agent.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewAgent {
    /// Who runs its turns. If absent, a model of this server does if there is one, and a host that
    /// asks for them otherwise.
    #[serde(default)]
    turns: Option<Turns>,
    /// The limits and delays of a new agent. An agent that is there has its own.
    #[serde(default)]
    #[schemars(with = "Option<wakeful_core::record::policy::Policy>")]
    policy: Option<Box<RawValue>>,
}

pub(crate) fn put(asked: &Asked) -> Result<Answer, Problem> {
    let new: NewAgent = match asked.text()?.trim().is_empty() {
        true => NewAgent::default(),
        false => asked.json()?,
    };
    let agent = asked.agent();
    if let Some(fault) = fault_in(agent.as_str()).filter(|_| asked.cell().is_err()) {
        return Err(Problem::unfit(format!("the agent cannot have this id: {fault}")));
    }
    let mut options = Options::new(agent.clone());
    if let Some(policy) = &new.policy {
        let whole = format!(
            "{{\"agent_id\":{},\"policy\":{}}}",
            wakeful_core::json::write(&agent),
            policy.get()
        );
        options = Options::from_json(&whole).map_err(|why| Problem::unfit(why.to_string()))?;
    }
    let turns = new.turns.unwrap_or(match asked.agents.has_runner() {
        true => Turns::Model,
        false => Turns::Elsewhere,
    });
    let (cell, is_new) = asked.agents.put(options, turns)?;
    let summary = asked.agents.with(&cell, |scheduler, _| Ok(scheduler.summary()))?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(Answer::with(status, &summary))
}

pub(crate) fn put_away(asked: &Asked) -> Result<Answer, Problem> {
    let cell = asked.cell()?;
    let is_running = asked.agents.with(&cell, |scheduler, _| {
        let state = scheduler.state();
        Ok(state.turns().run.is_some() || !state.tasks().active.is_empty())
    })?;
    if is_running {
        let detail = "a run or a task of the agent is open: stop it first with `POST …/control`";
        return Err(Problem::new(StatusCode::CONFLICT, "wrong_state", detail));
    }
    asked.agents.put_away(&cell)?;
    Ok(Answer::nothing())
}
