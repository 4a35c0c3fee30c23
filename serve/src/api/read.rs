//! What is asked about an agent, and about the server. Nothing here appends.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use wakeful_core::{
    host::Ledger,
    id::Seq,
    record::decision::{Boundary, DecisionKind},
};

use crate::{
    asked::{Answer, Asked},
    openapi,
    problem::Problem,
};

/// The answer to a probe.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Health {
    ok: bool,
}

pub(crate) fn health(_: &Asked) -> Result<Answer, Problem> {
    Ok(Answer::ok(&Health { ok: true }))
}

pub(crate) fn ready(asked: &Asked) -> Result<Answer, Problem> {
    asked.agents.ready()?;
    Ok(Answer::ok(&Health { ok: true }))
}

/// The media type of Prometheus text.
pub(crate) const PROMETHEUS: &str = "text/plain; version=0.0.4";

pub(crate) fn metrics(asked: &Asked) -> Result<Answer, Problem> {
    let text = asked.agents.metrics.text(&asked.agents);
    Ok(Answer { status: StatusCode::OK, kind: PROMETHEUS, text, cookie: None })
}

pub(crate) fn openapi(_: &Asked) -> Result<Answer, Problem> {
    Ok(Answer::json(StatusCode::OK, openapi::text()))
}

/// The newest snapshot that the store has, as it is stored. It need not be of the newest entry: a
/// client reads on after it, and so has the state without reading the whole ledger.
pub(crate) fn snapshot(asked: &Asked) -> Result<Answer, Problem> {
    let cell = asked.cell()?;
    let stored = asked.agents.reading(&cell).load_snapshot().map_err(|_| Problem::store())?;
    Ok(stored.map_or_else(Answer::nothing, |text| Answer::json(StatusCode::OK, text)))
}

pub(crate) fn agent(asked: &Asked) -> Result<Answer, Problem> {
    let summary = asked.agents.with(&asked.cell()?, |scheduler, _| Ok(scheduler.summary()))?;
    Ok(Answer::ok(&summary))
}

pub(crate) fn explain(asked: &Asked) -> Result<Answer, Problem> {
    let at = asked.number("at")?.map(Seq);
    let boundary: Option<Boundary> = asked.named("boundary")?;
    let explanation = asked.agents.with(&asked.cell()?, |scheduler, _| {
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
    let decision: DecisionKind = asked.named("decision")?.ok_or_else(|| {
        Problem::malformed("name the decision that did not come: `?decision=StartModelTurn`")
    })?;
    let at = asked.number("at")?.map(Seq);
    let boundary: Option<Boundary> = asked.named("boundary")?;
    let ways = asked.agents.with(&asked.cell()?, |scheduler, _| {
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
