//! Operation `closure`: facts in, closure out.

use serde::Serialize;

use wakeful_core::{
    derive::closure::{self, Closure, Facts, RuntimePosture, WorkSignal},
    record::{
        continuation::{ClosureOutcome, WaitingReason},
        turn::TurnTerminalKind,
    },
    state::readiness::SchedulingState,
};
use wakeful_json::{self as json, JsonError, Readable};

#[derive(Readable)]
struct Input {
    facts: GivenFacts,
}

#[derive(Readable)]
struct GivenFacts {
    runtime_error: bool,
    awaiting_operator_input: bool,
    active_blocking_tasks: usize,
    active_waiting_intents: usize,
    active_agent_waiting_intents: usize,
    active_timers: usize,
    current_work_item_scheduling_state: Option<SchedulingState>,
    work_signal: Option<WorkSignal>,
    turn_started: bool,
    turn_in_progress: bool,
    turn_terminal_kind: Option<TurnTerminalKind>,
    runtime_posture: Option<RuntimePosture>,
}

/// The closure, with absent parts as nulls.
#[derive(Serialize)]
pub(super) struct Told {
    outcome: ClosureOutcome,
    waiting_reason: Option<WaitingReason>,
    work_signal: Option<WorkSignal>,
    runtime_posture: RuntimePosture,
    evidence: Vec<String>,
}

impl Told {
    pub(super) fn from_closure(closure: Closure) -> Self {
        Self {
            outcome: closure.outcome,
            waiting_reason: closure.waiting_reason,
            work_signal: closure.work_signal,
            runtime_posture: closure.runtime_posture,
            evidence: closure.evidence,
        }
    }
}

pub(super) fn answer(input: &str, without: Option<&str>) -> Result<String, JsonError> {
    let given = json::read::<Input>(input)?.facts;
    let facts = Facts {
        runtime_error: given.runtime_error,
        blocking_tasks: given.active_blocking_tasks,
        intents: given.active_waiting_intents,
        agent_intents: given.active_agent_waiting_intents,
        timers: given.active_timers,
        // The reference runtime has no waits of the agent itself (`observed-decisions.md` 3.2.5).
        agent: closure::AgentWaits::default(),
        awaiting_operator: given.awaiting_operator_input,
        current: given.current_work_item_scheduling_state,
        work_signal: given.work_signal,
        turn_started: given.turn_started,
        run_open: given.turn_in_progress,
        terminal: given.turn_terminal_kind,
        posture: given.runtime_posture.unwrap_or(RuntimePosture::Awake),
    };
    let rows = closure::ROWS.iter().filter(|row| Some(row.id) != without);
    let closure = closure::decide_by(rows, &facts)
        .ok_or_else(|| JsonError::at_field("facts", "no remaining row holds"))?;
    Ok(json::write(&Told::from_closure(closure)))
}
