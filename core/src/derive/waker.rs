//! The waits that nothing can end. A driver does not record such a wait (contract 5.17), but a
//! ledger of another runtime may have one.

use alloc::{format, vec::Vec};

use crate::{
    record::{
        diagnostic::{Diagnostic, DiagnosticKind},
        text,
        waiting::{WaitConditionKind, WaitConditionRecord, WakeSource},
    },
    state::{State, readiness},
};

/// The diagnostics of waits that nothing can end and that no entry has reported (contract 11.3).
pub(crate) fn unreported(state: &State) -> impl Iterator<Item = Diagnostic> {
    readiness::conditions(state)
        .filter(|condition| !state.waiting.reported.contains_key(&condition.record.id))
        .filter_map(|condition| is_missing(state, &condition.record))
}

/// The diagnostic of a wait that nothing can end; `None` if something can.
pub(crate) fn is_missing(state: &State, condition: &WaitConditionRecord) -> Option<Diagnostic> {
    if has_no_waker(condition) {
        Some(without_waker(condition))
    } else {
        outlived(state, condition)
    }
}

/// Whether neither a trigger (contract 5.15) nor a deadline can end this condition. External
/// events, operator input and ticks of the runtime can end a wait without being named.
fn has_no_waker(condition: &WaitConditionRecord) -> bool {
    let mut sources = condition.wake_sources.iter();
    let has_waker = match condition.kind {
        WaitConditionKind::Task => {
            sources.any(|source| matches!(source, WakeSource::TaskResult { .. }))
        }
        WaitConditionKind::Timer => {
            sources.any(|source| matches!(source, WakeSource::Timer { .. }))
        }
        WaitConditionKind::External | WaitConditionKind::Operator | WaitConditionKind::System => {
            true
        }
    };
    !has_waker && condition.expires_at.is_none()
}

fn without_waker(condition: &WaitConditionRecord) -> Diagnostic {
    let evidence = Vec::from([
        format!("kind={:?}", condition.kind),
        text::wake_sources(&condition.wake_sources),
        "expires_at=None".into(),
    ]);
    Diagnostic {
        work_item_id: condition.work_item_id.clone(),
        wait_condition_id: Some(condition.id.clone()),
        ..Diagnostic::new(DiagnosticKind::WaitWithoutWaker, text::NO_WAKER, evidence)
    }
}

/// A wait for tasks that have all ended, if none of their results is still queued. A driver ends
/// such a wait (contract 5.11, 5.17). Another runtime may have left one, and it would never end.
fn outlived(state: &State, condition: &WaitConditionRecord) -> Option<Diagnostic> {
    if condition.kind != WaitConditionKind::Task || condition.expires_at.is_some() {
        return None;
    }
    let mut evidence = Vec::new();
    for source in &condition.wake_sources {
        let WakeSource::TaskResult { task_id } = source else { continue };
        // A task that has not ended can still report.
        let (status, _) = state.tasks.ended.get(task_id)?;
        // A reported result may be the message that still waits.
        if state.tasks.told.contains_key(task_id) && !state.queue.is_empty() {
            return None;
        }
        evidence.push(format!("task_id={task_id}"));
        evidence.push(format!("task_status={status:?}"));
    }
    Some(Diagnostic {
        work_item_id: condition.work_item_id.clone(),
        wait_condition_id: Some(condition.id.clone()),
        ..Diagnostic::new(DiagnosticKind::WaitWithoutWaker, text::OUTLIVED, evidence)
    })
}
