//! The turn plane: the one open run, how turns end, and what a failed one leaves (contract 5.4 to 5.9).

mod retry;
mod runs;

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

pub(crate) use self::retry::{Owed, continues, of as retry_of, owed};
pub use self::{
    retry::{Retry, RetryNote, Subject},
    runs::{InterruptedRun, LastTerminal, OpenRun, Turns},
};
use crate::{
    derive::closure,
    entry::{EventKind, EventRecord, Record},
    fact::{Outcome, Refusal},
    id::{AgentId, MessageId, RunId, WorkItemId},
    json::{RawJson, Readable},
    ladder::key::Epoch,
    plane::{
        queue::{MessageRecord, QueueEntryRecord, QueueStatus, TickReason},
        work::progress::{self, Step},
    },
    state::State,
    tagged::names,
    time::Timestamp,
};

names! {
    /// How a turn ended.
    pub enum TurnTerminalKind {
        /// Well.
        Completed,
        /// Its run was aborted.
        Aborted,
        /// Its prompt does not fit any more.
        BaselineOverBudget,
        /// The provider failed before any output was accepted.
        DeferredToFallback,
        /// The provider failed after output was accepted.
        ProviderFailedNeedsRecovery,
    }

    /// Where a run stands.
    pub enum RunStatus {
        /// It is open.
        Started,
        /// It reached its terminal.
        Terminal,
        /// A restart ended it; its message replays.
        Interrupted,
    }

    /// Why a run was aborted.
    pub enum AbortReason {
        /// The operator asked.
        OperatorAborted,
        /// The agent was stopped.
        AgentStopped,
        /// The runtime shuts down.
        DaemonShutdown,
        /// The host or the provider failed.
        RuntimeError,
    }
}

impl TurnTerminalKind {
    /// Whether the turn failed: every kind but completed (contract 5.5).
    #[must_use]
    pub fn is_failure(self) -> bool {
        self != Self::Completed
    }
}

/// A turn as the ledger keeps it (class `turns`); the latest record of a run counts.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnRecord {
    /// The run that executes it.
    pub run_id: RunId,
    /// The agent.
    pub agent_id: AgentId,
    /// Its number, from 1.
    pub turn_index: u64,
    /// The message that started it.
    pub message_id: MessageId,
    /// Where the run stands.
    pub status: RunStatus,
    /// The item that it is about, by message or focus, when it was admitted (contract 5.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item: Option<TurnBinding>,
    /// When it started.
    pub started_at: Timestamp,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TurnTerminalKind>,
    /// Why it ended so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last thing that the model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// A turn-local checkpoint, carried as given; no decision reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<RawJson>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// The first message of the lineage that it tries again (contract 5.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<MessageId>,
    /// Which try it is; 0 where it is the first.
    #[serde(default, skip_serializing_if = "crate::json::is_zero")]
    pub attempt: u64,
}

impl TurnRecord {
    /// The record that opens a run of the next turn, for a message; a message that tries a failed turn again says so.
    #[must_use]
    pub(crate) fn started(state: &State, run_id: RunId, message_id: &MessageId, work_item: Option<TurnBinding>, at: Timestamp) -> Self {
        let retry = state.turns.retry_by(message_id);
        Self {
            run_id,
            agent_id: state.control.agent_id.clone(),
            turn_index: state.turns.turn_index + 1,
            message_id: message_id.clone(),
            status: RunStatus::Started,
            work_item,
            started_at: at,
            kind: None,
            reason: None,
            last_assistant_message: None,
            checkpoint: None,
            completed_at: None,
            retry_of: retry.map(|retry| retry.retry_of.clone()),
            attempt: retry.map_or(0, |retry| retry.attempt),
        }
    }

    /// Whether this run was aborted for this reason.
    #[must_use]
    pub fn was_aborted_by(&self, reason: AbortReason) -> bool {
        self.kind == Some(TurnTerminalKind::Aborted) && self.reason.as_deref() == Some(reason.to_string().as_str())
    }
}

/// The item that a turn is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnBinding {
    /// The item.
    pub work_item_id: WorkItemId,
    /// Its epoch after the admission batch.
    pub epoch: Epoch,
    /// Which of its keys the settlement spends (contract 8.3).
    pub offered_as: TickReason,
}

impl TurnBinding {
    /// The item of the turn that `message` starts: the message's, else the current one, with its epoch after the admission batch, in
    /// which waits of the items `ended_waits_of` end (contract 5.4, 8.2). A replay is about what its first turn was about, wherever the focus
    /// went in between.
    #[must_use]
    pub(crate) fn of(state: &State, message: &MessageRecord, ended_waits_of: &[WorkItemId]) -> Option<Self> {
        let focus = state.work.current();
        let item = match (state.queue.about(&message.id), &message.work_item_id) {
            (Some(first), _) => state.work.items.get(first.work_item_id.as_ref()?)?,
            (None, Some(id)) => state.work.items.get(id)?,
            (None, None) => focus?,
        };
        let id = &item.record.id;
        let by_waits = ended_waits_of.iter().filter(|ended| *ended == id).count() as u64;
        let by_operator = u64::from(state.control.live_from.is_some() && message.is_operator_input());
        let has_focus = focus.is_some_and(|focus| focus.record.id == *id);
        Some(Self {
            work_item_id: id.clone(),
            epoch: Epoch { moved: item.moved + by_waits + by_operator, ..item.epoch() },
            offered_as: if has_focus { TickReason::ContinueActive } else { TickReason::QueuedAvailable },
        })
    }
}

/// Fact `turn_terminal`: the provider says that the turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnTerminal {
    /// The run.
    pub run_id: RunId,
    /// How it ended.
    pub kind: TurnTerminalKind,
    /// Why it ended so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last thing that the model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// A turn-local checkpoint, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<RawJson>,
}

/// Fact `turn_aborted`: the run was broken off.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnAborted {
    /// The run.
    pub run_id: RunId,
    /// Why.
    pub reason: AbortReason,
    /// What went wrong, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Facts `provider_round_completed` and `tool_round_completed`: progress inside the open run.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundCompleted {
    /// The run.
    pub run_id: RunId,
    /// The round, from 1.
    pub round: u64,
    /// Tokens, timing and the like, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<RawJson>,
}

/// Fact `turn_started`: the host began to execute a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnStarted {
    /// The run.
    pub run_id: RunId,
    /// The message that started it.
    pub message_id: MessageId,
    /// The number of the turn; the next one where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
}

/// Fact `turn_baseline_over_budget`: the prompt does not fit any more.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnOverBudget {
    /// The run.
    pub run_id: RunId,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The transition of `turn_started`. In a driven ledger the run is open already and the fact says that the host is at it; in an observed
/// one it opens the run.
pub(crate) fn started(state: &State, fact: &TurnStarted, at: Timestamp) -> Outcome {
    if state.control.live_from.is_some() {
        return in_open_run(state, &fact.run_id, |_| Vec::from([Record::Event(EventRecord::of(EventKind::TurnStarted, at, fact))]));
    }
    if let Some(run) = &state.turns.run {
        return Outcome::ignored(Refusal::RunOpen, run.seq);
    }
    let Some(held) = state.queue.message(&fact.message_id) else {
        return Outcome::ignored(Refusal::Unknown, state.head.seq);
    };
    let binding = TurnBinding::of(state, &held.record, &[]);
    let started = TurnRecord::started(state, fact.run_id.clone(), &fact.message_id, binding, at);
    Outcome::accepted(Vec::from([Record::Turn(TurnRecord { turn_index: fact.turn_index.unwrap_or(started.turn_index), ..started })]))
}

/// The transition of `turn_baseline_over_budget`.
pub(crate) fn over_budget(state: &State, fact: TurnOverBudget, at: Timestamp) -> Outcome {
    let ending = Ending { kind: TurnTerminalKind::BaselineOverBudget, reason: fact.reason, last_assistant_message: None, checkpoint: None };
    in_open_run(state, &fact.run_id, |run| settle(state, run, ending, at))
}

/// The transition of `turn_terminal`: one batch settles turn, message, closure and commit (contract 5.4).
pub(crate) fn terminal(state: &State, fact: TurnTerminal, at: Timestamp) -> Outcome {
    let ending = Ending {
        kind: fact.kind,
        reason: fact.reason,
        last_assistant_message: fact.last_assistant_message,
        checkpoint: fact.checkpoint.filter(|_| fact.kind == TurnTerminalKind::Completed),
    };
    in_open_run(state, &fact.run_id, |run| settle(state, run, ending, at))
}

/// The transition of `turn_aborted`: settles the run, or, while closing, interrupts it so that its message replays (contract 4.3,
/// D9). The agent goes on, whoever broke the run off (D25), and a failure of the host settles the message like any other (D24).
pub(crate) fn aborted(state: &State, fact: TurnAborted, at: Timestamp) -> Outcome {
    in_open_run(state, &fact.run_id, |run| {
        if state.control.closing.is_some() {
            return Vec::from([Record::Turn(run.interrupted(&state.control.agent_id, at))]);
        }
        let ending = Ending {
            kind: TurnTerminalKind::Aborted,
            reason: Some(fact.reason.to_string()),
            last_assistant_message: None,
            checkpoint: None,
        };
        let mut records = settle(state, run, ending, at);
        if fact.reason == AbortReason::RuntimeError {
            let error = EventRecord::of(
                EventKind::RuntimeError,
                at,
                &RuntimeError { message_id: &run.message_id, run_id: &run.run_id, error: fact.error.as_deref() },
            );
            records.insert(0, Record::Event(error));
        }
        records
    })
}

#[derive(Serialize)]
struct RuntimeError<'a> {
    message_id: &'a MessageId,
    run_id: &'a RunId,
    error: Option<&'a str>,
}

/// The transition of `provider_round_completed` and `tool_round_completed`.
pub(crate) fn round(state: &State, kind: EventKind, fact: &RoundCompleted, at: Timestamp) -> Outcome {
    in_open_run(state, &fact.run_id, |_| Vec::from([Record::Event(EventRecord::of(kind, at, fact))]))
}

/// Does nothing but say `stale_run` where the fact belongs to a run that is not open (contract 5.8).
pub(crate) fn in_open_run(state: &State, run_id: &RunId, make: impl FnOnce(&OpenRun) -> Vec<Record>) -> Outcome {
    match &state.turns.run {
        Some(run) if run.run_id == *run_id => Outcome::accepted(make(run)),
        _ => Outcome::ignored(Refusal::StaleRun, state.turns.settled.unwrap_or(state.head.seq)),
    }
}

struct Ending {
    kind: TurnTerminalKind,
    reason: Option<String>,
    last_assistant_message: Option<String>,
    checkpoint: Option<RawJson>,
}

fn settle(state: &State, run: &OpenRun, ending: Ending, at: Timestamp) -> Vec<Record> {
    let kind = ending.kind;
    let turn = TurnRecord {
        status: RunStatus::Terminal,
        kind: Some(kind),
        reason: ending.reason,
        last_assistant_message: ending.last_assistant_message,
        checkpoint: ending.checkpoint,
        completed_at: Some(at),
        ..run.record(&state.control.agent_id)
    };
    let progress = progress::of_turn(state, &turn);
    let exhausted = (retry::owed(state, &turn) == Owed::Exhausted).then(|| retry::exhausted(&turn));
    let mut records = Vec::from([Record::Turn(turn)]);
    if let Some(held) = state.queue.message(&run.message_id) {
        let status = match kind {
            TurnTerminalKind::Aborted => QueueStatus::Aborted,
            _ => QueueStatus::Processed,
        };
        records.push(Record::QueueEntry(QueueEntryRecord::of(&held.record, status, at)));
    }
    if let Some(binding) = &run.work_item {
        // contract 5.7, D8: the commit appends its event and never writes the item.
        let committed = TurnEndCommitted { turn_index: run.turn_index, work_item_id: &binding.work_item_id, terminal_kind: kind };
        records.push(Record::Event(EventRecord::of(EventKind::WorkItemTurnEndCommitted, at, &committed)));
    }
    let closure = closure::decide(&closure::Facts::of(state).settled(kind));
    records.push(Record::Event(EventRecord::of(
        EventKind::ClosureDecided,
        at,
        &ClosureDecided { agent_id: &state.control.agent_id, closure },
    )));
    if let Some((item, Step::Parks(cause))) = progress {
        records.extend(progress::park(item, cause, at));
    }
    records.extend(exhausted.map(|diagnostic| Record::Event(EventRecord::of(EventKind::SchedulerDiagnostic, at, &diagnostic))));
    records
}

#[derive(Serialize)]
struct TurnEndCommitted<'a> {
    turn_index: u64,
    work_item_id: &'a WorkItemId,
    terminal_kind: TurnTerminalKind,
}

#[derive(Serialize)]
struct ClosureDecided<'a> {
    agent_id: &'a AgentId,
    closure: closure::Closure,
}
