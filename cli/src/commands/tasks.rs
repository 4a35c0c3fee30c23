//! `wakeful list tasks`: lists the tasks of agents, by what they hold up.

use clap::Args;
use serde::Serialize;
use wakeful_agent::supervision::ChildSupervision;
use wakeful_core::{
    id::{Seq, TaskId, WaitConditionId, WorkItemId},
    json::RawJson,
    record::{
        Record,
        task::{TaskKind, TaskRecord, TaskStatus, TaskWaitPolicy},
        waiting::WakeSource,
    },
    state::{State, readiness},
    time::Timestamp,
};

use super::{
    CliError, Verdict,
    explain::word,
    listing::{Group, Lines, Listed, Listing, Read, grouped, span},
};

#[derive(Args)]
#[command(after_help = "\
    The groups are: tasks that block a work item, tasks that a wait is for, and tasks in the \
    background.\n\n\
    --json prints one object per agent: {agent_id, at, groups [{group, members}]}, and with --all \
    also {ended {members, left_out}}. `group` is `blocking`, `awaited` or `background`. A member \
    is {id, kind, status, created_at, updated_at, summary, work_item_id, awaited_by, cmd, \
    output_path, child}. `child` is the supervision of a child agent, as `AgentGet` gives it to \
    the model.\n\n\
    Exit codes:\n\
    \x20 0  printed, even if there are none\n\
    \x20 2  the ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful list tasks agents.sqlite\n\
    \x20 wakeful list tasks agents.sqlite --agent reviewer --all\n\
    \x20 wakeful list tasks --server http://127.0.0.1:7171\n\
    \x20 wakeful list tasks agents.sqlite --json | jq '.groups[].members[].id'")]
pub(super) struct Tasks {
    #[command(flatten)]
    listing: Listing,
}

impl Tasks {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        self.listing.run::<Task>()
    }
}

/// A task in the list.
#[derive(Serialize)]
pub(super) struct Task {
    id: TaskId,
    kind: TaskKind,
    status: TaskStatus,
    created_at: Timestamp,
    updated_at: Timestamp,
    summary: Option<String>,
    work_item_id: Option<WorkItemId>,
    /// The waits that its result ends.
    awaited_by: Vec<WaitConditionId>,
    cmd: Option<String>,
    output_path: Option<String>,
    child: Option<ChildSupervision>,
}

/// What a task holds up.
const BLOCKING: &str = "blocking";
const AWAITED: &str = "awaited";
const BACKGROUND: &str = "background";

impl Task {
    fn new(state: &State, task: &TaskRecord) -> Self {
        let noted = |key: &str| task.detail.as_ref().and_then(|detail| text(detail, key));
        Self {
            id: task.id.clone(),
            kind: task.kind,
            status: task.status,
            created_at: task.created_at,
            updated_at: task.updated_at,
            summary: task.summary.clone(),
            work_item_id: task.effective_work_item_id(),
            awaited_by: awaited_by(state, &task.id),
            cmd: noted("cmd"),
            output_path: noted("output_path"),
            child: ChildSupervision::from_task(task),
        }
    }

    /// What an active task holds up. A task of an item that is completed blocks nothing.
    fn holds_up(&self, state: &State, policy: TaskWaitPolicy) -> &'static str {
        let is_open = |id: &WorkItemId| state.work().items.contains_key(id);
        match policy {
            TaskWaitPolicy::Blocking if self.work_item_id.as_ref().is_some_and(is_open) => BLOCKING,
            _ if !self.awaited_by.is_empty() => AWAITED,
            _ => BACKGROUND,
        }
    }
}

fn text(detail: &RawJson, key: &str) -> Option<String> {
    detail.field(key)?.read().ok()
}

/// The waits that the result of a task ends.
fn awaited_by(state: &State, task: &TaskId) -> Vec<WaitConditionId> {
    let is_result = |source: &WakeSource| match source {
        WakeSource::TaskResult { task_id } => task_id == task,
        _ => false,
    };
    let waits = readiness::conditions(state).map(|wait| &wait.record);
    waits
        .filter(|wait| wait.wake_sources.iter().any(is_result))
        .map(|wait| wait.id.clone())
        .collect()
}

impl Listed for Task {
    const NAME: &'static str = "task";

    fn groups(read: &mut Read<'_>) -> Vec<Group<Self>> {
        let state = read.state;
        let active = state.tasks().active.values();
        let mut all: Vec<_> = active
            .map(|task| {
                let listed = Self::new(state, &task.record);
                (listed.holds_up(state, task.wait_policy).to_owned(), listed)
            })
            .collect();
        // The oldest first: it may have been forgotten.
        all.sort_by(|(_, a), (_, b)| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        grouped([BLOCKING, AWAITED, BACKGROUND].map(str::to_owned), all)
    }

    fn heading(group: &str) -> String {
        match group {
            BLOCKING => "blocking a work item",
            AWAITED => "awaited by a wait",
            _ => "in the background",
        }
        .to_owned()
    }

    fn ends(state: &State) -> Vec<Seq> {
        state.tasks().ended.values().map(|(_, seq)| *seq).collect()
    }

    fn ended(read: &Read<'_>, record: Record) -> Option<Self> {
        let Record::Task(task) = record else { return None };
        Some(Self::new(read.state, &task))
    }

    fn lines(&self, now: Timestamp) -> Lines {
        let kind = word(self.kind);
        let status = word(self.status);
        let about = if self.status.is_terminal() {
            format!("{kind}, {status} {} ago", span(self.updated_at, now))
        } else {
            format!("{kind}, {status}, {} old", span(self.created_at, now))
        };
        let of = self.work_item_id.as_ref().map_or_else(String::new, |id| format!(", of `{id}`"));
        let mut lines =
            Lines { id: self.id.to_string(), about: format!("{about}{of}"), ..Lines::default() };
        lines.free("", self.summary.as_deref().unwrap_or_default());
        if let Some(child) = &self.child {
            let place = child.worktree_path().map_or_else(
                || ", in the workspace of its parent".to_owned(),
                |path| format!(", in the worktree `{path}`"),
            );
            lines.line(format!("child `{}`{place}", child.child_agent_id));
        }
        if !self.awaited_by.is_empty() {
            let waits: Vec<_> = self.awaited_by.iter().map(|id| format!("`{id}`")).collect();
            lines.line(format!("awaited by {}", waits.join(", ")));
        }
        lines
    }
}
