//! Admission: fills in the fields of a message when it is queued (`observed-decisions.md` 2.3.1).

use alloc::string::{String, ToString};

use wakeful_json::{Map, RawJson};

use crate::{
    id::{AgentId, MessageId, Seq, TaskId, WorkItemId},
    record::{
        Record,
        queue::{
            entry::QueueEntryRecord,
            envelope::{
                AdmissionContext, DeliverySurface, MessageBody, MessageKind, MessageOrigin,
                Priority, QueueStatus, TrustLevel,
            },
            message::{MessageRecord, TriggerKind},
            note::NoteKey,
        },
    },
    time::Timestamp,
};

/// The trigger kind under which a message is admitted.
///
/// Kinds that trigger nothing are admitted as a system tick (`observed-decisions.md` 1.3.4).
#[must_use]
pub fn admitted_as(kind: MessageKind) -> Option<TriggerKind> {
    Some(match kind {
        MessageKind::OperatorPrompt => TriggerKind::OperatorInput,
        MessageKind::ChannelEvent | MessageKind::WebhookEvent | MessageKind::CallbackEvent => {
            TriggerKind::ExternalEvent
        }
        MessageKind::TimerTick => TriggerKind::TimerFire,
        MessageKind::TaskResult | MessageKind::TaskStatus => TriggerKind::TaskResult,
        MessageKind::InternalFollowup => TriggerKind::InternalFollowup,
        MessageKind::SystemTick
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult => TriggerKind::SystemTick,
    })
}

/// The message and queue entry that queue `message`.
#[must_use]
pub(crate) fn records(message: MessageRecord, at: Timestamp) -> [Record; 2] {
    let message = message.admitted();
    let entry = QueueEntryRecord::new(&message, QueueStatus::Queued, at);
    [Record::Message(message), Record::QueueEntry(entry)]
}

/// Metadata keys that become references.
const REFERENCES: [&str; 6] = [
    "queued_event_id",
    "task_result_id",
    "external_trigger_id",
    "waiting_intent_id",
    "callback_delivery_id",
    "timer_id",
];

/// Keys of a wake hint's note that become references.
const HINT_REFERENCES: [&str; 3] = ["external_trigger_id", "waiting_intent_id", "resource"];

impl MessageRecord {
    /// This message with trigger kind, authority, bindings and references filled in. Fields that
    /// are set stay, so a second call changes nothing.
    ///
    /// Only the runtime's own metadata binds a message to a work item or a task. References come
    /// from any metadata: they only name waits, and kind and trust decide which waits a message may
    /// end (contract 5.15).
    #[must_use]
    pub fn admitted(mut self) -> Self {
        self.authority_class.get_or_insert(self.trust.authority());
        self.trigger_kind = self.trigger_kind.or_else(|| admitted_as(self.kind));
        if let (None, MessageOrigin::Task { task_id }) = (&self.task_id, &self.origin) {
            self.task_id = Some(task_id.clone());
        }
        if self.binds_by_metadata() {
            let item = || {
                self.noted_text("work_item_id").or_else(|| self.noted_text("child_work_item_id"))
            };
            self.work_item_id = self.work_item_id.clone().or_else(|| item().map(WorkItemId::from));
            self.task_id =
                self.task_id.clone().or_else(|| self.noted_text("task_id").map(TaskId::from));
        }
        self.refer();
        self
    }

    fn binds_by_metadata(&self) -> bool {
        self.trust == TrustLevel::TrustedSystem
            && self.admission_context == Some(AdmissionContext::RuntimeOwned)
            && matches!(
                self.delivery_surface,
                Some(DeliverySurface::RuntimeSystem | DeliverySurface::TaskRejoin)
            )
    }

    fn refer(&mut self) {
        let hint = self.raw_note(NoteKey::WakeHint);
        let hinted = |key: &str| hint.as_ref()?.field(key).and_then(|raw| trimmed(&raw));
        let by_origin = match &self.origin {
            MessageOrigin::Callback { descriptor_id, .. } => {
                Some(("external_trigger_id", descriptor_id.to_string()))
            }
            MessageOrigin::Timer { timer_id } => Some(("timer_id", timer_id.to_string())),
            MessageOrigin::Task { task_id } => Some(("task_id", task_id.to_string())),
            _ => None,
        };
        let noted = REFERENCES.iter().filter_map(|key| Some((*key, self.noted_text(key)?)));
        // First come, first served: metadata wins over the hint, and the hint over the origin.
        let hinted = HINT_REFERENCES.iter().filter_map(|key| Some((*key, hinted(key)?)));
        let found: alloc::vec::Vec<_> = noted.chain(hinted).chain(by_origin).collect();
        for (key, named) in found {
            self.source_refs.get_or_insert(key.into(), named);
        }
    }

    /// The metadata under `key`; `null` counts as a value. `None` if the metadata is not an object.
    #[must_use]
    pub fn noted(&self, key: &str) -> Option<RawJson> {
        self.metadata.as_ref()?.field(key)
    }

    fn noted_text(&self, key: &str) -> Option<String> {
        trimmed(&self.noted(key)?)
    }
}

/// A text that is not blank, without the white space around it.
fn trimmed(raw: &RawJson) -> Option<String> {
    let text = raw.read::<String>().ok()?;
    let bare = text.trim();
    (!bare.is_empty()).then(|| bare.into())
}

/// A message of the core. The entry at `seq` records it.
#[must_use]
pub fn core_message(
    agent_id: &AgentId,
    seq: Seq,
    kind: MessageKind,
    priority: Priority,
    body: MessageBody,
    at: Timestamp,
) -> MessageRecord {
    MessageRecord {
        // By this id the state knows the message as the core's own (decision 007).
        id: MessageId::made_at(agent_id, seq),
        agent_id: agent_id.clone(),
        created_at: at,
        kind,
        origin: MessageOrigin::System { subsystem: "scheduler".into() },
        trust: TrustLevel::TrustedSystem,
        authority_class: None,
        priority,
        trigger_kind: None,
        work_item_id: None,
        task_id: None,
        source_refs: Map::new(),
        body,
        delivery_surface: Some(DeliverySurface::RuntimeSystem),
        admission_context: Some(AdmissionContext::RuntimeOwned),
        metadata: None,
        correlation_id: None,
        causation_id: None,
    }
}
