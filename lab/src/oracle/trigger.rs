//! Operation `trigger`: a message, the closure before it and the agent's status in. The admitted
//! message, its task, its trigger and its resolution come out. There is no ledger, so a trigger
//! names no known wait, and its class decides.

use std::string::{String, ToString};

use serde::Serialize;

use crate::oracle::continuation::Resolved;
use wakeful_core::{
    derive::continuation::{self, Found, Prior, Satisfied},
    id::{AgentId, MessageId, Seq, TaskId, WorkItemId},
    record::{
        control::AgentStatus,
        policy::Policy,
        queue::{
            envelope::{AuthorityClass, MessageKind, Priority},
            message::{MessageRecord, TriggerKind},
        },
        task::{TaskKind, TaskRecord, TaskStatus, TaskWaitPolicy},
    },
    state::{queue::lanes::Held, trigger::Trigger},
};
use wakeful_json::{self as json, JsonError, Map, RawJson, Readable};

#[derive(Readable)]
struct Input {
    message: MessageRecord,
    prior: Prior,
    status: AgentStatus,
}

#[derive(Serialize)]
struct Output {
    model_turn_allowed: bool,
    normalized: Normalized,
    operator_interjection: bool,
    resolution: Option<Resolved>,
    task: Option<Payload>,
    trigger: Option<Read>,
}

#[derive(Serialize)]
struct Normalized {
    authority_class: Option<AuthorityClass>,
    source_refs: Map<String, String>,
    task_id: Option<TaskId>,
    trigger_kind: Option<TriggerKind>,
    work_item_id: Option<WorkItemId>,
}

/// The task of a message, or why it cannot be read.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Payload {
    Task(Task),
    Malformed { error: String },
}

#[derive(Serialize)]
pub(super) struct Task {
    agent_id: AgentId,
    detail: Option<RawJson>,
    effective_work_item_id: Option<WorkItemId>,
    id: TaskId,
    kind: TaskKind,
    parent_message_id: Option<MessageId>,
    status: TaskStatus,
    summary: Option<String>,
    wait_policy: TaskWaitPolicy,
    work_item_id: Option<WorkItemId>,
}

/// The trigger, with absent parts as nulls.
#[derive(Serialize)]
pub(super) struct Read {
    contentful: bool,
    kind: TriggerKind,
    task_blocking: bool,
    task_terminal: bool,
    task_wait_policy: Option<TaskWaitPolicy>,
    wake_hint_source: Option<String>,
}

impl From<Trigger> for Read {
    fn from(trigger: Trigger) -> Self {
        Self {
            contentful: trigger.contentful,
            kind: trigger.kind,
            task_blocking: trigger.task_blocking,
            task_terminal: trigger.task_terminal,
            task_wait_policy: trigger.task_wait_policy,
            wake_hint_source: trigger.wake_hint_source,
        }
    }
}

pub(super) fn answer(input: &str) -> Result<String, JsonError> {
    let Input { message, prior, status } = json::read(input)?;
    // Not live, because live messages have rules that the reference runtime lacks.
    let held = Held { seq: Seq(0), live: false, record: message.admitted() };
    let trigger = Trigger::read(&held);
    let resolution = trigger.as_ref().map(|trigger| {
        let overrides =
            trigger.contentful && Policy::default().overrides_waits.contains(&trigger.kind);
        continuation::classify(trigger, prior, &Found::Nameless(Satisfied::default()), overrides)
    });
    let message = held.record;
    Ok(json::write(&Output {
        model_turn_allowed: status != AgentStatus::Stopped,
        operator_interjection: message.priority == Priority::Interject
            && message.is_operator_input(),
        resolution: resolution.map(Resolved::from),
        task: task(&message),
        trigger: trigger.map(Read::from),
        normalized: Normalized {
            authority_class: message.authority_class,
            source_refs: message.source_refs,
            task_id: message.task_id,
            trigger_kind: message.trigger_kind,
            work_item_id: message.work_item_id,
        },
    }))
}

/// The task of a message; `None` if messages of its kind carry none.
pub(super) fn task(message: &MessageRecord) -> Option<Payload> {
    if !matches!(message.kind, MessageKind::TaskStatus | MessageKind::TaskResult) {
        return None;
    }
    Some(match TaskRecord::of_message(message, message.created_at) {
        Ok(task) => Payload::Task(Task {
            effective_work_item_id: task.effective_work_item_id(),
            wait_policy: task.wait_policy(),
            agent_id: task.agent_id,
            detail: task.detail,
            id: task.id,
            kind: task.kind,
            parent_message_id: task.parent_message_id,
            status: task.status,
            summary: task.summary,
            work_item_id: task.work_item_id,
        }),
        Err(why) => Payload::Malformed { error: why.to_string() },
    })
}
