//! Invariants of decisions, of the ticks that they emit, and of their evidence.

use alloc::format;

use crate::{
    check::{Breach, driven, hold, waits::decision},
    derive::obligation,
    id::Seq,
    ladder::{self, View, owed},
    record::{
        Record, decision,
        entry::Entry,
        key::Key,
        queue::{
            message::MessageRecord,
            note::{HintTickNote, SystemWaitNote, WorkQueueNote},
        },
        work::WorkItemPlanStatus,
    },
    state::State,
};

fn work_tick(message: &MessageRecord) -> Option<WorkQueueNote> {
    message.note().filter(|_| message.is_runtime_owned())
}

pub(super) fn i08(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |state, entry| {
        let Record::Message(message) = &entry.record else { return Ok(()) };
        let Some(note) = work_tick(message) else { return Ok(()) };
        let item = state.work.items.get(&note.work_item_id);
        let asks =
            item.is_some_and(|item| item.record.plan_status == WorkItemPlanStatus::NeedsInput);
        hold("I8", !asks, Some(entry.seq), || {
            format!("item `{}` needs input but is offered", note.work_item_id)
        })
    })
}

pub(super) fn i09(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |state, entry| {
        let Record::Message(message) = &entry.record else { return Ok(()) };
        let spent = spent_by(state, message);
        hold("I9", spent.is_none(), Some(entry.seq), || {
            format!("tick `{}` uses a key that entry {spent:?} spent", message.id)
        })
    })
}

/// The entry that spent the key of a tick, if one did.
fn spent_by(state: &State, message: &MessageRecord) -> Option<Seq> {
    if let Some(note) = work_tick(message) {
        let item = state.work.items.get(&note.work_item_id)?;
        let (key, spent) = state.work.key(item, note.reason);
        return spent.filter(|_| key == Key::named(note.idempotency_key));
    }
    // contract 5.19: the metadata of other messages does not count.
    let message = Some(message).filter(|message| message.is_runtime_owned())?;
    if let Some(hint) = message.note::<HintTickNote>() {
        let key = Key::named(hint.idempotency_key);
        return state
            .control
            .hint_ticked
            .as_ref()
            .filter(|ticked| ticked.key == key)
            .map(|ticked| ticked.seq);
    }
    let wait = message.note::<SystemWaitNote>()?;
    state.waiting.ticked.get(&wait.wait_condition_id).copied()
}

pub(super) fn i10(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |state, entry| {
        let Record::Message(message) = &entry.record else { return Ok(()) };
        let Some(pending) = state.control.hint.as_ref().filter(|_| work_tick(message).is_some())
        else {
            return Ok(());
        };
        // A hint whose key is spent gets no second tick, so it holds back no work.
        let ticked = state
            .control
            .hint_ticked
            .as_ref()
            .is_some_and(|ticked| ticked.key == Key::hint(&pending.hint, pending.generation()));
        hold("I10", ticked, Some(entry.seq), || {
            format!("work is offered while the hint of entry {} is pending", pending.seq)
        })
    })
}

pub(super) fn i17(before: &State, batch: &[Entry], after: &State) -> Result<(), Breach> {
    // As in the fold, what another runtime decided is evidence only.
    if let Some((decision, entry)) = decision(batch).filter(|_| before.control.live_from.is_some())
    {
        let ruling =
            ladder::decide(before.control.edition, &View::new(before, decision.boundary, entry.at));
        hold("I17", ruling.decision.says_the_same(&decision), Some(entry.seq), || {
            format!(
                "entry {} records {:?}, but the ladder says {:?}",
                entry.seq, decision.reason, ruling.decision.reason
            )
        })?;
    }
    let ask = || {
        ladder::decide(
            after.control.edition,
            &View::new(after, decision::Boundary::RunLoopIdle, after.at),
        )
    };
    hold("I17", ask() == ask(), None, || "the ladder gives two answers to one state".into())
}

/// Quiescence (contract 9.2): no rest while an obligation is enabled and not held.
pub(super) fn i19(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    let rest = decision(batch).filter(|(decision, _)| decision.kind.rests_as().is_some());
    let Some((_, entry)) = rest else { return Ok(()) };
    let enabled = |owed: &obligation::Obligation| {
        owed.held_by.is_none() && owed.enabled_at.is_none_or(|at| at <= entry.at)
    };
    let owed = owed::all(before).into_iter().find(enabled);
    hold("I19", owed.is_none(), Some(entry.seq), || {
        format!("the agent rests while {owed:?} is owed")
    })
}

pub(super) fn i22(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    let Some((decision, entry)) = decision(batch).filter(|_| before.control.live_from.is_some())
    else {
        return Ok(());
    };
    let because = decision.because.iter().flat_map(|because| &because.seqs);
    let mut named = because.chain(decision.ignored.iter().flat_map(|ignored| &ignored.seqs));
    // Position 0 is before the first entry.
    let unknown = named.find(|seq| seq.0 == 0 || **seq >= entry.seq);
    hold("I22", unknown.is_none(), Some(entry.seq), || {
        format!("decision {} rests on entry {unknown:?}", entry.seq)
    })
}
