//! Triggers: what a message sets off, and what it names (contract 5.15, 5.19).

use alloc::{string::String, vec::Vec};

use crate::{
    id::{ExternalTriggerId, TaskId, WaitConditionId, WaitingIntentId},
    record::{
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

/// What a message sets off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Its kind.
    pub kind: TriggerKind,
    /// The kind under which it meets waits: a prompt that is not operator input meets them as an
    /// external event (contract 5.19).
    pub meets_as: TriggerKind,
    /// Whether it says anything.
    pub contentful: bool,
    /// Whether it reports that a task ended.
    pub task_terminal: bool,
    /// Whether that task blocks its item.
    pub task_blocking: bool,
    /// The wait policy of that task, where it is known.
    pub task_wait_policy: Option<TaskWaitPolicy>,
    /// Where a wake hint came from.
    pub wake_hint_source: Option<String>,
    /// What it names.
    pub names: Names,
}

impl Trigger {
    /// The trigger of a message; none where its kind triggers nothing.
    #[must_use]
    pub fn from_held(state: &State, held: &Held) -> Option<Self> {
        let mut trigger = Self::read(held)?;
        if trigger.kind == TriggerKind::TaskResult {
            let task = trigger.names.tasks.first().cloned().or_else(|| held.record.task_id.clone());
            let ended = task.filter(|id| state.tasks.ended.contains_key(id));
            // I5: what a driver recorded is a result only of a task whose end stands in the ledger.
            trigger.task_terminal = ended.is_some() || trigger.task_terminal && !held.live;
            if let Some(task) = ended {
                trigger.names.tasks = Vec::from([task]);
            }
        }
        Some(trigger)
    }

    /// The trigger of a message by what the message itself says.
    #[must_use]
    pub fn read(held: &Held) -> Option<Self> {
        let message = &held.record;
        let kind = match message.kind {
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
            task_wait_policy: None,
            wake_hint_source: None,
            names: Names::default(),
        };
        match trigger.meets_as {
            // contract 5.19: what a driver recorded counts as a tick only where the runtime itself
            // made it.
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

    /// Whether the core itself tells it, and not because there is work or a hint: that re-enters
    /// under any wait (contract 6.3).
    pub(crate) fn is_told_by_core(&self, held: &Held) -> bool {
        let is_offer = || {
            held.record
                .raw_note(NoteKey::WorkQueue)
                .or_else(|| held.record.raw_note(NoteKey::WakeHint))
                .is_some()
        };
        held.is_core_made() && self.kind != TriggerKind::TaskResult && !is_offer()
    }

    /// Whether it carries what a trigger of this kind must carry to re-enter the model.
    pub(crate) fn says_enough_as(&self, kind: TriggerKind) -> bool {
        match kind {
            TriggerKind::OperatorInput | TriggerKind::TimerFire | TriggerKind::InternalFollowup => {
                true
            }
            TriggerKind::ExternalEvent | TriggerKind::SystemTick => self.contentful,
            TriggerKind::TaskResult => self.task_terminal,
        }
    }

    fn read_tick(&mut self, message: &MessageRecord) {
        // What is about work names no wait (contract 5.15).
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
        self.contentful = hint
            .field("body")
            .and_then(|raw| raw.read::<MessageBody>().ok())
            .is_some_and(|body| body.is_contentful());
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
        // A payload that says no task triggers nothing; rule 3 drops its message (D15).
        let Ok(task) = TaskRecord::of_message(message, message.created_at) else { return };
        let policy = task.wait_policy();
        self.task_terminal = task.status.is_terminal();
        self.task_blocking = policy == TaskWaitPolicy::Blocking;
        self.task_wait_policy = Some(policy);
        self.names.tasks = Vec::from([task.id]);
    }
}

/// What a trigger names (contract 5.15).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Tasks.
    pub tasks: Vec<TaskId>,
    /// A timer.
    pub timer: Option<String>,
    /// Intents.
    pub intents: Vec<WaitingIntentId>,
    /// External triggers.
    pub triggers: Vec<ExternalTriggerId>,
    /// A condition, by its own id.
    pub condition: Option<WaitConditionId>,
    /// Nothing, on purpose: a work-queue tick is about work and ends no wait.
    pub no_wait: bool,
}

fn external_names(message: &MessageRecord) -> Names {
    let mut refs = message.clone().admitted().source_refs;
    let mut named = |key: &str| refs.remove(key).filter(|id| !id.is_empty());
    Names {
        intents: named("waiting_intent_id").map(WaitingIntentId::from).into_iter().collect(),
        triggers: named("external_trigger_id").map(ExternalTriggerId::from).into_iter().collect(),
        ..Names::default()
    }
}
