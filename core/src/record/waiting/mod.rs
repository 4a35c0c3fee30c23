//! Waits: waiting intents, wait conditions and timers.

pub mod intent;
pub mod recoverability;

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

pub use crate::record::ingress::{CallbackDeliveryMode, ExternalTriggerScope};
use crate::{
    id::{
        AgentId, ExternalTriggerId, MessageId, TaskId, TimerId, WaitConditionId, WaitingIntentId,
        WorkItemId,
    },
    record::{Record, text},
    tagged::{names, read_through, required},
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

names! {
    /// The status of a waiting intent.
    pub enum WaitingIntentStatus {
        /// It waits.
        Active,
        /// It has ended.
        Cancelled,
    }

    /// The status of a wait condition.
    pub enum WaitConditionStatus {
        /// It waits.
        Active,
        /// What it waited for arrived.
        Resolved,
        /// It was cancelled.
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

    /// The status of a timer.
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
        /// A trigger that names the wait.
        Trigger,
        /// The deadline of the wait.
        Deadline,
        /// The operator.
        Operator,
        /// The model.
        Model,
        /// A newer wait of the same owner.
        Superseded,
        /// The completion of the work item.
        Completion,
        /// The end of its last external trigger, or a new token for the trigger (contract 15.6).
        TriggerEnded,
    }
}

impl EndedBy {
    /// Whether this end gives the model a new reason to look at the work item (contract 8.2).
    #[must_use]
    pub fn moves_epoch(self) -> bool {
        matches!(self, Self::Trigger | Self::Deadline | Self::Operator | Self::TriggerEnded)
    }
}

/// A wait for something external (class `waiting_intents`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingIntentRecord {
    /// Unique within the agent.
    pub id: WaitingIntentId,
    /// The agent that owns the ledger.
    pub agent_id: AgentId,
    /// Whether the wait belongs to an item or to the agent.
    #[serde(default = "agent_scope")]
    pub scope: ExternalTriggerScope,
    /// The work item that the intent names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What is awaited, in words.
    #[serde(alias = "summary")]
    pub description: String,
    /// The external system.
    pub source: String,
    /// The resource in that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The awaited state of that resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What a delivery to the trigger becomes.
    pub delivery_mode: CallbackDeliveryMode,
    /// Whether the intent still waits.
    pub status: WaitingIntentStatus,
    /// The external trigger of the intent; may be empty.
    pub external_trigger_id: ExternalTriggerId,
    /// When the intent was created.
    pub created_at: Timestamp,
    /// When the intent ended.
    #[serde(default)]
    pub cancelled_at: Option<Timestamp>,
    /// When its trigger last arrived.
    #[serde(default)]
    pub last_triggered_at: Option<Timestamp>,
    /// The number of times that its trigger arrived.
    pub trigger_count: u64,
    /// The conversation that the intent belongs to.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// What caused the intent.
    #[serde(default)]
    pub causation_id: Option<String>,
    /// What ended the intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
}

fn agent_scope() -> ExternalTriggerScope {
    ExternalTriggerScope::Agent
}

/// Something that can end a wait condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WakeSource {
    /// The result of a task.
    TaskResult {
        /// The task.
        task_id: TaskId,
    },
    /// A delivery to an external trigger; to any trigger if none is named.
    ExternalIngress {
        /// The trigger, if one is named.
        external_trigger_id: Option<ExternalTriggerId>,
        /// The number of deliveries to that trigger that the waiter has seen. If there were more
        /// already, the wait is satisfied at once (contract 15.5).
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
    /// An instant.
    Timer {
        /// When it is reached. In a fact, absent if `wake_in_ms` is given.
        wake_at: Timestamp,
        /// The time from the entry to the instant, in milliseconds; absent if the instant was named
        /// absolutely (contract 1.3).
        #[serde(skip_serializing_if = "Option::is_none")]
        wake_in_ms: Option<u64>,
        /// The timer that represents the instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        timer_id: Option<TimerId>,
    },
    /// Operator input.
    OperatorInput,
    /// A tick of the runtime.
    SystemTick,
}

/// The fields of all wake sources together; [`WakeSource`] is read through it.
#[derive(Readable)]
struct WakeSourceFields {
    kind: WakeSourceKind,
    task_id: Option<TaskId>,
    external_trigger_id: Option<ExternalTriggerId>,
    after: Option<u64>,
    wake_at: Option<Timestamp>,
    wake_in_ms: Option<u64>,
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
                Self::ExternalIngress { external_trigger_id: f.external_trigger_id, after: f.after }
            }
            WakeSourceKind::Timer => Self::Timer {
                // A fact may give the duration alone, and then the core derives the instant.
                wake_at: match f.wake_in_ms {
                    Some(_) => f.wake_at.unwrap_or(Timestamp::MAX),
                    None => required(f.wake_at, "wake_at", "timer")?,
                },
                wake_in_ms: f.wake_in_ms,
                timer_id: f.timer_id,
            },
            WakeSourceKind::OperatorInput => Self::OperatorInput,
            WakeSourceKind::SystemTick => Self::SystemTick,
        })
    }
}

impl WakeSource {
    /// The external trigger that it names.
    #[must_use]
    pub fn trigger(&self) -> Option<&ExternalTriggerId> {
        match self {
            Self::ExternalIngress { external_trigger_id, .. } => external_trigger_id.as_ref(),
            _ => None,
        }
    }

    /// This source with the instant that follows from its duration, counted from `at`.
    #[must_use]
    pub(crate) fn from(self, at: Timestamp) -> Self {
        match self {
            Self::Timer { wake_in_ms: Some(ms), timer_id, .. } => {
                Self::Timer { wake_at: at.plus_ms(ms), wake_in_ms: Some(ms), timer_id }
            }
            other => other,
        }
    }
}

read_through!(WakeSource, WakeSourceFields, Self::OperatorInput);

/// A wait of an item or of the agent (class `wait_conditions`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitConditionRecord {
    /// Unique within the agent. The mirror of an intent is `waiting_intent:<id>`.
    pub id: WaitConditionId,
    /// The agent that owns the ledger.
    pub agent_id: AgentId,
    /// The item that owns the wait; `None` if the agent itself does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The status of the wait.
    pub status: WaitConditionStatus,
    /// What kind of thing is awaited.
    pub kind: WaitConditionKind,
    /// The external system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The resource in that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_ref: Option<String>,
    /// What is awaited, in words.
    pub waiting_for: String,
    /// What can end the wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wake_sources: Vec<WakeSource>,
    /// Free data for the turn that continues after the wait, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<RawJson>,
    /// When the wait was registered.
    pub created_at: Timestamp,
    /// When this record was made.
    pub updated_at: Timestamp,
    /// The deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The time from the registration to the deadline, in milliseconds; absent if the deadline was
    /// named absolutely (contract 1.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// When what it waited for arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
    /// When it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
    /// What ended the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
}

/// The beginning of the id of a condition that mirrors an intent.
pub(crate) const MIRROR: &str = "waiting_intent:";

impl WaitConditionRecord {
    /// Whether this condition mirrors an intent and so follows it (contract 5.16).
    #[must_use]
    pub fn is_mirror(&self) -> bool {
        self.id.as_str().starts_with(MIRROR)
    }

    /// The condition without instants that depend on when it was registered.
    pub(crate) fn without_times(&self) -> Self {
        let never = Timestamp::default();
        let sources = self.wake_sources.iter().cloned().map(|source| source.from(never));
        Self {
            wake_sources: sources.collect(),
            expires_at: self.expires_at.filter(|_| self.expires_in_ms.is_none()),
            created_at: never,
            updated_at: never,
            ..self.clone()
        }
    }

    /// When the wait ends if nothing else ends it: the earliest of its own instants. An instant
    /// with a timer belongs to the timer, and a mirror follows its intent (contract 5.16, 5.17).
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.expires_at.into_iter().chain(self.wake_at()).min().filter(|_| !self.is_mirror())
    }

    /// The external triggers that can end it, if nothing else can: no deadline, no other source, no
    /// delivery to a trigger that it does not name.
    pub(crate) fn only_triggers(&self) -> Option<Vec<&ExternalTriggerId>> {
        if self.kind != WaitConditionKind::External
            || self.wake_sources.is_empty()
            || self.deadline().is_some()
        {
            return None;
        }
        self.wake_sources.iter().map(WakeSource::trigger).collect()
    }

    /// The intent that this condition mirrors.
    #[must_use]
    pub fn mirrors(&self) -> Option<WaitingIntentId> {
        self.id.as_str().strip_prefix(MIRROR).map(WaitingIntentId::from)
    }

    /// The earliest instant that it waits for, without those that have a timer.
    fn wake_at(&self) -> Option<Timestamp> {
        let instants = self.wake_sources.iter().filter_map(|source| match source {
            WakeSource::Timer { wake_at, timer_id: None, .. } => Some(*wake_at),
            _ => None,
        });
        instants.min()
    }

    /// The record with which a reached deadline ends it: resolved if it waited for that instant,
    /// otherwise expired.
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
            id: format!("{MIRROR}{}", intent.id).into(),
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
                after: None,
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
            expires_in_ms: None,
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
    /// Unique within the agent.
    pub id: TimerId,
    /// The agent that owns the ledger.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// When the timer was created.
    pub created_at: Timestamp,
    /// The time from creation to the first fire, in milliseconds.
    pub duration_ms: u64,
    /// The time between fires, in milliseconds.
    #[serde(default)]
    pub interval_ms: Option<u64>,
    /// Whether the timer fires more than once.
    pub repeat: bool,
    /// The status of the timer.
    #[serde(default = "active")]
    pub status: TimerStatus,
    /// The purpose of the timer, in one line.
    #[serde(default)]
    pub summary: Option<String>,
    /// When the timer fires next.
    #[serde(default)]
    pub next_fire_at: Option<Timestamp>,
    /// When the timer last fired.
    #[serde(default)]
    pub last_fired_at: Option<Timestamp>,
    /// The number of fires so far.
    #[serde(default)]
    pub fire_count: u64,
    /// The message of the last fire (contract 5.20: at most one of them waits).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_message_id: Option<MessageId>,
}

fn active() -> TimerStatus {
    TimerStatus::Active
}

impl TimerRecord {
    /// When the timer fires next. Foreign records may not say it, so it is computed then.
    #[must_use]
    pub fn due_at(&self) -> Timestamp {
        self.next_fire_at.unwrap_or_else(|| {
            let from = self.last_fired_at.unwrap_or(self.created_at);
            from.plus_ms(self.interval_ms.unwrap_or(self.duration_ms))
        })
    }

    /// The text of the timer's tick.
    #[must_use]
    pub fn tick_text(&self) -> String {
        self.summary.as_ref().map_or_else(|| text::timer_fired(&self.id), ToString::to_string)
    }

    /// The record after a fire at `at`. An interval continues at the first grid slot after `at`
    /// (contract 5.20, D27).
    #[must_use]
    pub fn fired_at(&self, at: Timestamp) -> Self {
        // An imported timer may have an interval and still fire only once.
        let interval = self.interval_ms.filter(|_| self.repeat);
        let next_fire_at = interval
            // From the slot that was due and not from `at`, so that a late fire does not move the
            // grid.
            .map(|step| self.due_at().next_on_grid(step, at))
            // At the last instant of all no slot is left. Otherwise the timer would fire there
            // without end.
            .filter(|next| *next > at);
        Self {
            status: match next_fire_at {
                Some(_) => TimerStatus::Active,
                None => TimerStatus::Completed,
            },
            next_fire_at,
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
