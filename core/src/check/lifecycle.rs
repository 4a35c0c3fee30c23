//! Invariants of the agent's lifecycle and of its runs.

use alloc::{format, vec::Vec};

use crate::{
    check::{Breach, driven, hold},
    derive::obligation::{Obligation, ObligationKind},
    fact::{Fact, control::Restarted},
    ladder::owed,
    record::{
        Record,
        control::ControlRecord,
        entry::{self, Entry},
        queue::{
            envelope::{MessageKind, QueueStatus},
            note::NoteKey,
        },
        turn::RunStatus,
    },
    state::State,
};

pub(super) fn i01(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |state, entry| {
        let may_run = state.control.stopped.is_none() && state.control.closing.is_none();
        let moves = match &entry.record {
            Record::QueueEntry(record) => record.status == QueueStatus::Dequeued,
            // contract 5.11: the batch of a stop queues the message about interrupted tasks, which
            // is read once the agent may run again.
            Record::Message(record) if record.raw_note(NoteKey::InterruptedTasks).is_some() => {
                false
            }
            Record::Message(record) => {
                record.kind == MessageKind::SystemTick && record.is_runtime_owned()
            }
            Record::Turn(record) => record.status == RunStatus::Started,
            _ => false,
        };
        hold("I1", may_run || !moves, Some(entry.seq), || {
            format!("entry {} moves an agent that may not run", entry.seq)
        })
    })
}

pub(super) fn i02(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |state, entry| {
        let Record::Turn(record) = &entry.record else { return Ok(()) };
        let open = state.turns.run.as_ref();
        let fits = match record.status {
            RunStatus::Started => open.is_none(),
            RunStatus::Terminal | RunStatus::Interrupted => {
                open.is_some_and(|run| run.run_id == record.run_id)
            }
        };
        hold("I2", fits, Some(entry.seq), || {
            format!("entry {} says `{}` of run `{}`", entry.seq, record.status, record.run_id)
        })
    })
}

pub(super) fn i20(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |state, entry| {
        let Record::Tool(record) = &entry.record else { return Ok(()) };
        // The record of a call has no run id, so its turn has to tell the run.
        let own = state.turns.run.as_ref().is_some_and(|run| run.turn_index == record.turn_index);
        hold("I20", own, Some(entry.seq), || {
            format!("tool call `{}` belongs to no open run", record.id)
        })
    })
}

/// Kills the agent after the batch and takes over its ledger: every obligation must remain.
pub(super) fn i25(_: &State, _: &[Entry], after: &State) -> Result<(), Breach> {
    if after.control.live_from.is_none() {
        return Ok(());
    }
    let restart = Fact::RuntimeRestarted(Restarted::default()).transition(after, after.at);
    let (entries, _) = entry::seal_all(after.head, after.at, restart.records);
    let mut restarted = after.clone();
    entries.iter().for_each(|entry| restarted.apply(entry));
    let owed = owed::all(&restarted);
    let lost: Vec<Obligation> = owed::all(after)
        .into_iter()
        .filter(|was| !owed.iter().any(|is| (is.kind, &is.id) == (was.kind, &was.id)))
        .filter(|was| was.kind != ObligationKind::InterruptedRun)
        .collect();
    hold("I25", lost.is_empty(), None, || format!("a restart loses {lost:?}"))?;
    let replays = after.turns.run.as_ref().is_none_or(|run| {
        // An import does not name the message of its open run.
        let is_imported = !after.control.is_live(run.seq);
        is_imported
            || owed
                .iter()
                .any(|is| is.kind == ObligationKind::Message && is.id == run.message_id.as_str())
    });
    hold("I25", replays, None, || {
        format!("the message of the open run would not replay: {:?}", after.turns.run)
    })?;
    let closed = !batch_closes(&entries) || restarted.turns.run.is_none();
    hold("I25", closed, None, || "a run survives a restart".into())
}

fn batch_closes(entries: &[Entry]) -> bool {
    entries
        .iter()
        .any(|entry| matches!(&entry.record, Record::Control(ControlRecord::RuntimeRestarted(_))))
}
