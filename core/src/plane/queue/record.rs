//! The records of the queue: messages, and their way through it.

use alloc::string::String;

use serde::Serialize;

use super::envelope::{
    AdmissionContext, AuthorityClass, DeliverySurface, MessageBody, MessageKind, MessageOrigin, Priority, QueueStatus, TrustLevel,
};
use crate::{
    id::{AgentId, MessageId, TaskId, WaitConditionId, WorkItemId},
    json::{RawJson, Readable},
    map::Map,
    tagged::names,
    time::Timestamp,
};

/// A message as the ledger keeps it (class `messages`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageRecord {
    /// Its id.
    pub id: MessageId,
    /// The agent that it is for.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// When it was made.
    pub created_at: Timestamp,
    /// What it is.
    pub kind: MessageKind,
    /// Who sent it.
    pub origin: MessageOrigin,
    /// How far the sender is trusted.
    pub trust: TrustLevel,
    /// What its words count as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
    /// Its lane.
    pub priority: Priority,
    /// What it triggers, as a foreign runtime noted it; for the evidence strings only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_kind: Option<TriggerKind>,
    /// The work item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// What it refers to, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub source_refs: Map<String, String>,
    /// What it says.
    pub body: MessageBody,
    /// Where it came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_surface: Option<DeliverySurface>,
    /// Under what authority it was admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission_context: Option<AdmissionContext>,
    /// Free data; the keys `wake_hint` and `work_queue` are the core's.
    #[serde(default)]
    pub metadata: Option<RawJson>,
    /// The conversation that it belongs to.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// What caused it.
    #[serde(default)]
    pub causation_id: Option<String>,
}

names! {
    /// What a message can set off (contract 6.3).
    pub enum TriggerKind {
        /// Operator input.
        OperatorInput,
        /// A task's result.
        TaskResult,
        /// An external event.
        ExternalEvent,
        /// A timer.
        TimerFire,
        /// A follow-up of the runtime.
        InternalFollowup,
        /// A tick of the runtime.
        SystemTick,
    }
}

impl MessageRecord {
    /// Whether the runtime itself made this message: only then its metadata counts (contract 5.19).
    #[must_use]
    pub fn is_runtime_owned(&self) -> bool {
        self.trust == TrustLevel::TrustedSystem
            && matches!(
                self.delivery_surface,
                Some(DeliverySurface::RuntimeSystem | DeliverySurface::TimerScheduler | DeliverySurface::TaskRejoin)
            )
    }

    /// Whether this is operator input: kind, origin and trust, and nothing else (contract 5.19).
    #[must_use]
    pub fn is_operator_input(&self) -> bool {
        self.kind == MessageKind::OperatorPrompt
            && matches!(self.origin, MessageOrigin::Operator { .. })
            && self.trust == TrustLevel::TrustedOperator
    }
}

/// The part of a wake-hint tick's metadata that says which hint it was.
#[derive(Clone, Debug, PartialEq, Eq, Readable)]
pub struct HintTickNote {
    /// The key that admitting this tick spends.
    pub idempotency_key: String,
}

/// The metadata of a system-wait tick (contract 8.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct SystemWaitNote {
    /// The key that admitting this tick spends.
    pub idempotency_key: String,
    /// The condition.
    pub wait_condition_id: WaitConditionId,
}

/// The metadata of a deadline that was reached (contract 5.17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct DeadlineNote {
    /// The condition.
    pub wait_condition_id: WaitConditionId,
    /// The deadline.
    pub deadline: Timestamp,
}

/// The metadata of a recheck that is due (contract 5.17; `observed-decisions.md` 4.9.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct RecheckNote {
    /// The item.
    pub work_item_id: WorkItemId,
    /// Its revision.
    pub work_item_revision: u64,
    /// Its objective.
    pub objective: String,
    /// What blocks it.
    pub blocked_by: String,
    /// When the blocker was to be looked at again.
    pub recheck_at: Timestamp,
}

/// The metadata of a work-queue tick (`observed-decisions.md` 4.9.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct WorkQueueNote {
    /// `continue_active` or `queued_available`.
    pub reason: TickReason,
    /// The key that admitting this tick spends (contract 8.3).
    pub idempotency_key: String,
    /// The item.
    pub work_item_id: WorkItemId,
    /// Its revision.
    pub work_item_revision: u64,
    /// Its objective.
    pub objective: String,
    /// The number of the offer, where the item rested (contract 9.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<u64>,
}

names! {
    /// Why a work item is offered to the model.
    pub enum TickReason {
        /// It has the focus.
        ContinueActive,
        /// It is runnable without the focus.
        QueuedAvailable,
    }
}

/// A message's way through the queue (class `queue_entries`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueEntryRecord {
    /// The message.
    pub message_id: MessageId,
    /// The agent.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// Its lane when it was admitted.
    pub priority: Priority,
    /// What became of it.
    pub status: QueueStatus,
    /// Why, where the status alone does not say (contract 5.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was admitted.
    pub created_at: Timestamp,
    /// When this status was reached.
    pub updated_at: Timestamp,
}

impl QueueEntryRecord {
    /// The entry that takes `message` to `status` at `at`.
    #[must_use]
    pub fn of(message: &MessageRecord, status: QueueStatus, at: Timestamp) -> Self {
        Self {
            message_id: message.id.clone(),
            agent_id: message.agent_id.clone(),
            priority: message.priority,
            status,
            reason: None,
            created_at: message.created_at,
            updated_at: at,
        }
    }
}
