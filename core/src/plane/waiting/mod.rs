//! The waiting plane: intents, conditions and timers, the set of things that an owner waits for (contract 5.15 to 5.20).

mod active;
mod record;

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

pub use self::{
    active::{Active, Waiting},
    record::{
        CallbackDeliveryMode, EndedBy, ExternalTriggerScope, TimerRecord, TimerStatus, WaitConditionKind, WaitConditionRecord,
        WaitConditionStatus, WaitingIntentRecord, WaitingIntentStatus, WakeSource,
    },
};
use crate::{
    entry::Record,
    fact::{Outcome, Refusal},
    id::{ExternalTriggerId, TimerId, WaitingIntentId, WorkItemId},
    state::State,
    time::Timestamp,
};

/// Fact `waiting_intent_created`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingIntentCreated {
    /// Its id; the host's to choose, once per agent.
    pub waiting_intent_id: WaitingIntentId,
    /// Whose wait it is.
    pub scope: ExternalTriggerScope,
    /// The item that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What is waited for, in words.
    pub description: String,
    /// The system that it concerns.
    pub source: String,
    /// The thing in that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// What a delivery becomes.
    pub delivery_mode: CallbackDeliveryMode,
    /// The trigger that serves it.
    pub external_trigger_id: ExternalTriggerId,
}

/// Fact `waiting_intent_cancelled`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingIntentCancelled {
    /// The intent.
    pub waiting_intent_id: WaitingIntentId,
}

/// Fact `timer_created`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerCreated {
    /// Its id; the host's to choose, once per agent.
    pub timer_id: TimerId,
    /// From now to its first fire, in milliseconds.
    pub duration_ms: u64,
    /// Between fires, in milliseconds; a timer without it fires once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    /// What it is for, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Fact `timer_cancelled`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerCancelled {
    /// The timer.
    pub timer_id: TimerId,
}

/// The transition of `waiting_intent_created`.
pub(crate) fn intent_created(state: &State, fact: WaitingIntentCreated, at: Timestamp) -> Outcome {
    if let Some(seq) = state.waiting.seen_intent(&fact.waiting_intent_id) {
        return Outcome::ignored(Refusal::Duplicate, seq);
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
        external_trigger_id: fact.external_trigger_id,
        created_at: at,
        cancelled_at: None,
        last_triggered_at: None,
        trigger_count: 0,
        correlation_id: None,
        causation_id: None,
        ended_by: None,
    };
    Outcome::accepted(with_mirror(intent).into())
}

/// The transition of `waiting_intent_cancelled`.
pub(crate) fn intent_cancelled(state: &State, fact: WaitingIntentCancelled, at: Timestamp) -> Outcome {
    let waiting = &state.waiting;
    if let Some(seq) = waiting.ended_intents.get(&fact.waiting_intent_id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, *seq);
    }
    match waiting.intents.get(&fact.waiting_intent_id) {
        Some(intent) => Outcome::accepted(intent_ended(&intent.record, EndedBy::Model, at).into()),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}

/// An intent together with the condition that mirrors it.
pub(crate) fn with_mirror(intent: WaitingIntentRecord) -> [Record; 2] {
    let mirror = WaitConditionRecord::mirror(&intent);
    [Record::WaitingIntent(intent), Record::WaitCondition(mirror)]
}

fn intent_ended(intent: &WaitingIntentRecord, by: EndedBy, at: Timestamp) -> [Record; 2] {
    with_mirror(WaitingIntentRecord {
        status: WaitingIntentStatus::Cancelled,
        cancelled_at: Some(at),
        ended_by: Some(by),
        ..intent.clone()
    })
}

/// The transition of `timer_created`.
pub(crate) fn timer_created(state: &State, fact: TimerCreated, at: Timestamp) -> Outcome {
    if let Some(seq) = state.waiting.seen_timer(&fact.timer_id) {
        return Outcome::ignored(Refusal::Duplicate, seq);
    }
    Outcome::accepted(Vec::from([Record::Timer(TimerRecord {
        id: fact.timer_id,
        agent_id: state.control.agent_id.clone(),
        created_at: at,
        duration_ms: fact.duration_ms,
        interval_ms: fact.interval_ms,
        repeat: fact.interval_ms.is_some(),
        status: TimerStatus::Active,
        summary: fact.summary,
        next_fire_at: Some(at.plus_ms(fact.duration_ms)),
        last_fired_at: None,
        fire_count: 0,
        tick_message_id: None,
    })]))
}

/// The transition of `timer_cancelled`.
pub(crate) fn timer_cancelled(state: &State, fact: &TimerCancelled) -> Outcome {
    if let Some(seq) = state.waiting.ended_timers.get(&fact.timer_id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, *seq);
    }
    match state.waiting.timers.get(&fact.timer_id) {
        Some(timer) => Outcome::accepted(Vec::from([Record::Timer(TimerRecord {
            status: TimerStatus::Cancelled,
            next_fire_at: None,
            ..timer.record.clone()
        })])),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}
