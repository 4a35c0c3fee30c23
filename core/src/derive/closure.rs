//! Closure: what the facts amount to between turns (contract 6.1).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    derive::{
        status,
        table::{self, Row},
    },
    id::WorkItemId,
    record::{
        continuation::{ClosureOutcome, WaitingReason},
        control::AgentStatus,
        turn::TurnTerminalKind,
        waiting::WaitConditionKind,
        work::WorkItemState,
    },
    state::{
        State,
        index::List,
        readiness::{self, SchedulingState},
    },
    tagged::names,
    time::Timestamp,
};
use wakeful_json::Readable;

names! {
    /// How work resumes.
    pub enum WorkReactivationMode {
        /// The item with the focus continues.
        ContinueActive,
        /// Another item is offered.
        ActivateQueued,
    }

    /// Whether the runtime is at rest.
    pub enum RuntimePosture {
        /// It is not at rest.
        Awake,
        /// It is at rest.
        Sleeping,
    }
}

/// The work that can continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkSignal {
    /// The work item.
    pub work_item_id: WorkItemId,
    /// The state of that item.
    pub state: WorkItemState,
    /// How the item resumes.
    pub reactivation_mode: WorkReactivationMode,
}

/// A closure, with the reference runtime's evidence strings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Closure {
    /// What the facts amount to.
    pub outcome: ClosureOutcome,
    /// What the agent waits for; set exactly if the outcome is waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    /// The work; set exactly if the outcome is continuable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_signal: Option<WorkSignal>,
    /// Whether the runtime is at rest.
    pub runtime_posture: RuntimePosture,
    /// The reference runtime's evidence strings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// The input of the closure table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether a runtime error is in force.
    pub runtime_error: bool,
    /// The number of active blocking tasks.
    pub blocking_tasks: usize,
    /// The number of active intents.
    pub intents: usize,
    /// The number of active intents of the agent's scope.
    pub agent_intents: usize,
    /// The number of active timers.
    pub timers: usize,
    /// The agent's own wait conditions.
    pub agent: AgentWaits,
    /// Whether the current item waits for the operator.
    pub awaiting_operator: bool,
    /// The scheduling state of the current item.
    pub current: Option<SchedulingState>,
    /// The work that can continue.
    pub work_signal: Option<WorkSignal>,
    /// Whether the newest turn started and no restart interrupted it.
    pub turn_started: bool,
    /// Whether a run is open.
    pub run_open: bool,
    /// The terminal of the newest turn, if it has one.
    pub terminal: Option<TurnTerminalKind>,
    /// Whether the runtime is at rest.
    pub posture: RuntimePosture,
}

/// The kinds of active conditions without an item (contract 5.17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentWaits {
    /// One waits for the operator.
    pub operator: bool,
    /// One waits for something external, or for the runtime itself (D2).
    pub external: bool,
    /// One waits for an instant.
    pub timer: bool,
    /// One waits for a task.
    pub task: bool,
}

impl AgentWaits {
    fn new(state: &State) -> Self {
        let mut waits = Self::default();
        for wait in state.own_waits() {
            *match wait.record.kind {
                WaitConditionKind::Operator => &mut waits.operator,
                WaitConditionKind::External | WaitConditionKind::System => &mut waits.external,
                WaitConditionKind::Timer => &mut waits.timer,
                WaitConditionKind::Task => &mut waits.task,
            } = true;
        }
        waits
    }
}

impl Facts {
    /// The facts of a state.
    #[must_use]
    pub fn from_state(state: &State) -> Self {
        let current = state.work.current().map(|item| readiness::state_of(state, item));
        let asleep = status::status(state) == AgentStatus::Asleep;
        Self {
            runtime_error: state.context.runtime_error().is_some(),
            blocking_tasks: state.blocking_tasks_len(),
            intents: state.waiting.intents.len(),
            agent_intents: state.agent_intents_len(),
            timers: state.waiting.timers.len(),
            agent: AgentWaits::new(state),
            // Apart from `current`, because conformance vectors give the two independently.
            awaiting_operator: current == Some(SchedulingState::WaitingOperator),
            current,
            work_signal: work_signal(state, current),
            // contract D10: an interrupted run does not count as started.
            turn_started: state.turns.turn_index > 0 && !state.turns.newest_interrupted,
            run_open: state.turns.run.is_some(),
            terminal: state.turns.terminal_of_newest(),
            posture: if asleep { RuntimePosture::Sleeping } else { RuntimePosture::Awake },
        }
    }

    /// The same facts after the open run settles with this terminal.
    #[must_use]
    pub fn settled(mut self, kind: TurnTerminalKind) -> Self {
        self.run_open = false;
        self.terminal = Some(kind);
        // contract 6.2: a completed turn clears the error.
        self.runtime_error &= kind != TurnTerminalKind::Completed;
        self
    }

    /// Whether the newest turn failed.
    fn has_failed(&self) -> bool {
        self.terminal.is_some_and(TurnTerminalKind::is_failure)
    }

    /// Whether the newest turn has no terminal.
    fn is_unsettled(&self) -> bool {
        self.turn_started && self.terminal.is_none()
    }

    fn awaits_operator(&self) -> bool {
        self.awaiting_operator || self.agent.operator
    }

    fn agent_awaits_external(&self) -> bool {
        self.agent_intents > 0 || self.agent.external
    }

    fn item_is(&self, state: SchedulingState) -> bool {
        self.current == Some(state)
    }
}

fn work_signal(state: &State, current: Option<SchedulingState>) -> Option<WorkSignal> {
    let (item, mode) = match current {
        Some(SchedulingState::Runnable) => {
            (state.work.current()?, WorkReactivationMode::ContinueActive)
        }
        _ => (
            state.items_in(List::Runnable, Timestamp::MAX).next()?,
            WorkReactivationMode::ActivateQueued,
        ),
    };
    Some(WorkSignal {
        work_item_id: item.record.id.clone(),
        state: item.record.state,
        reactivation_mode: mode,
    })
}

/// What a row says about the facts for which it holds.
#[derive(Debug)]
pub struct Verdict {
    outcome: ClosureOutcome,
    reason: Option<WaitingReason>,
    evidence: Vec<String>,
}

impl Verdict {
    fn saying(mut self, what: &str) -> Self {
        self.evidence.push(what.to_string());
        self
    }

    fn after(mut self, terminal: Option<TurnTerminalKind>) -> Self {
        self.evidence.extend(terminal.map(|kind| format!("turn_terminal_{kind}")));
        self
    }
}

fn closed(outcome: ClosureOutcome) -> Verdict {
    Verdict { outcome, reason: None, evidence: Vec::new() }
}

fn waits(reason: WaitingReason) -> Verdict {
    Verdict { reason: Some(reason), ..closed(ClosureOutcome::Waiting) }
}

/// The closure table (contract 6.1), in one order for both editions. The first row that holds
/// decides, and the last one always holds.
pub static ROWS: [Row<Facts, Verdict>; 15] = [
    Row::new("runtime_error", |facts| facts.runtime_error, |_| closed(ClosureOutcome::Failed)),
    Row::new(
        "run_open",
        |facts| facts.run_open,
        |_| waits(WaitingReason::AwaitingExternalChange).saying("turn_in_progress"),
    ),
    Row::new("turn_failed", Facts::has_failed, |facts| {
        closed(ClosureOutcome::Failed).after(facts.terminal)
    }),
    // An import may have a last turn that died without a terminal (`observed-decisions.md` 5.3.3).
    Row::new("turn_unsettled", Facts::is_unsettled, |_| {
        waits(WaitingReason::AwaitingExternalChange).saying("turn_terminal_missing")
    }),
    Row::new(
        "work_signal",
        |facts| facts.work_signal.is_some(),
        |_| closed(ClosureOutcome::Continuable).saying("runnable_work_present"),
    ),
    Row::new("operator_input", Facts::awaits_operator, |_| {
        waits(WaitingReason::AwaitingOperatorInput)
    }),
    Row::new("agent_external", Facts::agent_awaits_external, |_| {
        waits(WaitingReason::AwaitingExternalChange)
    }),
    Row::new(
        "timer",
        |facts| facts.timers > 0 || facts.agent.timer,
        |_| waits(WaitingReason::AwaitingTimer),
    ),
    Row::new("agent_task", |facts| facts.agent.task, |_| waits(WaitingReason::AwaitingTaskResult)),
    Row::new(
        "item_task",
        |facts| facts.item_is(SchedulingState::WaitingTask),
        |_| waits(WaitingReason::AwaitingTaskResult),
    ),
    Row::new(
        "item_external",
        |facts| facts.item_is(SchedulingState::WaitingExternal),
        |_| waits(WaitingReason::AwaitingExternalChange),
    ),
    Row::new(
        "item_timer",
        |facts| facts.item_is(SchedulingState::WaitingTimer),
        |_| waits(WaitingReason::AwaitingTimer),
    ),
    // Not reached from a state, where `operator_input` holds first. Conformance vectors reach it.
    Row::new(
        "item_operator",
        |facts| facts.item_is(SchedulingState::WaitingOperator),
        |_| waits(WaitingReason::AwaitingOperatorInput),
    ),
    // contract D2: a system wait counts as external, so that something can end it.
    Row::new(
        "item_system",
        |facts| facts.item_is(SchedulingState::WaitingSystem),
        |_| waits(WaitingReason::AwaitingExternalChange),
    ),
    Row::new(
        "completed",
        |_| true,
        |facts| {
            closed(ClosureOutcome::Completed).after(facts.terminal).saying("no_waiting_condition")
        },
    ),
];

/// The closure of `facts`.
#[must_use]
pub fn decide(facts: &Facts) -> Closure {
    // INVARIANT: the last row always holds, so one row does.
    decide_by(ROWS.iter(), facts)
        .unwrap_or_else(|| closed_with(closed(ClosureOutcome::Completed), facts))
}

/// The closure of `facts` by a subset of the rows; `None` if none of them holds.
pub fn decide_by<'a>(
    rows: impl Iterator<Item = &'a Row<Facts, Verdict>>,
    facts: &Facts,
) -> Option<Closure> {
    table::first(rows, facts).map(|verdict| closed_with(verdict, facts))
}

fn closed_with(Verdict { outcome, reason, evidence }: Verdict, facts: &Facts) -> Closure {
    Closure {
        outcome,
        waiting_reason: reason,
        work_signal: facts.work_signal.clone().filter(|_| outcome == ClosureOutcome::Continuable),
        runtime_posture: facts.posture,
        evidence: [common_evidence(facts), evidence].concat(),
    }
}

/// The evidence that comes first for every outcome.
fn common_evidence(facts: &Facts) -> Vec<String> {
    let mut evidence = Vec::new();
    if facts.runtime_error {
        evidence.push("runtime_error".to_string());
    }
    if facts.awaiting_operator {
        evidence.push("awaiting_operator_input_signal".into());
    }
    let counts = [
        ("active_blocking_tasks", facts.blocking_tasks),
        ("active_waiting_intents", facts.intents),
        ("active_agent_waiting_intents", facts.agent_intents),
        ("active_timers", facts.timers),
    ];
    evidence.extend(
        counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name}={count}")),
    );
    if let Some(current) = facts.current {
        // The reference runtime prints Rust names here (`observed-decisions.md` 5.2).
        evidence.push(format!("current_work_item_scheduling_state={current:?}"));
    }
    if let Some(signal) = &facts.work_signal {
        evidence.push(format!("work_reactivation_mode={:?}", signal.reactivation_mode));
        evidence.push(format!("work_item_state={:?}", signal.state));
        evidence.push(format!("work_item_id={}", signal.work_item_id));
    }
    if facts.posture == RuntimePosture::Sleeping {
        evidence.push("runtime_sleeping".into());
    }
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_the_agent_counts_like_one_of_its_item() {
        let idle = Facts::from_state(&State::default());
        let reason = |agent| decide(&Facts { agent, ..idle.clone() }).waiting_reason;
        let none = AgentWaits::default();
        assert_eq!(reason(none), None);
        assert_eq!(
            reason(AgentWaits { operator: true, ..none }),
            Some(WaitingReason::AwaitingOperatorInput)
        );
        assert_eq!(
            reason(AgentWaits { external: true, ..none }),
            Some(WaitingReason::AwaitingExternalChange)
        );
        assert_eq!(reason(AgentWaits { timer: true, ..none }), Some(WaitingReason::AwaitingTimer));
        assert_eq!(
            reason(AgentWaits { task: true, ..none }),
            Some(WaitingReason::AwaitingTaskResult)
        );
    }
}
