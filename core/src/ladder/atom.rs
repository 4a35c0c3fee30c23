//! Atoms: the named conditions of which guards consist (contract 7.1).

use crate::{
    id::Seq,
    ladder::view::{HeadView, View},
    record::{control::AgentStatus, decision::Boundary},
    state::readiness::SchedulingState,
};

/// A named condition over the view.
#[derive(Clone, Copy, Debug)]
pub struct Atom {
    /// The name in explanations.
    pub name: &'static str,
    holds: fn(&View) -> bool,
}

impl Atom {
    /// Whether it holds in `view`.
    #[must_use]
    pub fn holds(&self, view: &View) -> bool {
        (self.holds)(view)
    }
}

pub(super) const IS_STOPPED: Atom =
    Atom { name: "stopped", holds: |view| view.status == AgentStatus::Stopped };

pub(super) const IS_CLOSING: Atom = Atom { name: "closing", holds: |view| view.closing };

pub(super) const HAS_RUN: Atom = Atom { name: "run_open", holds: |view| view.run.is_some() };

pub(super) const AT_SAFE_POINT: Atom = Atom {
    name: "at_safe_point",
    holds: |view| {
        matches!(
            view.boundary,
            Boundary::BeforeProviderContinuation
                | Boundary::AfterProviderRound
                | Boundary::BeforeToolExecution
                | Boundary::AfterToolResults
        )
    },
};

pub(super) const HEAD_INTERJECTS: Atom = Atom {
    name: "head_is_operator_interjection",
    holds: |view| view.head.as_ref().is_some_and(|head| head.is_interjection),
};

pub(super) const HAS_HEAD: Atom =
    Atom { name: "queue_has_head", holds: |view| view.head.is_some() };

pub(super) const HEAD_IS_STALE: Atom = Atom {
    name: "head_has_lost_its_subject",
    holds: |view| view.head.as_ref().is_some_and(|head| head.is_stale),
};

pub(super) const HEAD_IS_WORN_OUT: Atom = Atom {
    name: "head_was_interrupted_too_often",
    holds: |view| view.head.as_ref().is_some_and(|head| head.is_worn_out),
};

pub(super) const HEAD_REENTERS: Atom = Atom {
    name: "head_reenters_model",
    holds: |view| view.head.as_ref().is_some_and(HeadView::reenters),
};

pub(super) const TURNS_ALLOWED: Atom =
    Atom { name: "turns_allowed", holds: |view| view.turns_allowed };

pub(super) const HAS_HINT: Atom =
    Atom { name: "wake_hint_pending", holds: |view| view.hint.is_some() };

pub(super) const NOT_PARKED: Atom =
    Atom { name: "agent_not_parked", holds: |view| !view.is_parked };

pub(super) const NOT_OVER_BUDGET: Atom =
    Atom { name: "agent_not_over_budget", holds: |view| !view.is_exhausted };

/// Whether a waiting message could be taken at all. Parking and budgets hold messages back.
pub(super) const NOTHING_HELD: Atom = Atom {
    name: "nothing_held_back",
    holds: |view| !view.is_parked && view.over_budget.is_empty(),
};

pub(super) const CURRENT_RUNNABLE: Atom = Atom {
    name: "current_item_runnable",
    holds: |view| view.current_state() == Some(SchedulingState::Runnable),
};

pub(super) const HAS_QUEUED: Atom =
    Atom { name: "queued_item_runnable", holds: |view| !view.queued.is_empty() };

/// While there is runnable work, the agent does not wait, as in closure (contract 6.1). If its key
/// is spent, the agent rests plainly. An edition that puts waits before work ignores the work here.
pub(super) const NO_RUNNABLE_WORK: Atom = Atom {
    name: "no_runnable_work",
    holds: |view| {
        !view.work_before_waits
            // contract 9.5, 16.4: an agent that is parked or over its budget starts no work, so
            // what it waits for counts.
            || view.is_parked
            || view.is_exhausted
            || (view.queued.is_empty() && view.current_state() != Some(SchedulingState::Runnable))
    },
};

pub(super) const AGENT_WAITS_FOR_EXTERNAL: Atom = Atom {
    name: "agent_waits_for_external",
    holds: |view| !view.agent_intents.is_empty() || !view.agent_waits.external.is_empty(),
};

pub(super) const HAS_TIMER: Atom =
    Atom { name: "timer_active", holds: |view| !view.timers.is_empty() };

pub(super) const WAITS_FOR_OPERATOR: Atom = Atom {
    name: "agent_or_current_item_waits_for_operator",
    holds: |view| waits_for(view, &view.agent_waits.operator, SchedulingState::WaitingOperator),
};

pub(super) const WAITS_FOR_TASK: Atom = Atom {
    name: "agent_or_current_item_waits_for_task",
    holds: |view| waits_for(view, &view.agent_waits.task, SchedulingState::WaitingTask),
};

pub(super) const CURRENT_WAITS_FOR_EXTERNAL: Atom = Atom {
    name: "current_item_waits_for_external",
    holds: |view| view.current_state() == Some(SchedulingState::WaitingExternal),
};

pub(super) const WAITS_FOR_TIMER: Atom = Atom {
    name: "agent_or_current_item_waits_for_timer",
    holds: |view| waits_for(view, &view.agent_waits.timer, SchedulingState::WaitingTimer),
};

pub(super) const HAS_SYSTEM_WAIT: Atom =
    Atom { name: "waits_for_system", holds: |view| !view.system_waits.is_empty() };

pub(super) const QUEUE_HAS_MESSAGES: Atom =
    Atom { name: "messages_wait", holds: |view| view.queue_len > 0 };

pub(super) const IS_NOT_ASLEEP: Atom =
    Atom { name: "not_asleep", holds: |view| view.status != AgentStatus::Asleep };

pub(super) const IS_ASLEEP: Atom = Atom {
    name: "already_asleep",
    // D22: `awaiting_task` is treated like asleep.
    holds: |view| matches!(view.status, AgentStatus::Asleep | AgentStatus::AwaitingTask),
};

/// Whether the agent has one of these conditions, or the current item is in this state.
fn waits_for(view: &View, own: &[Seq], state: SchedulingState) -> bool {
    !own.is_empty() || view.current_state() == Some(state)
}
