//! What is said to agents.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use wakeful_core::{
    derive::summary::TriggerSummary,
    fact::{
        Fact,
        ingress::{ExternalTriggerCreated, ExternalTriggerNamed, ExternalTriggerRotated},
        outcome::{Answer as Answered, Refusal},
    },
    host::Receipt,
    id::{ExternalTriggerId, MessageId, Seq, WorkItemId},
    json,
    record::{
        Record,
        chain::Head,
        control::WakeHint,
        ingress::{CallbackDeliveryMode, ExternalTrust},
        queue::envelope::{Priority, QueueStatus},
        turn::TurnRecord,
    },
    story::Request,
};
use wakeful_host::{
    driver,
    ledger::StoreLedger,
    token::{Token, hex},
};

use crate::{
    access::Scope,
    agents::{Outcome, Said, Stored},
    asked::{Answer, Asked},
    problem::Problem,
    random,
    route::HIGHEST,
};

/// The header by which a client repeats a request safely.
pub(crate) const KEY: &str = "Idempotency-Key";

/// The most bytes of a key.
const KEY_BYTES: usize = 255;

/// A key.
#[derive(JsonSchema)]
// The document has the core's type of this name too.
#[schemars(rename = "IdempotencyKey")]
pub(crate) struct Key(
    #[schemars(length(min = 1, max = 255))]
    #[allow(dead_code)]
    String,
);

/// What is said to an agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// The document has the core's type of this name too.
#[schemars(rename = "SpokenMessage")]
pub(crate) struct NewMessage {
    /// What is said.
    text: String,
    /// Who says it. Its operator, if absent.
    #[serde(default)]
    kind: Kind,
    /// The work item that it is about.
    #[serde(default)]
    work_item_id: Option<WorkItemIdText>,
    /// The lane of the queue; `normal` if absent.
    #[serde(default, deserialize_with = "lane")]
    lane: Option<Priority>,
}

/// The id of a work item.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct WorkItemIdText(#[schemars(with = "crate::route::Id")] String);

/// Who says something.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The agent's operator. This needs the scope `prompt`.
    #[default]
    Prompt,
    /// A system outside, whose word is evidence and not an instruction. The scope `ingress` is
    /// enough.
    Event,
}

/// A lane by its name, as the core reads it.
fn lane<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Priority>, D::Error> {
    let Some(name) = Option::<String>::deserialize(from)? else { return Ok(None) };
    json::read(&json::write(&name)).map(Some).map_err(serde::de::Error::custom)
}

/// What was answered to a message at once.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Told {
    /// By the agent.
    Answered(Receipt),
    /// Another server drives the agent, and records the message soon.
    Stored(Stored),
}

/// What became of a message.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Heard {
    /// The id of the message.
    message_id: MessageId,
    #[serde(flatten)]
    told: Told,
    /// The turn that the message started, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnRecord>,
    /// How the message was settled, if no turn of its own has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<QueueStatus>,
    /// The entry after which it is followed.
    #[serde(skip)]
    recorded_at: Seq,
}

impl Heard {
    /// The status of an answer that does not wait for the turn.
    pub(crate) fn status(&self) -> StatusCode {
        match self.told {
            Told::Answered(_) => StatusCode::OK,
            Told::Stored(_) => StatusCode::ACCEPTED,
        }
    }

    pub(crate) fn answer(&self, status: StatusCode) -> Answer {
        Answer::with(status, self)
    }
}

/// Records a message.
pub(crate) fn message(asked: &Asked) -> Result<Heard, Problem> {
    let said: NewMessage = asked.json()?;
    let grant = asked.grant.as_deref();
    let may = |scope| grant.is_some_and(|grant| grant.scopes.contains(&scope));
    let id = message_id(asked)?;
    let mut message = json!({ "id": id, "body": { "type": "text", "text": said.text } });
    let fields = match said.kind {
        Kind::Prompt if !may(Scope::Prompt) => {
            return Err(Problem::forbidden(Scope::Prompt, grant));
        }
        Kind::Prompt => json!({
            "kind": "operator_prompt",
            "origin": { "kind": "operator", "actor_id": grant.map(|grant| &grant.name) },
            "trust": "trusted_operator",
            "delivery_surface": "http_control_prompt",
            "admission_context": "control_authenticated",
        }),
        Kind::Event => json!({
            "kind": "webhook_event",
            "origin": { "kind": "webhook", "source": grant.map_or("unknown", |it| &it.name) },
            // Only one who may operate the agent vouches for what it passes on.
            "trust": if may(Scope::Operate) { "trusted_integration" } else { "untrusted_external" },
            "delivery_surface": "http_webhook",
            "admission_context": "control_authenticated",
        }),
    };
    for (name, value) in fields.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    if let Some(lane) = said.lane {
        message["priority"] = json!(lane.to_string());
    }
    let cell = asked.cell()?;
    if let Some(WorkItemIdText(item)) = said.work_item_id {
        // The scheduler would take it, and nothing would tell of the wrong id.
        let id = WorkItemId::from(item.as_str());
        let is_there = asked
            .agents
            .with(&cell, |scheduler, _| Ok(scheduler.state().work().items.contains_key(&id)))?;
        if !is_there {
            let detail =
                format!("there is no open work item `{item}`: `GET …/work-items` lists them");
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no_such_item", detail));
        }
        message["work_item_id"] = item.into();
    }
    let fact = json!({ "fact": "message_queued", "message": message }).to_string();
    let message_id = MessageId::from(id);
    // It is followed from what is known before.
    let before = cell.head();
    let receipt = match checked(asked.agents.say(&cell, &fact, false)?)? {
        Outcome::Said(said) => said.receipt,
        Outcome::Stored(stored) => {
            let told = Told::Stored(stored);
            return Ok(Heard { message_id, told, turn: None, settled: None, recorded_at: before });
        }
    };
    let recorded_at = match receipt.answer {
        Answered::Accepted => receipt.head.seq,
        // It was recorded, and may be settled, long before.
        Answered::Ignored { because, .. } => asked.agents.with(&cell, |scheduler, _| {
            Ok(scheduler.state().entry_of(&message_id).unwrap_or(because))
        })?,
    };
    let told = Told::Answered(receipt);
    Ok(Heard { message_id, told, turn: None, settled: None, recorded_at })
}

/// Follows a message in the ledger until its turn has ended.
pub(crate) struct Following {
    ledger: StoreLedger,
    head: Option<Head>,
    from: Seq,
    message: MessageId,
    /// Whether a run has taken it.
    is_running: bool,
}

impl Following {
    pub(crate) fn new(ledger: StoreLedger, heard: &Heard) -> Self {
        let message = heard.message_id.clone();
        Self { ledger, head: None, from: heard.recorded_at, message, is_running: false }
    }

    /// Reads on. Returns whether the message is settled now, and how is in `heard`.
    pub(crate) fn look(&mut self, heard: &mut Heard) -> Result<bool, Problem> {
        let failed = |why: driver::DriveError| Problem::broken(why.to_string());
        let head = match self.head {
            Some(head) => head,
            None => driver::head_at(&mut self.ledger, self.from).map_err(failed)?,
        };
        let (message, is_running) = (&self.message, &mut self.is_running);
        let read = driver::read(&mut self.ledger, head, |entry, _| match &entry.record {
            Record::Turn(turn) if turn.message_id == *message => {
                *is_running = true;
                if turn.kind.is_some() {
                    heard.turn = Some(turn.clone());
                }
            }
            Record::QueueEntry(moved)
                if moved.message_id == *message && moved.status.is_terminal() =>
            {
                heard.settled = Some(moved.status);
            }
            _ => {}
        });
        self.head = Some(read.map_err(failed)?.0);
        if heard.turn.is_some() {
            heard.settled = None;
            return Ok(true);
        }
        // A message that no run took was reduced or dropped, or went into another one's run.
        Ok(heard.settled.is_some() && !self.is_running)
    }
}

pub(crate) fn fact(asked: &Asked) -> Result<Answer, Problem> {
    // Whether the agent goes on in another place, its store says when the fact is stored.
    let cell = asked.agents.cell(&asked.agent())?;
    // The receipt of a fact says itself that its id has another content, and by which entry.
    Ok(answer(&asked.agents.say(&cell, asked.text()?, true)?))
}

/// What an agent is told to do.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Control {
    /// What to do.
    action: Action,
    /// Why, for `wake`.
    #[serde(default)]
    reason: Option<String>,
}

/// What an agent can be told.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// Go on after a stop.
    Start,
    /// Abort the open turn, and begin nothing until it is started.
    Stop,
    /// Look again.
    Wake,
    /// The host that runs its turns has begun anew: the open turn of the process before is
    /// interrupted, and so are its tasks.
    Restart,
}

pub(crate) fn control(asked: &Asked) -> Result<Answer, Problem> {
    let told: Control = asked.json()?;
    let cell = asked.cell()?;
    let fact = match told.action {
        Action::Start => json::write(&Request::Start.fact()),
        Action::Stop => json::write(&Request::Stop.fact()),
        Action::Wake => {
            let reason = told.reason.unwrap_or_else(|| "a client asks".to_owned());
            json::write(&Fact::WakeHintSubmitted(WakeHint::new(reason)))
        }
        Action::Restart => {
            if cell.turns() != Some(crate::agents::Turns::Elsewhere) {
                return Err(Problem::not_elsewhere(cell.agent.as_str()));
            }
            r#"{"fact":"runtime_restarted"}"#.to_owned()
        }
    };
    Ok(answer(&checked(asked.agents.say(&cell, &fact, true)?)?))
}

/// A new external trigger.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTrigger {
    /// Its id, unique within the agent.
    #[schemars(with = "crate::route::Id")]
    external_trigger_id: String,
    /// What is delivered, in words; its id if absent.
    #[serde(default)]
    description: Option<String>,
    /// What a delivery becomes; `wake_hint` if absent.
    #[serde(default)]
    delivery_mode: Mode,
    /// The item whose waits alone its deliveries end, and with which it ends.
    #[serde(default)]
    work_item_id: Option<WorkItemIdText>,
    /// Whether its first delivery ends it.
    #[serde(default)]
    one_shot: bool,
    /// The time after which it ends, in milliseconds.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    expires_in_ms: Option<u64>,
    /// Whether those who deliver are trusted as an integration of the operator.
    #[serde(default)]
    trusted: bool,
}

/// A whole number, which some programs write with a fraction of zero.
fn whole<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(from)? else { return Ok(None) };
    let text = number.to_string();
    let digits = text.strip_suffix(".0").unwrap_or(&text);
    let number = digits.parse().ok().filter(|number| *number <= HIGHEST);
    number.map(Some).ok_or_else(|| {
        serde::de::Error::custom(format!("`{text}` is not a whole number from 0 to {HIGHEST}"))
    })
}

/// What a delivery becomes.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// A wake hint: several are one tick.
    #[default]
    WakeHint,
    /// A message: each starts a turn of its own.
    EnqueueMessage,
}

/// A trigger with its token, which is shown once.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MadeTrigger {
    /// The id of the trigger.
    external_trigger_id: ExternalTriggerId,
    /// Those who have it can deliver.
    token: String,
    /// The path to which they deliver with `POST`.
    path: String,
    /// The trigger, as the list shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<TriggerSummary>,
}

pub(crate) fn make_trigger(asked: &Asked) -> Result<Answer, Problem> {
    let new: NewTrigger = asked.json()?;
    if new.expires_in_ms == Some(0) {
        return Err(Problem::malformed("`expires_in_ms` is above zero"));
    }
    let id = ExternalTriggerId::from(new.external_trigger_id.as_str());
    let token = Token::random().map_err(|_| Problem::store())?;
    let fact = Fact::ExternalTriggerCreated(ExternalTriggerCreated {
        external_trigger_id: id.clone(),
        token_hash: token.hash(),
        work_item_id: new.work_item_id.map(|WorkItemIdText(item)| item.into()),
        description: new.description.unwrap_or_else(|| new.external_trigger_id.clone()),
        delivery_mode: match new.delivery_mode {
            Mode::WakeHint => CallbackDeliveryMode::WakeHint,
            Mode::EnqueueMessage => CallbackDeliveryMode::EnqueueMessage,
        },
        trust: match new.trusted {
            true => ExternalTrust::TrustedIntegration,
            false => ExternalTrust::UntrustedExternal,
        },
        one_shot: new.one_shot,
        expires_at: None,
        expires_in_ms: new.expires_in_ms,
    });
    with_token(asked, StatusCode::CREATED, id, &token, &fact)
}

pub(crate) fn rotate_trigger(asked: &Asked) -> Result<Answer, Problem> {
    let id = ExternalTriggerId::from(asked.part("trigger"));
    let token = Token::random().map_err(|_| Problem::store())?;
    let rotated =
        ExternalTriggerRotated { external_trigger_id: id.clone(), token_hash: token.hash() };
    with_token(asked, StatusCode::OK, id, &token, &Fact::ExternalTriggerRotated(rotated))
}

/// Reports a fact, and shows the token if it was accepted.
fn with_token(
    asked: &Asked,
    status: StatusCode,
    id: ExternalTriggerId,
    token: &Token,
    fact: &Fact,
) -> Result<Answer, Problem> {
    let cell = asked.cell()?;
    // The triggers of a ledger that no driver has taken over are inert (contract 15.1).
    if !asked.agents.with(&cell, |scheduler, _| Ok(scheduler.state().is_driven()))? {
        let detail = "the agent never ran: say who runs its turns with `PUT /v1/agents/{agent}`";
        return Err(Problem::new(StatusCode::CONFLICT, "wrong_state", detail));
    }
    accepted(&asked.agents.say(&cell, &json::write(fact), true)?)?;
    let summary = asked.agents.with(&cell, |scheduler, _| Ok(scheduler.summary()))?;
    let mut triggers = summary.active_external_triggers.into_iter();
    let trigger = triggers.find(|trigger| trigger.external_trigger_id == id);
    let path = format!("/in/{}", token.as_str());
    let token = token.as_str().to_owned();
    Ok(Answer::with(status, &MadeTrigger { external_trigger_id: id, token, path, trigger }))
}

pub(crate) fn revoke_trigger(asked: &Asked) -> Result<Answer, Problem> {
    let cell = asked.cell()?;
    let id = ExternalTriggerId::from(asked.part("trigger"));
    let named = ExternalTriggerNamed { external_trigger_id: id.clone() };
    let fact = json::write(&Fact::ExternalTriggerRevoked(named));
    accepted(&asked.agents.say(&cell, &fact, true)?)?;
    asked.agents.checks.forget(asked.agents.store(), &asked.agent(), &id)?;
    Ok(Answer::nothing())
}

/// What became of what was said.
fn answer(outcome: &Outcome) -> Answer {
    let status = match outcome {
        Outcome::Said(_) => StatusCode::OK,
        Outcome::Stored(_) => StatusCode::ACCEPTED,
    };
    Answer::with(status, outcome)
}

/// Refuses another content under a known id.
fn checked(outcome: Outcome) -> Result<Outcome, Problem> {
    let Outcome::Said(Said { receipt, .. }) = &outcome else { return Ok(outcome) };
    match &receipt.answer {
        Answered::Ignored { reason: Refusal::ConflictingDuplicate, because } => {
            Err(Problem::conflicting(format!(
                "entry {because} has this id or key with another content: use a new one"
            )))
        }
        _ => Ok(outcome),
    }
}

/// Refuses what the scheduler ignored, for requests that name one thing which must be there.
fn accepted(outcome: &Outcome) -> Result<(), Problem> {
    // Such a fact is never stored for another server.
    let Outcome::Said(said) = outcome else { return Ok(()) };
    let (reason, because) = match &said.receipt.answer {
        Answered::Accepted => return Ok(()),
        Answered::Ignored { reason, because } => (reason, because),
    };
    Err(match reason {
        Refusal::Unknown => Problem::no_trigger(),
        Refusal::Duplicate | Refusal::ConflictingDuplicate => Problem::new(
            StatusCode::CONFLICT,
            "taken",
            format!("entry {because} has a trigger with this id: use another one, or rotate it"),
        ),
        reason => Problem::new(
            StatusCode::CONFLICT,
            "ignored",
            format!(
                "the agent ignores this as {}, because of entry {because}",
                json::write(reason)
            ),
        ),
    })
}

/// The id of a message: of its key and its sender, so that two clients neither collide nor see each
/// other's receipts, and nobody can name a message of the scheduler. Without a key it is random.
fn message_id(asked: &Asked) -> Result<String, Problem> {
    let Some(key) = asked.headers.get(KEY) else {
        return Ok(format!("said:{}", random::id()?));
    };
    if key.is_empty() || key.len() > KEY_BYTES {
        return Err(Problem::malformed(format!("`{KEY}` has 1 to {KEY_BYTES} bytes")));
    }
    let sender = asked.grant.as_ref().map_or("", |grant| grant.token_hash.as_str());
    let digest = Sha256::new()
        .chain_update(sender)
        .chain_update([0])
        .chain_update(key.as_bytes())
        .finalize();
    Ok(format!("key:{}", hex(&digest)))
}
