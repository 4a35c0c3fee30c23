//! What is asked about agents. Nothing here appends.

use serde::Serialize;
use serde_json::json;
use wakeful_core::{
    derive::summary::AgentListEntry,
    id::{AgentId, Seq},
    json,
    record::{
        chain::Head,
        decision::{Boundary, DecisionKind},
    },
    time::Timestamp,
};

use crate::{
    problem::Problem,
    routes::{Answer, Asked},
};

pub(crate) fn health(_: &Asked) -> Result<Answer, Problem> {
    Ok(Answer::ok(&json!({ "ok": true })))
}

/// An agent in the list.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    agent: AgentListEntry,
    head: Head,
    next_wake: Option<Timestamp>,
}

/// An agent that cannot be read does not hide the others.
#[derive(Serialize)]
#[serde(untagged)]
enum Row {
    Read(Box<Listed>),
    Broken { agent_id: AgentId, problem: Problem },
}

pub(crate) fn agents(asked: &Asked) -> Result<Answer, Problem> {
    let rows = asked.store.agents()?.into_iter().map(|agent_id| {
        let read = asked.store.with(&agent_id, |scheduler| {
            Ok(Listed {
                agent: AgentListEntry::new(scheduler.state()),
                head: scheduler.state().head(),
                next_wake: scheduler.next_wake(),
            })
        });
        match read {
            Ok(listed) => Row::Read(Box::new(listed)),
            Err(problem) => Row::Broken { agent_id, problem },
        }
    });
    let rows: Vec<_> = rows.collect();
    Ok(Answer::ok(&rows))
}

pub(crate) fn agent(asked: &Asked) -> Result<Answer, Problem> {
    let summary = asked.store.with(asked.agent()?, |scheduler| Ok(scheduler.summary()))?;
    Ok(Answer::ok(&summary))
}

pub(crate) fn explain(asked: &Asked) -> Result<Answer, Problem> {
    let at = entry(asked)?;
    let boundary = boundary(asked)?;
    let explanation = asked.store.with(asked.agent()?, |scheduler| {
        let Some(seq) = at else {
            let boundary = boundary.unwrap_or_else(|| scheduler.boundary());
            return Ok(scheduler.explain(boundary));
        };
        let then = scheduler.at(seq)?;
        let boundary = boundary.unwrap_or_else(|| then.boundary());
        Ok(then.explain(boundary, then.state().at()))
    })?;
    Ok(Answer::ok(&explanation))
}

pub(crate) fn why_not(asked: &Asked) -> Result<Answer, Problem> {
    let decision: DecisionKind = named(asked, "decision")?.ok_or_else(|| {
        Problem::malformed("name the decision that did not come: `?decision=StartModelTurn`")
    })?;
    let at = entry(asked)?;
    let boundary = boundary(asked)?;
    let ways = asked.store.with(asked.agent()?, |scheduler| {
        let Some(seq) = at else {
            let boundary = boundary.unwrap_or_else(|| scheduler.boundary());
            return Ok(scheduler.why_not(boundary, decision));
        };
        let then = scheduler.at(seq)?;
        let boundary = boundary.unwrap_or_else(|| then.boundary());
        Ok(then.why_not(boundary, decision, then.state().at()))
    })?;
    Ok(Answer::ok(&ways))
}

fn boundary(asked: &Asked) -> Result<Option<Boundary>, Problem> {
    named(asked, "boundary")
}

/// A name of the query, such as that of a decision.
fn named<T: json::Readable>(asked: &Asked, name: &str) -> Result<Option<T>, Problem> {
    let read = |given: &String| json::read(&json::write(given));
    let read = asked.query.get(name).map(read).transpose();
    read.map_err(|why| Problem::malformed(format!("`{name}`: {why}")))
}

/// The entry that the query asks for.
fn entry(asked: &Asked) -> Result<Option<Seq>, Problem> {
    let read = asked.query.get("at").map(|at| at.parse().map(Seq)).transpose();
    read.map_err(|_| Problem::malformed("`at` is the number of an entry, from 1"))
}
