//! What is said to agents.

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use wakeful_core::{
    fact::outcome::{Answer as Outcome, Refusal},
    host::Receipt,
};

use crate::{
    problem::Problem,
    routes::{Answer, Asked},
    store,
};

/// The header by which a client repeats a request safely.
const KEY: &str = "idempotency-key";

/// The body of a message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    /// What the operator says.
    text: String,
    /// The work item that it is about.
    #[serde(default)]
    work_item_id: Option<String>,
    /// `interject`, `next`, `normal` or `background`.
    #[serde(default)]
    lane: Option<String>,
}

pub(crate) fn message(asked: &Asked) -> Result<Answer, Problem> {
    let said: Message = serde_json::from_str(asked.text()?)
        .map_err(|why| Problem::malformed(format!("a message is `{{\"text\": \"…\"}}`: {why}")))?;
    let mut message = json!({
        "id": message_id(asked)?,
        "kind": "operator_prompt",
        "origin": { "kind": "operator" },
        "trust": "trusted_operator",
        "body": { "type": "text", "text": said.text },
    });
    if let Some(lane) = said.lane {
        message["priority"] = lane.into();
    }
    if let Some(item) = said.work_item_id {
        message["work_item_id"] = item.into();
    }
    propose(asked, &json!({ "fact": "message_queued", "message": message }).to_string())
}

pub(crate) fn fact(asked: &Asked) -> Result<Answer, Problem> {
    propose(asked, asked.text()?)
}

fn propose(asked: &Asked, fact: &str) -> Result<Answer, Problem> {
    let receipt = asked.store.with(asked.agent()?, |scheduler| store::said(scheduler, fact))?;
    receipt_of(&receipt)
}

/// The answer to a fact. The same request twice gets the same status; another body under the same
/// key is refused, and so is what names something that is not there.
pub(crate) fn receipt_of(receipt: &Receipt) -> Result<Answer, Problem> {
    match &receipt.answer {
        Outcome::Ignored { reason: Refusal::ConflictingDuplicate, because } => Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "conflicting_duplicate",
            format!("entry {because} has this id or key with another content: use a new one"),
        )),
        _ => Ok(Answer::with(StatusCode::OK, receipt)),
    }
}

/// The id of a message: of its key and its sender, so that two clients neither collide nor see each
/// other's receipts, and nobody can name a message of the scheduler. Without a key it is random.
fn message_id(asked: &Asked) -> Result<String, Problem> {
    let Some(key) = asked.header(KEY) else {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|_| Problem::store())?;
        return Ok(format!("said:{}", hex(&bytes)));
    };
    if key.is_empty() || key.len() > 255 {
        return Err(Problem::malformed(format!("`{KEY}` has 1 to 255 bytes")));
    }
    let sender = asked.grant.as_ref().map_or("", |grant| grant.token_hash.as_str());
    let digest = Sha256::new().chain_update(sender).chain_update([0]).chain_update(key).finalize();
    Ok(format!("key:{}", hex(&digest)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
