//! The way of a message through the queue (class `queue_entries`).

use alloc::string::String;

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId},
    record::queue::{
        envelope::{Priority, QueueStatus},
        message::MessageRecord,
    },
    time::Timestamp,
};
use wakeful_json::Readable;

/// A step of a message through the queue (class `queue_entries`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueEntryRecord {
    /// The message that moved.
    pub message_id: MessageId,
    /// The agent that owns the ledger.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// The lane of the message at admission.
    pub priority: Priority,
    /// The status that the message reached.
    pub status: QueueStatus,
    /// Why, if the status alone does not say it (contract 5.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the message was admitted.
    pub created_at: Timestamp,
    /// When the message reached this status.
    pub updated_at: Timestamp,
}

impl QueueEntryRecord {
    /// The entry that moves `message` to `status` at `at`.
    #[must_use]
    pub fn new(message: &MessageRecord, status: QueueStatus, at: Timestamp) -> Self {
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
