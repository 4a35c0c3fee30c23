//! Closure: what the facts add up to between turns (contract 6.1).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use super::readiness::{self, SchedulingState};
use crate::{
    derive::status,
    id::WorkItemId,
    plane::{
        control::AgentStatus,
        turn::TurnTerminalKind,
        waiting::{ExternalTriggerScope, WaitConditionKind},
        work::WorkItemState,
    },
    state::State,
    tagged::names,
};

names! {
    /// What the facts add up to.
    pub enum ClosureOutcome {
        /// Nothing is left to do.
        Completed,
        /// There is work to go on with.
        Continuable,
        /// Something failed.
        Failed,
        /// Something is waited for.
        Waiting,
    }

    /// What is waited for.
    pub enum WaitingReason {
        /// The operator.
        AwaitingOperatorInput,
        /// Something external.
        AwaitingExternalChange,
        /// A task.
        AwaitingTaskResult,
        /// A timer.
        AwaitingTimer,
    }

    /// How work is taken up again.
    pub enum WorkReactivationMode {
        /// The item that has the focus goes on.
        ContinueActive,
        /// Another item is offered.
        ActivateQueued,
    }

    /// Whether the runtime rests.
    pub enum RuntimePosture {
        /// It does not.
        Awake,
        /// It does.
        Sleeping,
    }
}

/// The work that there is to go on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkSignal {
    /// The item.
    pub work_item_id: WorkItemId,
    /// Its state.
    pub state: WorkItemState,
    /// How it is taken up.
    pub reactivation_mode: WorkReactivationMode,
}

/// A closure and the reference runtime's evidence strings for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Closure {
    /// What the facts add up to.
    pub outcome: ClosureOutcome,
    /// What is waited for; there exactly where the outcome is waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    /// The work; there exactly where the outcome is continuable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_signal: Option<WorkSignal>,
    /// Whether the runtime rests.
    pub runtime_posture: RuntimePosture,
    /// What speaks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// What closure is derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// A runtime error holds.
    pub runtime_error: bool,
    /// How many blocking tasks are active.
    pub blocking_tasks: usize,
    /// How many intents are active.
    pub intents: usize,
    /// How many of them are the agent's own.
    pub agent_intents: usize,
    /// How many timers are active.
    pub timers: usize,
    /// What the agent itself waits for by conditions of its own.
    pub agent: AgentWaits,
    /// Whether the current item waits for the operator.
    pub awaiting_operator: bool,
    /// Where the current item stands.
    pub current: Option<SchedulingState>,
    /// The work that there is to go on with.
    pub work_signal: Option<WorkSignal>,
    /// Whether a turn was started that no restart interrupted.
    pub turn_started: bool,
    /// Whether a run is open.
    pub run_open: bool,
    /// How the newest turn ended, if it did.
    pub terminal: Option<TurnTerminalKind>,
    /// Whether the runtime rests.
    pub posture: RuntimePosture,
}

/// The conditions without item that are active, by kind (contract 5.17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentWaits {
    /// For the operator.
    pub operator: bool,
    /// For something external, or for the runtime itself (D2).
    pub external: bool,
    /// For an instant.
    pub timer: bool,
    /// For a task.
    pub task: bool,
}

impl AgentWaits {
    fn of(state: &State) -> Self {
        let waits = |kind| !readiness::agent_conditions(state, kind).is_empty();
        Self {
            operator: waits(WaitConditionKind::Operator),
            external: waits(WaitConditionKind::External) || waits(WaitConditionKind::System),
            timer: waits(WaitConditionKind::Timer),
            task: waits(WaitConditionKind::Task),
        }
    }
}

impl Facts {
    /// The facts of a state.
    #[must_use]
    pub fn of(state: &State) -> Self {
        let current = state.work.current().map(|item| readiness::of(state, item).state);
        let asleep = matches!(status::of(state), AgentStatus::Asleep | AgentStatus::AwaitingTask);
        Self {
            runtime_error: state.context.runtime_error().is_some(),
            blocking_tasks: state.tasks.active.values().filter(|task| task.is_blocking()).count(),
            intents: state.waiting.intents.len(),
            agent_intents: state.waiting.intents_of(ExternalTriggerScope::Agent).count(),
            timers: state.waiting.timers.len(),
            agent: AgentWaits::of(state),
            awaiting_operator: current == Some(SchedulingState::WaitingOperator),
            current,
            work_signal: work_signal(state, current),
            // contract D10: a run that a restart interrupted does not count as started.
            turn_started: state.turns.turn_index > 0 && !state.turns.newest_interrupted,
            run_open: state.turns.run.is_some(),
            terminal: state.turns.terminal_of_newest(),
            posture: if asleep { RuntimePosture::Sleeping } else { RuntimePosture::Awake },
        }
    }

    /// The same facts once the open run has settled with this terminal.
    #[must_use]
    pub fn settled(mut self, kind: TurnTerminalKind) -> Self {
        self.run_open = false;
        self.terminal = Some(kind);
        // contract 6.2: a completed turn clears the error.
        self.runtime_error &= kind != TurnTerminalKind::Completed;
        self
    }
}

fn work_signal(state: &State, current: Option<SchedulingState>) -> Option<WorkSignal> {
    let (item, mode) = match current {
        Some(SchedulingState::Runnable) => (state.work.current()?, WorkReactivationMode::ContinueActive),
        _ => (*readiness::queued_runnable(state).first()?, WorkReactivationMode::ActivateQueued),
    };
    Some(WorkSignal { work_item_id: item.record.id.clone(), state: item.record.state, reactivation_mode: mode })
}

/// The closure of some facts: one order in both editions.
#[must_use]
pub fn decide(facts: &Facts) -> Closure {
    use ClosureOutcome as Outcome;
    let waiting = |reason| (Outcome::Waiting, Some(reason));
    let mut evidence = common_evidence(facts);
    let mut work_signal = None;
    let (outcome, waiting_reason) = if facts.runtime_error {
        (Outcome::Failed, None)
    } else if facts.run_open {
        evidence.push("turn_in_progress".into());
        waiting(WaitingReason::AwaitingExternalChange)
    } else if let Some(kind) = facts.terminal.filter(|kind| kind.is_failure()) {
        evidence.push(format!("turn_terminal_{kind}"));
        (Outcome::Failed, None)
    } else if facts.turn_started && facts.terminal.is_none() {
        evidence.push("turn_terminal_missing".into());
        waiting(WaitingReason::AwaitingExternalChange)
    } else if let Some(signal) = &facts.work_signal {
        evidence.push("runnable_work_present".into());
        work_signal = Some(signal.clone());
        (Outcome::Continuable, None)
    } else if facts.awaiting_operator || facts.agent.operator {
        waiting(WaitingReason::AwaitingOperatorInput)
    } else if facts.agent_intents > 0 || facts.agent.external {
        waiting(WaitingReason::AwaitingExternalChange)
    } else if facts.timers > 0 || facts.agent.timer {
        waiting(WaitingReason::AwaitingTimer)
    } else if facts.agent.task {
        waiting(WaitingReason::AwaitingTaskResult)
    } else {
        match facts.current {
            Some(SchedulingState::WaitingTask) => waiting(WaitingReason::AwaitingTaskResult),
            // contract D2: a wait for the runtime counts as external, so that something can end it.
            Some(SchedulingState::WaitingExternal | SchedulingState::WaitingSystem) => waiting(WaitingReason::AwaitingExternalChange),
            Some(SchedulingState::WaitingTimer) => waiting(WaitingReason::AwaitingTimer),
            Some(SchedulingState::WaitingOperator) => waiting(WaitingReason::AwaitingOperatorInput),
            _ => {
                if facts.terminal == Some(TurnTerminalKind::Completed) {
                    evidence.push("turn_terminal_completed".into());
                }
                evidence.push("no_waiting_condition".into());
                (Outcome::Completed, None)
            }
        }
    };
    Closure { outcome, waiting_reason, work_signal, runtime_posture: facts.posture, evidence }
}

/// The evidence that stands first, whatever the outcome.
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
    evidence.extend(counts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name}={count}")));
    if let Some(current) = facts.current {
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
