//! Autonomy: how many turns an agent has started by itself, and when that parks it (contract 9.5).

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

/// Whether the agent is parked: it has started as many turns in a row by itself as the policy
/// allows.
#[must_use]
pub fn is_parked(state: &State) -> bool {
    state.control.live_from.is_some()
        && state.turns.autonomous >= state.control.policy.autonomous_turns.get()
}

/// Whether a message is input from outside: of the operator, something external, a wake hint, the
/// result of a task, an interval timer.
#[must_use]
pub fn is_from_outside(state: &State, message: &MessageRecord) -> bool {
    let is_interval =
        |id| state.waiting.timers.get(id).is_some_and(|timer| keeps_coming(&timer.record));
    match (admission::admitted_as(message.kind), &message.origin) {
        (Some(TriggerKind::OperatorInput | TriggerKind::ExternalEvent), _) => true,
        (Some(TriggerKind::TaskResult), _) => message.kind == MessageKind::TaskResult,
        (Some(TriggerKind::TimerFire), MessageOrigin::Timer { timer_id }) => is_interval(timer_id),
        (Some(TriggerKind::SystemTick), _) => message.raw_note(NoteKey::WakeHint).is_some(),
        _ => false,
    }
}

/// Whether a timer fires at an interval.
#[must_use]
pub fn keeps_coming(timer: &TimerRecord) -> bool {
    timer.repeat && timer.interval_ms.is_some()
}

/// Whether this message may be taken: every one, or only input from outside where the agent is
/// parked, and what replays: its turn was begun.
#[must_use]
pub fn may_be_taken(state: &State, held: &Held) -> bool {
    !is_parked(state) || is_from_outside(state, &held.record) || replays(state, &held.record)
}

/// How many turns in a row the agent has started by itself, with the one that this message starts;
/// a replay starts none.
#[must_use]
pub fn with_turn_of(state: &State, message: &MessageRecord) -> u64 {
    if is_from_outside(state, message) {
        0
    } else {
        state.turns.autonomous + u64::from(!replays(state, message))
    }
}

/// Whether a run of this message was interrupted, so that its turn was begun.
fn replays(state: &State, message: &MessageRecord) -> bool {
    state.turns.interrupted.iter().any(|run| run.message_id == message.id)
}
