//! Invariants of records: terminal statuses, results, items, messages.

use alloc::format;

use crate::{
    check::{Breach, driven, hold},
    id::TaskId,
    record::{
        Record,
        control::{ControlRecord, FocusCause},
        entry::Entry,
        event::EventKind,
        queue::envelope::{MessageKind, TrustLevel},
        task::{
            TaskRecord,
            message::{self, InterruptedTasksNote},
        },
        turn::RunStatus,
        work::WorkItemState,
    },
    state::State,
};

pub(super) fn i03(before: &State, batch: &[Entry], after: &State) -> Result<(), Breach> {
    let refused = |state: &State| {
        state.queue.refused
            + state.tasks.refused
            + state.work.refused
            + state.waiting.refused
            + state.ingress.refused
    };
    // The folds count refused records, so an unchanged count saves the search.
    if refused(before) == refused(after) {
        return Ok(());
    }
    driven(before, batch, |state, entry| {
        let mut next = state.clone();
        next.apply(entry);
        hold("I3", refused(&next) == refused(state), Some(entry.seq), || {
            format!("entry {} contradicts a terminal status", entry.seq)
        })
    })
}

pub(super) fn i04(_: &State, _: &[Entry], after: &State) -> Result<(), Breach> {
    let tasks = &after.tasks;
    for (id, task) in &tasks.active {
        let ended = task.record.status.is_terminal() || tasks.ended.contains_key(id);
        hold("I4", !ended, Some(task.seq), || format!("task `{id}` is active but has ended"))?;
    }
    Ok(())
}

pub(super) fn i05(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |state, entry| {
        if let Record::Message(message) = &entry.record {
            let task = TaskRecord::of_message(message, entry.at)
                .ok()
                .filter(|task| task.status.is_terminal());
            let is_result = message.kind == MessageKind::TaskResult
                && message.trust == TrustLevel::TrustedSystem;
            let early = task.filter(|task| is_result && !state.tasks.ended.contains_key(&task.id));
            hold("I5", early.is_none(), Some(entry.seq), || {
                format!("message `{}` is a result of a task that has not ended", message.id)
            })?;
        }
        if let Record::Task(task) = &entry.record {
            let ends = task.status.is_terminal() && state.tasks.active.contains_key(&task.id);
            hold(
                "I5",
                !ends || batch.iter().any(|entry| tells_end(&entry.record, &task.id)),
                Some(entry.seq),
                || format!("task `{}` ended, but no message in its batch reports it", task.id),
            )?;
        }
        let Record::Event(event) = &entry.record else { return Ok(()) };
        let of_result = matches!(
            event.known(),
            Some(EventKind::TaskResultQueued | EventKind::TaskResultDelivered)
        );
        let task = event.particular("task_id");
        let has_ended = task.as_ref().is_some_and(|id| state.tasks.ended.contains_key(id));
        hold("I5", !of_result || has_ended, Some(entry.seq), || {
            format!("entry {} reports a result of {task:?}, which has not ended", entry.seq)
        })
    })
}

/// Whether this record is the message that reports the end of the task (contract 5.11).
fn tells_end(record: &Record, task: &TaskId) -> bool {
    let Record::Message(message) = record else { return false };
    let interrupted = || message.note::<InterruptedTasksNote>();
    message::task_of(message).as_ref() == Some(task)
        || interrupted().is_some_and(|note| note.items.iter().any(|one| one.task_id == *task))
}

pub(super) fn i06(_: &State, _: &[Entry], after: &State) -> Result<(), Breach> {
    let work = &after.work;
    for (id, item) in &work.items {
        let done = item.record.state == WorkItemState::Completed || work.ended.contains_key(id);
        hold("I6", !done, Some(item.seq), || format!("item `{id}` is completed but still open"))?;
    }
    Ok(())
}

pub(super) fn i07(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |state, entry| {
        let Record::Control(ControlRecord::FocusSet(set)) = &entry.record else { return Ok(()) };
        let held = state.work.focus.as_ref().map(|focus| &focus.work_item_id);
        let fits = match (set.cause, &set.work_item_id) {
            (FocusCause::Pick, Some(id)) => state.work.items.contains_key(id),
            (FocusCause::Completion, None) => {
                held.is_some_and(|id| state.work.ended.contains_key(id))
            }
            (FocusCause::Clear, None) => true,
            _ => false,
        };
        hold("I7", fits, Some(entry.seq), || {
            format!(
                "the focus moves from {held:?} to {:?}, with the cause {}",
                set.work_item_id, set.cause
            )
        })
    })
}

pub(super) fn i14(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    let mut settled = None;
    driven(before, batch, |_, entry| {
        match &entry.record {
            Record::Turn(record) if record.status == RunStatus::Terminal => {
                settled = record.work_item.clone()
            }
            Record::Event(event) if event.known() == Some(EventKind::WorkItemTurnEndCommitted) => {
                let item = event.particular("work_item_id");
                let fits = item.is_some()
                    && settled.as_ref().map(|binding| &binding.work_item_id) == item.as_ref();
                hold("I14", fits, Some(entry.seq), || {
                    format!("entry {} commits {item:?} without the terminal of its run", entry.seq)
                })?;
            }
            _ => {}
        }
        Ok(())
    })
}

pub(super) fn i18(before: &State, batch: &[Entry], after: &State) -> Result<(), Breach> {
    driven(before, batch, |_, entry| {
        let Record::Message(record) = &entry.record else { return Ok(()) };
        let known = after.queue.has_entry(&record.id) || after.queue.ended(&record.id).is_some();
        hold("I18", known, Some(entry.seq), || {
            format!("message `{}` is recorded but not queued", record.id)
        })
    })?;
    for id in before.queue.open() {
        let kept = after.queue.message(id).is_some() || after.queue.ended(id).is_some();
        hold("I18", kept, None, || format!("message `{id}` is gone without a terminal status"))?;
    }
    Ok(())
}
