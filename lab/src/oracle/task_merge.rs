//! Operation `task_merge`: the task records of a store and updates in; the accepted updates and the
//! latest records out.
//!
//! The vectors have one store for all agents, so the rule that accepts an update is asked per task
//! id, for tasks of any agent.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use wakeful_core::{
    id::{AgentId, RunId, TaskId, WorkItemId},
    record::{
        control::AgentStatus,
        task::{TaskRecord, TaskWaitPolicy},
    },
};
use wakeful_json::{self as json, JsonError, Readable};

#[derive(Readable)]
struct Input {
    agent: Agent,
    existing: Vec<TaskRecord>,
    updates: Vec<TaskRecord>,
    limit: Option<usize>,
}

#[derive(Readable)]
struct Agent {
    #[serde(default = "default_agent")]
    id: AgentId,
    #[serde(default = "booting")]
    status: AgentStatus,
    current_run_id: Option<RunId>,
}

fn default_agent() -> AgentId {
    "default".into()
}

fn booting() -> AgentStatus {
    AgentStatus::Booting
}

#[derive(Serialize)]
struct Output {
    active_task_count_for_agent: usize,
    agent_status: AgentStatus,
    current_run_id: Option<RunId>,
    latest_active_for_agent: Vec<TaskRecord>,
    latest_active_task_records: Vec<TaskRecord>,
    latest_task_records: Vec<Read>,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    agent_status: AgentStatus,
    ignored: bool,
    latest: Option<Read>,
}

#[derive(Serialize)]
struct Read {
    effective_work_item_id: Option<WorkItemId>,
    is_active: bool,
    is_blocking: bool,
    is_terminal: bool,
    record: TaskRecord,
    terminal_reentry: bool,
    wait_policy: TaskWaitPolicy,
}

/// The latest record of each id, with its position in the order of appends.
#[derive(Default)]
struct Store {
    latest: BTreeMap<TaskId, (usize, TaskRecord)>,
    appended: usize,
}

impl Store {
    /// Appends a record as it is, except for what it inherits (contract 3.3).
    fn append(&mut self, record: TaskRecord) {
        let latest = self.latest.get(&record.id).map(|(_, latest)| latest);
        let record = record.inheriting(latest);
        self.latest.insert(record.id.clone(), (self.appended, record));
        self.appended += 1;
    }

    /// Appends a record if the rule of transitions accepts it, and returns whether it did.
    fn update(&mut self, record: TaskRecord) -> bool {
        let taken = self
            .latest
            .get(&record.id)
            .is_none_or(|(_, latest)| record.status.may_follow(latest.status));
        if taken {
            self.append(record);
        }
        taken
    }

    /// The active records of one agent or of all: the `limit` newest by append, sorted by their
    /// last update.
    fn active(&self, of: Option<&AgentId>, limit: usize) -> Vec<TaskRecord> {
        let mut active: Vec<_> = self
            .latest
            .values()
            .filter(|(_, record)| {
                !record.status.is_terminal() && of.is_none_or(|agent| record.agent_id == *agent)
            })
            .collect();
        // The limit cuts in the order of appends, and only then the rest is sorted by update.
        active.sort_by_key(|(order, _)| Reverse(*order));
        active.truncate(limit);
        active.sort_by_key(|(_, record)| Reverse(record.updated_at));
        active.into_iter().map(|(_, record)| record.clone()).collect()
    }
}

impl Read {
    fn from_record(record: &TaskRecord) -> Self {
        let is_terminal = record.status.is_terminal();
        let wait_policy = record.wait_policy();
        Self {
            effective_work_item_id: record.effective_work_item_id(),
            is_active: !is_terminal,
            is_blocking: wait_policy == TaskWaitPolicy::Blocking,
            is_terminal,
            terminal_reentry: record.terminal_reentry(),
            wait_policy,
            record: record.clone(),
        }
    }
}

pub(super) fn answer(input: &str) -> Result<String, JsonError> {
    let Input { agent, existing, updates, limit } = json::read(input)?;
    let mut store = Store::default();
    // What the store has already was accepted before.
    existing.into_iter().for_each(|record| store.append(record));
    let mut status = agent.status;
    let mut steps = Vec::new();
    for update in updates {
        let id = update.id.clone();
        let taken = store.update(update);
        status =
            if taken { after_transition(status, agent.current_run_id.is_some()) } else { status };
        let latest = store.latest.get(&id).map(|(_, record)| Read::from_record(record));
        steps.push(Step { agent_status: status, ignored: !taken, latest });
    }
    let limit = limit.unwrap_or(usize::MAX);
    Ok(json::write(&Output {
        active_task_count_for_agent: store.active(Some(&agent.id), usize::MAX).len(),
        agent_status: status,
        current_run_id: agent.current_run_id,
        latest_active_for_agent: store.active(Some(&agent.id), limit),
        latest_active_task_records: store.active(None, limit),
        latest_task_records: store
            .latest
            .values()
            .map(|(_, record)| Read::from_record(record))
            .collect(),
        steps,
    }))
}

/// The status that the reference runtime caches after a transition (`observed-decisions.md` 8.2).
/// Our status is derived from the ledger (contract 4.1), and task records do not affect it.
fn after_transition(status: AgentStatus, run_open: bool) -> AgentStatus {
    match status {
        AgentStatus::Asleep | AgentStatus::Stopped => status,
        _ if run_open => status,
        _ => AgentStatus::AwakeIdle,
    }
}
