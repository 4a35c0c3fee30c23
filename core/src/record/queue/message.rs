//! The records of the queue: messages, and their way through it.

use alloc::string::String;

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId, TaskId, WorkItemId},
    record::queue::envelope::{
        AdmissionContext, AuthorityClass, DeliverySurface, MessageBody, MessageKind, MessageOrigin,
        Priority, TrustLevel,
    },
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{Map, RawJson, Readable};

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
                Some(
                    DeliverySurface::RuntimeSystem
                        | DeliverySurface::TimerScheduler
                        | DeliverySurface::TaskRejoin
                )
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
