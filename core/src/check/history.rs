//! Invariants of the ledger and its fold.

use alloc::{format, string::ToString};

use crate::{
    check::{Breach, hold},
    record::{Class, Record, chain::Head, entry::Entry, event::EventKind},
    state::State,
};

pub(super) fn i15(_: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    let compacts = |entry: &&Entry| {
        matches!(
            &entry.record,
            Record::Event(event) if event.known() == Some(EventKind::ContextCompacted)
        )
    };
    let Some(compaction) = batch.iter().find(compacts) else { return Ok(()) };
    // A record of any other class could change what is decided.
    let decides = batch
        .iter()
        .find(|entry| !matches!(entry.record.class(), Class::Events | Class::Transcript));
    hold("I15", decides.is_none(), Some(compaction.seq), || {
        format!(
            "entry {} compacts, and entry {:?} of its batch is more than evidence",
            compaction.seq,
            decides.map(|entry| entry.seq)
        )
    })
}

pub(super) fn i16(before: &State, batch: &[Entry], after: &State) -> Result<(), Breach> {
    let Some(last) = batch.last() else { return Ok(()) };
    let mut folded = before.clone();
    batch.iter().for_each(|entry| folded.apply(entry));
    hold("I16", folded == *after, Some(last.seq), || {
        "the state is not what the entries give".to_string()
    })
}

pub(super) fn i21(before: &State, batch: &[Entry], after: &State) -> Result<(), Breach> {
    hold("I21", !batch.is_empty() || before == after, None, || {
        "nothing was appended, but the state has changed".to_string()
    })
}

pub(super) fn i23(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    let mut head = before.head;
    for entry in batch {
        let (again, _) = Entry::seal(&head, entry.at, entry.record.clone());
        hold("I23", again == *entry, Some(entry.seq), || {
            format!("entry {} does not seal to the same bytes again", entry.seq)
        })?;
        head = Head { seq: entry.seq, chain: entry.chain };
    }
    Ok(())
}

pub(super) fn i24(_: &State, _: &[Entry], after: &State) -> Result<(), Breach> {
    let (work, waiting) = (&after.work, &after.waiting);
    let item = work.spent.keys().find(|id| work.ended.contains_key(*id));
    hold("I24", item.is_none(), None, || {
        format!("the spent keys of the completed item {item:?} are kept")
    })?;
    let wait = waiting.ticked.keys().find(|id| waiting.ended_conditions.contains_key(*id));
    hold("I24", wait.is_none(), None, || {
        format!("the spent key of the ended condition {wait:?} is kept")
    })?;
    let intent = waiting.intents.keys().find(|id| waiting.ended_intents.contains_key(*id));
    hold("I24", intent.is_none(), None, || format!("the ended intent {intent:?} is still active"))?;
    let timer = waiting.timers.keys().find(|id| waiting.ended_timers.contains_key(*id));
    hold("I24", timer.is_none(), None, || format!("the ended timer {timer:?} is still active"))?;
    let ingress = &after.ingress;
    let trigger = ingress.open.keys().find(|id| ingress.ended.contains_key(*id));
    hold("I24", trigger.is_none(), None, || format!("the ended trigger {trigger:?} is still open"))
}
