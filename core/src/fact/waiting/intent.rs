//! Waiting intents: waits for something external, each with the condition that mirrors it (contract
//! 5.16).

use alloc::string::String;

use serde::Serialize;

use crate::{
    fact::{
        ingress,
        outcome::{Outcome, Refusal},
        work::can_be_owned,
    },
    id::{ExternalTriggerId, Seq, WaitingIntentId, WorkItemId},
    record::{
        Record,
        waiting::{
            CallbackDeliveryMode, EndedBy, ExternalTriggerScope, WaitingIntentRecord,
            WaitingIntentStatus,
            intent::{ended, once_more, with_mirror},
        },
    },
    state::State,
    time::Timestamp,
};
use wakeful_json::Readable;

/// Fact `waiting_intent_created`: an item or the agent waits for something external.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingIntentCreated {
    /// Chosen by the host, unique within the agent.
    pub waiting_intent_id: WaitingIntentId,
    /// Whether the wait belongs to an item or to the agent.
    pub scope: ExternalTriggerScope,
    /// The work item that the intent names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What is awaited, in words.
    pub description: String,
    /// The external system.
    pub source: String,
    /// The resource in that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// What a delivery to the trigger becomes.
    pub delivery_mode: CallbackDeliveryMode,
    /// The external trigger of the intent. None means any trigger that names none, and such an
    /// intent has a diagnostic (contract 11.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<ExternalTriggerId>,
}

/// Facts `waiting_intent_triggered` and `waiting_intent_cancelled`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingIntentNamed {
    /// The intent that was triggered or cancelled.
    pub waiting_intent_id: WaitingIntentId,
}

/// The transition of `waiting_intent_created`.
pub(crate) fn created(state: &State, fact: WaitingIntentCreated, at: Timestamp) -> Outcome {
    let seen = state.waiting.seen_intent(&fact.waiting_intent_id);
    if seen.is_none()
        && let Err((reason, because)) = admissible(state, &fact, at)
    {
        return Outcome::ignored(reason, because);
    }
    let intent = WaitingIntentRecord {
        id: fact.waiting_intent_id,
        agent_id: state.control.agent_id.clone(),
        scope: fact.scope,
        work_item_id: fact.work_item_id,
        description: fact.description,
        source: fact.source,
        resource: fact.resource,
        condition: None,
        delivery_mode: fact.delivery_mode,
        status: WaitingIntentStatus::Active,
        // Records have an empty id for none, as those of the reference runtime.
        external_trigger_id: fact.external_trigger_id.unwrap_or_else(|| "".into()),
        created_at: at,
        cancelled_at: None,
        last_triggered_at: None,
        trigger_count: 0,
        correlation_id: None,
        causation_id: None,
        ended_by: None,
    };
    let [intent, mirror] = with_mirror(intent);
    match seen {
        Some(seen) => Outcome::repeated(state, &intent, seen),
        None => Outcome::accepted([intent, mirror].into()),
    }
}

/// Whether the intent may be created: an item that owns it is open, and its trigger can come.
fn admissible(
    state: &State,
    fact: &WaitingIntentCreated,
    at: Timestamp,
) -> Result<(), (Refusal, Seq)> {
    let owner = match (fact.scope, &fact.work_item_id) {
        (ExternalTriggerScope::Agent, _) => None,
        (ExternalTriggerScope::WorkItem, Some(item)) => Some(item),
        (ExternalTriggerScope::WorkItem, None) => return Err((Refusal::Unknown, state.head.seq)),
    };
    owner.map_or(Ok(()), |item| can_be_owned(state, item))?;
    let trigger = fact.external_trigger_id.as_ref();
    trigger.map_or(Ok(()), |trigger| ingress::can_come(state, trigger, owner, None, at))
}

/// The transition of `waiting_intent_cancelled`.
pub(crate) fn cancelled(state: &State, fact: &WaitingIntentNamed, at: Timestamp) -> Outcome {
    on_active(state, &fact.waiting_intent_id, |intent| ended(intent, EndedBy::Model, at))
}

/// The transition of `waiting_intent_triggered`: it only counts the trigger. The content comes as a
/// message or a hint, and only that ends the wait.
pub(crate) fn triggered(state: &State, fact: &WaitingIntentNamed, at: Timestamp) -> Outcome {
    on_active(state, &fact.waiting_intent_id, |intent| with_mirror(once_more(intent, at)))
}

fn on_active(
    state: &State,
    id: &WaitingIntentId,
    make: impl FnOnce(&WaitingIntentRecord) -> [Record; 2],
) -> Outcome {
    let waiting = &state.waiting;
    if let Some(seq) = waiting.ended_intents.get(id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, *seq);
    }
    match waiting.intents.get(id) {
        Some(intent) => Outcome::accepted(make(&intent.record).into()),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}
