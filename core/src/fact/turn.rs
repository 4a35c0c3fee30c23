//! The plane of turns: the open run, how turns end, and what a failed one owes (contract 5.4 to
//! 5.9).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    derive::closure,
    fact::{
        outcome::{Outcome, Refusal},
        work,
    },
    id::{AgentId, MessageId, RunId, WorkItemId},
    record::{
        Record,
        budget::RoundUsage,
        diagnostic,
        event::{EventKind, EventRecord},
        queue::{entry::QueueEntryRecord, envelope::QueueStatus},
        refusal::RefusedContent,
        turn::{AbortReason, RunStatus, TurnBinding, TurnRecord, TurnTerminalKind},
    },
    state::{
        State, failing,
        progress::{self, Step},
        retry::{self, Owed},
        turn::OpenRun,
    },
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

/// Fact `turn_terminal`: the provider reports the end of the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnTerminal {
    /// The open run.
    pub run_id: RunId,
    /// How the turn ended.
    pub kind: TurnTerminalKind,
    /// Why the turn ended so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last text of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// A checkpoint of this turn, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<RawJson>,
}

/// Fact `turn_aborted`: the run was aborted.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnAborted {
    /// The open run.
    pub run_id: RunId,
    /// Why it was aborted.
    pub reason: AbortReason,
    /// The error in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Facts `provider_round_completed` and `tool_round_completed`: progress inside the open run.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundCompleted {
    /// The open run.
    pub run_id: RunId,
    /// The number of the round, from 1.
    pub round: u64,
    /// Tokens that went in, for a round with the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The cost in millionths of the currency in which the host counts, if it knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Timing and so on, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<RawJson>,
}

impl RoundCompleted {
    /// A round of which only the number is known.
    #[must_use]
    pub fn new(run_id: RunId, round: u64) -> Self {
        Self {
            run_id,
            round,
            input_tokens: None,
            output_tokens: None,
            cost_micros: None,
            diagnostics: None,
        }
    }

    /// What the round used.
    pub(crate) fn usage(&self) -> RoundUsage {
        RoundUsage {
            run_id: self.run_id.clone(),
            round: self.round,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cost_micros: self.cost_micros,
        }
    }
}

/// Fact `turn_started`: the host started to execute a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnStarted {
    /// The run of the turn.
    pub run_id: RunId,
    /// The message that started the turn.
    pub message_id: MessageId,
    /// The number of the turn; absent means the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
}

/// Fact `turn_baseline_over_budget`: the prompt no longer fits.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnOverBudget {
    /// The open run.
    pub run_id: RunId,
    /// The reason in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The transition of `turn_started`. In a driven ledger the run is open already, and the fact only
/// shows that the host executes it. In an observed ledger the fact opens the run.
pub(crate) fn started(state: &State, fact: &TurnStarted, at: Timestamp) -> Outcome {
    if state.control.live_from.is_some() {
        return in_open_run(state, &fact.run_id, |_| {
            Vec::from([Record::Event(EventRecord::new(EventKind::TurnStarted, at, fact))])
        });
    }
    // I2: at most one run is open.
    if let Some(run) = &state.turns.run {
        return Outcome::ignored(Refusal::RunOpen, run.seq);
    }
    let Some(held) = state.queue.message(&fact.message_id) else {
        return Outcome::ignored(Refusal::Unknown, state.head.seq);
    };
    // This batch ends no waits.
    let binding = TurnBinding::for_message(state, &held.record, &[]);
    let started = TurnRecord::started(state, fact.run_id.clone(), &fact.message_id, binding, at);
    Outcome::accepted(Vec::from([Record::Turn(TurnRecord {
        turn_index: fact.turn_index.unwrap_or(started.turn_index),
        ..started
    })]))
}

/// The transition of `turn_baseline_over_budget`.
pub(crate) fn over_budget(state: &State, fact: TurnOverBudget, at: Timestamp) -> Outcome {
    let ending = Ending {
        kind: TurnTerminalKind::BaselineOverBudget,
        reason: fact.reason,
        last_assistant_message: None,
        checkpoint: None,
    };
    in_open_run(state, &fact.run_id, |run| settle(state, run, ending, at))
}

/// The transition of `turn_terminal`: one batch settles turn, message, closure and commit (contract
/// 5.4).
pub(crate) fn terminal(state: &State, fact: TurnTerminal, at: Timestamp) -> Outcome {
    let ending = Ending {
        kind: fact.kind,
        reason: fact.reason,
        last_assistant_message: fact.last_assistant_message,
        // The reference runtime keeps the checkpoint of a completed turn only
        // (`observed-decisions.md` 2.13).
        checkpoint: fact.checkpoint.filter(|_| fact.kind == TurnTerminalKind::Completed),
    };
    in_open_run(state, &fact.run_id, |run| settle(state, run, ending, at))
}

/// The transition of `content_refused`: the message of the run is dropped, and so the run ends;
/// other messages are no longer deferred (contract 5.3).
pub(crate) fn content_refused(state: &State, fact: &RefusedContent, at: Timestamp) -> Outcome {
    in_open_run(state, &fact.run_id, |run| {
        let event =
            |kind, data: &dyn Fn() -> RawJson| Record::Event(EventRecord::new(kind, at, &data()));
        let diagnostic = diagnostic::content_refused(fact);
        let mut records = Vec::from([
            event(EventKind::ContentRefused, &|| RawJson::from_value(fact)),
            event(EventKind::SchedulerDiagnostic, &|| RawJson::from_value(&diagnostic)),
        ]);
        if fact.message_ids.contains(&run.message_id) {
            let ending = Ending {
                kind: TurnTerminalKind::Aborted,
                reason: Some(AbortReason::ContentRefused.to_string()),
                last_assistant_message: None,
                checkpoint: None,
            };
            records.extend(settle(state, run, ending, at));
        }
        records
    })
}

/// The transition of `turn_aborted`: it settles the run. While closing it interrupts the run
/// instead, so that its message replays (contract 4.3, D9). The agent continues after any abort
/// (D25). A host error settles the message too (D24).
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
        // Only this reason is an error; the others are requests.
        if fact.reason == AbortReason::RuntimeError {
            let error = EventRecord::new(
                EventKind::RuntimeError,
                at,
                &RuntimeError {
                    message_id: &run.message_id,
                    run_id: &run.run_id,
                    error: fact.error.as_deref(),
                },
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
pub(crate) fn round(
    state: &State,
    kind: EventKind,
    fact: &RoundCompleted,
    at: Timestamp,
) -> Outcome {
    in_open_run(state, &fact.run_id, |_| {
        Vec::from([Record::Event(EventRecord::new(kind, at, fact))])
    })
}

/// Makes the records of a fact of the open run. A fact of another run is ignored as `stale_run`
/// (contract 5.8).
pub(crate) fn in_open_run(
    state: &State,
    run_id: &RunId,
    make: impl FnOnce(&OpenRun) -> Vec<Record>,
) -> Outcome {
    match &state.turns.run {
        Some(run) if run.run_id == *run_id => Outcome::accepted(make(run)),
        // The entry that last ended a run is the best evidence that this one is over.
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
    // The fold asks the same of the same state when it meets the terminal, so the two agree.
    let progress = progress::of_turn(state, &turn);
    let exhausted =
        (retry::owed(state, &turn) == Owed::Exhausted).then(|| diagnostic::exhausted(&turn));
    // I26: an operator hears of turns that keep failing.
    let failing = failing::cause(&turn)
        .filter(|_| failing::is_reported(state, &turn))
        .map(|cause| diagnostic::turns_fail(&turn, cause));
    // contract 5.3: what the provider refuses is dropped, so that nothing asks for it again.
    let drops = turn.was_aborted_by(AbortReason::ContentRefused);
    let mut records = Vec::from([Record::Turn(turn)]);
    // An imported run names no message, so none is settled.
    if let Some(held) = state.queue.message(&run.message_id) {
        let status = match kind {
            TurnTerminalKind::Aborted if drops => QueueStatus::Dropped,
            TurnTerminalKind::Aborted => QueueStatus::Aborted,
            _ => QueueStatus::Processed,
        };
        records.push(Record::QueueEntry(QueueEntryRecord {
            reason: drops.then(|| AbortReason::ContentRefused.to_string()),
            ..QueueEntryRecord::new(&held.record, status, at)
        }));
    }
    if let Some(binding) = &run.work_item {
        // contract 5.7, D8: the commit appends its event and never writes the item.
        let committed = TurnEndCommitted {
            turn_index: run.turn_index,
            work_item_id: &binding.work_item_id,
            terminal_kind: kind,
        };
        records.push(Record::Event(EventRecord::new(
            EventKind::WorkItemTurnEndCommitted,
            at,
            &committed,
        )));
    }
    // The state does not have the terminal yet, so the facts are settled here.
    let closure = closure::decide(&closure::Facts::from_state(state).settled(kind));
    records.push(Record::Event(EventRecord::new(
        EventKind::ClosureDecided,
        at,
        &ClosureDecided { agent_id: &state.control.agent_id, closure },
    )));
    if let Some((item, Step::Parks(cause))) = progress {
        records.extend(work::park(item, cause, at));
    }
    records.extend(exhausted.into_iter().chain(failing).map(|diagnostic| {
        Record::Event(EventRecord::new(EventKind::SchedulerDiagnostic, at, &diagnostic))
    }));
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
