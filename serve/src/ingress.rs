//! Deliveries from outside (contract 15.2). The token of the path says which agent and which
//! trigger; nothing else is asked of the sender.

use axum::http::StatusCode;
use serde_json::json;
use wakeful_core::{
    fact::outcome::{Answer as Outcome, Refusal},
    id::{AgentId, ExternalTriggerId},
    json::{self, RawJson},
};
use wakeful_host::token::Token;

use crate::{
    problem::Problem,
    routes::{Answer, Asked},
    store,
};

/// The headers in which senders name a delivery: Standard Webhooks, GitHub, CloudEvents.
const DELIVERY_IDS: [&str; 3] = ["webhook-id", "x-github-delivery", "ce-id"];

/// The headers in which they name the event.
const EVENTS: [&str; 2] = ["x-github-event", "ce-type"];

pub(crate) fn deliver(asked: &Asked) -> Result<Answer, Problem> {
    let token = Token::shown(asked.path.get("token").map_or("", String::as_str));
    let (agent, trigger) = find(asked, &token)?;
    let named = |names: &[&str]| names.iter().find_map(|name| asked.header(name));
    let mut fact = json!({
        "fact": "external_trigger_delivered",
        "external_trigger_id": trigger,
        "token_hash": token.hash(),
        "delivery_id": named(&DELIVERY_IDS).map_or_else(new_id, |id| Ok(id.to_owned()))?,
    });
    let kind = asked.header("content-type");
    if !asked.body.is_empty() {
        let text = asked.text()?;
        let is_json = kind.is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json")
        });
        fact["content"] = match is_json {
            true => {
                let value: RawJson = json::read(text)
                    .map_err(|why| Problem::malformed(format!("the body is not JSON: {why}")))?;
                serde_json::to_value(json!({ "type": "json", "value": value }))
                    .map_err(|why| Problem::malformed(why.to_string()))?
            }
            false => json!({ "type": "text", "text": text }),
        };
    }
    for (field, value) in [("content_type", kind), ("event_type", named(&EVENTS))] {
        if let Some(value) = value {
            fact[field] = value.into();
        }
    }
    let receipt =
        asked.store.with(&agent, |scheduler| store::said(scheduler, &fact.to_string()))?;
    match receipt.answer {
        // It was taken away since it was found.
        Outcome::Ignored { reason: Refusal::WrongToken | Refusal::AlreadyTerminal, .. } => {
            Err(unknown())
        }
        // The sender learns nothing of the agent. A repeated delivery is as good as the first.
        _ => Ok(Answer::with(StatusCode::ACCEPTED, &json!({ "accepted": true }))),
    }
}

/// The agent and the trigger with this token.
fn find(asked: &Asked, token: &Token) -> Result<(AgentId, ExternalTriggerId), Problem> {
    let hash = token.hash();
    for agent in asked.store.agents()? {
        let found = asked.store.with(&agent, |scheduler| {
            let mut triggers = scheduler.state().external_triggers();
            let found = triggers.find(|trigger| trigger.token_hash == hash.as_str());
            Ok(found.map(|trigger| trigger.external_trigger_id.clone()))
        });
        // An agent that cannot be read does not keep others from being reached.
        if let Ok(Some(trigger)) = found {
            return Ok((agent, trigger));
        }
    }
    Err(unknown())
}

fn unknown() -> Problem {
    let detail = "no external trigger has this token: ask the agent's operator for a new address";
    Problem::new(StatusCode::NOT_FOUND, "no_such_token", detail)
}

fn new_id() -> Result<String, Problem> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| Problem::store())?;
    Ok(format!("in:{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}
