//! Autonomy: counts the turns that an agent starts on its own, and parks it at the limit (contract
//! 9.5).

use crate::{
    record::{
        queue::{
            admission,
            envelope::{MessageKind, MessageOrigin},
            message::{MessageRecord, TriggerKind},
            note::NoteKey,
        },
        waiting::TimerRecord,
    },
    state::{State, queue::lanes::Held},
};

/// Whether the agent is parked: it has used up the turns in a row that the policy lets it start on
/// its own, or its host found that something of it is broken (contract 1.5).
#[must_use]
pub fn is_parked(state: &State) -> bool {
    state.control.live_from.is_some()
        && (state.control.parked.is_some()
            || state.turns.autonomous >= state.control.policy.autonomous_turns.get())
}

/// Whether a message is outside input: from the operator, something external, a wake hint, a task
/// result or an interval timer.
#[must_use]
pub fn is_from_outside(state: &State, message: &MessageRecord) -> bool {
    let is_interval =
        |id| state.waiting.timers.get(id).is_some_and(|timer| keeps_coming(&timer.record));
    match (admission::admitted_as(message.kind), &message.origin) {
        (Some(TriggerKind::OperatorInput | TriggerKind::ExternalEvent), _) => true,
        // A `task_status` reports progress and is not a result.
        (Some(TriggerKind::TaskResult), _) => message.kind == MessageKind::TaskResult,
        (Some(TriggerKind::TimerFire), MessageOrigin::Timer { timer_id }) => is_interval(timer_id),
        (Some(TriggerKind::SystemTick), _) => message.raw_note(NoteKey::WakeHint).is_some(),
        _ => false,
    }
}

/// Whether a timer fires repeatedly. Only such a timer counts as outside input.
#[must_use]
pub fn keeps_coming(timer: &TimerRecord) -> bool {
    timer.repeat && timer.interval_ms.is_some()
}

/// Whether this message may be dequeued: neither parking nor a budget holds it.
#[must_use]
pub fn may_be_taken(state: &State, held: &Held) -> bool {
    passes_parking(state, held) && !is_held_by_budget(state, held)
}

/// Whether parking lets this message through. A parked agent takes only outside input and replays,
/// whose turns had started before.
#[must_use]
pub fn passes_parking(state: &State, held: &Held) -> bool {
    !is_parked(state) || is_from_outside(state, &held.record) || replays(state, &held.record)
}

/// Whether the agent starts nothing on its own: it is parked, or over its budget.
#[must_use]
pub fn is_held(state: &State) -> bool {
    is_parked(state) || is_over_budget(state)
}

/// The number of turns in a row that the agent has started on its own, including the turn of this
/// message. A replay does not count again.
#[must_use]
pub fn with_turn_of(state: &State, message: &MessageRecord) -> u64 {
    if is_from_outside(state, message) {
        0
    } else {
        state.turns.autonomous + u64::from(!replays(state, message))
    }
}

/// Whether a run of this message was interrupted, so that its turn has started already.
fn replays(state: &State, message: &MessageRecord) -> bool {
    state.turns.interrupted.iter().any(|run| run.message_id == message.id)
}

/// Whether the agent's budget is exhausted: only operator input is dequeued (contract 16.4).
#[must_use]
pub fn is_over_budget(state: &State) -> bool {
    state.control.live_from.is_some() && state.budgets.agent.exhausted.is_some()
}

/// Whether a budget holds this message back.
#[must_use]
pub fn is_held_by_budget(state: &State, held: &Held) -> bool {
    if state.control.live_from.is_none() || held.record.is_operator_input() {
        return false;
    }
    let item = held.record.work_item_id.as_ref();
    is_over_budget(state) || item.is_some_and(|item| state.budgets.is_exhausted(item))
}
