//! Parts of an agent's state, each with the entry behind it.

use schemars::JsonSchema;
use serde::Serialize;
use wakeful_core::{
    explain::diagnose,
    id::{Seq, WorkItemId},
    record::{
        task::TaskRecord,
        waiting::{WaitConditionRecord, WaitingIntentRecord},
    },
    state::State,
};

use crate::{
    asked::{Answer, Asked},
    problem::Problem,
};

/// A record, and its entry in the ledger.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}AndEntry")]
pub(crate) struct Behind<T> {
    /// The entry of the newest record.
    entry: Seq,
    /// The newest record.
    record: T,
}

impl<T: Clone> Behind<T> {
    fn new(entry: Seq, record: &T) -> Self {
        Self { entry, record: record.clone() }
    }
}

/// The tasks of a work item, or of none.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TasksOf {
    /// The item; absent if they belong to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    work_item_id: Option<WorkItemId>,
    /// Its active tasks, by id.
    tasks: Vec<Behind<TaskRecord>>,
}

/// What an agent and its items wait for.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Waits {
    /// The active conditions, by id.
    conditions: Vec<Behind<WaitConditionRecord>>,
    /// The active intents, by id.
    intents: Vec<Behind<WaitingIntentRecord>>,
}

fn answered<T: Serialize>(asked: &Asked, read: impl Fn(&State) -> T) -> Result<Answer, Problem> {
    let cell = asked.cell()?;
    let read = asked.agents.with(&cell, |scheduler, _| Ok(read(scheduler.state())))?;
    Ok(Answer::ok(&read))
}

pub(crate) fn work_items(asked: &Asked) -> Result<Answer, Problem> {
    answered(asked, |state| {
        let items = state.work().items.values();
        items.map(|item| Behind::new(item.seq, &item.record)).collect::<Vec<_>>()
    })
}

pub(crate) fn tasks(asked: &Asked) -> Result<Answer, Problem> {
    answered(asked, |state| {
        let mut groups: Vec<TasksOf> = Vec::new();
        for task in state.tasks().active.values() {
            let of = &task.work_item_id;
            let at = groups.iter().position(|group| group.work_item_id == *of);
            let at = at.unwrap_or_else(|| {
                groups.push(TasksOf { work_item_id: of.clone(), tasks: Vec::new() });
                groups.len() - 1
            });
            groups[at].tasks.push(Behind::new(task.seq, &task.record));
        }
        groups
    })
}

pub(crate) fn waits(asked: &Asked) -> Result<Answer, Problem> {
    answered(asked, |state| {
        let waiting = state.waiting();
        let conditions = waiting.conditions.values();
        let intents = waiting.intents.values();
        Waits {
            conditions: conditions.map(|wait| Behind::new(wait.seq, &wait.record)).collect(),
            intents: intents.map(|wait| Behind::new(wait.seq, &wait.record)).collect(),
        }
    })
}

pub(crate) fn timers(asked: &Asked) -> Result<Answer, Problem> {
    answered(asked, |state| {
        let timers = state.waiting().timers.values();
        timers.map(|timer| Behind::new(timer.seq, &timer.record)).collect::<Vec<_>>()
    })
}

pub(crate) fn children(asked: &Asked) -> Result<Answer, Problem> {
    let cell = asked.cell()?;
    let summary = asked.agents.with(&cell, |scheduler, _| Ok(scheduler.summary()))?;
    Ok(Answer::ok(&summary.active_children))
}

pub(crate) fn triggers(asked: &Asked) -> Result<Answer, Problem> {
    let cell = asked.cell()?;
    let summary = asked.agents.with(&cell, |scheduler, _| Ok(scheduler.summary()))?;
    Ok(Answer::ok(&summary.active_external_triggers))
}

pub(crate) fn diagnostics(asked: &Asked) -> Result<Answer, Problem> {
    answered(asked, diagnose::all)
}
