//! External triggers: capabilities to deliver to the agent from outside (contract 15).

use alloc::string::String;
use core::fmt;

use serde::Serialize;

use crate::{
    id::{AgentId, DeliveryId, ExternalTriggerId, MessageId, WaitingIntentId, WorkItemId},
    record::queue::envelope::TrustLevel,
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{Readable, Value};

names! {
    /// Whether an external trigger serves an item or the agent.
    pub enum ExternalTriggerScope {
        /// A wait of one work item.
        WorkItem,
        /// A wait of the agent.
        Agent,
    }

    /// What a delivery to an external trigger becomes.
    pub enum CallbackDeliveryMode {
        /// A message.
        EnqueueMessage,
        /// A wake hint.
        WakeHint | "wake_only",
    }

    /// The status of an external trigger. That one has expired follows from `expires_at`.
    pub enum ExternalTriggerStatus {
        /// Deliveries count.
        Active,
        /// It was revoked, or its work item was completed.
        Revoked,
        /// It was for one delivery and had it.
        Used,
    }

    /// How far those who deliver to a trigger are trusted. Nobody outside speaks for the operator
    /// or the runtime.
    pub enum ExternalTrust {
        /// A configured integration.
        TrustedIntegration,
        /// Anyone else.
        UntrustedExternal,
    }
}

impl ExternalTrust {
    /// The trust of the messages that deliveries become.
    #[must_use]
    pub fn of_messages(self) -> TrustLevel {
        match self {
            Self::TrustedIntegration => TrustLevel::TrustedIntegration,
            Self::UntrustedExternal => TrustLevel::UntrustedExternal,
        }
    }
}

/// An external trigger (class `external_triggers`). It has the hash of its token; the token itself
/// is in no ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalTriggerRecord {
    /// Unique within the agent.
    pub external_trigger_id: ExternalTriggerId,
    /// The agent that owns the ledger.
    pub target_agent_id: AgentId,
    /// The intent that another runtime linked to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_intent_id: Option<WaitingIntentId>,
    /// Whether it serves an item or the agent.
    #[serde(default = "agent_scope")]
    pub scope: ExternalTriggerScope,
    /// The work item that it serves, if it has that scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What is delivered, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What a delivery becomes.
    pub delivery_mode: CallbackDeliveryMode,
    /// How far those who deliver are trusted.
    #[serde(default = "untrusted", skip_serializing_if = "is_untrusted")]
    pub trust: ExternalTrust,
    /// The hash of its token, which the host compares.
    #[serde(default)]
    pub token_hash: String,
    /// The status of the trigger.
    pub status: ExternalTriggerStatus,
    /// Whether its first delivery ends it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub one_shot: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The time from its creation until it expires, in milliseconds; absent if the instant was
    /// named absolutely (contract 1.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// When it was revoked.
    #[serde(default)]
    pub revoked_at: Option<Timestamp>,
    /// When something was last delivered.
    #[serde(default)]
    pub last_delivered_at: Option<Timestamp>,
    /// The sender's id of that delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_delivery_id: Option<DeliveryId>,
    /// The number of deliveries.
    #[serde(default)]
    pub delivery_count: u64,
}

fn agent_scope() -> ExternalTriggerScope {
    ExternalTriggerScope::Agent
}

fn untrusted() -> ExternalTrust {
    ExternalTrust::UntrustedExternal
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_untrusted(trust: &ExternalTrust) -> bool {
    *trust == ExternalTrust::UntrustedExternal
}

impl ExternalTriggerRecord {
    /// Whether it has expired at an instant.
    #[must_use]
    pub fn has_expired(&self, at: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= at)
    }

    /// The item whose waits alone its deliveries end; `None` if it serves the agent.
    #[must_use]
    pub fn only_item(&self) -> Option<&WorkItemId> {
        self.work_item_id.as_ref().filter(|_| self.scope == ExternalTriggerScope::WorkItem)
    }

    /// The record of a delivery. If the trigger is for one, it is then used.
    pub(crate) fn delivered(&self, delivery_id: DeliveryId, at: Timestamp) -> Self {
        let status =
            if self.one_shot { ExternalTriggerStatus::Used } else { ExternalTriggerStatus::Active };
        Self {
            status,
            last_delivered_at: Some(at),
            last_delivery_id: Some(delivery_id),
            delivery_count: self.delivery_count + 1,
            ..self.clone()
        }
    }

    /// The record with which it ends before its time.
    pub(crate) fn revoked(&self, at: Timestamp) -> Self {
        Self { status: ExternalTriggerStatus::Revoked, revoked_at: Some(at), ..self.clone() }
    }

    /// The key of the newest delivery.
    pub(crate) fn last_delivery(&self) -> Option<DeliveryKey> {
        let id = self.last_delivery_id.as_ref()?;
        Some(DeliveryKey::new(&self.external_trigger_id, id))
    }
}

/// A delivery, by trigger and the sender's id: a hash of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeliveryKey(u128);

/// The beginning of the id of a message that a delivery became.
pub(crate) const DELIVERY: &str = "delivery:";

impl DeliveryKey {
    /// The key of the delivery with this id.
    #[must_use]
    pub fn new(trigger: &ExternalTriggerId, delivery: &DeliveryId) -> Self {
        let mut hasher = blake3::Hasher::new();
        // The length keeps the two ids apart.
        hasher.update(&(trigger.as_str().len() as u64).to_be_bytes());
        hasher.update(trigger.as_str().as_bytes());
        hasher.update(delivery.as_str().as_bytes());
        let hash = hasher.finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&hash.as_bytes()[..16]);
        Self(u128::from_be_bytes(half))
    }

    /// The id of the message that this delivery becomes.
    #[must_use]
    pub fn message_id(self) -> MessageId {
        MessageId::from(alloc::format!("{DELIVERY}{self}"))
    }
}

impl fmt::Display for DeliveryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for DeliveryKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The name lets `shape` leave it out: it is a hash.
        serializer.serialize_newtype_struct("DeliveryKey", &alloc::format!("{self}"))
    }
}

impl Readable for DeliveryKey {
    fn read(value: &Value<'_>) -> Self {
        let text = value.text("a string");
        u128::from_str_radix(&text, 16).map(Self).unwrap_or_else(|_| {
            value.is_wrong(&"a delivery key has 32 hexadecimal digits");
            Self::default()
        })
    }
}
