//! Laws that every batch keeps, beside the invariants of contract 14: statements that need a batch
//! and its effects together, and the rankings that must fall if turns make no progress.
//!
//! The ranking of an item counts the offers and the vain turns that it has left (contract 9.4). It
//! is twice the offers left, plus one until the item is parked, plus one before the first vain turn
//! of its epoch. Every offer and every first vain turn lowers it, and only a move of the epoch
//! raises it. At zero the item is parked.
//!
//! The ranking of the agent is the number of turns that it may still start on its own (9.5). Each
//! such turn lowers it, and only input from outside raises it.

use std::collections::BTreeSet;

use wakeful_core::{
    id::MessageId,
    record::{
        Record,
        effect::Effect,
        entry::Entry,
        event::EventKind,
        queue::envelope::QueueStatus,
        turn::{AbortReason, RunStatus, TurnRecord},
    },
    state::{State, autonomy, work::Item},
};

use super::process::Broken;

/// A law: what is wrong with a batch, if anything.
type Law = fn(&State, &[Entry], &State, &[Effect]) -> Option<String>;

/// All laws, with the statements of the contract that they check.
const LAWS: [(&str, Law); 5] = [
    ("5.7", items_change_by_their_facts),
    ("3.2", effects_follow_records),
    ("5.17", rechecks_are_seen),
    ("9.4", items_run_out),
    ("9.5", the_agent_runs_out),
];

/// The first law that a batch breaks.
#[must_use]
pub fn broken(
    before: &State,
    batch: &[Entry],
    after: &State,
    effects: &[Effect],
) -> Option<Broken> {
    LAWS.iter().find_map(|(name, law)| {
        law(before, batch, after, effects).map(|says| Broken { name: (*name).into(), says })
    })
}

fn is_event(record: &Record, kind: EventKind) -> bool {
    matches!(record, Record::Event(event) if event.kind == kind.as_str())
}

/// contract 5.7, 8.2: neither a step, a settlement nor a restart writes an item.
fn items_change_by_their_facts(
    _: &State,
    batch: &[Entry],
    _: &State,
    _: &[Effect],
) -> Option<String> {
    let own = batch.iter().find(|entry| match &entry.record {
        Record::Message(_) | Record::Turn(_) => true,
        record => is_event(record, EventKind::SchedulerDecision),
    })?;
    let item = batch.iter().find(|entry| matches!(entry.record, Record::WorkItem(_)))?;
    Some(format!("entry {} writes an item in the batch of entry {}", item.seq, own.seq))
}

/// contract 3.2, 5.9: a turn is started if and only if a run opens, and a message goes into a run
/// if and only if it is recorded as interjected.
fn effects_follow_records(
    _: &State,
    batch: &[Entry],
    _: &State,
    effects: &[Effect],
) -> Option<String> {
    let (mut opened, mut interjected) = (BTreeSet::new(), BTreeSet::new());
    for entry in batch {
        match &entry.record {
            Record::Turn(turn) if turn.status == RunStatus::Started => {
                opened.insert(&turn.run_id);
            }
            Record::QueueEntry(entry) if entry.status == QueueStatus::Interjected => {
                interjected.insert(&entry.message_id);
            }
            _ => {}
        }
    }
    let (mut started, mut inserted) = (BTreeSet::new(), BTreeSet::new());
    for effect in effects {
        match effect {
            Effect::StartTurn(request) => drop(started.insert(&request.run_id)),
            Effect::Interject { message_id, .. } => drop(inserted.insert(message_id)),
            _ => {}
        }
    }
    ((opened, interjected) != (started, inserted))
        .then(|| format!("the effects do not follow from the batch: {effects:?}"))
}

/// contract 5.17, D6: a recheck is consumed by the turn that gets it.
fn rechecks_are_seen(_: &State, batch: &[Entry], _: &State, _: &[Effect]) -> Option<String> {
    let consumed =
        batch.iter().find(|entry| is_event(&entry.record, EventKind::WorkItemRecheckConsumed))?;
    let is_told = batch.iter().any(
        |entry| matches!(&entry.record, Record::Turn(turn) if turn.status == RunStatus::Started),
    );
    (!is_told).then(|| format!("entry {} consumes a recheck that no turn got", consumed.seq))
}

/// The ranking of an item; the head of this file defines it.
fn left(state: &State, item: &Item) -> u64 {
    let offers =
        state.control().policy.offer_backoff_ms.count().saturating_sub(item.progress.offer);
    match item.progress.parked {
        Some(_) => 0,
        None => 2 * offers + 1 + u64::from(item.progress.rest.is_none()),
    }
}

/// contract 9.4: the ranking of an item falls with each offer and each first vain turn.
fn items_run_out(before: &State, batch: &[Entry], after: &State, _: &[Effect]) -> Option<String> {
    before.work().items.iter().find_map(|(id, item)| {
        let next = after.work().items.get(id)?;
        let is_offered = next.epoch() != item.epoch() && next.progress.offer > 0;
        // A move of the epoch may raise the ranking. An offer moves the epoch too, but it must
        // lower it.
        if next.epoch() != item.epoch() && !is_offered {
            return None;
        }
        let is_vain = |turn: &TurnRecord| {
            let is_about = turn
                .work_item
                .as_ref()
                .is_some_and(|about| about.work_item_id == *id && about.epoch == item.epoch());
            // A turn that owes a retry is not over: its lineage may still make progress.
            let lineage = turn.retry_of.as_ref().unwrap_or(&turn.message_id);
            let is_over = turn.status == RunStatus::Terminal
                && !turn.was_aborted_by(AbortReason::AgentStopped);
            is_about && is_over && !after.turns().retries.contains_key(lineage)
        };
        let was_vain =
            batch.iter().any(|entry| matches!(&entry.record, Record::Turn(turn) if is_vain(turn)));
        let must_fall = is_offered
            || was_vain && item.progress.rest.is_none() && item.progress.parked.is_none();
        let (was, is) = (left(before, item), left(after, next));
        let falls = if must_fall { is < was } else { is <= was };
        (!falls).then(|| format!("the ranking of item {id} goes from {was} to {is}"))
    })
}

/// contract 9.5: the ranking of the agent falls with each turn that it starts on its own.
fn the_agent_runs_out(
    before: &State,
    batch: &[Entry],
    after: &State,
    _: &[Effect],
) -> Option<String> {
    let started = batch.iter().find_map(|entry| match &entry.record {
        Record::Turn(turn) if turn.status == RunStatus::Started => Some(&turn.message_id),
        _ => None,
    })?;
    let replays =
        |id: &MessageId| before.turns().interrupted.iter().any(|run| run.message_id == *id);
    let message = before.queue().message(started)?;
    let limit = before.control().policy.autonomous_turns.get();
    let (was, is) = (before.turns().autonomous, after.turns().autonomous);
    let holds = autonomy::is_from_outside(before, &message.record)
        || replays(started) && is == was
        || is == was + 1 && is <= limit;
    (!holds).then(|| {
        format!(
            "message {started} starts a turn; of {limit} turns that the agent may start on its \
             own, {was} were used before and {is} after it"
        )
    })
}
