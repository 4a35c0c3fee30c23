//! The records of waiting: intents, conditions and timers.

pub mod intent;
pub mod recoverability;

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    id::{
        AgentId, ExternalTriggerId, MessageId, TaskId, TimerId, WaitConditionId, WaitingIntentId,
        WorkItemId,
    },
    record::Record,
    tagged::{names, read_through, required},
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

names! {
    /// Whether an intent still waits.
    pub enum WaitingIntentStatus {
        /// It waits.
        Active,
        /// It ended.
        Cancelled,
    }

    /// Whose wait an external trigger serves.
    pub enum ExternalTriggerScope {
        /// One work item's.
        WorkItem,
        /// The agent's.
        Agent,
    }

    /// What a delivery to an external trigger becomes.
    pub enum CallbackDeliveryMode {
        /// A message.
        EnqueueMessage,
        /// A wake hint.
        WakeHint | "wake_only",
    }

    /// Where a wait condition stands.
    pub enum WaitConditionStatus {
        /// It waits.
        Active,
        /// What it waited for came.
        Resolved,
        /// It was withdrawn.
        Cancelled,
        /// Its deadline passed.
        Expired,
    }

    /// What a wait condition waits for.
    pub enum WaitConditionKind {
        /// A task's result.
        Task,
        /// Something external.
        External,
        /// The operator.
        Operator,
        /// An instant.
        Timer,
        /// The runtime itself.
        System,
    }

    /// Where a timer stands.
    pub enum TimerStatus {
        /// It will fire.
        Active | "scheduled",
        /// It fired for the last time.
        Completed,
        /// It was cancelled.
        Cancelled,
    }

    /// What ended a wait (contract 3.8).
    pub enum EndedBy {
        /// A trigger that names it.
        Trigger,
        /// Its deadline.
        Deadline,
        /// The operator.
        Operator,
        /// The model.
        Model,
        /// A newer wait of the same owner.
        Superseded,
        /// The completion of its item.
        Completion,
    }
}

impl EndedBy {
    /// Whether this end gives the model a new reason to look at the item (contract 8.2).
    #[must_use]
    pub fn moves_epoch(self) -> bool {
        matches!(self, Self::Trigger | Self::Deadline | Self::Operator)
    }
}

/// A wait for something external (class `waiting_intents`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingIntentRecord {
    /// Its id.
    pub id: WaitingIntentId,
    /// The agent.
    pub agent_id: AgentId,
    /// Whose wait it is.
    #[serde(default = "agent_scope")]
    pub scope: ExternalTriggerScope,
    /// The item that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What is waited for, in words.
    #[serde(alias = "summary")]
    pub description: String,
    /// The system that it concerns.
    pub source: String,
    /// The thing in that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The state of that thing that is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What a delivery becomes.
    pub delivery_mode: CallbackDeliveryMode,
    /// Whether it still waits.
    pub status: WaitingIntentStatus,
    /// The trigger that serves it; may be empty.
    pub external_trigger_id: ExternalTriggerId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(default)]
    pub cancelled_at: Option<Timestamp>,
    /// When its trigger last came.
    #[serde(default)]
    pub last_triggered_at: Option<Timestamp>,
    /// How often its trigger came.
    pub trigger_count: u64,
    /// The conversation that it belongs to.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// What caused it.
    #[serde(default)]
    pub causation_id: Option<String>,
    /// What ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
}

fn agent_scope() -> ExternalTriggerScope {
    ExternalTriggerScope::Agent
}

/// What can end a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WakeSource {
    /// The result of a task.
    TaskResult {
        /// The task.
        task_id: TaskId,
    },
    /// A delivery to an external trigger, or any where none is named.
    ExternalIngress {
        /// The trigger.
        external_trigger_id: Option<ExternalTriggerId>,
    },
    /// An instant.
    Timer {
        /// The instant.
        wake_at: Timestamp,
        /// The timer that stands for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        timer_id: Option<TimerId>,
    },
    /// Operator input.
    OperatorInput,
    /// A tick of the runtime.
    SystemTick,
}

/// All fields that some wake source has; what [`WakeSource`] is read through.
#[derive(Readable)]
struct WakeSourceFields {
    kind: WakeSourceKind,
    task_id: Option<TaskId>,
    external_trigger_id: Option<ExternalTriggerId>,
    wake_at: Option<Timestamp>,
    timer_id: Option<TimerId>,
}

names! {
    enum WakeSourceKind {
        TaskResult,
        ExternalIngress,
        Timer,
        OperatorInput,
        SystemTick,
    }
}

impl TryFrom<WakeSourceFields> for WakeSource {
    type Error = String;

    fn try_from(f: WakeSourceFields) -> Result<Self, String> {
        Ok(match f.kind {
            WakeSourceKind::TaskResult => {
                Self::TaskResult { task_id: required(f.task_id, "task_id", "task_result")? }
            }
            WakeSourceKind::ExternalIngress => {
                Self::ExternalIngress { external_trigger_id: f.external_trigger_id }
            }
            WakeSourceKind::Timer => Self::Timer {
                wake_at: required(f.wake_at, "wake_at", "timer")?,
                timer_id: f.timer_id,
            },
            WakeSourceKind::OperatorInput => Self::OperatorInput,
            WakeSourceKind::SystemTick => Self::SystemTick,
        })
    }
}

read_through!(WakeSource, WakeSourceFields, Self::OperatorInput);

/// A wait of an owner (class `wait_conditions`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitConditionRecord {
    /// Its id; the mirror of an intent is `waiting_intent:<id>`.
    pub id: WaitConditionId,
    /// The agent.
    pub agent_id: AgentId,
    /// The item that owns it; the agent owns it where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Where it stands.
    pub status: WaitConditionStatus,
    /// What it waits for.
    pub kind: WaitConditionKind,
    /// The system that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The thing in that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_ref: Option<String>,
    /// What is waited for, in words.
    pub waiting_for: String,
    /// What can end it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wake_sources: Vec<WakeSource>,
    /// Free data for whoever continues, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<RawJson>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When this record was made.
    pub updated_at: Timestamp,
    /// Its deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When what it waited for came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
    /// When it was withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
    /// What ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
}

impl WaitConditionRecord {
    /// Whether it mirrors an intent and so follows it (contract 5.16).
    #[must_use]
    pub fn is_mirror(&self) -> bool {
        self.id.as_str().starts_with("waiting_intent:")
    }

    /// When it ends if nothing else ends it: at the earliest of its own instants. An instant that a
    /// timer stands for is the timer's, and a mirror follows its intent (contract 5.16, 5.17).
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.expires_at.into_iter().chain(self.wake_at()).min().filter(|_| !self.is_mirror())
    }

    /// The instant that it waits for, where no timer stands for it.
    fn wake_at(&self) -> Option<Timestamp> {
        let instants = self.wake_sources.iter().filter_map(|source| match source {
            WakeSource::Timer { wake_at, timer_id: None } => Some(*wake_at),
            _ => None,
        });
        instants.min()
    }

    /// The record with which a deadline that was reached ends it: what it waited for came, or it
    /// expired.
    #[must_use]
    pub(crate) fn ended_by_deadline(&self, at: Timestamp) -> Record {
        let came = self.wake_at().is_some_and(|wake_at| wake_at <= at);
        let status =
            if came { WaitConditionStatus::Resolved } else { WaitConditionStatus::Expired };
        self.ended(status, EndedBy::Deadline, at)
    }

    /// The record with which it ends.
    #[must_use]
    pub(crate) fn ended(&self, status: WaitConditionStatus, by: EndedBy, at: Timestamp) -> Record {
        Record::WaitCondition(Self {
            status,
            updated_at: at,
            resolved_at: (status == WaitConditionStatus::Resolved).then_some(at),
            cancelled_at: (status == WaitConditionStatus::Cancelled).then_some(at),
            ended_by: Some(by),
            ..self.clone()
        })
    }

    /// The condition that mirrors an intent (`observed-decisions.md` 2.8.1; contract 5.16).
    #[must_use]
    pub fn mirror(intent: &WaitingIntentRecord) -> Self {
        #[derive(Serialize)]
        struct Continuation<'a> {
            waiting_intent_id: &'a WaitingIntentId,
            external_trigger_id: &'a ExternalTriggerId,
            scope: ExternalTriggerScope,
            delivery_mode: CallbackDeliveryMode,
        }
        let changed = intent.cancelled_at.or(intent.last_triggered_at);
        Self {
            id: format!("waiting_intent:{}", intent.id).into(),
            agent_id: intent.agent_id.clone(),
            work_item_id: intent.work_item_id.clone(),
            status: match intent.status {
                WaitingIntentStatus::Active => WaitConditionStatus::Active,
                WaitingIntentStatus::Cancelled => WaitConditionStatus::Cancelled,
            },
            kind: WaitConditionKind::External,
            source: Some(intent.source.clone()),
            subject_ref: intent.resource.clone(),
            waiting_for: intent.condition.clone().unwrap_or_else(|| intent.description.clone()),
            wake_sources: Vec::from([WakeSource::ExternalIngress {
                external_trigger_id: Some(intent.external_trigger_id.clone()),
            }]),
            continuation: Some(RawJson::from_value(&Continuation {
                waiting_intent_id: &intent.id,
                external_trigger_id: &intent.external_trigger_id,
                scope: intent.scope,
                delivery_mode: intent.delivery_mode,
            })),
            created_at: intent.created_at,
            updated_at: changed.unwrap_or(intent.created_at),
            expires_at: None,
            resolved_at: None,
            cancelled_at: intent.cancelled_at,
            ended_by: intent.ended_by,
        }
    }
}

/// A timer (class `timers`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerRecord {
    /// Its id.
    pub id: TimerId,
    /// The agent.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// When it was made.
    pub created_at: Timestamp,
    /// From then to its first fire, in milliseconds.
    pub duration_ms: u64,
    /// Between fires, in milliseconds.
    #[serde(default)]
    pub interval_ms: Option<u64>,
    /// Whether it fires more than once.
    pub repeat: bool,
    /// Where it stands.
    #[serde(default = "active")]
    pub status: TimerStatus,
    /// What it is for, in a line.
    #[serde(default)]
    pub summary: Option<String>,
    /// When it fires next.
    #[serde(default)]
    pub next_fire_at: Option<Timestamp>,
    /// When it fired last.
    #[serde(default)]
    pub last_fired_at: Option<Timestamp>,
    /// How often it fired.
    #[serde(default)]
    pub fire_count: u64,
    /// The message of its last fire (contract 5.20: at most one of them waits).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_message_id: Option<MessageId>,
}

fn active() -> TimerStatus {
    TimerStatus::Active
}

impl TimerRecord {
    /// When it fires next, also where a foreign record does not say.
    #[must_use]
    pub fn due_at(&self) -> Timestamp {
        self.next_fire_at.unwrap_or_else(|| {
            let from = self.last_fired_at.unwrap_or(self.created_at);
            from.plus_ms(self.interval_ms.unwrap_or(self.duration_ms))
        })
    }

    /// What its tick says.
    #[must_use]
    pub fn tick_text(&self) -> String {
        self.summary
            .as_ref()
            .map_or_else(|| format!("timer {} fired", self.id), ToString::to_string)
    }

    /// The record after a fire at `at`; an interval goes on at the first grid slot after it
    /// (contract 5.20, D27).
    #[must_use]
    pub fn fired_at(&self, at: Timestamp) -> Self {
        let interval = self.interval_ms.filter(|_| self.repeat);
        Self {
            status: match interval {
                Some(_) => TimerStatus::Active,
                None => TimerStatus::Completed,
            },
            next_fire_at: interval.map(|step| self.due_at().next_on_grid(step, at)),
            last_fired_at: Some(at),
            fire_count: self.fire_count + 1,
            ..self.clone()
        }
    }

    /// The record after a fire at `at` that queued `message`.
    #[must_use]
    pub fn fired(&self, message: MessageId, at: Timestamp) -> Self {
        Self { tick_message_id: Some(message), ..self.fired_at(at) }
    }
}
