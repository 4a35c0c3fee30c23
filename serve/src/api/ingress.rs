//! Deliveries from outside (contract 15.2). The token of the path says which agent and which
//! trigger; nothing else is asked of the sender, unless its deliveries must be signed.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use wakeful_core::{
    fact::{
        Fact,
        ingress::ExternalTriggerDelivered,
        outcome::{Answer as Answered, Refusal},
    },
    json,
    record::queue::envelope::MessageBody,
};
use wakeful_host::token::Token;

use crate::{
    agents::{Outcome, digest},
    asked::{Answer, Asked},
    problem::Problem,
    random,
};

/// The headers in which senders name a delivery: Standard Webhooks, GitHub, CloudEvents.
const DELIVERY_IDS: [&str; 3] = ["webhook-id", "x-github-delivery", "ce-id"];

/// The headers in which they name the event.
const EVENTS: [&str; 2] = ["x-github-event", "ce-type"];

/// The headers in which they name themselves.
const SOURCES: [&str; 1] = ["ce-source"];

/// The answer to a delivery. The sender learns nothing of the agent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Delivered {
    /// Whether it is recorded. A repeated delivery is as good as the first.
    accepted: bool,
}

pub(crate) fn deliver(asked: &Asked) -> Result<Answer, Problem> {
    let delivered = delivered(asked);
    let outcome = match &delivered {
        Ok(outcome) => outcome,
        Err(problem) if problem.status == StatusCode::NOT_FOUND => "unknown_token",
        Err(problem) if problem.status < 500 => "refused",
        Err(_) => "failed",
    };
    asked.agents.metrics.delivered(outcome);
    delivered.map(|_| Answer::with(StatusCode::ACCEPTED, &Delivered { accepted: true }))
}

/// Records a delivery, and says what became of it in a word.
fn delivered(asked: &Asked) -> Result<&'static str, Problem> {
    let token = Token::shown(asked.part("token"));
    let hash = token.hash();
    // The hash of a token is one.
    let digest = digest(hash.as_str()).ok_or_else(Problem::no_such_token)?;
    let find = || asked.agents.trigger(&digest);
    let (cell, trigger) = match find() {
        Some(found) => found,
        None => {
            // Before each agent was read, its triggers are not known.
            asked.agents.ready()?;
            // Another process may have made it a moment ago.
            asked.agents.look_closer()?;
            match find() {
                Some(found) => found,
                None => asked.agents.published(&digest)?.ok_or_else(Problem::no_such_token)?,
            }
        }
    };
    if let Some(check) = asked.agents.checks.of(&cell.agent, &trigger) {
        check
            .passes(&asked.headers, &asked.body)
            .map_err(|why| Problem::new(StatusCode::UNAUTHORIZED, "wrong_signature", why))?;
    }
    let named = |names: &[&str]| {
        names.iter().find_map(|name| asked.header(name)).filter(|it| !it.is_empty())
    };
    let delivery_id = match named(&DELIVERY_IDS) {
        Some(id) => id.to_owned(),
        None => format!("in:{}", random::id()?),
    };
    let fact = Fact::ExternalTriggerDelivered(ExternalTriggerDelivered {
        external_trigger_id: trigger,
        token_hash: hash,
        delivery_id: delivery_id.into(),
        content: content(asked)?,
        content_type: asked.header("content-type").map(str::to_owned),
        source: named(&SOURCES).map(str::to_owned),
        event_type: named(&EVENTS).map(str::to_owned),
    });
    let said = asked.agents.say(&cell, &json::write(&fact), false)?;
    let Outcome::Said(said) = said else { return Ok("stored") };
    match said.receipt.answer {
        // It was taken away since it was found.
        Answered::Ignored { reason: Refusal::WrongToken | Refusal::AlreadyTerminal, .. } => {
            Err(Problem::no_such_token())
        }
        Answered::Ignored { .. } => Ok("ignored"),
        Answered::Accepted => Ok("accepted"),
    }
}

fn content(asked: &Asked) -> Result<Option<MessageBody>, Problem> {
    if asked.body.is_empty() {
        return Ok(None);
    }
    let text = asked.text()?;
    if Token::is_like(text.trim()) {
        let detail = "the body is a token of a trigger, which would be in the ledger: send it in \
                      the path only";
        return Err(Problem::malformed(detail));
    }
    let is_json = asked.header("content-type").is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json")
    });
    if !is_json {
        return Ok(Some(MessageBody::text(text)));
    }
    let value = json::read(text).map_err(|why| {
        Problem::malformed(format!("the body is not the JSON that its `Content-Type` says: {why}"))
    })?;
    Ok(Some(MessageBody::Json { value }))
}
