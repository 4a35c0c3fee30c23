//! The current state, as the prompt of a turn tells it.

use wakeful_core::{derive::work_queue::WorkQueue, state::State, time::Timestamp};

use super::word;
use crate::{checkpoint::Checkpoint, context::Context, cut};

/// The most items and the most tasks that the current state lists, and the most characters of each
/// line.
const MOST_TOLD: usize = 50;
const LINE: usize = 300;

/// The current state, as far as the model needs it before it asks.
pub(super) fn standing(context: &Context, state: &State, now: Timestamp) -> String {
    let mut text = format!("[runtime] The current state at {now}.");
    let queue = WorkQueue::new(state);
    if queue.candidates.is_empty() {
        text.push_str("\nThere are no work items.");
    }
    for item in queue.candidates.iter().take(MOST_TOLD) {
        let focus = if item.is_current { ", in focus" } else { "" };
        text += &format!(
            "\n- work item {}{focus}, {}: {}",
            item.id(),
            word(item.state),
            cut::line(&item.record.objective, LINE)
        );
        if let Some(blocker) = &item.record.blocked_by {
            text += &format!(" (blocked by: {})", cut::line(blocker, LINE));
        }
    }
    text += &untold(queue.candidates.len(), "work items", "ListWorkItems");
    for task in state.tasks().active.values().take(MOST_TOLD) {
        let summary = cut::line(task.record.summary.as_deref().unwrap_or_default(), LINE);
        text += &format!("\n- task {}, {}: {summary}", task.record.id, word(task.record.status));
    }
    text += &untold(state.tasks().active.len(), "tasks", "TaskList");
    for wait in state.waiting().conditions.values() {
        let of = wait
            .record
            .work_item_id
            .as_ref()
            .map_or_else(|| "you wait".to_owned(), |item| format!("work item {item} waits"));
        text += &format!(
            "\n- {of} for {}: {}",
            word(wait.record.kind),
            cut::line(&wait.record.waiting_for, LINE)
        );
    }
    for timer in state.waiting().timers.values() {
        let what = cut::line(timer.record.summary.as_deref().unwrap_or("a timer"), LINE);
        text +=
            &format!("\n- timer {} fires at {}: {what}", timer.record.id, timer.record.due_at());
    }
    text += &format!("\nThe shell's working directory is {}.", context.workspace.root().display());
    text
}

/// The model's own account of where the work is, as a later turn is told it.
pub(super) fn checkpoint(checkpoint: &Checkpoint) -> String {
    let Checkpoint { at, text, .. } = checkpoint;
    format!(
        "[runtime] At {at} you said where the work is, and no work item has changed since: {text}"
    )
}

/// Says how many of a long list are left out, and which tool lists them.
fn untold(count: usize, of: &str, tool: &str) -> String {
    count
        .checked_sub(MOST_TOLD)
        .filter(|left| *left > 0)
        .map_or_else(String::new, |left| format!("\n- {left} more {of}: {tool} lists them"))
}
