//! Closure priority: every combination of the facts that closure is derived from, in the order of
//! contract 6.1.

use std::collections::BTreeSet;

use wakeful_core::{
    derive::closure::{self, AgentWaits, Facts, RuntimePosture, WorkReactivationMode, WorkSignal},
    record::{
        continuation::{ClosureOutcome, WaitingReason},
        turn::TurnTerminalKind,
        work::WorkItemState,
    },
    state::readiness::SchedulingState,
};

/// The first line of contract 6.1 that holds: its name, and the closure that follows.
fn first_line(facts: &Facts) -> (&'static str, ClosureOutcome, Option<WaitingReason>) {
    use ClosureOutcome::{Completed, Continuable, Failed, Waiting};
    use WaitingReason as Reason;
    let failed_terminal = match facts.terminal {
        // contract 5.5: all but completed are failures.
        Some(
            TurnTerminalKind::Aborted
            | TurnTerminalKind::BaselineOverBudget
            | TurnTerminalKind::DeferredToFallback
            | TurnTerminalKind::ProviderFailedNeedsRecovery,
        ) => true,
        Some(TurnTerminalKind::Completed) | None => false,
    };
    let lines = [
        ("runtime error", facts.runtime_error, Failed, None),
        ("open run", facts.run_open, Waiting, Some(Reason::AwaitingExternalChange)),
        ("failed terminal", failed_terminal, Failed, None),
        (
            "started and unsettled",
            facts.turn_started && facts.terminal.is_none(),
            Waiting,
            Some(Reason::AwaitingExternalChange),
        ),
        ("work signal", facts.work_signal.is_some(), Continuable, None),
        (
            "operator wait",
            facts.awaiting_operator || facts.agent.operator,
            Waiting,
            Some(Reason::AwaitingOperatorInput),
        ),
        (
            "agent-scoped external wait",
            facts.agent_intents > 0 || facts.agent.external,
            Waiting,
            Some(Reason::AwaitingExternalChange),
        ),
        ("timer", facts.timers > 0 || facts.agent.timer, Waiting, Some(Reason::AwaitingTimer)),
        ("the agent's task wait", facts.agent.task, Waiting, Some(Reason::AwaitingTaskResult)),
    ];
    if let Some((says, _, outcome, reason)) = lines.into_iter().find(|(_, holds, ..)| *holds) {
        return (says, outcome, reason);
    }
    match facts.current {
        Some(SchedulingState::WaitingTask) => {
            ("the item's task wait", Waiting, Some(Reason::AwaitingTaskResult))
        }
        Some(SchedulingState::WaitingExternal) => {
            ("the item's external wait", Waiting, Some(Reason::AwaitingExternalChange))
        }
        Some(SchedulingState::WaitingTimer) => {
            ("the item's timer", Waiting, Some(Reason::AwaitingTimer))
        }
        Some(SchedulingState::WaitingOperator) => {
            ("the item's operator wait", Waiting, Some(Reason::AwaitingOperatorInput))
        }
        // D2: system counts as external.
        Some(SchedulingState::WaitingSystem) => {
            ("the item's system wait", Waiting, Some(Reason::AwaitingExternalChange))
        }
        Some(SchedulingState::Runnable | SchedulingState::Blocked | SchedulingState::Completed)
        | None => ("else", Completed, None),
    }
}

fn signal() -> WorkSignal {
    WorkSignal {
        work_item_id: "w".into(),
        state: WorkItemState::Open,
        reactivation_mode: WorkReactivationMode::ContinueActive,
    }
}

/// The facts for eleven flags, a terminal and a state of the current item.
fn facts(
    flags: u16,
    terminal: Option<TurnTerminalKind>,
    current: Option<SchedulingState>,
) -> Facts {
    let set = |bit: u16| flags & (1 << bit) > 0;
    Facts {
        runtime_error: set(0),
        run_open: set(1),
        turn_started: set(2),
        work_signal: set(3).then(signal),
        awaiting_operator: set(4),
        agent: AgentWaits { operator: set(5), external: set(6), timer: set(7), task: set(8) },
        agent_intents: usize::from(set(9)),
        timers: usize::from(set(10)),
        // contract 6.1 names neither of these two: they are only evidence.
        blocking_tasks: usize::from(set(3)),
        intents: usize::from(set(5)),
        current,
        terminal,
        posture: if set(0) { RuntimePosture::Sleeping } else { RuntimePosture::Awake },
    }
}

#[test]
fn closure_priority() {
    let terminals: Vec<_> = TurnTerminalKind::ALL.iter().copied().map(Some).chain([None]).collect();
    let currents: Vec<_> = SchedulingState::ALL.iter().copied().map(Some).chain([None]).collect();
    let mut lines = BTreeSet::new();
    for flags in 0..1 << 11 {
        for terminal in &terminals {
            for current in &currents {
                let facts = facts(flags, *terminal, *current);
                let closure = closure::decide(&facts);
                let (line, outcome, reason) = first_line(&facts);
                assert_eq!(
                    (closure.outcome, closure.waiting_reason),
                    (outcome, reason),
                    "{line}: {facts:?}"
                );
                // Only waiting has a reason, and it always has one. The same goes for continuable
                // and its signal.
                assert_eq!(
                    closure.waiting_reason.is_some(),
                    outcome == ClosureOutcome::Waiting,
                    "{facts:?}"
                );
                assert_eq!(
                    closure.work_signal,
                    facts.work_signal.clone().filter(|_| outcome == ClosureOutcome::Continuable),
                    "{facts:?}"
                );
                assert_eq!(closure.runtime_posture, facts.posture);
                lines.insert(line);
            }
        }
    }
    assert_eq!(
        lines.len(),
        closure::ROWS.len(),
        "every line decides some case, and there is no other line: {lines:?}"
    );
}

/// The evidence has all counts, even if another line decides (`observed-decisions.md` 5.2).
#[test]
fn what_is_counted_is_evidence_even_if_another_line_decides() {
    for flags in 0..1_u16 << 11 {
        let facts = facts(flags, None, None);
        let evidence = closure::decide(&facts).evidence;
        for (says, holds) in [
            ("runtime_error", facts.runtime_error),
            ("awaiting_operator_input_signal", facts.awaiting_operator),
            ("active_blocking_tasks=1", facts.blocking_tasks > 0),
            ("active_waiting_intents=1", facts.intents > 0),
            ("active_agent_waiting_intents=1", facts.agent_intents > 0),
            ("active_timers=1", facts.timers > 0),
            ("work_reactivation_mode=ContinueActive", facts.work_signal.is_some()),
            ("runtime_sleeping", facts.posture == RuntimePosture::Sleeping),
        ] {
            assert_eq!(evidence.iter().any(|said| said == says), holds, "{says}: {evidence:?}");
        }
    }
}
