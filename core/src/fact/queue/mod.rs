//! The plane of messages: their lanes, and the one terminal status that each of them reaches
//! (contract 5.1 to 5.3).

pub mod observed;

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fact::{
        outcome::{Outcome, Refusal},
        task,
    },
    id::{MessageId, TaskId, WorkItemId},
    record::{
        Record,
        queue::{
            admission,
            envelope::{
                AdmissionContext, DeliverySurface, MessageBody, MessageKind, MessageOrigin,
                Priority, TrustLevel,
            },
            message::MessageRecord,
            note,
        },
        task::message,
    },
    state::State,
    time::Timestamp,
};
use wakeful_json::{Map, RawJson, Readable};

/// Fact `message_queued`: a message arrived.
#[derive(Clone, Debug, PartialEq, Readable, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageQueued {
    /// The message that arrived.
    pub message: NewMessage,
}

/// A message from a host. The core adds agent, time and authority.
#[derive(Clone, Debug, PartialEq, Readable, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewMessage {
    /// Chosen by the host, unique within the agent.
    pub id: MessageId,
    /// The kind of message.
    pub kind: MessageKind,
    /// The sender.
    pub origin: MessageOrigin,
    /// How far the sender is trusted.
    pub trust: TrustLevel,
    /// The lane; absent means normal.
    #[serde(default = "normal")]
    pub priority: Priority,
    /// The work item that the message is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The task that the message is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The content.
    pub body: MessageBody,
    /// The interface through which the message arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_surface: Option<DeliverySurface>,
    /// The authority under which it is admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission_context: Option<AdmissionContext>,
    /// Free data, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// The conversation that the message belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// What caused the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

fn normal() -> Priority {
    Priority::Normal
}

/// The transition of `message_queued`.
pub(crate) fn queued(state: &State, fact: MessageQueued, at: Timestamp) -> Outcome {
    let new = fact.message;
    let message = MessageRecord {
        id: new.id,
        agent_id: state.control.agent_id.clone(),
        created_at: at,
        kind: new.kind,
        origin: new.origin,
        trust: new.trust,
        authority_class: None,
        priority: new.priority,
        trigger_kind: None,
        work_item_id: new.work_item_id,
        task_id: new.task_id,
        source_refs: Map::new(),
        body: new.body,
        delivery_surface: new.delivery_surface,
        admission_context: new.admission_context,
        metadata: new.metadata,
        correlation_id: new.correlation_id,
        causation_id: new.causation_id,
    };
    if let Some(seen) = state.queue.seen(&message.id) {
        return Outcome::repeated(state, &Record::Message(message.admitted()), seen);
    }
    // contract 5.11: a second result of a task is a duplicate.
    let told = message::task_of(&message).filter(|_| message.trust == TrustLevel::TrustedSystem);
    if let Some(seq) = told.and_then(|task| state.tasks.told.get(&task)) {
        return Outcome::ignored(Refusal::Duplicate, *seq);
    }
    // contract 5.6: of the follow-ups after a failed message, the first one queued counts.
    let retry = note::continues(&message).and_then(|failed| state.retry_after(&failed));
    if let Some(seq) = retry.and_then(|retry| state.queue.seen(retry.message_id.as_ref()?)) {
        return Outcome::ignored(Refusal::Duplicate, seq);
    }
    // The record of a task goes before the message with its result (I5).
    let reported = task::reported(state, &message, at);
    let ends = reported.iter().filter_map(|record| match record {
        Record::Task(task) if task.status.is_terminal() => Some(task.id.clone()),
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    let has_ended = |task: &TaskId| state.tasks.ended.contains_key(task) || ends.contains(task);
    let admitted = match state.control.live_from {
        Some(_) => task::result::admitted(message, has_ended, at),
        None => admission::records(message, at).into(),
    };
    Outcome::accepted(reported.into_iter().chain(admitted).collect())
}
