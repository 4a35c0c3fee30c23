//! Timers: instants that the core itself turns into messages (contract 5.20).

use alloc::{string::String, vec::Vec};
use core::num::NonZeroU64;

use serde::Serialize;

use crate::{
    fact::outcome::{Outcome, Refusal},
    id::TimerId,
    record::{
        Record,
        queue::{
            entry::QueueEntryRecord,
            envelope::{MessageOrigin, QueueStatus},
        },
        waiting::{TimerRecord, TimerStatus},
    },
    state::{State, queue::lanes::Held},
    time::Timestamp,
};
use wakeful_json::Readable;

/// Fact `timer_created`: a timer was set.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerCreated {
    /// Chosen by the host, unique within the agent.
    pub timer_id: TimerId,
    /// The time from now to the first fire, in milliseconds.
    pub duration_ms: u64,
    /// The time between fires, in milliseconds; absent means that it fires once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<NonZeroU64>,
    /// The purpose of the timer, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Facts `timer_fired`, `timer_completed` and `timer_cancelled`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerNamed {
    /// The timer that fired or ended.
    pub timer_id: TimerId,
}

/// The transition of `timer_created`.
pub(crate) fn created(state: &State, fact: TimerCreated, at: Timestamp) -> Outcome {
    let seen = state.waiting.seen_timer(&fact.timer_id);
    let timer = Record::Timer(TimerRecord {
        id: fact.timer_id,
        agent_id: state.control.agent_id.clone(),
        created_at: at,
        duration_ms: fact.duration_ms,
        interval_ms: fact.interval_ms.map(NonZeroU64::get),
        repeat: fact.interval_ms.is_some(),
        status: TimerStatus::Active,
        summary: fact.summary,
        next_fire_at: Some(at.plus_ms(fact.duration_ms)),
        last_fired_at: None,
        fire_count: 0,
        tick_message_id: None,
    });
    match seen {
        Some(seen) => Outcome::repeated(state, &timer, seen),
        None => Outcome::accepted(Vec::from([timer])),
    }
}

/// The transition of `timer_cancelled`. It drops a tick that no run has taken, even the last one of
/// a timer (contract 5.20).
pub(crate) fn cancelled(state: &State, fact: &TimerNamed, at: Timestamp) -> Outcome {
    let is_its_tick = |held: &&Held| {
        matches!(
            &held.record.origin,
            MessageOrigin::Timer { timer_id } if *timer_id == fact.timer_id
        )
    };
    let last_tick = state
        .queue
        .waiting()
        // Only a tick of the core: a host may name the timer as the origin of its own message.
        .filter(|held| held.live && held.record.is_runtime_owned())
        .find(is_its_tick);
    // A completed timer keeps its status, so only its last tick can be dropped. The tick of an
    // active timer becomes stale and is reduced when it is met.
    match (state.waiting.ended_timers.get(&fact.timer_id), last_tick) {
        (Some((TimerStatus::Completed, _)), Some(tick)) => {
            let dropped = QueueEntryRecord::new(&tick.record, QueueStatus::Dropped, at);
            Outcome::accepted(Vec::from([Record::QueueEntry(QueueEntryRecord {
                reason: Some("timer_cancelled".into()),
                ..dropped
            })]))
        }
        _ => on_active(state, &fact.timer_id, |timer| TimerRecord {
            status: TimerStatus::Cancelled,
            next_fire_at: None,
            ..timer.clone()
        }),
    }
}

/// The transition of `timer_fired`: another runtime fired the timer. In a driven ledger the core
/// fires timers itself (contract 5.20).
pub(crate) fn fired(state: &State, fact: &TimerNamed, at: Timestamp) -> Outcome {
    observed(state, &fact.timer_id, |timer| TimerRecord {
        // The other runtime queued the tick, so no message of ours waits.
        tick_message_id: None,
        ..timer.fired_at(at)
    })
}

/// The transition of `timer_completed`: another runtime fired the timer for the last time.
pub(crate) fn completed(state: &State, fact: &TimerNamed) -> Outcome {
    observed(state, &fact.timer_id, |timer| TimerRecord {
        status: TimerStatus::Completed,
        next_fire_at: None,
        ..timer.clone()
    })
}

fn observed(
    state: &State,
    id: &TimerId,
    make: impl FnOnce(&TimerRecord) -> TimerRecord,
) -> Outcome {
    match state.control.live_from {
        Some(seq) => Outcome::ignored(Refusal::SchedulerDecides, seq),
        None => on_active(state, id, make),
    }
}

fn on_active(
    state: &State,
    id: &TimerId,
    make: impl FnOnce(&TimerRecord) -> TimerRecord,
) -> Outcome {
    if let Some((_, seq)) = state.waiting.ended_timers.get(id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, *seq);
    }
    match state.waiting.timers.get(id) {
        Some(timer) => Outcome::accepted(Vec::from([Record::Timer(make(&timer.record))])),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}
