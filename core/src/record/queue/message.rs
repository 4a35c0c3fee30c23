//! Messages, and what kind of trigger each one is.

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
    /// Unique within the agent.
    pub id: MessageId,
    /// The agent that receives the message.
    // The reference runtime reads this name too (`observed-decisions.md` 2).
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// When the message was created.
    pub created_at: Timestamp,
    /// The kind of message.
    pub kind: MessageKind,
    /// The sender.
    pub origin: MessageOrigin,
    /// How far the sender is trusted.
    pub trust: TrustLevel,
    /// How much weight the text has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
    /// The lane.
    pub priority: Priority,
    /// The trigger kind that another runtime recorded. It is used for evidence strings only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_kind: Option<TriggerKind>,
    /// The work item that the message is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The task that the message is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// What the message refers to: ids by the name of their kind.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub source_refs: Map<String, String>,
    /// The content.
    pub body: MessageBody,
    /// The interface through which the message arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_surface: Option<DeliverySurface>,
    /// The authority under which the message was admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission_context: Option<AdmissionContext>,
    /// Free data. The keys `wake_hint` and `work_queue` belong to the core.
    #[serde(default)]
    pub metadata: Option<RawJson>,
    /// The conversation that the message belongs to.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// What caused the message.
    #[serde(default)]
    pub causation_id: Option<String>,
}

names! {
    /// What kind of trigger a message is (contract 6.3).
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
    /// Whether the runtime itself made this message. Only then does its metadata count (contract
    /// 5.19).
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

    /// Whether this is operator input, by kind, origin and trust alone (contract 5.19).
    #[must_use]
    pub fn is_operator_input(&self) -> bool {
        self.kind == MessageKind::OperatorPrompt
            && matches!(self.origin, MessageOrigin::Operator { .. })
            && self.trust == TrustLevel::TrustedOperator
    }
}
