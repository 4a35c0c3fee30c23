//! The short form of fixtures: few keys per record, and defaults for the others. The defaults are
//! part of the format (`observed-decisions.md` 11.2, 11.3).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId, TaskId, TimerId, WaitingIntentId, WorkItemId},
    record::{
        Class, Record,
        context::{BriefKind, BriefRecord, ToolExecutionRecord, ToolExecutionStatus},
        event::EventRecord,
        queue::{
            entry::QueueEntryRecord,
            envelope::{
                MessageBody, MessageKind, MessageOrigin, Priority, QueueStatus, TrustLevel,
            },
            message::MessageRecord,
        },
        task::{TaskKind, TaskRecord, TaskStatus},
        waiting::{
            CallbackDeliveryMode, ExternalTriggerScope, TimerRecord, TimerStatus,
            WaitingIntentRecord, WaitingIntentStatus, intent,
        },
        work::{WorkItemPlanStatus, WorkItemRecord, WorkItemState},
    },
    time::Timestamp,
};
use wakeful_json::{self as json, JsonError, Map, RawJson, Readable};

/// The values that a short line does not have.
#[derive(Clone, Copy)]
pub(super) struct Filled<'a> {
    /// The agent of the record.
    pub(super) agent_id: &'a AgentId,
    /// The time of the record.
    pub(super) at: Timestamp,
}

/// The records of one line of a class.
pub(super) fn record(
    class: Class,
    text: &str,
    filled: Filled<'_>,
) -> Result<Vec<Record>, JsonError> {
    let one = |record| Vec::from([record]);
    Ok(match class {
        Class::Messages => one(Record::Message(json::read::<Message>(text)?.record(filled))),
        Class::QueueEntries => {
            one(Record::QueueEntry(json::read::<QueueEntry>(text)?.record(filled)))
        }
        Class::Events => one(Record::Event(json::read::<Event>(text)?.record(filled))),
        Class::Tasks => one(Record::Task(json::read::<Task>(text)?.record(filled))),
        Class::WorkItems => one(Record::WorkItem(json::read::<WorkItem>(text)?.record(filled))),
        Class::WaitingIntents => {
            intent::with_mirror(json::read::<WaitingIntent>(text)?.record(filled)).into()
        }
        Class::Timers => one(Record::Timer(json::read::<Timer>(text)?.record(filled))),
        Class::Tools => one(Record::Tool(json::read::<Tool>(text)?.record(filled))),
        Class::Briefs => one(Record::Brief(json::read::<Brief>(text)?.record(filled))),
        // These classes have no short form; their lines are full records.
        Class::Transcript
        | Class::WaitConditions
        | Class::Turns
        | Class::ExternalTriggers
        | Class::Control
        | Class::Carried => one(Record::decode(class, text)?),
    })
}

fn normal() -> Priority {
    Priority::Normal
}

#[derive(Readable)]
struct WorkItem {
    id: WorkItemId,
    objective: String,
    state: WorkItemState,
    plan_status: Option<WorkItemPlanStatus>,
    revision: u64,
    blocked_by: Option<String>,
}

impl WorkItem {
    fn record(self, filled: Filled<'_>) -> WorkItemRecord {
        WorkItemRecord {
            id: self.id,
            agent_id: filled.agent_id.clone(),
            workspace_id: format!("agent_home:{}", filled.agent_id),
            revision: self.revision,
            objective: self.objective,
            state: self.state,
            plan_status: self.plan_status.unwrap_or(WorkItemPlanStatus::Draft),
            plan: None,
            todo_list: None,
            blocked_by: self.blocked_by,
            recheck_at: None,
            recheck_from: None,
            recheck_consumed_at: None,
            result_summary: None,
            created_at: filled.at,
            updated_at: filled.at,
        }
    }
}

#[derive(Readable)]
struct Task {
    id: TaskId,
    status: TaskStatus,
    wait_policy: String,
    work_item_id: Option<WorkItemId>,
}

impl Task {
    fn record(self, filled: Filled<'_>) -> TaskRecord {
        #[derive(Serialize)]
        struct Detail {
            wait_policy: String,
        }
        TaskRecord {
            id: self.id,
            agent_id: filled.agent_id.clone(),
            kind: TaskKind::CommandTask,
            status: self.status,
            created_at: filled.at,
            updated_at: filled.at,
            parent_message_id: None,
            work_item_id: self.work_item_id,
            summary: Some("fixture task".into()),
            wait_policy: None,
            detail: Some(RawJson::from_value(&Detail { wait_policy: self.wait_policy })),
            recovery: None,
        }
    }
}

#[derive(Readable)]
struct WaitingIntent {
    id: WaitingIntentId,
    scope: ExternalTriggerScope,
    work_item_id: Option<WorkItemId>,
}

impl WaitingIntent {
    fn record(self, filled: Filled<'_>) -> WaitingIntentRecord {
        WaitingIntentRecord {
            description: format!("fixture waiting intent {}", self.id),
            external_trigger_id: format!("trigger-{}", self.id).into(),
            id: self.id,
            agent_id: filled.agent_id.clone(),
            scope: self.scope,
            work_item_id: self.work_item_id,
            source: "fixture".into(),
            resource: None,
            condition: None,
            delivery_mode: CallbackDeliveryMode::WakeHint,
            status: WaitingIntentStatus::Active,
            created_at: filled.at,
            cancelled_at: None,
            last_triggered_at: None,
            trigger_count: 0,
            correlation_id: None,
            causation_id: None,
            ended_by: None,
        }
    }
}

#[derive(Readable)]
struct Timer {
    id: TimerId,
}

impl Timer {
    fn record(self, filled: Filled<'_>) -> TimerRecord {
        TimerRecord {
            id: self.id,
            agent_id: filled.agent_id.clone(),
            created_at: filled.at,
            duration_ms: 1000,
            interval_ms: None,
            repeat: false,
            status: TimerStatus::Active,
            summary: Some("fixture timer".into()),
            next_fire_at: Some(filled.at),
            last_fired_at: None,
            fire_count: 0,
            tick_message_id: None,
        }
    }
}

#[derive(Readable)]
struct Message {
    id: MessageId,
    kind: MessageKind,
    text: String,
    #[serde(default = "normal")]
    priority: Priority,
    work_item_id: Option<WorkItemId>,
    task_id: Option<TaskId>,
}

impl Message {
    fn record(self, filled: Filled<'_>) -> MessageRecord {
        let origin = match self.kind {
            MessageKind::SystemTick => MessageOrigin::System { subsystem: "fixture".into() },
            MessageKind::TaskResult | MessageKind::TaskStatus => MessageOrigin::Task {
                task_id: self.task_id.clone().unwrap_or_else(|| "fixture-task".into()),
            },
            _ => MessageOrigin::Webhook { source: "fixture".into(), event_type: None },
        };
        MessageRecord {
            id: self.id,
            agent_id: filled.agent_id.clone(),
            created_at: filled.at,
            kind: self.kind,
            origin,
            trust: TrustLevel::TrustedIntegration,
            authority_class: None,
            priority: self.priority,
            trigger_kind: None,
            work_item_id: self.work_item_id,
            task_id: self.task_id,
            source_refs: Map::new(),
            body: MessageBody::text(self.text),
            delivery_surface: None,
            admission_context: None,
            metadata: None,
            correlation_id: None,
            causation_id: None,
        }
    }
}

#[derive(Readable)]
struct QueueEntry {
    message_id: MessageId,
    status: QueueStatus,
    #[serde(default = "normal")]
    priority: Priority,
}

impl QueueEntry {
    fn record(self, filled: Filled<'_>) -> QueueEntryRecord {
        QueueEntryRecord {
            message_id: self.message_id,
            agent_id: filled.agent_id.clone(),
            priority: self.priority,
            status: self.status,
            reason: None,
            created_at: filled.at,
            updated_at: filled.at,
        }
    }
}

#[derive(Readable)]
struct Event {
    kind: String,
    data: Option<RawJson>,
}

impl Event {
    fn record(self, filled: Filled<'_>) -> EventRecord {
        EventRecord::from_text(self.kind, filled.at, self.data)
    }
}

#[derive(Readable)]
struct Brief {
    id: String,
    kind: BriefKind,
    text: String,
}

impl Brief {
    fn record(self, filled: Filled<'_>) -> BriefRecord {
        BriefRecord {
            id: self.id,
            agent_id: filled.agent_id.clone(),
            work_item_id: None,
            kind: self.kind,
            created_at: filled.at,
            text: self.text,
            related_message_id: None,
            related_task_id: None,
        }
    }
}

#[derive(Readable)]
struct Tool {
    id: String,
    tool_name: String,
    status: ToolExecutionStatus,
    work_item_id: Option<WorkItemId>,
}

impl Tool {
    fn record(self, filled: Filled<'_>) -> ToolExecutionRecord {
        #[derive(Serialize)]
        struct Fixture {
            fixture: bool,
        }
        let payload = RawJson::from_value(&Fixture { fixture: true });
        ToolExecutionRecord {
            id: self.id,
            agent_id: filled.agent_id.clone(),
            work_item_id: self.work_item_id,
            turn_index: 1,
            tool_name: self.tool_name,
            created_at: filled.at,
            trust: TrustLevel::TrustedOperator,
            status: self.status,
            input: payload.clone(),
            output: payload,
            summary: "fixture tool execution".to_string(),
            call_id: None,
        }
    }
}
