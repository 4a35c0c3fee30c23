//! Arrivals: what is due and must become a message before anything is decided (contract 7.2).

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    entry::Record,
    id::{MessageId, Seq},
    plane::{
        queue::{self, AdmissionContext, DeliverySurface, MessageBody, MessageKind, MessageOrigin, MessageRecord, Priority, TrustLevel},
        waiting::{Active, TimerRecord},
    },
    state::State,
    time::Timestamp,
};

/// The timers that are due, earliest first: a timer whose last tick still waits is not (contract 5.20).
#[must_use]
pub fn due_timers(state: &State, now: Timestamp) -> Vec<&Active<TimerRecord>> {
    let mut due: Vec<_> = pending_timers(state).filter(|timer| timer.record.due_at() <= now).collect();
    due.sort_by_key(|timer| (timer.record.due_at(), &timer.record.id));
    due
}

/// The earliest instant at which a timer becomes due.
#[must_use]
pub fn next(state: &State) -> Option<Timestamp> {
    pending_timers(state).map(|timer| timer.record.due_at()).min()
}

fn pending_timers(state: &State) -> impl Iterator<Item = &Active<TimerRecord>> {
    state.waiting.timers.values().filter(|timer| {
        let tick = timer.record.tick_message_id.as_ref();
        tick.is_none_or(|message| !state.queue.is_queued(message))
    })
}

/// The records that turn everything that has arrived into queued messages; empty where nothing has, or nothing may arrive.
#[must_use]
pub fn records(state: &State, now: Timestamp) -> Vec<Record> {
    let control = &state.control;
    if control.live_from.is_none() || control.stopped.is_some() || control.closing.is_some() {
        return Vec::new();
    }
    let mut records = Vec::new();
    // contract 10: what one batch cannot hold arrives with the next step.
    let room = usize::try_from(control.policy.batch_arrivals.get()).unwrap_or(usize::MAX);
    for timer in due_timers(state, now).into_iter().take(room) {
        let seq = state.head.seq.plus(records.len() + 1);
        let message = timer_tick(state, &timer.record, seq, now);
        let fired = timer.record.fired(message.id.clone(), now);
        records.extend(queue::admission(message, now));
        records.push(Record::Timer(fired));
    }
    records
}

fn timer_tick(state: &State, timer: &TimerRecord, seq: Seq, at: Timestamp) -> MessageRecord {
    MessageRecord {
        origin: MessageOrigin::Timer { timer_id: timer.id.clone() },
        delivery_surface: Some(DeliverySurface::TimerScheduler),
        ..core_message(state, seq, MessageKind::TimerTick, Priority::Next, MessageBody::text(timer.tick_text()), at)
    }
}

/// A message that the core makes; the entry at `seq` records it.
#[must_use]
pub fn core_message(state: &State, seq: Seq, kind: MessageKind, priority: Priority, body: MessageBody, at: Timestamp) -> MessageRecord {
    let agent_id = state.control.agent_id.clone();
    MessageRecord {
        id: MessageId::made_at(&agent_id, seq),
        agent_id,
        created_at: at,
        kind,
        origin: MessageOrigin::System { subsystem: "scheduler".into() },
        trust: TrustLevel::TrustedSystem,
        authority_class: None,
        priority,
        trigger_kind: None,
        work_item_id: None,
        task_id: None,
        source_refs: BTreeMap::new(),
        body,
        delivery_surface: Some(DeliverySurface::RuntimeSystem),
        admission_context: Some(AdmissionContext::RuntimeOwned),
        metadata: None,
        correlation_id: None,
        causation_id: None,
    }
}
