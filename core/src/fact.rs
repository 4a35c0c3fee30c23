//! Facts: what a host can say (contract 2). One vocabulary; each plane says what follows.

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    effect::Effect,
    entry::{EventKind, EventRecord, Record},
    id::Seq,
    plane::{
        context::{self, AssistantRoundRecorded, BriefRecorded, ToolExecutionRecorded},
        control::{self, Marker, WakeHint},
        queue::{self, MessageQueued},
        task::{self, TaskChanged, TaskStatus},
        turn::{self, RoundCompleted, TurnAborted, TurnTerminal},
        waiting::{self, TimerCancelled, TimerCreated, WaitingIntentCancelled, WaitingIntentCreated},
        work::{self, WorkItemBlocked, WorkItemCompleted, WorkItemCreated, WorkItemNamed, WorkItemUpdated},
    },
    state::State,
    tagged::{names, vocabulary},
    time::Timestamp,
};

vocabulary! {
    tag "fact";
    /// One typed input: `{"fact": "<name>", ...}`.
    pub enum Fact {
        /// Something came in.
        "message_queued" => MessageQueued(MessageQueued),
        /// A round with the provider ended.
        "provider_round_completed" => ProviderRoundCompleted(RoundCompleted),
        /// The model said something.
        "assistant_round_recorded" => AssistantRoundRecorded(AssistantRoundRecorded),
        /// A round of tool calls ended.
        "tool_round_completed" => ToolRoundCompleted(RoundCompleted),
        /// A turn ended.
        "turn_terminal" => TurnTerminal(TurnTerminal),
        /// A run was broken off.
        "turn_aborted" => TurnAborted(TurnAborted),
        /// A task exists.
        "task_created" => TaskCreated(TaskChanged),
        /// A task runs.
        "task_running" => TaskRunning(TaskChanged),
        /// A task was asked to stop.
        "task_cancelling" => TaskCancelling(TaskChanged),
        /// A task ended well.
        "task_completed" => TaskCompleted(TaskChanged),
        /// A task ended with an error.
        "task_failed" => TaskFailed(TaskChanged),
        /// A task was stopped on request.
        "task_cancelled" => TaskCancelled(TaskChanged),
        /// A task was lost to a stop or a restart.
        "task_interrupted" => TaskInterrupted(TaskChanged),
        /// There is something to reach.
        "work_item_created" => WorkItemCreated(WorkItemCreated),
        /// The focus moves to an item.
        "work_item_picked" => WorkItemPicked(WorkItemNamed),
        /// An item changed.
        "work_item_updated" => WorkItemUpdated(WorkItemUpdated),
        /// Something blocks an item.
        "work_item_blocked" => WorkItemBlocked(WorkItemBlocked),
        /// Nothing blocks an item any more.
        "work_item_unblocked" => WorkItemUnblocked(WorkItemNamed),
        /// An item is done.
        "work_item_completed" => WorkItemCompleted(WorkItemCompleted),
        /// Something external is waited for.
        "waiting_intent_created" => WaitingIntentCreated(WaitingIntentCreated),
        /// It is waited for no longer.
        "waiting_intent_cancelled" => WaitingIntentCancelled(WaitingIntentCancelled),
        /// A timer was set.
        "timer_created" => TimerCreated(TimerCreated),
        /// A timer was withdrawn.
        "timer_cancelled" => TimerCancelled(TimerCancelled),
        /// Something says: look again.
        "wake_hint_submitted" => WakeHintSubmitted(WakeHint),
        /// The agent may run.
        "start_requested" => StartRequested(Marker),
        /// The agent may not run.
        "stop_requested" => StopRequested(Marker),
        /// The runtime goes down.
        "shutdown_requested" => ShutdownRequested(Marker),
        /// A driver took the ledger over.
        "runtime_restarted" => RuntimeRestarted(Marker),
        /// A tool call was executed.
        "tool_execution_recorded" => ToolExecutionRecorded(ToolExecutionRecorded),
        /// A brief was written.
        "brief_recorded" => BriefRecorded(BriefRecorded),
    }
}

names! {
    /// Why a fact changed nothing.
    pub enum Refusal {
        /// Its id is taken.
        Duplicate,
        /// What it is about is over.
        AlreadyTerminal,
        /// It comes after something that overtook it.
        Stale,
        /// Its run is not open.
        StaleRun,
        /// What it is about does not exist.
        Unknown,
        /// The agent is stopped.
        Stopped,
    }
}

/// What became of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// It changed the state.
    Accepted,
    /// It changed nothing; that it came is recorded (contract 2.2).
    Ignored {
        /// Why.
        reason: Refusal,
        /// The entry that decides so.
        because: Seq,
    },
}

/// What follows from a fact: records to append and effects to release once they are durable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    pub(crate) records: Vec<Record>,
    pub(crate) effects: Vec<Effect>,
}

impl Outcome {
    pub(crate) fn accepted(records: Vec<Record>) -> Self {
        Self { answer: Answer::Accepted, records, effects: Vec::new() }
    }

    pub(crate) fn ignored(reason: Refusal, because: Seq) -> Self {
        Self { answer: Answer::Ignored { reason, because }, records: Vec::new(), effects: Vec::new() }
    }
}

#[derive(Serialize)]
struct FactIgnored<'a> {
    fact: &'a str,
    reason: Refusal,
    because: Seq,
}

impl Fact {
    /// What follows from this fact in a state: total, and free of effects (contract 2.2).
    pub(crate) fn transition(self, state: &State, at: Timestamp) -> Outcome {
        let name = self.name();
        let mut outcome = self.route(state, at);
        if let Answer::Ignored { reason, because } = outcome.answer {
            let fact = FactIgnored { fact: name, reason, because };
            outcome.records = Vec::from([Record::Event(EventRecord::of(EventKind::FactIgnored, at, &fact))]);
        }
        outcome
    }

    fn route(self, state: &State, at: Timestamp) -> Outcome {
        match self {
            Self::MessageQueued(fact) => queue::queued(state, fact, at),
            Self::ProviderRoundCompleted(fact) => turn::round(state, EventKind::ProviderRoundCompleted, &fact, at),
            Self::AssistantRoundRecorded(fact) => context::assistant_round(state, fact, at),
            Self::ToolRoundCompleted(fact) => turn::round(state, EventKind::ToolRoundCompleted, &fact, at),
            Self::TurnTerminal(fact) => turn::terminal(state, fact, at),
            Self::TurnAborted(fact) => turn::aborted(state, fact, at),
            Self::TaskCreated(fact) => task::changed(state, fact, TaskStatus::Queued, at),
            Self::TaskRunning(fact) => task::changed(state, fact, TaskStatus::Running, at),
            Self::TaskCancelling(fact) => task::changed(state, fact, TaskStatus::Cancelling, at),
            Self::TaskCompleted(fact) => task::changed(state, fact, TaskStatus::Completed, at),
            Self::TaskFailed(fact) => task::changed(state, fact, TaskStatus::Failed, at),
            Self::TaskCancelled(fact) => task::changed(state, fact, TaskStatus::Cancelled, at),
            Self::TaskInterrupted(fact) => task::changed(state, fact, TaskStatus::Interrupted, at),
            Self::WorkItemCreated(fact) => work::created(state, fact, at),
            Self::WorkItemPicked(fact) => work::picked(state, fact),
            Self::WorkItemUpdated(fact) => work::updated(state, fact, at),
            Self::WorkItemBlocked(fact) => work::blocked(state, fact, at),
            Self::WorkItemUnblocked(fact) => work::unblocked(state, fact, at),
            Self::WorkItemCompleted(fact) => work::completed(state, fact, at),
            Self::WaitingIntentCreated(fact) => waiting::intent_created(state, fact, at),
            Self::WaitingIntentCancelled(fact) => waiting::intent_cancelled(state, fact, at),
            Self::TimerCreated(fact) => waiting::timer_created(state, fact, at),
            Self::TimerCancelled(fact) => waiting::timer_cancelled(state, &fact),
            Self::WakeHintSubmitted(fact) => control::wake_hint(state, fact),
            Self::StartRequested(_) => control::start(state),
            Self::StopRequested(_) => control::stop(state),
            Self::ShutdownRequested(_) => control::shutdown(state),
            Self::RuntimeRestarted(_) => control::restarted(state, at),
            Self::ToolExecutionRecorded(fact) => context::tool_execution(state, fact, at),
            Self::BriefRecorded(fact) => context::brief(state, fact, at),
        }
    }
}
