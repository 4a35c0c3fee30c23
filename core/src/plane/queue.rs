//! The queue plane: messages, their lanes, and the one terminal status that each of them reaches (contract 5.1 to 5.3).

use alloc::{
    collections::{BTreeMap, btree_map::Entry as MapEntry},
    string::String,
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use crate::{
    entry::{Place, Record},
    fact::{Outcome, Refusal},
    id::{AgentId, ExternalTriggerId, MessageId, Seq, TaskId, TimerId, WaitConditionId, WorkItemId},
    json::RawJson,
    state::State,
    tagged::{names, read_through, required},
    time::Timestamp,
};

names! {
    /// What a message is.
    pub enum MessageKind {
        /// Something a person said.
        OperatorPrompt,
        /// An event of a chat channel.
        ChannelEvent,
        /// An event of a webhook.
        WebhookEvent,
        /// A delivery to an external trigger.
        CallbackEvent,
        /// A timer fired.
        TimerTick,
        /// The runtime's own tick.
        SystemTick,
        /// The terminal result of a task.
        TaskResult,
        /// Progress of a task; never starts a turn.
        TaskStatus,
        /// A control action in message form.
        Control,
        /// An acknowledgement brief.
        BriefAck,
        /// A result brief.
        BriefResult,
        /// A follow-up that the runtime means for the model.
        InternalFollowup,
    }

    /// The lane of a message, most urgent first (contract 5.1).
    pub enum Priority {
        /// May be inserted into an open run.
        #[serde(alias = "interrupt")]
        Interject,
        /// Before ordinary input.
        Next,
        /// Ordinary input.
        Normal,
        /// After everything else.
        Background,
    }

    /// How far the sender of a message is trusted.
    pub enum TrustLevel {
        /// The operator.
        TrustedOperator,
        /// The runtime itself.
        TrustedSystem,
        /// A configured integration.
        TrustedIntegration,
        /// Anyone else.
        UntrustedExternal,
    }

    /// What the words of a message count as; follows from its trust.
    pub enum AuthorityClass {
        /// An instruction of the operator.
        OperatorInstruction,
        /// An instruction of the runtime.
        RuntimeInstruction,
        /// A signal of an integration.
        IntegrationSignal,
        /// Evidence, never an instruction.
        ExternalEvidence,
    }

    /// Where a message came in.
    pub enum DeliverySurface {
        /// The command line.
        CliPrompt,
        /// A single run.
        RunOnce,
        /// The public HTTP endpoint.
        HttpPublicEnqueue,
        /// An HTTP webhook.
        HttpWebhook,
        /// An HTTP callback with content.
        HttpCallbackEnqueue,
        /// An HTTP callback that only wakes.
        HttpCallbackWake,
        /// The authenticated control endpoint.
        HttpControlPrompt,
        /// A remote operator's transport.
        RemoteOperatorTransport,
        /// The timer scheduler.
        TimerScheduler,
        /// The runtime.
        RuntimeSystem,
        /// A task that ended.
        TaskRejoin,
    }

    /// Under what authority a message was admitted.
    pub enum AdmissionContext {
        /// No authentication.
        PublicUnauthenticated,
        /// Authenticated control.
        ControlAuthenticated,
        /// Authenticated operator transport.
        OperatorTransportAuthenticated,
        /// The capability of an external trigger.
        ExternalTriggerCapability,
        /// A process of this machine.
        LocalProcess,
        /// The runtime's own.
        RuntimeOwned,
    }

    /// What became of a message.
    pub enum QueueStatus {
        /// Waits in its lane.
        Queued,
        /// Taken by a run, or by a reduction in the same batch.
        Dequeued,
        /// Done.
        Processed,
        /// Inserted into an open run.
        Interjected,
        /// Its run was aborted.
        #[serde(alias = "interrupted")]
        Aborted,
        /// Refused with a reason.
        Dropped,
    }
}

impl TrustLevel {
    /// The authority that follows from this trust.
    #[must_use]
    pub fn authority(self) -> AuthorityClass {
        match self {
            Self::TrustedOperator => AuthorityClass::OperatorInstruction,
            Self::TrustedSystem => AuthorityClass::RuntimeInstruction,
            Self::TrustedIntegration => AuthorityClass::IntegrationSignal,
            Self::UntrustedExternal => AuthorityClass::ExternalEvidence,
        }
    }
}

impl QueueStatus {
    /// Whether this status absorbs (contract 3.3).
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Queued | Self::Dequeued)
    }
}

/// Who sent a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MessageOrigin {
    /// A person.
    Operator {
        /// Who, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        actor_id: Option<String>,
    },
    /// A chat channel.
    Channel {
        /// The channel.
        channel_id: String,
        /// Who wrote there, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender_id: Option<String>,
    },
    /// A webhook.
    Webhook {
        /// The sending system.
        source: String,
        /// Its name for the event.
        #[serde(skip_serializing_if = "Option::is_none")]
        event_type: Option<String>,
    },
    /// A callback.
    Callback {
        /// The external trigger that it was delivered to.
        descriptor_id: ExternalTriggerId,
        /// The sending system.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// A timer.
    Timer {
        /// The timer.
        timer_id: TimerId,
    },
    /// The runtime.
    System {
        /// Its part.
        subsystem: String,
    },
    /// A task.
    Task {
        /// The task.
        task_id: TaskId,
    },
}

/// All fields that some origin has; what [`MessageOrigin`] is read through.
#[derive(Deserialize)]
struct OriginFields {
    kind: OriginKind,
    actor_id: Option<String>,
    channel_id: Option<String>,
    sender_id: Option<String>,
    source: Option<String>,
    event_type: Option<String>,
    descriptor_id: Option<ExternalTriggerId>,
    timer_id: Option<TimerId>,
    subsystem: Option<String>,
    task_id: Option<TaskId>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OriginKind {
    Operator,
    Channel,
    Webhook,
    Callback,
    Timer,
    System,
    Task,
}

impl TryFrom<OriginFields> for MessageOrigin {
    type Error = String;

    fn try_from(f: OriginFields) -> Result<Self, String> {
        Ok(match f.kind {
            OriginKind::Operator => Self::Operator { actor_id: f.actor_id },
            OriginKind::Channel => Self::Channel { channel_id: required(f.channel_id, "channel_id", "channel")?, sender_id: f.sender_id },
            OriginKind::Webhook => Self::Webhook { source: required(f.source, "source", "webhook")?, event_type: f.event_type },
            OriginKind::Callback => {
                Self::Callback { descriptor_id: required(f.descriptor_id, "descriptor_id", "callback")?, source: f.source }
            }
            OriginKind::Timer => Self::Timer { timer_id: required(f.timer_id, "timer_id", "timer")? },
            OriginKind::System => Self::System { subsystem: required(f.subsystem, "subsystem", "system")? },
            OriginKind::Task => Self::Task { task_id: required(f.task_id, "task_id", "task")? },
        })
    }
}

read_through!(MessageOrigin, OriginFields);

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessageBody {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// Structured content.
    Json {
        /// The value, carried as given.
        value: RawJson,
    },
    /// A brief.
    Brief {
        /// Its title.
        title: Option<String>,
        /// Its text.
        text: String,
        /// What is attached, carried as given.
        #[serde(skip_serializing_if = "Option::is_none")]
        attachments: Option<RawJson>,
    },
}

/// All fields that some body has; what [`MessageBody`] is read through.
#[derive(Deserialize)]
struct BodyFields {
    #[serde(rename = "type")]
    kind: BodyKind,
    text: Option<String>,
    value: Option<RawJson>,
    title: Option<String>,
    attachments: Option<RawJson>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BodyKind {
    Text,
    Json,
    Brief,
}

impl TryFrom<BodyFields> for MessageBody {
    type Error = String;

    fn try_from(f: BodyFields) -> Result<Self, String> {
        Ok(match f.kind {
            BodyKind::Text => Self::Text { text: required(f.text, "text", "text")? },
            // A null value reads as absent; for a body it is a value like any other.
            BodyKind::Json => Self::Json { value: f.value.unwrap_or_else(|| RawJson::of(&())) },
            BodyKind::Brief => Self::Brief { title: f.title, text: required(f.text, "text", "brief")?, attachments: f.attachments },
        })
    }
}

read_through!(MessageBody, BodyFields);

impl MessageBody {
    /// Text that the core itself wrote.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Whether the body says anything: text other than white space, or any JSON value.
    #[must_use]
    pub fn is_contentful(&self) -> bool {
        match self {
            Self::Text { text } | Self::Brief { text, .. } => !text.trim().is_empty(),
            Self::Json { .. } => true,
        }
    }
}

/// A message as the ledger keeps it (class `messages`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
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

    /// The parts of the metadata that the core reads; anything else in it, or metadata of another shape, is carried only.
    #[must_use]
    pub fn notes(&self) -> Notes {
        self.metadata.as_ref().and_then(|raw| raw.read().ok()).unwrap_or_default()
    }
}

/// The metadata keys that the core reads.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Notes {
    /// What a wake hint tick carries.
    pub wake_hint: Option<RawJson>,
    /// What a work-queue tick carries.
    pub work_queue: Option<RawJson>,
    /// What a system-wait tick carries.
    pub system_wait: Option<RawJson>,
}

/// The metadata of a system-wait tick (contract 8.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemWaitNote {
    /// The key that admitting this tick spends.
    pub idempotency_key: String,
    /// The condition.
    pub wait_condition_id: WaitConditionId,
}

/// The metadata of a work-queue tick (`observed-decisions.md` 4.9.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The two records that queue `message`.
#[must_use]
pub(crate) fn admission(message: MessageRecord, at: Timestamp) -> [Record; 2] {
    let entry = QueueEntryRecord::of(&message, QueueStatus::Queued, at);
    [Record::Message(message), Record::QueueEntry(entry)]
}

/// Fact `message_queued`: something came in.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageQueued {
    /// What came in.
    pub message: NewMessage,
}

/// A message as a host gives it; the core adds agent, time and authority.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewMessage {
    /// Its id; the host's to choose, once per agent.
    pub id: MessageId,
    /// What it is.
    pub kind: MessageKind,
    /// Who sent it.
    pub origin: MessageOrigin,
    /// How far the sender is trusted.
    pub trust: TrustLevel,
    /// Its lane; normal where nothing is said.
    #[serde(default = "normal")]
    pub priority: Priority,
    /// The work item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// What it says.
    pub body: MessageBody,
    /// Where it came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_surface: Option<DeliverySurface>,
    /// Under what authority it was admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission_context: Option<AdmissionContext>,
    /// Free data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// The conversation that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// What caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

fn normal() -> Priority {
    Priority::Normal
}

/// The transition of `message_queued`.
pub(crate) fn queued(state: &State, fact: MessageQueued, at: Timestamp) -> Outcome {
    let new = fact.message;
    if let Some(seen) = state.queue.seen(&new.id) {
        return Outcome::ignored(Refusal::Duplicate, seen);
    }
    let message = MessageRecord {
        id: new.id,
        agent_id: state.control.agent_id.clone(),
        created_at: at,
        kind: new.kind,
        origin: new.origin,
        trust: new.trust,
        authority_class: Some(new.trust.authority()),
        priority: new.priority,
        trigger_kind: crate::derive::continuation::admitted_as(new.kind),
        work_item_id: new.work_item_id,
        task_id: new.task_id,
        source_refs: BTreeMap::new(),
        body: new.body,
        delivery_surface: new.delivery_surface,
        admission_context: new.admission_context,
        metadata: new.metadata,
        correlation_id: new.correlation_id,
        causation_id: new.causation_id,
    };
    Outcome::accepted(admission(message, at).into())
}

/// Where a message stands in its lane (contract 5.1): imported ones by their own time and id, then live ones by first admission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Position {
    Imported(Timestamp, MessageId),
    Live(Seq),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Slot {
    message: Option<Held>,
    status: Option<QueueStatus>,
    admitted: Option<Seq>,
    in_run: bool,
    #[serde(skip)]
    ready_at: Option<(Priority, Position)>,
}

/// A message and the entry that recorded it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The entry that recorded the message.
    pub seq: Seq,
    /// Whether it was recorded by a driver, not imported.
    pub live: bool,
    /// The message.
    pub record: MessageRecord,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Queue {
    slots: BTreeMap<MessageId, Slot>,
    #[serde(skip)]
    ready: BTreeMap<(Priority, Position), MessageId>,
    ended: BTreeMap<MessageId, (QueueStatus, Seq)>,
    /// Records that a terminal status refused (contract 3.3).
    pub refused: u64,
}

impl Queue {
    /// How many messages wait for a boundary.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether no message waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// The message that goes next.
    #[must_use]
    pub fn head(&self) -> Option<&Held> {
        self.ready.values().next().and_then(|id| self.message(id))
    }

    /// The messages that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Held> {
        self.ready.values().filter_map(|id| self.message(id))
    }

    /// The messages that would replay after a restart, in order of creation (contract 5.23).
    #[must_use]
    pub fn replayable(&self) -> Vec<&MessageId> {
        let mut ids: Vec<_> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.status.is_some())
            .filter_map(|(id, slot)| slot.message.as_ref().map(|held| (held.record.created_at, id)))
            .collect();
        ids.sort();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// Whether any message has the status queued, as opposed to being replayed (contract 6.4).
    #[must_use]
    pub fn has_queued(&self) -> bool {
        self.slots.values().any(|slot| slot.status == Some(QueueStatus::Queued) && slot.message.is_some())
    }

    /// Whether this message is queued and not yet taken.
    #[must_use]
    pub fn is_queued(&self, id: &MessageId) -> bool {
        self.slots.get(id).is_some_and(|slot| slot.status == Some(QueueStatus::Queued))
    }

    /// A message that has not reached a terminal status.
    #[must_use]
    pub fn message(&self, id: &MessageId) -> Option<&Held> {
        self.slots.get(id)?.message.as_ref()
    }

    /// The entry that first knew this id, if any did.
    #[must_use]
    pub fn seen(&self, id: &MessageId) -> Option<Seq> {
        let ended = self.ended.get(id).map(|(_, seq)| *seq);
        ended.or_else(|| self.message(id).map(|held| held.seq))
    }

    pub(crate) fn apply_message(&mut self, place: &Place, record: &MessageRecord) {
        if self.ended.contains_key(&record.id) {
            return;
        }
        let slot = self.slots.entry(record.id.clone()).or_default();
        let seq = slot.message.as_ref().map_or(place.seq, |held| held.seq);
        slot.message = Some(Held { seq, live: place.live, record: record.clone() });
        self.place(&record.id);
    }

    pub(crate) fn apply_entry(&mut self, place: &Place, record: &QueueEntryRecord) {
        let id = &record.message_id;
        if let MapEntry::Occupied(ended) = self.ended.entry(id.clone()) {
            // contract 3.3: terminal statuses absorb.
            self.refused += u64::from(ended.get().0 != record.status);
            return;
        }
        let slot = self.slots.entry(id.clone()).or_default();
        slot.status = Some(record.status);
        slot.admitted.get_or_insert(place.seq);
        if record.status.is_terminal() {
            self.unplace(id);
            self.slots.remove(id);
            self.ended.insert(id.clone(), (record.status, place.seq));
        } else {
            self.place(id);
        }
    }

    /// A run took the message, or gave it back by being interrupted.
    pub(crate) fn set_in_run(&mut self, id: &MessageId, in_run: bool) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.in_run = in_run;
            self.place(id);
        }
    }

    fn unplace(&mut self, id: &MessageId) {
        if let Some(key) = self.slots.get_mut(id).and_then(|slot| slot.ready_at.take()) {
            self.ready.remove(&key);
        }
    }

    fn place(&mut self, id: &MessageId) {
        self.unplace(id);
        let Some(slot) = self.slots.get_mut(id) else { return };
        // A queue entry without message is counted by nobody and queued never (contract 3.6).
        let (Some(held), Some(_), Some(admitted)) = (&slot.message, slot.status, slot.admitted) else {
            return;
        };
        if slot.in_run {
            return;
        }
        let position = if held.live { Position::Live(admitted) } else { Position::Imported(held.record.created_at, id.clone()) };
        let key = (held.record.priority, position);
        slot.ready_at = Some(key.clone());
        self.ready.insert(key, id.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn an_origin_without_its_field_says_which() {
        let why = json::read::<MessageOrigin>(r#"{"kind":"timer"}"#).expect_err("no timer_id");
        assert_eq!(why.message, "missing field `timer_id` of `timer`");
    }

    #[test]
    fn an_unknown_origin_lists_the_known_ones() {
        let why = json::read::<MessageOrigin>(r#"{"kind":"pigeon"}"#).expect_err("no such kind");
        assert_eq!(why.path, "kind");
        assert!(why.message.contains("`pigeon`") && why.message.contains("`callback`"), "{}", why.message);
    }

    #[test]
    fn a_null_json_body_is_a_value() {
        let body: MessageBody = json::read(r#"{"type":"json","value":null}"#).expect("valid");
        assert!(body.is_contentful());
        assert_eq!(json::write(&body), r#"{"type":"json","value":null}"#);
    }
}
