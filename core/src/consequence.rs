//! Consequences: the records and effects that follow from a decision, in the batch that records it
//! (contract 5.4, 5.16, 8.3).

use alloc::{string::ToString, vec::Vec};

use wakeful_json::RawJson;

use crate::{
    derive::{
        answer,
        continuation::{self, Met, Satisfied},
        head, hint,
    },
    fact::{task::result, work},
    id::{RunId, Seq, WaitConditionId, WorkItemId},
    ladder::{
        rule,
        ruling::{Ruling, Tick},
    },
    record::{
        Record,
        control::{ControlRecord, EpochsMoved, ParkCause},
        decision::{Decision, DecisionKind},
        diagnostic,
        effect::{Effect, OperatorWait, TurnRequest},
        event::{EventKind, EventRecord, Resolved},
        key::{Epoch, Key, TickReason},
        queue::{
            admission,
            entry::QueueEntryRecord,
            envelope::{MessageBody, MessageKind, MessageOrigin, Priority, QueueStatus},
            message::MessageRecord,
            note::{self, NoteKey, RecheckNote, SystemWaitNote, WorkQueueNote},
        },
        text,
        turn::{TurnBinding, TurnRecord},
    },
    state::{State, autonomy, queue::lanes::Held, work::Item},
    time::Timestamp,
};

/// The records and effects of a ruling. The decision itself is always the first record.
#[must_use]
pub(crate) fn batch(state: &State, ruling: &Ruling, at: Timestamp) -> (Vec<Record>, Vec<Effect>) {
    let mut records = Vec::from([Record::Event(EventRecord::decided(at, &ruling.decision))]);
    let mut effects = Vec::new();
    match (ruling.decision.kind, head::next(state)) {
        (DecisionKind::StartModelTurn, Some(held)) => {
            effects.push(admit(state, held, at, &mut records))
        }
        (DecisionKind::ReduceMessageOnly, Some(held)) => {
            effects.extend(reduce(state, &ruling.decision, held, at, &mut records))
        }
        _ => {}
    }
    if let Some(tick) = &ruling.tick {
        // The tick's message is the next record, and its id comes from that position.
        let seq = state.head.seq.plus(records.len() + 1);
        records.extend(emit(state, tick, seq, at));
    }
    (records, effects)
}

fn resolved(state: &State, message: &MessageRecord, met: &Met, at: Timestamp) -> Record {
    let resolved = Resolved { message_id: message.id.clone(), resolution: met.resolution.clone() };
    Record::Event(EventRecord::resolved(at, &state.control.agent_id, resolved))
}

/// Admits the message to a turn. The message is dequeued, waits are consumed and the run is opened
/// in one batch.
fn admit(state: &State, held: &Held, at: Timestamp, records: &mut Vec<Record>) -> Effect {
    let message = &held.record;
    records.push(Record::QueueEntry(QueueEntryRecord::new(message, QueueStatus::Dequeued, at)));
    let met = continuation::resolve(state, held);
    if let Some(met) = &met {
        records.push(resolved(state, message, met, at));
        records.extend(met.satisfied.records(state, message, at));
    }
    // contract 5.17, D29: the turn that learns of a recheck consumes it, without a snapshot. A host
    // may write the same note, but only the core's own message counts.
    let recheck = message.note::<RecheckNote>();
    if let Some(note) = recheck.filter(|_| held.is_core_made()) {
        records.push(Record::Event(EventRecord::new(
            EventKind::WorkItemRecheckConsumed,
            at,
            &note,
        )));
    }
    let operator_waits = may_answer(state, message, met.as_ref(), records);
    // The binding needs the epoch after this batch, so it counts the waits that the batch ends.
    let ended = records.iter().filter_map(ended_wait_of).cloned().collect::<Vec<_>>();
    let work_item = TurnBinding::for_message(state, message, &ended);
    let retried = state.retry_by(&message.id).map(|retry| &retry.failed_run_id);
    let deferred = state.queue.deferred.told(state.control.policy.deferred_bytes, retried);
    let told = deferred.iter().map(|told| &told.message).chain([message]);
    records.extend(result::delivered(state, told, at));
    let deferred_later = state.queue.deferred.len() - deferred.len();
    let run_id = RunId::made_at(&state.control.agent_id, state.head.seq.plus(records.len() + 1));
    let started = TurnRecord {
        // Said only if not all are told, as in format 1.
        deferred_told: (deferred_later > 0).then_some(deferred.len() as u64),
        ..TurnRecord::started(state, run_id, &message.id, work_item, at)
    };
    let request = TurnRequest {
        run_id: started.run_id.clone(),
        turn_index: started.turn_index,
        message: message.clone(),
        work_item: started.work_item.clone(),
        interrupted_runs: state.turns.interrupted_for(&message.id),
        unknown_calls: state.unknown_calls_for(&message.id),
        deferred,
        deferred_later: deferred_later as u64,
        deferred_overflow: state.queue.deferred.overflow,
        work_item_rests: rests(state, started.work_item.as_ref()),
        operator_waits,
    };
    records.push(Record::Turn(started));
    // contract 9.5: the turn that uses up the autonomous turns reports that the agent is parked.
    let limit = state.control.policy.autonomous_turns.get();
    if state.turns.autonomous < limit && autonomy::with_turn_of(state, message) >= limit {
        let diagnostic = diagnostic::agent_parked(limit);
        records.push(Record::Event(EventRecord::new(
            EventKind::SchedulerDiagnostic,
            at,
            &diagnostic,
        )));
    }
    Effect::StartTurn(request)
}

/// The other waits that operator input may answer. Their items get a new reason to be looked at, so
/// that one is offered if the model applies the answer and ends its wait (contract 5.15).
fn may_answer(
    state: &State,
    message: &MessageRecord,
    met: Option<&Met>,
    records: &mut Vec<Record>,
) -> Vec<OperatorWait> {
    let nothing = Satisfied::default();
    let waits = answer::other_waits(state, message, met.map_or(&nothing, |met| &met.satisfied));
    let mut work_item_ids = answer::items_of(&waits);
    // The turn is about this item anyway, and its binding has the epoch without this record.
    let answered = continuation::answered(state, message);
    work_item_ids.retain(|id| answered.as_ref() != Some(id));
    // Once per message: a replay is not a new answer.
    if !work_item_ids.is_empty() && state.queue.about(&message.id).is_none() {
        let moved = EpochsMoved { message_id: message.id.clone(), work_item_ids };
        records.push(Record::Control(ControlRecord::EpochsMoved(moved)));
    }
    waits
}

/// Whether the item of a turn has rested: nothing moved it since its last turn (contract 9.4).
fn rests(state: &State, binding: Option<&TurnBinding>) -> bool {
    let item = binding
        .and_then(|binding| Some((binding.epoch, state.work.items.get(&binding.work_item_id)?)));
    item.is_some_and(|(epoch, item)| {
        // If this admission itself moves the item, the turn has news about it.
        epoch == item.epoch() && (item.progress.rest.is_some() || item.progress.offer > 0)
    })
}

/// The item whose epoch this record moves, if it is the end of a wait. A mirror does not count,
/// because its intent's record counts already.
fn ended_wait_of(record: &Record) -> Option<&WorkItemId> {
    match record {
        Record::WaitingIntent(intent) => {
            intent.ended_by.filter(|by| by.moves_epoch()).and(intent.work_item_id.as_ref())
        }
        Record::WaitCondition(wait) if !wait.is_mirror() => {
            wait.ended_by.filter(|by| by.moves_epoch()).and(wait.work_item_id.as_ref())
        }
        _ => None,
    }
}

/// Settles the message without a turn, or inserts it into the open run.
fn reduce(
    state: &State,
    decision: &Decision,
    held: &Held,
    at: Timestamp,
    records: &mut Vec<Record>,
) -> Option<Effect> {
    let message = &held.record;
    let entry = |status, reason| {
        Record::QueueEntry(QueueEntryRecord {
            reason,
            ..QueueEntryRecord::new(message, status, at)
        })
    };
    // While a run is open, only an interjection is reduced.
    if let Some(run) = &state.turns.run {
        // contract 5.15: an interjected answer ends waits as an admitted one does.
        let met = continuation::resolve(state, held);
        if let Some(met) = &met {
            records.extend(met.satisfied.records(state, message, at));
        }
        may_answer(state, message, met.as_ref(), records);
        records.push(entry(QueueStatus::Interjected, None));
        return Some(Effect::Interject {
            run_id: run.run_id.clone(),
            message_id: message.id.clone(),
        });
    }
    // contract 5.1: these ends are reached through `dequeued`.
    records.push(entry(QueueStatus::Dequeued, None));
    if decision.rule == rule::STALE_TICK.id {
        records.push(entry(QueueStatus::Processed, Some(decision.reason.clone())));
        return None;
    }
    if decision.rule == rule::REPLAY_BUDGET.id {
        records.push(entry(QueueStatus::Dropped, Some(decision.reason.clone())));
        let diagnostic = diagnostic::replay_budget(message, state.queue.interruptions(&message.id));
        records.push(Record::Event(EventRecord::new(
            EventKind::SchedulerDiagnostic,
            at,
            &diagnostic,
        )));
        let item =
            TurnBinding::for_message(state, message, &[]).map(|binding| binding.work_item_id);
        records.extend(
            item.into_iter().flat_map(|item| work::park(item, ParkCause::ReplayBudget, at)),
        );
        return None;
    }
    records
        .extend(continuation::resolve(state, held).map(|met| resolved(state, message, &met, at)));
    // contract 5.2, D15: a message that cannot be classified is dropped with a diagnostic.
    let Some(why) = head::malformed(state, held) else {
        records.push(entry(QueueStatus::Processed, None));
        return None;
    };
    records.push(entry(QueueStatus::Dropped, Some(text::malformed_message(&why))));
    let diagnostic = diagnostic::malformed_message(message, &why);
    records.push(Record::Event(EventRecord::new(EventKind::SchedulerDiagnostic, at, &diagnostic)));
    None
}

/// The records that queue a tick. The entry at `seq` records its message.
fn emit(state: &State, tick: &Tick, seq: Seq, at: Timestamp) -> Vec<Record> {
    let message = |subsystem: &str, priority, text| MessageRecord {
        origin: MessageOrigin::System { subsystem: subsystem.to_string() },
        ..admission::core_message(
            &state.control.agent_id,
            seq,
            MessageKind::SystemTick,
            priority,
            MessageBody::text(text),
            at,
        )
    };
    // The tick was decided in this state, so its subject is there. The core never panics all the
    // same (contract 2.2).
    match tick {
        Tick::WakeHint => state
            .control
            .hint
            .iter()
            .flat_map(|pending| hint::records(state, pending, seq, at))
            .collect(),
        Tick::WorkItem(id, reason, offer) => {
            let Some(item) = state.work.items.get(id) else {
                return Vec::new();
            };
            let objective = &item.record.objective;
            let text = match reason {
                TickReason::ContinueActive => text::continue_active(objective),
                TickReason::QueuedAvailable => text::queued_available(objective),
            };
            let tick = MessageRecord {
                work_item_id: Some(id.clone()),
                metadata: Some(work_note(*reason, item, *offer)),
                ..message("work_queue", Priority::Normal, text)
            };
            admission::records(tick, at).into()
        }
        Tick::SystemWait(id) => {
            let Some(wait) = state.waiting.conditions.get(id) else {
                return Vec::new();
            };
            let text = text::system_wait(&wait.record.waiting_for);
            let tick = MessageRecord {
                work_item_id: wait.record.work_item_id.clone(),
                metadata: Some(system_wait_note(id)),
                ..message("system_wait", Priority::Next, text)
            };
            admission::records(tick, at).into()
        }
    }
}

fn system_wait_note(id: &WaitConditionId) -> RawJson {
    let note = SystemWaitNote {
        idempotency_key: Key::system_wait(id).to_string(),
        wait_condition_id: id.clone(),
    };
    note::metadata(NoteKey::SystemWait, &note)
}

fn work_note(reason: TickReason, item: &Item, offer: Option<u64>) -> RawJson {
    // contract 9.4: an offer moves the epoch.
    let epoch = Epoch { moved: item.moved + u64::from(offer.is_some()), ..item.epoch() };
    let note = WorkQueueNote {
        reason,
        offer,
        idempotency_key: Key::work(reason, &item.record.id, epoch).to_string(),
        work_item_id: item.record.id.clone(),
        work_item_revision: item.record.revision,
        objective: item.record.objective.clone(),
    };
    note::metadata(NoteKey::WorkQueue, &note)
}
