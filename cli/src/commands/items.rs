//! `wakeful list items`: lists the work items of agents, by their scheduling state.

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    derive::work_queue::{Candidate, WorkQueue},
    id::{Seq, WaitConditionId, WorkItemId},
    record::{
        Record,
        work::{WorkItemPlanStatus, WorkItemRecord},
    },
    state::{State, readiness::SchedulingState},
    time::Timestamp,
};
use wakeful_host::driver;

use super::{
    CliError, Verdict,
    explain::word,
    listing::{Group, Lines, Listed, Listing, Read, grouped, instant, span},
};

#[derive(Args)]
#[command(after_help = "\
    The groups are the scheduling states of the contract (5.13). The group of the item in focus \
    comes first, and that item is the first in it.\n\n\
    --json prints one object per agent: {agent_id, at, groups [{group, members}]}, and with --all \
    also {ended {members, left_out}}. `group` is `runnable`, `waiting_operator`, `waiting_task`, \
    `waiting_external`, `waiting_timer`, `waiting_system` or `blocked`. A member is {id, focus, \
    scheduling_state, objective, plan_status, revision, blocked_by, recheck_at, rests_since, \
    parked_at, waits, result_summary, created_at, updated_at}.\n\n\
    Exit codes:\n\
    \x20 0  printed, even if there are none\n\
    \x20 2  the ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful list items agents.sqlite\n\
    \x20 wakeful list items agents.sqlite --agent reviewer --all\n\
    \x20 wakeful list items --server http://127.0.0.1:7171\n\
    \x20 wakeful list items agents.sqlite --json | jq '.groups[] | select(.group == \"blocked\")'")]
pub(super) struct Items {
    #[command(flatten)]
    listing: Listing,
}

impl Items {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        self.listing.run::<Item>()
    }
}

/// A work item in the list.
#[derive(Serialize)]
pub(super) struct Item {
    id: WorkItemId,
    /// Whether it has the focus.
    focus: bool,
    scheduling_state: SchedulingState,
    objective: String,
    plan_status: WorkItemPlanStatus,
    revision: u64,
    blocked_by: Option<String>,
    recheck_at: Option<Timestamp>,
    /// Since when it rests, because turns made no progress on it.
    rests_since: Option<Timestamp>,
    /// When it was parked, because the offers led to nothing.
    parked_at: Option<Timestamp>,
    /// The waits that hold it.
    waits: Vec<WaitConditionId>,
    result_summary: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Item {
    fn new(record: &WorkItemRecord, scheduling_state: SchedulingState) -> Self {
        Self {
            id: record.id.clone(),
            focus: false,
            scheduling_state,
            objective: record.objective.clone(),
            plan_status: record.plan_status,
            revision: record.revision,
            blocked_by: record.blocked_by.clone(),
            recheck_at: record.recheck_at,
            rests_since: None,
            parked_at: None,
            waits: Vec::new(),
            result_summary: record.result_summary.clone(),
            created_at: record.created_at,
            updated_at: record.updated_at,
        }
    }

    fn open(read: &mut Read<'_>, candidate: &Candidate<'_>) -> Self {
        let state = read.state;
        let progress = state.work().items.get(candidate.id()).map(|item| &item.progress);
        let parked = progress.and_then(|progress| progress.parked);
        // The state has only the entry, which says when.
        let parked_at = parked.and_then(|seq| Some(driver::entry_at(read.ledger, seq)?.at));
        let waits = state.conditions_of(candidate.id());
        Self {
            focus: candidate.is_current,
            rests_since: progress.and_then(|progress| Some(progress.rest?.since)),
            parked_at,
            waits: waits.iter().map(|wait| wait.record.id.clone()).collect(),
            ..Self::new(candidate.record, candidate.state)
        }
    }
}

/// The states of open items, in the order in which they are listed.
const STATES: [SchedulingState; 7] = [
    SchedulingState::Runnable,
    SchedulingState::WaitingOperator,
    SchedulingState::WaitingTask,
    SchedulingState::WaitingExternal,
    SchedulingState::WaitingTimer,
    SchedulingState::WaitingSystem,
    SchedulingState::Blocked,
];

impl Listed for Item {
    const NAME: &'static str = "item";

    fn groups(read: &mut Read<'_>) -> Vec<Group<Self>> {
        let queue = WorkQueue::new(read.state);
        let open = queue.candidates.iter().filter(|it| it.state != SchedulingState::Completed);
        let mut all: Vec<_> = open
            .map(|candidate| (candidate.state.to_string(), Self::open(read, candidate)))
            .collect();
        // The others keep the order of the work queue.
        all.sort_by_key(|(_, item)| !item.focus);
        let mut groups = grouped(STATES.map(|state| state.to_string()), all);
        groups.sort_by_key(|group| !group.has(|item| item.focus));
        groups
    }

    fn heading(group: &str) -> String {
        word(group)
    }

    fn ends(state: &State) -> Vec<Seq> {
        state.work().ended.values().copied().collect()
    }

    fn ended(_: &Read<'_>, record: Record) -> Option<Self> {
        let Record::WorkItem(record) = record else { return None };
        Some(Self::new(&record, SchedulingState::Completed))
    }

    fn lines(&self, now: Timestamp) -> Lines {
        let is_over = self.scheduling_state == SchedulingState::Completed;
        let about = if is_over {
            format!("completed {} ago", span(self.updated_at, now))
        } else {
            let focus = if self.focus { "in focus, " } else { "" };
            let plan = word(self.plan_status);
            format!("{focus}plan {plan}, {} old", span(self.created_at, now))
        };
        let mut lines = Lines { id: self.id.to_string(), about, ..Lines::default() };
        lines.free("", &self.objective);
        if is_over {
            lines.free("result: ", self.result_summary.as_deref().unwrap_or_default());
            return lines;
        }
        if let Some(by) = &self.blocked_by {
            lines.free("blocked by: ", if by.trim().is_empty() { "(no reason)" } else { by });
        }
        if let Some(at) = self.recheck_at {
            lines.line(format!("recheck at {}", instant(at, now)));
        }
        if let Some(since) = self.rests_since {
            lines.line(format!("rests since {}", instant(since, now)));
        }
        if let Some(at) = self.parked_at {
            lines.line(format!("parked since {}", instant(at, now)));
        }
        if !self.waits.is_empty() {
            let waits: Vec<_> = self.waits.iter().map(|id| format!("`{id}`")).collect();
            lines.line(format!("waits: {}", waits.join(", ")));
        }
        lines
    }
}
