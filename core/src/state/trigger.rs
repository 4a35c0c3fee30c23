//! Triggers: what a message can set off, and which waits it names (contract 5.15, 5.19).

use alloc::{string::String, vec::Vec};

use crate::{
    id::{ExternalTriggerId, TaskId, WaitConditionId, WaitingIntentId},
    record::{
        policy::TerminalReentry,
        queue::{
            admission::admitted_as,
            envelope::{MessageBody, MessageKind},
            message::{MessageRecord, TriggerKind},
            note::{DeadlineNote, NoteKey, SystemWaitNote},
        },
        task::{TaskRecord, TaskWaitPolicy, message::InterruptedTasksNote},
    },
    state::{State, queue::lanes::Held},
};

/// What a message can set off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The kind of the trigger.
    pub kind: TriggerKind,
    /// The kind under which it meets waits. A prompt that is not operator input meets them as an
    /// external event (contract 5.19).
    pub meets_as: TriggerKind,
    /// Whether the message has content.
    pub contentful: bool,
    /// Whether it reports that a task ended.
    pub task_terminal: bool,
    /// Whether that task blocks its item.
    pub task_blocking: bool,
    /// Whether nobody awaits its end, and the policy lets only awaited results re-enter (contract
    /// 5.11).
    pub unawaited: bool,
    /// The wait policy of that task, if known.
    pub task_wait_policy: Option<TaskWaitPolicy>,
    /// The system that sent the wake hint.
    pub wake_hint_source: Option<String>,
    /// The ids that the trigger names.
    pub names: Names,
}

impl Trigger {
    /// The trigger of a message; `None` if its kind triggers nothing.
    #[must_use]
    pub fn from_held(state: &State, held: &Held) -> Option<Self> {
        let mut trigger = Self::read(held)?;
        // contract 15.4: only its deliveries name a trigger that was made here, not metadata that
        // others write.
        if !held.is_delivery() && !held.is_core_made() {
            let named = trigger.names.triggers.len();
            trigger.names.triggers.retain(|id| !state.ingress.knows(id));
            trigger.names.without_proof = trigger.names.triggers.len() < named;
        }
        if trigger.kind == TriggerKind::TaskResult {
            // contract 5.11: the metadata comes first, because the origin may name another task.
            let task = trigger.names.tasks.first().cloned().or_else(|| held.record.task_id.clone());
            let ended = task.filter(|id| state.tasks.ended.contains_key(id));
            // I5: a live message is a result only if the ledger has the end of its task.
            trigger.task_terminal = ended.is_some() || trigger.task_terminal && !held.live;
            if let Some(task) = ended {
                trigger.names.tasks = Vec::from([task]);
            }
            trigger.unawaited = state.control.policy.terminal_reentry == TerminalReentry::Awaited
                && !trigger.is_awaited(state, held);
        }
        Some(trigger)
    }

    /// The trigger of a message, from the message alone.
    #[must_use]
    pub fn read(held: &Held) -> Option<Self> {
        let message = &held.record;
        let kind = match message.kind {
            // Admission gives these a kind for the record only (`observed-decisions.md` 1.3.4).
            MessageKind::TaskStatus
            | MessageKind::Control
            | MessageKind::BriefAck
            | MessageKind::BriefResult => {
                return None;
            }
            kind => admitted_as(kind)?,
        };
        let is_foreign_prompt =
            message.kind == MessageKind::OperatorPrompt && !message.is_operator_input();
        let mut trigger = Self {
            kind,
            meets_as: if is_foreign_prompt { TriggerKind::ExternalEvent } else { kind },
            contentful: message.body.is_contentful(),
            task_terminal: false,
            task_blocking: false,
            unawaited: false,
            task_wait_policy: None,
            wake_hint_source: None,
            names: Names::default(),
        };
        match trigger.meets_as {
            // contract 5.19: a live message counts as a tick only if the runtime itself made it.
            TriggerKind::SystemTick if held.live && !message.is_runtime_owned() => {}
            TriggerKind::SystemTick => trigger.read_tick(message),
            TriggerKind::TaskResult => trigger.read_task(message),
            TriggerKind::ExternalEvent => trigger.names = external_names(message),
            TriggerKind::TimerFire => {
                trigger.names.timer = message.clone().admitted().source_refs.remove("timer_id")
            }
            TriggerKind::OperatorInput | TriggerKind::InternalFollowup => {}
        }
        Some(trigger)
    }

    /// Whether the core made the message for another reason than work or a hint. Such a message
    /// re-enters under any wait (contract 6.3).
    pub(crate) fn is_told_by_core(&self, held: &Held) -> bool {
        let is_offer = || {
            held.record
                .raw_note(NoteKey::WorkQueue)
                .or_else(|| held.record.raw_note(NoteKey::WakeHint))
                .is_some()
        };
        // A task result meets waits by the end of its task, also if the core queued it.
        held.is_core_made() && self.kind != TriggerKind::TaskResult && !is_offer()
    }

    /// Whether the trigger carries what its kind needs to re-enter the model.
    pub(crate) fn says_enough_as(&self, kind: TriggerKind) -> bool {
        match kind {
            TriggerKind::OperatorInput | TriggerKind::TimerFire | TriggerKind::InternalFollowup => {
                true
            }
            TriggerKind::ExternalEvent | TriggerKind::SystemTick => self.contentful,
            TriggerKind::TaskResult => self.task_terminal && !self.unawaited,
        }
    }

    /// Whether an item, a wait or the creator of the task awaits its result.
    fn is_awaited(&self, state: &State, held: &Held) -> bool {
        let task = TaskRecord::of_message(&held.record, held.record.created_at);
        self.task_blocking
            || task.is_ok_and(|task| task.terminal_reentry())
            || self.names.tasks.iter().any(|id| !state.waits_for_task(id).is_empty())
    }

    fn read_tick(&mut self, message: &MessageRecord) {
        // Ticks about work name no wait (contract 5.15).
        self.names.no_wait = [NoteKey::WorkQueue, NoteKey::WorkItemRecheck]
            .into_iter()
            .any(|key| message.raw_note(key).is_some());
        let system_wait = message.note::<SystemWaitNote>();
        let deadline = message.note::<DeadlineNote>();
        self.names.condition = system_wait
            .map(|note| note.wait_condition_id)
            .or(deadline.map(|note| note.wait_condition_id));
        let interrupted = message.note::<InterruptedTasksNote>();
        self.names
            .tasks
            .extend(interrupted.into_iter().flat_map(|note| note.items).map(|task| task.task_id));
        let Some(hint) = message.raw_note(NoteKey::WakeHint) else { return };
        let text = |key: &str| hint.field(key).and_then(|raw| raw.read::<String>().ok());
        // contract 5.21: the tick always has a text, so only the body of the hint is content.
        self.contentful = hint
            .field("body")
            .and_then(|raw| raw.read::<MessageBody>().ok())
            .is_some_and(|body| body.is_contentful());
        // A delivery is news, also if its content is told apart from the hint (contract 15.3).
        self.contentful |=
            hint.field("deliveries").and_then(|raw| raw.read::<u64>().ok()).is_some();
        self.wake_hint_source = text("source");
        let all = |key: &str| {
            hint.field(key).and_then(|raw| raw.read::<Vec<String>>().ok()).unwrap_or_default()
        };
        let intents = text("waiting_intent_id").into_iter().chain(all("waiting_intent_ids"));
        let triggers = text("external_trigger_id").into_iter().chain(all("external_trigger_ids"));
        self.names.intents.extend(intents.map(WaitingIntentId::from));
        self.names.triggers.extend(triggers.map(ExternalTriggerId::from));
    }

    fn read_task(&mut self, message: &MessageRecord) {
        // A payload without a task triggers nothing; rule 3 drops the message (D15).
        let Ok(task) = TaskRecord::of_message(message, message.created_at) else { return };
        let policy = task.wait_policy();
        self.task_terminal = task.status.is_terminal();
        self.task_blocking = policy == TaskWaitPolicy::Blocking;
        self.task_wait_policy = Some(policy);
        self.names.tasks = Vec::from([task.id]);
    }
}

/// The ids that a trigger names (contract 5.15).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The tasks it reports on.
    pub tasks: Vec<TaskId>,
    /// The timer that fired.
    pub timer: Option<String>,
    /// The waiting intents it serves.
    pub intents: Vec<WaitingIntentId>,
    /// The external triggers it came through.
    pub triggers: Vec<ExternalTriggerId>,
    /// A condition, by its own id.
    pub condition: Option<WaitConditionId>,
    /// Whether it names no wait on purpose: a tick about work ends no wait.
    pub no_wait: bool,
    /// Whether it named an external trigger to which it was not delivered.
    pub without_proof: bool,
}

fn external_names(message: &MessageRecord) -> Names {
    // An imported message may lack its references, so they are filled in as at admission.
    let mut refs = message.clone().admitted().source_refs;
    // Intents without a trigger have an empty id, which no message can mean.
    let mut named = |key: &str| refs.remove(key).filter(|id| !id.is_empty());
    Names {
        intents: named("waiting_intent_id").map(WaitingIntentId::from).into_iter().collect(),
        triggers: named("external_trigger_id").map(ExternalTriggerId::from).into_iter().collect(),
        ..Names::default()
    }
}
