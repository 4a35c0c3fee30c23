//! The tools of the work plane: items are created, picked, changed, completed and shown (contract
//! 5.13, 5.14).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::{
    derive::work_queue::{Candidate, WorkItemReadiness, WorkQueue},
    fact::{
        Fact,
        work::{
            WorkItemBlocked, WorkItemCompleted, WorkItemCreated, WorkItemNamed, WorkItemUpdated,
        },
    },
    id::{WaitConditionId, WorkItemId},
    json::RawJson,
    record::work::{self, WorkItemPlanStatus, WorkItemState},
    state::{State, readiness::SchedulingState},
    time::Timestamp,
};

use super::{Caller, Success, Tool, ToolError, accepted, said};
use crate::actor::Actor;

/// The default time until a blocker is checked again, in milliseconds.
const RECHECK_AFTER_MS: u64 = 3_600_000;

/// The most items that one call lists.
const MOST_LISTED: usize = 100;

/// The state of a plan.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PlanStatus {
    /// It is being made.
    Draft,
    /// It is complete.
    Ready,
    /// The operator must be asked first, so the item waits for the operator.
    NeedsInput,
}

impl From<PlanStatus> for WorkItemPlanStatus {
    fn from(status: PlanStatus) -> Self {
        match status {
            PlanStatus::Draft => Self::Draft,
            PlanStatus::Ready => Self::Ready,
            PlanStatus::NeedsInput => Self::NeedsInput,
        }
    }
}

/// An entry of a todo list.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Todo {
    /// What is to be done.
    text: String,
    /// The state of the entry.
    state: TodoState,
}

/// The state of an entry of a todo list.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TodoState {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
}

/// A work item in the form that the model gets.
#[derive(Serialize)]
struct View {
    id: WorkItemId,
    objective: String,
    state: WorkItemState,
    focus: &'static str,
    readiness: WorkItemReadiness,
    scheduling_state: SchedulingState,
    is_current: bool,
    is_runnable: bool,
    plan_status: WorkItemPlanStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    todo_list: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recheck_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_summary: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    active_wait_conditions: Vec<Wait>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Serialize)]
struct Wait {
    id: WaitConditionId,
    waiting_for: String,
}

impl View {
    fn new(state: &State, item: &Candidate<'_>) -> Self {
        let record = item.record;
        let is_runnable = item.state == SchedulingState::Runnable;
        let waits = state.conditions_of(&record.id);
        Self {
            id: record.id.clone(),
            objective: record.objective.clone(),
            state: record.state,
            focus: match item.state {
                SchedulingState::Completed => "completed",
                _ if item.is_current => "current",
                SchedulingState::Runnable => "queued",
                _ => "blocked",
            },
            readiness: item.readiness(),
            scheduling_state: item.state,
            is_current: item.is_current,
            is_runnable,
            plan_status: record.plan_status,
            plan: record.plan.clone(),
            todo_list: record.todo_list.clone(),
            blocked_by: record.blocked_by.clone(),
            recheck_at: record.recheck_at,
            result_summary: record.result_summary.clone(),
            active_wait_conditions: waits
                .iter()
                .map(|wait| Wait {
                    id: wait.record.id.clone(),
                    waiting_for: wait.record.waiting_for.clone(),
                })
                .collect(),
            created_at: record.created_at,
            updated_at: record.updated_at,
        }
    }
}

/// The current state of an item.
fn view(actor: &Actor, id: &WorkItemId) -> Result<View, ToolError> {
    let state = actor.state();
    let found = WorkQueue::new(state)
        .candidates
        .into_iter()
        .find(|item| item.id() == id)
        .map(|item| View::new(state, &item));
    found.ok_or_else(|| {
        // Only the newest sixteen completed items are kept whole; of the others only the id is left
        // (contract 3.3).
        let over = state.work().ended.contains_key(id);
        let message = if over {
            format!("work item {id} was completed and is no longer listed")
        } else {
            format!("work item {id} not found")
        };
        ToolError::new("work_item_not_found", message).hinting("Call ListWorkItems for the items.")
    })
}

#[derive(Serialize)]
struct One {
    #[serde(skip_serializing_if = "Option::is_none")]
    current_work_item_id: Option<WorkItemId>,
    work_item: View,
}

fn one(actor: &Actor, id: &WorkItemId, summary: String) -> Result<Success, ToolError> {
    let current_work_item_id = actor.state().work().current().map(|item| item.record.id.clone());
    Ok(Success::new(summary, &One { current_work_item_id, work_item: view(actor, id)? }))
}

/// Arguments of `CreateWorkItem`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateWorkItem {
    /// The goal.
    objective: String,
    /// The state of its plan.
    #[serde(default)]
    plan_status: Option<PlanStatus>,
    /// The plan.
    #[serde(default)]
    plan: Option<String>,
    /// The steps.
    #[serde(default)]
    todo_list: Option<Vec<Todo>>,
}

impl Tool for CreateWorkItem {
    const NAME: &'static str = "CreateWorkItem";
    const ABOUT: &'static str = "Creates a work item: a goal that outlives turns. It does not \
                                 move the focus; PickWorkItem does.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let objective = said(&self.objective, "objective")?;
        caller.ask(move |actor| {
            let work_item_id = WorkItemId::from(format!("work-{}", actor.state().next_seq()));
            let summary = format!("created {work_item_id}: {}", actor.context.line(&objective, 80));
            let created = WorkItemCreated {
                work_item_id: work_item_id.clone(),
                objective,
                plan_status: self.plan_status.map(Into::into),
            };
            accepted(actor, &Fact::WorkItemCreated(created))?;
            // The fact that creates an item carries no plan and no steps.
            if self.plan.is_some() || self.todo_list.is_some() {
                let update = WorkItemUpdated {
                    work_item_id: work_item_id.clone(),
                    objective: None,
                    plan_status: None,
                    plan: self.plan.map(|plan| RawJson::from_value(&plan)),
                    todo_list: self.todo_list.map(|todos| RawJson::from_value(&todos)),
                };
                accepted(actor, &Fact::WorkItemUpdated(update))?;
            }
            one(actor, &work_item_id, summary)
        })?
    }
}

/// Arguments of `PickWorkItem`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PickWorkItem {
    /// The id of the item.
    work_item_id: String,
    /// Why the focus moves, if another item could be continued.
    #[serde(default)]
    reason: Option<String>,
}

impl Tool for PickWorkItem {
    const NAME: &'static str = "PickWorkItem";
    const ABOUT: &'static str = "Puts a work item in focus, so that the runtime continues it \
                                 first. It starts nothing and ends no wait.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        caller.ask(move |actor| {
            let work_item_id = WorkItemId::from(self.work_item_id);
            accepted(
                actor,
                &Fact::WorkItemPicked(WorkItemNamed { work_item_id: work_item_id.clone() }),
            )?;
            let why = self.reason.map_or_else(String::new, |reason| {
                format!(": {}", actor.context.line(&reason, 80))
            });
            one(actor, &work_item_id, format!("picked {work_item_id}{why}"))
        })?
    }
}

/// Arguments of `UpdateWorkItem`. Absent ones leave the item unchanged.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateWorkItem {
    /// The id of the item.
    work_item_id: String,
    /// The goal.
    #[serde(default)]
    objective: Option<String>,
    /// The state of its plan. With needs_input the item waits for the operator.
    #[serde(default)]
    plan_status: Option<PlanStatus>,
    /// The plan.
    #[serde(default)]
    plan: Option<String>,
    /// The steps, all of them.
    #[serde(default)]
    todo_list: Option<Vec<Todo>>,
    /// What blocks it. An empty text clears the blocker.
    #[serde(default)]
    blocked_by: Option<String>,
    /// When to check the blocker again, in milliseconds from now. One hour by default.
    #[serde(default)]
    recheck_after: Option<u64>,
}

impl UpdateWorkItem {
    fn check(&self) -> Result<(), ToolError> {
        let blocks = self.blocked_by.as_ref().is_some_and(|by| !by.trim().is_empty());
        match self.recheck_after {
            Some(0) => Err(ToolError::new("invalid_tool_input", "`recheck_after` must be above 0")),
            Some(_) if !blocks => Err(ToolError::new(
                "invalid_tool_input",
                "`recheck_after` needs a `blocked_by` that is not empty",
            )),
            _ => Ok(()),
        }
    }

    fn facts(&self, work_item_id: &WorkItemId) -> Vec<Fact> {
        let mut facts = Vec::new();
        // An update without content would still make a snapshot. It would move the epoch and count
        // as progress (contract 8.2, 9.4).
        if self.objective.is_some()
            || self.plan_status.is_some()
            || self.plan.is_some()
            || self.todo_list.is_some()
        {
            facts.push(Fact::WorkItemUpdated(WorkItemUpdated {
                work_item_id: work_item_id.clone(),
                objective: self.objective.clone(),
                plan_status: self.plan_status.map(Into::into),
                plan: self.plan.as_ref().map(RawJson::from_value),
                todo_list: self.todo_list.as_ref().map(RawJson::from_value),
            }));
        }
        facts.extend(self.blocked_by.as_deref().map(str::trim).map(|by| match by {
            "" => Fact::WorkItemUnblocked(WorkItemNamed { work_item_id: work_item_id.clone() }),
            by => Fact::WorkItemBlocked(WorkItemBlocked {
                work_item_id: work_item_id.clone(),
                blocked_by: by.to_owned(),
                // A blocker always gets a recheck. Without one or a wait it would be a diagnostic
                // (contract 11.3).
                recheck_at: None,
                recheck_in_ms: Some(self.recheck_after.unwrap_or(RECHECK_AFTER_MS)),
            }),
        }));
        facts
    }
}

impl Tool for UpdateWorkItem {
    const NAME: &'static str = "UpdateWorkItem";
    const ABOUT: &'static str =
        "Changes a work item: its objective, plan, steps, or what blocks it.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        self.check()?;
        caller.ask(move |actor| {
            let work_item_id = WorkItemId::from(self.work_item_id.as_str());
            for fact in self.facts(&work_item_id) {
                accepted(actor, &fact)?;
            }
            one(actor, &work_item_id, format!("updated {work_item_id}"))
        })?
    }
}

/// Arguments of `CompleteWorkItem`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompleteWorkItem {
    /// The id of the item.
    work_item_id: String,
    /// The result. By default what you say beside this call.
    #[serde(default)]
    result_summary: Option<String>,
}

#[derive(Serialize)]
struct Completed {
    work_item: View,
    completed_transition: bool,
}

impl Tool for CompleteWorkItem {
    const NAME: &'static str = "CompleteWorkItem";
    const ABOUT: &'static str = "Marks a work item as done, and ends your turn with this round. \
                                 State the result in the same message.";

    fn run(self, caller: &Caller, said: Option<&str>) -> Result<Success, ToolError> {
        let said = said.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        caller.ask(move |actor| {
            let work_item_id = WorkItemId::from(self.work_item_id);
            let completed_transition = !actor.state().work().ended.contains_key(&work_item_id);
            // Completing an item twice changes nothing and is not an error, so the model sees the
            // item as it is.
            if completed_transition {
                let result_summary = self.result_summary.or(said);
                let fact = WorkItemCompleted { work_item_id: work_item_id.clone(), result_summary };
                accepted(actor, &Fact::WorkItemCompleted(fact))?;
            }
            let work_item = view(actor, &work_item_id)?;
            Ok(Success::new(
                format!("completed {work_item_id}"),
                &Completed { work_item, completed_transition },
            ))
        })?
    }
}

/// Arguments of `GetWorkItem`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetWorkItem {
    /// The id of the item.
    work_item_id: String,
}

impl Tool for GetWorkItem {
    const NAME: &'static str = "GetWorkItem";
    const ABOUT: &'static str = "Shows a work item.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        caller.ask(move |actor| {
            let work_item_id = WorkItemId::from(self.work_item_id);
            one(actor, &work_item_id, format!("work item {work_item_id}"))
        })?
    }
}

/// Arguments of `ListWorkItems`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListWorkItems {
    /// Which items to list.
    #[serde(default)]
    filter: Filter,
    /// The most items to list, up to 100.
    #[serde(default = "twenty")]
    limit: usize,
}

fn twenty() -> usize {
    20
}

/// Which items are listed.
#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Filter {
    /// All items.
    #[default]
    All,
    /// Items that are not done.
    Open,
    /// Items that are done.
    Completed,
    /// The item in focus.
    Current,
    /// Items that could be continued and are not in focus.
    Queued,
    /// Items that are blocked or wait for something.
    Blocked,
    /// Items that wait for the operator.
    WaitingForOperator,
    /// Items that could be continued.
    Runnable,
}

impl Filter {
    fn takes(self, item: &Candidate<'_>) -> bool {
        let runnable = item.state == SchedulingState::Runnable;
        match self {
            Self::All => true,
            Self::Open => item.record.state == work::WorkItemState::Open,
            Self::Completed => item.record.state == work::WorkItemState::Completed,
            Self::Current => item.is_current,
            Self::Queued => runnable && !item.is_current,
            Self::Blocked => item.readiness() == WorkItemReadiness::Blocked,
            Self::WaitingForOperator => item.readiness() == WorkItemReadiness::WaitingForOperator,
            Self::Runnable => runnable,
        }
    }
}

#[derive(Serialize)]
struct Listed {
    #[serde(skip_serializing_if = "Option::is_none")]
    current_work_item_id: Option<WorkItemId>,
    filter: Filter,
    returned: usize,
    total_matching: usize,
    work_items: Vec<View>,
}

impl Tool for ListWorkItems {
    const NAME: &'static str = "ListWorkItems";
    const ABOUT: &'static str = "Lists work items, first those that could be continued. Of the \
                                 completed ones only the newest sixteen are kept.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let listed = caller.ask(move |actor| {
            let state = actor.state();
            let queue = WorkQueue::new(state);
            let matching: Vec<_> =
                queue.candidates.iter().filter(|item| self.filter.takes(item)).collect();
            let shown = matching.iter().take(self.limit.clamp(1, MOST_LISTED));
            let work_items: Vec<_> = shown.map(|item| View::new(state, item)).collect();
            Listed {
                current_work_item_id: state.work().current().map(|item| item.record.id.clone()),
                filter: self.filter,
                returned: work_items.len(),
                total_matching: matching.len(),
                work_items,
            }
        })?;
        Ok(Success::new(
            format!("{} of {} work items", listed.returned, listed.total_matching),
            &listed,
        ))
    }
}
