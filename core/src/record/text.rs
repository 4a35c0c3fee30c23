//! Texts that become part of an entry: bodies of ticks, diagnostics, reasons of a posture.
//!
//! These are bytes, not prose. The hash chain covers them, so a better wording would change every
//! head after it. A text here changes only with a new format of the ledger (contract 3.4), and
//! `cargo xtask tidy` finds a text of an entry that is written anywhere else.
//!
//! A malformed task message adds one more kind: its reason ends with the message of a
//! [`JsonError`](crate::json::JsonError).

use alloc::{format, string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::{TaskId, TimerId, WorkItemId},
    record::{
        task::{TaskStatus, message::TaskPayloadError},
        turn::TurnTerminalKind,
        waiting::WakeSource,
    },
};
use wakeful_json as json;

// Bodies of messages of the core.

pub(crate) fn wake_hint(reason: &str) -> String {
    format!("wake hint: {reason}")
}

pub(crate) fn continue_active(objective: &str) -> String {
    format!("Continue current work item: {objective}")
}

pub(crate) fn queued_available(objective: &str) -> String {
    format!("Queued work item is available: {objective}")
}

pub(crate) fn system_wait(waiting_for: &str) -> String {
    format!("System wait is due: {waiting_for}")
}

pub(crate) fn deadline(waiting_for: &str) -> String {
    format!("Deadline reached, still waiting for: {waiting_for}")
}

pub(crate) fn trigger_ended(waiting_for: &str) -> String {
    format!("The external trigger has ended, still waiting for: {waiting_for}")
}

/// The reason of the hint that a delivery becomes, and the body of a message without content.
pub(crate) fn delivered(description: &str) -> String {
    match description.trim() {
        "" => "external trigger fired".into(),
        description => format!("external trigger fired: {description}"),
    }
}

pub(crate) fn recheck(objective: &str) -> String {
    format!("Recheck is due, inspect the blocker and refresh or clear it: {objective}")
}

pub(crate) fn retry(failure: &str, attempt: u64) -> String {
    format!("The turn failed ({failure}). Try again, attempt {attempt}.")
}

pub(crate) fn timer_fired(id: &TimerId) -> String {
    format!("timer {id} fired")
}

pub(crate) fn task_ended(id: &TaskId, status: TaskStatus) -> String {
    format!("task {id} {status}")
}

pub(crate) const BUDGET_EXHAUSTED: &str =
    "a budget is exhausted, and only the operator's input starts turns";

/// What ends the exhaustion of a budget.
pub(crate) fn budget_way_out(is_of_a_day: bool) -> &'static str {
    if is_of_a_day {
        "wait for the next day (UTC), set a higher budget, or grant more"
    } else {
        "set a higher budget, or grant more"
    }
}

// What the operator can do, in a summary. No entry has these.

pub(crate) const GUIDANCE_STOPPED: &str = "It is stopped: messages and deliveries are kept for it, and wake hints are refused. Start it \
     to let it run.";

pub(crate) const GUIDANCE_CLOSING: &str =
    "It is closing: what arrives is kept. It goes on when a process takes over the ledger.";

pub(crate) const GUIDANCE_BUDGET: &str = "It is over its budget: only operator input starts turns. Wait for the next day, set a higher \
     budget, or grant more.";

pub(crate) const GUIDANCE_PARKED: &str = "It is parked: it used up the turns that it may start on its own. Any input from outside lets \
     it go on.";

pub(crate) const GUIDANCE_BROKEN: &str = "It is parked: its host found that something of it is broken, as the diagnostic `owner_breach` says. \
     Any input from outside lets it go on.";

pub(crate) const GUIDANCE_NEVER_RAN: &str =
    "It was never started: a process that takes over the ledger lets it run.";

pub(crate) const GUIDANCE_RUNS: &str = "It runs by itself. Stop it to keep it from starting turns.";

/// What holds an obligation back if a budget is exhausted.
pub(crate) const HELD_BY_BUDGET: &str = "the budget";

/// How an item that is over its budget stands, in the reason of a posture.
pub(crate) const OVER_BUDGET: &str = "over its budget";

pub(crate) const POSTURE_BUDGET: &str = "agent is over its budget";

/// The body of a `task_restart` tick; `cause` is [`AGENT_STOPPED`] or [`RUNTIME_RESTARTED`].
pub(crate) fn tasks_interrupted(cause: &str, count: usize) -> String {
    format!("{cause} and interrupted {count} task{}", if count == 1 { "" } else { "s" })
}

pub(crate) const AGENT_STOPPED: &str = "agent stopped";
pub(crate) const RUNTIME_RESTARTED: &str = "runtime restarted";

// Diagnostics that a step records.

pub(crate) const MALFORMED_MESSAGE: &str = "a message could not be classified and was dropped";
pub(crate) const REPLAY_BUDGET: &str =
    "the runs of a message were interrupted too often, and it was dropped";
pub(crate) const RETRIES_EXHAUSTED: &str = "a turn failed at every try and is not tried again";
pub(crate) const ITEM_PARKED: &str = "a work item is parked until something moves it";
pub(crate) const AGENT_PARKED: &str =
    "the agent is parked after this turn until input from outside";
pub(crate) const OWNER_BREACH: &str =
    "something of this owner is broken, and it is parked until something moves it";
pub(crate) const NO_WAKER: &str = "active wait names no waker and no deadline";
pub(crate) const OUTLIVED: &str =
    "active wait is for a task that has ended, and its result will not arrive";
pub(crate) const STALLED_RUN: &str = "the open run says nothing any more";
pub(crate) const CLOCK_BEHIND: &str = "the host's clock is behind the ledger, and time goes on \
                                       from the newest entry; set the clock right, or vouch for it";

pub(crate) const CONTENT_REFUSED: &str = "the provider refused content, which is not told again";
pub(crate) const TURNS_FAIL: &str = "turns fail in a row for one cause";

/// What the operator can do about turns that fail for this cause.
pub(crate) fn way_out(cause: TurnTerminalKind) -> &'static str {
    match cause {
        TurnTerminalKind::BaselineOverBudget => {
            "give the model a longer context, or shorten its instructions or the message"
        }
        TurnTerminalKind::DeferredToFallback => {
            "check that the provider answers, its address and its key, or choose another model"
        }
        TurnTerminalKind::ProviderFailedNeedsRecovery => {
            "read the reason, check the provider, or choose another model"
        }
        TurnTerminalKind::Aborted => "read the reason and the log of the host",
        TurnTerminalKind::Completed => "nothing failed",
    }
}

// Why a message is malformed.

pub(crate) const NO_TASK_ID: &str = "task message missing metadata.task_id";
pub(crate) const NO_TASK_KIND: &str = "task message missing metadata.task_kind";

pub(crate) fn unknown_task_kind(kind: &str) -> String {
    format!("unknown task kind {}", json::write(&kind))
}

/// The reason of a queue entry that is dropped because its message is malformed.
pub(crate) fn malformed_message(why: &TaskPayloadError) -> String {
    format!("malformed_message: {why}")
}

// Reasons of a posture.

pub(crate) const POSTURE_STOPPED: &str = "agent lifecycle is stopped";
pub(crate) const POSTURE_RUN: &str = "agent has an active turn";
pub(crate) const POSTURE_PARKED: &str = "agent is parked until input from outside";
pub(crate) const POSTURE_QUEUED: &str = "agent has queued input";
pub(crate) const POSTURE_IDLE: &str =
    "no queued input, active turn, runnable work, or active waits";

/// `state` is the name of a scheduling state, or `parked`.
pub(crate) fn posture_of_item(is_current: bool, id: &WorkItemId, state: &str) -> String {
    let which = if is_current { "current" } else { "queued" };
    format!("{which} WorkItem {id} is {state}")
}

/// What can end a wait, in the spelling of the reference runtime's evidence.
pub(crate) fn wake_sources(sources: &[WakeSource]) -> String {
    let sources: Vec<_> = sources.iter().map(wake_source).collect();
    format!("wake_sources=[{}]", sources.join(", "))
}

/// An id that may be absent, as Rust shows it: `Some("x")` or `None`.
pub(crate) fn quoted<T: Serialize>(id: Option<&T>) -> String {
    id.map_or_else(|| "None".into(), |id| format!("Some({})", json::write(id)))
}

fn wake_source(source: &WakeSource) -> String {
    match source {
        WakeSource::TaskResult { task_id } => {
            format!("TaskResult {{ task_id: {} }}", json::write(task_id))
        }
        WakeSource::ExternalIngress { external_trigger_id, .. } => {
            let id = quoted(external_trigger_id.as_ref());
            format!("ExternalIngress {{ external_trigger_id: {id} }}")
        }
        WakeSource::Timer { wake_at, .. } => format!("Timer {{ wake_at: {wake_at} }}"),
        WakeSource::OperatorInput => "OperatorInput".into(),
        WakeSource::SystemTick => "SystemTick".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: &str = "\
wake hint: x
Continue current work item: x
Queued work item is available: x
System wait is due: x
Deadline reached, still waiting for: x
Recheck is due, inspect the blocker and refresh or clear it: x
The turn failed (x). Try again, attempt 2.
timer x fired
task t completed
agent stopped and interrupted 1 task
runtime restarted and interrupted 2 tasks
a message could not be classified and was dropped
the runs of a message were interrupted too often, and it was dropped
a turn failed at every try and is not tried again
a work item is parked until something moves it
the agent is parked after this turn until input from outside
something of this owner is broken, and it is parked until something moves it
active wait names no waker and no deadline
active wait is for a task that has ended, and its result will not arrive
the open run says nothing any more
the host's clock is behind the ledger, and time goes on from the newest entry; set the clock right, or vouch for it
the provider refused content, which is not told again
turns fail in a row for one cause
give the model a longer context, or shorten its instructions or the message
check that the provider answers, its address and its key, or choose another model
read the reason, check the provider, or choose another model
read the reason and the log of the host
nothing failed
task message missing metadata.task_id
task message missing metadata.task_kind
unknown task kind \"x\"
malformed_message: task message missing metadata.task_id
agent lifecycle is stopped
agent has an active turn
agent is parked until input from outside
agent has queued input
no queued input, active turn, runnable work, or active waits
current WorkItem w is Runnable
queued WorkItem w is parked
wake_sources=[TaskResult { task_id: \"t\" }, ExternalIngress { external_trigger_id: None }, OperatorInput, SystemTick]
";

    /// If this fails, restore the text: ledgers that exist hold it.
    #[test]
    fn the_texts_are_the_bytes_that_ledgers_hold() {
        let (task, item) = (TaskId::from("t"), WorkItemId::from("w"));
        let texts = [
            wake_hint("x"),
            continue_active("x"),
            queued_available("x"),
            system_wait("x"),
            deadline("x"),
            recheck("x"),
            retry("x", 2),
            timer_fired(&TimerId::from("x")),
            task_ended(&task, TaskStatus::Completed),
            tasks_interrupted(AGENT_STOPPED, 1),
            tasks_interrupted(RUNTIME_RESTARTED, 2),
            MALFORMED_MESSAGE.into(),
            REPLAY_BUDGET.into(),
            RETRIES_EXHAUSTED.into(),
            ITEM_PARKED.into(),
            AGENT_PARKED.into(),
            OWNER_BREACH.into(),
            NO_WAKER.into(),
            OUTLIVED.into(),
            STALLED_RUN.into(),
            CLOCK_BEHIND.into(),
            CONTENT_REFUSED.into(),
            TURNS_FAIL.into(),
            way_out(TurnTerminalKind::BaselineOverBudget).into(),
            way_out(TurnTerminalKind::DeferredToFallback).into(),
            way_out(TurnTerminalKind::ProviderFailedNeedsRecovery).into(),
            way_out(TurnTerminalKind::Aborted).into(),
            way_out(TurnTerminalKind::Completed).into(),
            NO_TASK_ID.into(),
            NO_TASK_KIND.into(),
            unknown_task_kind("x"),
            malformed_message(&TaskPayloadError::NoTaskId),
            POSTURE_STOPPED.into(),
            POSTURE_RUN.into(),
            POSTURE_PARKED.into(),
            POSTURE_QUEUED.into(),
            POSTURE_IDLE.into(),
            posture_of_item(true, &item, "Runnable"),
            posture_of_item(false, &item, "parked"),
            wake_sources(&[
                WakeSource::TaskResult { task_id: task },
                WakeSource::ExternalIngress { external_trigger_id: None, after: None },
                WakeSource::OperatorInput,
                WakeSource::SystemTick,
            ]),
        ];
        assert_eq!(texts.join("\n"), BYTES.trim_end());
    }
}
