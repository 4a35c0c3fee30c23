//! Notes: the metadata with which a message of the core names its subject.

use alloc::string::String;

use serde::Serialize;

use crate::{
    id::{ExternalTriggerId, MessageId, RunId, TimerId, WaitConditionId, WorkItemId},
    record::{
        key::TickReason,
        queue::{
            envelope::{MessageKind, MessageOrigin},
            message::MessageRecord,
        },
    },
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

names! {
    /// The notes that the core writes into a message's metadata and reads from it. Each is under
    /// the key of its name.
    pub enum NoteKey {
        /// A tick offers an item: [`WorkQueueNote`].
        WorkQueue,
        /// A wake hint became a tick: [`HintTickNote`], and the hint itself.
        WakeHint,
        /// A system wait is due: [`SystemWaitNote`].
        SystemWait,
        /// The deadline of a wait was reached: [`DeadlineNote`].
        WaitDeadline,
        /// The recheck of a blocked item is due: [`RecheckNote`].
        WorkItemRecheck,
        /// Tasks were interrupted:
        /// [`InterruptedTasksNote`](crate::record::task::message::InterruptedTasksNote).
        InterruptedTasks,
        /// A failed turn is retried: [`RetryNote`].
        TurnRetry,
    }
}

/// The typed form of a note.
pub trait Note: Readable {
    /// The key of the note.
    const KEY: NoteKey;
}

impl MessageRecord {
    /// The metadata under a note's key, in any shape: hosts and other runtimes may put anything
    /// there.
    #[must_use]
    pub fn raw_note(&self, key: NoteKey) -> Option<RawJson> {
        self.noted(key.as_str())
    }

    /// The note of this type. `None` if there is none, or if the value under its key has another
    /// shape.
    #[must_use]
    pub fn note<N: Note>(&self) -> Option<N> {
        self.raw_note(N::KEY)?.read().ok()
    }
}

/// Metadata with a single note.
pub(crate) fn metadata(key: NoteKey, note: &impl Serialize) -> RawJson {
    RawJson::noting(key.as_str(), note)
}

/// The part of a wake-hint tick's metadata that identifies the hint.
#[derive(Clone, Debug, PartialEq, Eq, Readable)]
pub struct HintTickNote {
    /// The key that admitting this tick spends.
    pub idempotency_key: String,
}

impl Note for HintTickNote {
    const KEY: NoteKey = NoteKey::WakeHint;
}

/// The metadata of a system-wait tick (contract 8.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct SystemWaitNote {
    /// The key that admitting this tick spends.
    pub idempotency_key: String,
    /// The condition that is due.
    pub wait_condition_id: WaitConditionId,
}

impl Note for SystemWaitNote {
    const KEY: NoteKey = NoteKey::SystemWait;
}

/// The metadata of a message about a reached deadline (contract 5.17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct DeadlineNote {
    /// The condition that ended.
    pub wait_condition_id: WaitConditionId,
    /// The deadline that was reached.
    pub deadline: Timestamp,
    /// The external trigger whose end leaves nothing that ends the condition (contract 15.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<ExternalTriggerId>,
}

impl Note for DeadlineNote {
    const KEY: NoteKey = NoteKey::WaitDeadline;
}

/// The metadata of a message about a due recheck (contract 5.17; `observed-decisions.md` 4.9.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct RecheckNote {
    /// The blocked item.
    pub work_item_id: WorkItemId,
    /// The revision of that item.
    pub work_item_revision: u64,
    /// The objective of that item.
    pub objective: String,
    /// What blocks the item.
    pub blocked_by: String,
    /// When the recheck was due.
    pub recheck_at: Timestamp,
}

impl Note for RecheckNote {
    const KEY: NoteKey = NoteKey::WorkItemRecheck;
}

/// The metadata of a work-queue tick (`observed-decisions.md` 4.9.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct WorkQueueNote {
    /// `continue_active` or `queued_available`.
    pub reason: TickReason,
    /// The key that admitting this tick spends (contract 8.3).
    pub idempotency_key: String,
    /// The item that is offered.
    pub work_item_id: WorkItemId,
    /// The revision of that item.
    pub work_item_revision: u64,
    /// The objective of that item.
    pub objective: String,
    /// The number of the offer, if the item rested (contract 9.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<u64>,
}

impl Note for WorkQueueNote {
    const KEY: NoteKey = NoteKey::WorkQueue;
}

/// The subject of a message of the core, beyond its item. A retry has the same subject (contract
/// 5.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Subject {
    /// The reason for which a tick offered the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_as: Option<TickReason>,
    /// The timer that fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_id: Option<TimerId>,
}

impl Subject {
    pub(crate) fn from_message(message: &MessageRecord) -> Self {
        if let Some(note) = message.note::<RetryNote>() {
            return note.subject;
        }
        let offered = message.note::<WorkQueueNote>();
        let timer_id = match &message.origin {
            MessageOrigin::Timer { timer_id } => Some(timer_id.clone()),
            _ => None,
        };
        Self { offered_as: offered.map(|note| note.reason), timer_id }
    }
}

/// The metadata of a retry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct RetryNote {
    /// The first message of the lineage.
    pub retry_of: MessageId,
    /// The number of the retry, from 1.
    pub attempt: u64,
    /// The run that failed.
    pub failed_run_id: RunId,
    /// The subject of the lineage.
    #[serde(flatten)]
    pub subject: Subject,
}

impl Note for RetryNote {
    const KEY: NoteKey = NoteKey::TurnRetry;
}

/// The message whose failure this follow-up continues from; `None` for other kinds.
pub(crate) fn continues(message: &MessageRecord) -> Option<MessageId> {
    message
        .causation_id
        .as_deref()
        .filter(|_| message.kind == MessageKind::InternalFollowup)
        .map(MessageId::from)
}
