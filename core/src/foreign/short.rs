//! The short form of fixtures: few keys per record, defaults for the rest. The defaults are part of the format
//! (`observed-decisions.md` 11.2, 11.3).

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use super::{Folder, ForeignError};
use crate::{
    entry::{Class, EventRecord, Record},
    id::{AgentId, MessageId, TaskId, TimerId, WaitingIntentId, WorkItemId},
    json::{self, JsonError, RawJson},
    plane::{
        context::{BriefKind, BriefRecord, ToolExecutionRecord, ToolExecutionStatus},
        control::{AgentImported, AgentStatus, ControlRecord, FocusCause, FocusSet, WakeHint},
        queue::{MessageBody, MessageKind, MessageOrigin, MessageRecord, Priority, QueueEntryRecord, QueueStatus, TrustLevel},
        task::{TaskKind, TaskRecord, TaskStatus},
        turn::TurnTerminalKind,
        waiting::{self, CallbackDeliveryMode, ExternalTriggerScope, TimerRecord, TimerStatus, WaitingIntentRecord, WaitingIntentStatus},
        work::{WorkItemPlanStatus, WorkItemRecord, WorkItemState},
    },
    time::Timestamp,
};

/// The agent of every short form.
const AGENT: &str = "default";

#[derive(Deserialize)]
struct Agent {
    #[serde(default = "first_format")]
    format: u32,
    current_work_item_id: Option<WorkItemId>,
    #[serde(default)]
    turn_index: u64,
    last_turn_terminal_kind: Option<TurnTerminalKind>,
    pending_wake_hint_reason: Option<String>,
}

fn first_format() -> u32 {
    super::FIXTURE_FORMAT
}

/// What `agent.json` says: control records.
pub(super) fn agent(folder: &Folder) -> Result<Vec<Record>, ForeignError> {
    let file = "agent.json";
    let text = folder.get(file).ok_or_else(|| ForeignError::Missing { file: file.into() })?;
    let agent: Agent = json::read(text).map_err(|why| ForeignError::at(file, 1, why))?;
    ForeignError::newer(file, agent.format)?;
    let mut controls = Vec::from([ControlRecord::AgentImported(AgentImported {
        status: AgentStatus::Booting,
        turn_index: agent.turn_index,
        last_turn_terminal: agent.last_turn_terminal_kind,
    })]);
    if agent.current_work_item_id.is_some() {
        controls.push(ControlRecord::FocusSet(FocusSet { work_item_id: agent.current_work_item_id, cause: FocusCause::Pick }));
    }
    if let Some(reason) = agent.pending_wake_hint_reason {
        controls.push(ControlRecord::WakeHintPending(WakeHint {
            reason,
            description: None,
            source: Some("fixture".into()),
            scope: None,
            waiting_intent_id: None,
            external_trigger_id: None,
            resource: None,
            body: None,
            content_type: None,
            correlation_id: None,
            causation_id: None,
        }));
    }
    Ok(controls.into_iter().map(Record::Control).collect())
}

/// The records of one line of a class.
pub(super) fn record(class: Class, text: &str, at: Timestamp) -> Result<Vec<Record>, JsonError> {
    let one = |record| Vec::from([record]);
    Ok(match class {
        Class::Messages => one(Record::Message(json::read::<Message>(text)?.record(at))),
        Class::QueueEntries => one(Record::QueueEntry(json::read::<QueueEntry>(text)?.record(at))),
        Class::Events => one(Record::Event(json::read::<Event>(text)?.record(at))),
        Class::Tasks => one(Record::Task(json::read::<Task>(text)?.record(at))),
        Class::WorkItems => one(Record::WorkItem(json::read::<WorkItem>(text)?.record(at))),
        Class::WaitingIntents => waiting::with_mirror(json::read::<WaitingIntent>(text)?.record(at)).into(),
        Class::Timers => one(Record::Timer(json::read::<Timer>(text)?.record(at))),
        Class::Tools => one(Record::Tool(json::read::<Tool>(text)?.record(at))),
        Class::Briefs => one(Record::Brief(json::read::<Brief>(text)?.record(at))),
        // These classes have no short form; their lines are full records.
        Class::Transcript | Class::WaitConditions | Class::Turns | Class::Control => one(Record::decode(class, text)?),
    })
}

fn agent_id() -> AgentId {
    AGENT.into()
}

fn normal() -> Priority {
    Priority::Normal
}

#[derive(Deserialize)]
struct WorkItem {
    id: WorkItemId,
    objective: String,
    state: WorkItemState,
    plan_status: Option<WorkItemPlanStatus>,
    revision: u64,
    blocked_by: Option<String>,
}

impl WorkItem {
    fn record(self, at: Timestamp) -> WorkItemRecord {
        WorkItemRecord {
            id: self.id,
            agent_id: agent_id(),
            workspace_id: format!("agent_home:{AGENT}"),
            revision: self.revision,
            objective: self.objective,
            state: self.state,
            plan_status: self.plan_status.unwrap_or(WorkItemPlanStatus::Draft),
            plan: None,
            todo_list: None,
            blocked_by: self.blocked_by,
            recheck_at: None,
            recheck_consumed_at: None,
            result_summary: None,
            created_at: at,
            updated_at: at,
        }
    }
}

#[derive(Deserialize)]
struct Task {
    id: TaskId,
    status: TaskStatus,
    wait_policy: String,
    work_item_id: Option<WorkItemId>,
}

impl Task {
    fn record(self, at: Timestamp) -> TaskRecord {
        #[derive(Serialize)]
        struct Detail {
            wait_policy: String,
        }
        TaskRecord {
            id: self.id,
            agent_id: agent_id(),
            kind: TaskKind::CommandTask,
            status: self.status,
            created_at: at,
            updated_at: at,
            parent_message_id: None,
            work_item_id: self.work_item_id,
            summary: Some("fixture task".into()),
            detail: Some(RawJson::of(&Detail { wait_policy: self.wait_policy })),
            recovery: None,
        }
    }
}

#[derive(Deserialize)]
struct WaitingIntent {
    id: WaitingIntentId,
    scope: ExternalTriggerScope,
    work_item_id: Option<WorkItemId>,
}

impl WaitingIntent {
    fn record(self, at: Timestamp) -> WaitingIntentRecord {
        WaitingIntentRecord {
            description: format!("fixture waiting intent {}", self.id),
            external_trigger_id: format!("trigger-{}", self.id).into(),
            id: self.id,
            agent_id: agent_id(),
            scope: self.scope,
            work_item_id: self.work_item_id,
            source: "fixture".into(),
            resource: None,
            condition: None,
            delivery_mode: CallbackDeliveryMode::WakeHint,
            status: WaitingIntentStatus::Active,
            created_at: at,
            cancelled_at: None,
            last_triggered_at: None,
            trigger_count: 0,
            correlation_id: None,
            causation_id: None,
            ended_by: None,
        }
    }
}

#[derive(Deserialize)]
struct Timer {
    id: TimerId,
}

impl Timer {
    fn record(self, at: Timestamp) -> TimerRecord {
        TimerRecord {
            id: self.id,
            agent_id: agent_id(),
            created_at: at,
            duration_ms: 1000,
            interval_ms: None,
            repeat: false,
            status: TimerStatus::Active,
            summary: Some("fixture timer".into()),
            next_fire_at: Some(at),
            last_fired_at: None,
            fire_count: 0,
            tick_message_id: None,
        }
    }
}

#[derive(Deserialize)]
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
    fn record(self, at: Timestamp) -> MessageRecord {
        let origin = match self.kind {
            MessageKind::SystemTick => MessageOrigin::System { subsystem: "fixture".into() },
            MessageKind::TaskResult | MessageKind::TaskStatus => {
                MessageOrigin::Task { task_id: self.task_id.clone().unwrap_or_else(|| "fixture-task".into()) }
            }
            _ => MessageOrigin::Webhook { source: "fixture".into(), event_type: None },
        };
        MessageRecord {
            id: self.id,
            agent_id: agent_id(),
            created_at: at,
            kind: self.kind,
            origin,
            trust: TrustLevel::TrustedIntegration,
            authority_class: None,
            priority: self.priority,
            trigger_kind: None,
            work_item_id: self.work_item_id,
            task_id: self.task_id,
            source_refs: BTreeMap::new(),
            body: MessageBody::text(self.text),
            delivery_surface: None,
            admission_context: None,
            metadata: None,
            correlation_id: None,
            causation_id: None,
        }
    }
}

#[derive(Deserialize)]
struct QueueEntry {
    message_id: MessageId,
    status: QueueStatus,
    #[serde(default = "normal")]
    priority: Priority,
}

impl QueueEntry {
    fn record(self, at: Timestamp) -> QueueEntryRecord {
        QueueEntryRecord {
            message_id: self.message_id,
            agent_id: agent_id(),
            priority: self.priority,
            status: self.status,
            reason: None,
            created_at: at,
            updated_at: at,
        }
    }
}

#[derive(Deserialize)]
struct Event {
    kind: String,
    data: Option<RawJson>,
}

impl Event {
    fn record(self, at: Timestamp) -> EventRecord {
        EventRecord { created_at: at, kind: self.kind, data: self.data }
    }
}

#[derive(Deserialize)]
struct Brief {
    id: String,
    kind: BriefKind,
    text: String,
}

impl Brief {
    fn record(self, at: Timestamp) -> BriefRecord {
        BriefRecord {
            id: self.id,
            agent_id: agent_id(),
            work_item_id: None,
            kind: self.kind,
            created_at: at,
            text: self.text,
            related_message_id: None,
            related_task_id: None,
        }
    }
}

#[derive(Deserialize)]
struct Tool {
    id: String,
    tool_name: String,
    status: ToolExecutionStatus,
    work_item_id: Option<WorkItemId>,
}

impl Tool {
    fn record(self, at: Timestamp) -> ToolExecutionRecord {
        #[derive(Serialize)]
        struct Fixture {
            fixture: bool,
        }
        let payload = RawJson::of(&Fixture { fixture: true });
        ToolExecutionRecord {
            id: self.id,
            agent_id: agent_id(),
            work_item_id: self.work_item_id,
            turn_index: 1,
            tool_name: self.tool_name,
            created_at: at,
            trust: TrustLevel::TrustedOperator,
            status: self.status,
            input: payload.clone(),
            output: payload,
            summary: "fixture tool execution".to_string(),
        }
    }
}
