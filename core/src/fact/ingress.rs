//! External triggers: how the outside reaches an agent (contract 15).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fact::{
        outcome::{Outcome, Refusal},
        work::can_be_owned,
    },
    id::{DeliveryId, ExternalTriggerId, Seq, WorkItemId},
    record::{
        Record,
        control::{ControlRecord, WakeHint},
        ingress::{DeliveryKey, ExternalTriggerRecord, ExternalTriggerStatus, ExternalTrust},
        queue::{
            admission,
            entry::QueueEntryRecord,
            envelope::{
                AdmissionContext, DeliverySurface, MessageBody, MessageKind, MessageOrigin,
                Priority, QueueStatus,
            },
            message::MessageRecord,
        },
        text,
        waiting::{CallbackDeliveryMode, EndedBy, ExternalTriggerScope, intent},
    },
    state::{
        State,
        ingress::{OpenTrigger, TriggerEnd},
    },
    time::Timestamp,
};
use wakeful_json::{Map, RawJson, Readable, Value, through_readable};

/// The hash of a trigger's token: 64 lower-case hexadecimal digits. The host makes the token, gives
/// it away and compares hashes; use SHA-256, as the reference runtime does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenHash(String);

impl TokenHash {
    /// Reads a hash; `None` if the text is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 64 && text.bytes().all(is_digit)).then(|| Self(text.into()))
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Readable for TokenHash {
    fn read(value: &Value<'_>) -> Self {
        Self::parse(&value.text("a string")).unwrap_or_else(|| {
            value.is_wrong(&"a token hash has 64 lower-case hexadecimal digits");
            Self(String::new())
        })
    }
}

through_readable!(TokenHash);

/// Fact `external_trigger_created`: from now on the outside may deliver with the token of this
/// hash.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalTriggerCreated {
    /// Chosen by the host, unique within the agent.
    pub external_trigger_id: ExternalTriggerId,
    /// The hash of its token.
    pub token_hash: TokenHash,
    /// The item whose waits alone its deliveries end, and with which it ends; absent means that it
    /// serves the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What is delivered, in words.
    pub description: String,
    /// What a delivery becomes.
    pub delivery_mode: CallbackDeliveryMode,
    /// How far those who deliver are trusted.
    pub trust: ExternalTrust,
    /// Whether its first delivery ends it.
    #[serde(default)]
    pub one_shot: bool,
    /// When it expires, as an instant that the host or the model named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it expires, as a duration from now in milliseconds. It counts instead of `expires_at`,
    /// and a correction of the clock moves it (contract 1.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
}

/// Fact `external_trigger_rotated`: the trigger has a new token, and the old one counts no longer.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalTriggerRotated {
    /// The trigger.
    pub external_trigger_id: ExternalTriggerId,
    /// The hash of its new token.
    pub token_hash: TokenHash,
}

/// Fact `external_trigger_revoked`: nothing is delivered to the trigger any more.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalTriggerNamed {
    /// The trigger.
    pub external_trigger_id: ExternalTriggerId,
}

/// Fact `external_trigger_delivered`: someone outside delivered with a token.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalTriggerDelivered {
    /// The trigger that the host found by the token.
    pub external_trigger_id: ExternalTriggerId,
    /// The hash of the token that was shown.
    pub token_hash: TokenHash,
    /// The sender's id of the delivery. The same id to the same trigger is the same delivery.
    pub delivery_id: DeliveryId,
    /// What was delivered, if there is content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<MessageBody>,
    /// The media type of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The system that delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// That system's own name for the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
}

/// The transition of `external_trigger_created`.
pub(crate) fn created(state: &State, fact: ExternalTriggerCreated, at: Timestamp) -> Outcome {
    let seen = state.ingress.seen(&fact.external_trigger_id);
    if let (None, Some(item)) = (seen, &fact.work_item_id)
        && let Err((reason, because)) = can_be_owned(state, item)
    {
        return Outcome::ignored(reason, because);
    }
    let trigger = Record::ExternalTrigger(ExternalTriggerRecord {
        external_trigger_id: fact.external_trigger_id,
        target_agent_id: state.control.agent_id.clone(),
        waiting_intent_id: None,
        scope: match fact.work_item_id {
            Some(_) => ExternalTriggerScope::WorkItem,
            None => ExternalTriggerScope::Agent,
        },
        work_item_id: fact.work_item_id,
        description: fact.description,
        delivery_mode: fact.delivery_mode,
        trust: fact.trust,
        token_hash: fact.token_hash.0,
        status: ExternalTriggerStatus::Active,
        one_shot: fact.one_shot,
        created_at: at,
        expires_at: fact.expires_in_ms.map(|ms| at.plus_ms(ms)).or(fact.expires_at),
        expires_in_ms: fact.expires_in_ms,
        revoked_at: None,
        last_delivered_at: None,
        last_delivery_id: None,
        delivery_count: 0,
    });
    match seen {
        Some(seen) => Outcome::repeated(state, &trigger, seen),
        None => Outcome::accepted([trigger].into()),
    }
}

/// The transition of `external_trigger_rotated`. It cancels the intents of the agent that name the
/// trigger, as a revocation would (contract 15.6).
pub(crate) fn rotated(state: &State, fact: &ExternalTriggerRotated, at: Timestamp) -> Outcome {
    let open = match open(state, &fact.external_trigger_id, at) {
        Ok(open) => open,
        Err((reason, because)) => return Outcome::ignored(reason, because),
    };
    if open.record.token_hash == fact.token_hash.as_str() {
        return Outcome::ignored(Refusal::Duplicate, open.seq);
    }
    let rotated = Record::ExternalTrigger(ExternalTriggerRecord {
        token_hash: fact.token_hash.0.clone(),
        ..open.record.clone()
    });
    let standing = state
        .intents_naming(&fact.external_trigger_id)
        .filter(|intent| intent.record.scope == ExternalTriggerScope::Agent)
        .flat_map(|intent| intent::ended(&intent.record, EndedBy::TriggerEnded, at));
    Outcome::accepted([rotated].into_iter().chain(standing).collect())
}

/// The transition of `external_trigger_revoked`. The waits that nothing else can end follow as an
/// arrival, when what was delivered before has met them (contract 15.6).
pub(crate) fn revoked(state: &State, fact: &ExternalTriggerNamed, at: Timestamp) -> Outcome {
    match open(state, &fact.external_trigger_id, at) {
        Ok(open) => Outcome::accepted([Record::ExternalTrigger(open.record.revoked(at))].into()),
        Err((reason, because)) => Outcome::ignored(reason, because),
    }
}

/// The records that end the triggers of a completed item (contract 15.6).
pub(crate) fn end_with_item(state: &State, item: &WorkItemId, at: Timestamp) -> Vec<Record> {
    state.triggers_of(item).map(|open| Record::ExternalTrigger(open.record.revoked(at))).collect()
}

/// The transition of `external_trigger_delivered`. It counts in every status of the agent: a
/// delivery cannot be repeated by those who wait for it (contract 15.3).
pub(crate) fn delivered(state: &State, fact: ExternalTriggerDelivered, at: Timestamp) -> Outcome {
    let key = DeliveryKey::new(&fact.external_trigger_id, &fact.delivery_id);
    let known = state.ingress.delivered(&fact.external_trigger_id, key);
    // Of an older delivery the message is known still, if it became one.
    if let Some(seq) = known.or_else(|| state.queue.seen(&key.message_id())) {
        return Outcome::ignored(Refusal::Duplicate, seq);
    }
    let open = match open(state, &fact.external_trigger_id, at) {
        Ok(open) => open,
        Err((reason, because)) => return Outcome::ignored(reason, because),
    };
    // The host found the trigger by this hash, but a rotation may have come between.
    if open.record.token_hash != fact.token_hash.as_str() {
        return Outcome::ignored(Refusal::WrongToken, open.seq);
    }
    let trigger = &open.record;
    let delivered = Record::ExternalTrigger(trigger.delivered(fact.delivery_id.clone(), at));
    let has_content = fact.content.as_ref().is_some_and(MessageBody::is_contentful);
    let hint = WakeHint {
        description: Some(trigger.description.clone()),
        source: fact.source.clone(),
        scope: Some(trigger.scope),
        external_trigger_id: Some(trigger.external_trigger_id.clone()),
        delivery_id: Some(fact.delivery_id.clone()),
        ..WakeHint::new(text::delivered(&trigger.description))
    };
    let message = message(trigger, fact, key, at);
    let mut records = Vec::from([delivered]);
    match trigger.delivery_mode {
        CallbackDeliveryMode::EnqueueMessage => records.extend(admission::records(message, at)),
        CallbackDeliveryMode::WakeHint => {
            if has_content {
                records.extend(deferred(message, at));
            }
            records.push(Record::Control(ControlRecord::WakeHintPending(hint)));
        }
    }
    Outcome::accepted(records)
}

/// The message that is settled at once, so that the next turn is told its content (contract 5.3).
/// The body of the hint would be lost when hints are coalesced.
fn deferred(message: MessageRecord, at: Timestamp) -> [Record; 2] {
    let message = message.admitted();
    let entry = QueueEntryRecord::new(&message, QueueStatus::Processed, at);
    [Record::Message(message), Record::QueueEntry(entry)]
}

fn message(
    trigger: &ExternalTriggerRecord,
    fact: ExternalTriggerDelivered,
    key: DeliveryKey,
    at: Timestamp,
) -> MessageRecord {
    #[derive(Serialize)]
    struct Metadata<'a> {
        external_trigger_id: &'a ExternalTriggerId,
        callback_delivery_id: &'a DeliveryId,
        #[serde(skip_serializing_if = "Option::is_none")]
        content_type: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        event_type: Option<&'a str>,
    }
    let metadata = RawJson::from_value(&Metadata {
        external_trigger_id: &trigger.external_trigger_id,
        callback_delivery_id: &fact.delivery_id,
        content_type: fact.content_type.as_deref(),
        event_type: fact.event_type.as_deref(),
    });
    // Without content the delivery itself is the news.
    let body = fact.content.filter(MessageBody::is_contentful);
    MessageRecord {
        id: key.message_id(),
        agent_id: trigger.target_agent_id.clone(),
        created_at: at,
        kind: MessageKind::CallbackEvent,
        origin: MessageOrigin::Callback {
            descriptor_id: trigger.external_trigger_id.clone(),
            source: fact.source,
        },
        trust: trigger.trust.of_messages(),
        authority_class: None,
        priority: Priority::Normal,
        trigger_kind: None,
        work_item_id: trigger.only_item().cloned(),
        task_id: None,
        source_refs: Map::new(),
        body: body.unwrap_or_else(|| MessageBody::text(text::delivered(&trigger.description))),
        delivery_surface: Some(match trigger.delivery_mode {
            CallbackDeliveryMode::EnqueueMessage => DeliverySurface::HttpCallbackEnqueue,
            CallbackDeliveryMode::WakeHint => DeliverySurface::HttpCallbackWake,
        }),
        admission_context: Some(AdmissionContext::ExternalTriggerCapability),
        metadata: Some(metadata),
        correlation_id: None,
        causation_id: None,
    }
}

/// The trigger, if it can be used at an instant; otherwise why not, and the entry that decides so.
fn open<'a>(
    state: &'a State,
    id: &ExternalTriggerId,
    at: Timestamp,
) -> Result<&'a OpenTrigger, (Refusal, Seq)> {
    match (state.ingress.open.get(id), state.ingress.ended.get(id)) {
        (Some(open), _) if open.record.has_expired(at) => Err((Refusal::AlreadyTerminal, open.seq)),
        (Some(open), _) => Ok(open),
        (None, Some(ended)) => Err((Refusal::AlreadyTerminal, ended.seq)),
        // An imported trigger is inert.
        (None, None) => {
            let inert = state.ingress.inert.get(id).copied();
            Err((Refusal::Unknown, inert.unwrap_or(state.head.seq)))
        }
    }
}

/// Whether a wait of `owner` for this trigger can end; if not, why, and the entry that decides so.
/// `after` is the number of deliveries that the waiter has seen (contract 15.5).
pub(crate) fn can_come(
    state: &State,
    id: &ExternalTriggerId,
    owner: Option<&WorkItemId>,
    after: Option<u64>,
    at: Timestamp,
) -> Result<(), (Refusal, Seq)> {
    let was_seen = |count: u64| after.is_none_or(|seen| count <= seen);
    if let Some(open) = state.ingress.open.get(id).filter(|open| !open.record.has_expired(at)) {
        let trigger = &open.record;
        return match trigger.only_item() {
            Some(item) if Some(item) != owner => Err((Refusal::OtherOwner, open.seq)),
            _ if was_seen(trigger.delivery_count) => Ok(()),
            _ => Err((Refusal::AlreadySatisfied, open.seq)),
        };
    }
    // An expired one may not have been folded as ended yet.
    let expired = state
        .ingress
        .open
        .get(id)
        .map(|open| (TriggerEnd::Expired, open.seq, open.record.delivery_count));
    let ended =
        state.ingress.ended.get(id).map(|ended| (ended.how, ended.seq, ended.delivery_count));
    let Some((how, seq, count)) = expired.or(ended) else {
        // contract 15.4: other ids are the host's own names.
        return Ok(());
    };
    if state.is_delivering(id, None) {
        // It was faster than the wait, and ends it.
        return Ok(());
    }
    match how {
        _ if !was_seen(count) => Err((Refusal::AlreadySatisfied, seq)),
        TriggerEnd::Used => Err((Refusal::AlreadySatisfied, seq)),
        TriggerEnd::Revoked | TriggerEnd::Expired => Err((Refusal::AlreadyTerminal, seq)),
    }
}
