//! The summary of an agent, and its line in a list. Both are assembled on demand and not stored
//! (contract 6.4).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    derive::{
        closure::{self, Closure},
        continuation,
        posture::{self, AgentPosture},
        projection, status,
    },
    id::{
        AgentId, ExternalTriggerId, RunId, Seq, TaskId, WaitConditionId, WaitingIntentId,
        WorkItemId,
    },
    record::{
        budget::LimitUse,
        continuation::WaitingReason,
        control::{AgentKind, AgentOwnership, AgentStatus, AgentVisibility},
        ingress::{ExternalTriggerRecord, ExternalTrust},
        task::TaskStatus,
        text,
        turn::TurnTerminalKind,
        waiting::{
            CallbackDeliveryMode, ExternalTriggerScope, WaitConditionKind, WakeSource,
            recoverability::Recoverability,
        },
    },
    state::{State, autonomy, budget::Usage, readiness},
    time::Timestamp,
};
use wakeful_json::sort::sort_by;

/// The overview of an agent, for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentSummary {
    /// Who the agent is.
    pub identity: AgentIdentity,
    /// The lifecycle status.
    pub status: AgentStatus,
    /// The agent in one word, with the reason.
    pub scheduling_posture: AgentPosture,
    /// What the agent can be asked to do.
    pub lifecycle: Lifecycle,
    /// The model, and what it used.
    pub model: AgentModel,
    /// The place in which it works.
    pub execution: AgentExecution,
    /// What the facts amount to.
    pub closure: Closure,
    /// The item with the focus, if it is open.
    pub current_work_item_id: Option<WorkItemId>,
    /// The item of the open run, else of the newest one of an import.
    pub current_turn_work_item_id: Option<WorkItemId>,
    /// The number of the newest turn.
    pub turn_index: u64,
    /// The terminal of the newest turn, if it has one.
    pub last_turn_terminal: Option<TurnTerminalKind>,
    /// The number of waiting messages.
    pub pending: usize,
    /// The number of active tasks.
    pub active_task_count: usize,
    /// The agents that it spawned and supervises.
    pub active_children: Vec<ChildSummary>,
    /// The active intents, the newest first.
    pub active_waiting_intents: Vec<IntentSummary>,
    /// The active conditions that count, by id.
    pub active_wait_conditions: Vec<ConditionSummary>,
    /// The external triggers that can be delivered to, the newest first.
    pub active_external_triggers: Vec<TriggerSummary>,
    /// The budgets with a limit: the agent's, and those of open items by id.
    pub budgets: Vec<BudgetSummary>,
    /// The entry of the newest checkpoint, if no work item has changed since (contract 5.22).
    pub checkpoint: Option<Seq>,
    /// Records of the ledger that do not count (contract 3.3, 3.6).
    pub set_aside: SetAside,
    /// The ids that remain of ended things (contract 3.3).
    pub tombstones: Tombstones,
}

/// Who the agent is. What its host did not say is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentIdentity {
    /// The agent that owns the ledger.
    pub agent_id: AgentId,
    /// What it is to its runtime.
    pub kind: Option<AgentKind>,
    /// Who sees it.
    pub visibility: Option<AgentVisibility>,
    /// Who is responsible for it.
    pub ownership: Option<AgentOwnership>,
    /// The name of its profile.
    pub profile_preset: Option<String>,
    /// The agent that spawned it.
    pub parent_agent_id: Option<AgentId>,
}

/// The model of an agent, and what it used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentModel {
    /// The name of the model, if the host said it.
    pub name: Option<String>,
    /// What it used on the day of the newest entry (UTC).
    pub today: Usage,
    /// What it used in all.
    pub total: Usage,
}

/// The place in which an agent works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentExecution {
    /// The open run.
    pub run_id: Option<RunId>,
    /// The directory in which its commands start, if the host said it.
    pub working_directory: Option<String>,
    /// The workspace that it works in, if the host said it.
    pub workspace: Option<String>,
}

/// An agent that this one spawned and supervises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChildSummary {
    /// The task that supervises the child.
    pub supervision_task_id: TaskId,
    /// The child, if the task says it.
    pub child_agent_id: Option<AgentId>,
    /// The status of the task.
    pub status: TaskStatus,
    /// What the child does, in one line.
    pub summary: Option<String>,
    /// The item that it works for.
    pub work_item_id: Option<WorkItemId>,
}

/// What the agent can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Lifecycle {
    /// Whether turns may start.
    pub starts_turns: bool,
    /// What the operator can do, in a sentence.
    pub guidance: &'static str,
}

/// An active intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct IntentSummary {
    /// The id of the intent.
    pub id: WaitingIntentId,
    /// Whether the wait belongs to an item or to the agent.
    pub scope: ExternalTriggerScope,
    /// The work item that the intent names.
    pub work_item_id: Option<WorkItemId>,
    /// What is awaited, in words.
    pub description: String,
    /// When the intent was created.
    pub created_at: Timestamp,
    /// The number of times that its trigger arrived.
    pub trigger_count: u64,
}

/// An active condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConditionSummary {
    /// The id of the condition.
    pub id: WaitConditionId,
    /// The item that waits; `None` if the agent itself does.
    pub work_item_id: Option<WorkItemId>,
    /// What kind of thing is awaited.
    pub kind: WaitConditionKind,
    /// What is awaited, in words.
    pub waiting_for: String,
    /// What can end the wait.
    pub wake_sources: Vec<WakeSource>,
    /// Whether an external wait can end if its event is lost.
    pub external_recoverability: Option<Recoverability>,
    /// When the wait was registered.
    pub created_at: Timestamp,
}

/// An external trigger that can be delivered to. The hash of its token is not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TriggerSummary {
    /// The id of the trigger.
    pub external_trigger_id: ExternalTriggerId,
    /// The item whose waits alone it ends; `None` if it serves the agent.
    pub work_item_id: Option<WorkItemId>,
    /// What is delivered, in words.
    pub description: String,
    /// What a delivery becomes.
    pub delivery_mode: CallbackDeliveryMode,
    /// How far those who deliver are trusted.
    pub trust: ExternalTrust,
    /// Whether its first delivery ends it.
    pub one_shot: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// The number of deliveries.
    pub delivery_count: u64,
    /// When something was last delivered.
    pub last_delivered_at: Option<Timestamp>,
    /// The intents and conditions that a delivery meets now.
    pub awaited_by: Vec<String>,
}

/// A budget, and what was used of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BudgetSummary {
    /// The item whose budget it is; `None` if it is the agent's.
    pub work_item_id: Option<WorkItemId>,
    /// Whether a limit is reached.
    pub exhausted: bool,
    /// Its limits.
    pub limits: Vec<LimitSummary>,
}

/// A limit of a budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LimitSummary {
    /// The name of the limit, as in `budget_set`.
    pub limit: &'static str,
    /// What was used of it.
    pub used: u64,
    /// What may be used, with grants.
    pub of: u64,
    /// When it begins at zero again; `None` for a limit in all.
    pub renews_at: Option<Timestamp>,
}

impl BudgetSummary {
    /// The summaries of the budgets that have a limit.
    fn all(state: &State) -> Vec<Self> {
        let all = state.budgets.accounts().map(|(owner, account)| Self {
            work_item_id: owner.cloned(),
            exhausted: account.exhausted.is_some(),
            limits: account.limits().map(|limit| LimitSummary::new(state, &limit)).collect(),
        });
        all.filter(|budget| !budget.limits.is_empty()).collect()
    }
}

impl LimitSummary {
    fn new(state: &State, limit: &LimitUse) -> Self {
        Self {
            limit: limit.limit,
            used: limit.used,
            of: limit.of,
            renews_at: limit.is_of_a_day.then(|| state.budgets.day_ends_at()),
        }
    }
}

impl TriggerSummary {
    /// The summary of a trigger.
    #[must_use]
    pub fn new(state: &State, record: &ExternalTriggerRecord) -> Self {
        let met = continuation::met_by_delivery(state, &record.external_trigger_id);
        let intents = met.intents.iter().map(|id| id.as_str().into());
        let conditions = met.conditions.iter().map(|id| id.as_str().into());
        Self {
            awaited_by: intents.chain(conditions).collect(),
            external_trigger_id: record.external_trigger_id.clone(),
            work_item_id: record.only_item().cloned(),
            description: record.description.clone(),
            delivery_mode: record.delivery_mode,
            trust: record.trust,
            one_shot: record.one_shot,
            created_at: record.created_at,
            expires_at: record.expires_at,
            delivery_count: record.delivery_count,
            last_delivered_at: record.last_delivered_at,
        }
    }
}

/// The numbers of records that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SetAside {
    /// Records of other agents.
    pub foreign_records: u64,
    /// Carried lines, which no rule reads.
    pub carried_records: u64,
    /// Records that a terminal status refused.
    pub refused_records: u64,
    /// Queue entries without a message.
    pub queue_entries_without_message: usize,
}

/// The number of ids that remain after the things they name have ended, so that a terminal status
/// stays final (contract 3.3). An id costs about its own length and a few words. No decision reads
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Tombstones {
    /// Settled messages.
    pub messages: usize,
    /// Ended tasks.
    pub tasks: usize,
    /// Completed work items.
    pub work_items: usize,
    /// Cancelled intents.
    pub waiting_intents: usize,
    /// Ended conditions.
    pub wait_conditions: usize,
    /// Ended timers.
    pub timers: usize,
    /// Ended external triggers.
    pub external_triggers: usize,
}

/// The line of an agent in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentListEntry {
    /// Who the agent is.
    pub identity: AgentIdentity,
    /// The lifecycle status.
    pub status: AgentStatus,
    /// The agent in one word, with the reason.
    pub scheduling_posture: AgentPosture,
    /// What the agent can be asked to do.
    pub lifecycle: Lifecycle,
    /// The number of waiting messages.
    pub pending: usize,
    /// The open run.
    pub current_run_id: Option<RunId>,
    /// What the agent waits for; set only if it rests on a task.
    pub waiting_reason: Option<WaitingReason>,
}

impl Lifecycle {
    fn new(state: &State, status: AgentStatus) -> Self {
        let guidance = if status == AgentStatus::Stopped {
            text::GUIDANCE_STOPPED
        } else if state.control.closing.is_some() {
            text::GUIDANCE_CLOSING
        } else if autonomy::is_over_budget(state) {
            text::GUIDANCE_BUDGET
        } else if state.control.parked.is_some() {
            text::GUIDANCE_BROKEN
        } else if autonomy::is_parked(state) {
            text::GUIDANCE_PARKED
        } else if status == AgentStatus::Booting {
            text::GUIDANCE_NEVER_RAN
        } else {
            text::GUIDANCE_RUNS
        };
        let may_run = state.control.stopped.is_none() && state.control.closing.is_none();
        Self { starts_turns: may_run && status != AgentStatus::Booting, guidance }
    }
}

impl AgentIdentity {
    fn new(state: &State) -> Self {
        let said = state.control.described.as_ref().map(|(said, _)| said);
        Self {
            agent_id: state.control.agent_id.clone(),
            kind: said.map(|said| said.kind),
            visibility: said.map(|said| said.visibility),
            ownership: said.map(|said| said.ownership),
            profile_preset: said.and_then(|said| said.profile_preset.clone()),
            parent_agent_id: said.and_then(|said| said.parent_agent_id.clone()),
        }
    }
}

/// The children whose tasks are active, by task.
fn children(state: &State) -> Vec<ChildSummary> {
    let supervised = state.active_tasks().filter(|task| task.kind.is_child());
    supervised
        .map(|task| ChildSummary {
            supervision_task_id: task.id.clone(),
            child_agent_id: task.child_agent_id(),
            status: task.status,
            summary: task.summary.clone(),
            work_item_id: task.effective_work_item_id(),
        })
        .collect()
}

impl AgentSummary {
    /// The summary of a state.
    #[must_use]
    pub fn new(state: &State) -> Self {
        let status = status::status(state);
        let said = state.control.described.as_ref().map(|(said, _)| said);
        let mut intents: Vec<_> = state.waiting.intents.values().map(|wait| &wait.record).collect();
        sort_by(&mut intents, |a, b| (b.created_at, &a.id).cmp(&(a.created_at, &b.id)));
        let mut triggers: Vec<_> = state.external_triggers().collect();
        sort_by(&mut triggers, |a, b| {
            (b.created_at, &a.external_trigger_id).cmp(&(a.created_at, &b.external_trigger_id))
        });
        let refused = state.queue.refused
            + state.tasks.refused
            + state.work.refused
            + state.waiting.refused
            + state.ingress.refused;
        Self {
            identity: AgentIdentity::new(state),
            status,
            scheduling_posture: posture::posture(state),
            lifecycle: Lifecycle::new(state, status),
            model: AgentModel {
                name: said.and_then(|said| said.model.clone()),
                today: state.budgets.agent.today,
                total: state.budgets.agent.total,
            },
            execution: AgentExecution {
                run_id: state.turns.run.as_ref().map(|run| run.run_id.clone()),
                working_directory: said.and_then(|said| said.working_directory.clone()),
                workspace: said.and_then(|said| said.workspace.clone()),
            },
            closure: closure::decide(&closure::Facts::from_state(state)),
            current_work_item_id: state.work.current().map(|item| item.record.id.clone()),
            current_turn_work_item_id: state.turns.item_of_run().cloned(),
            turn_index: state.turns.turn_index,
            last_turn_terminal: state.turns.terminal_of_newest(),
            pending: state.queue.len(),
            active_task_count: projection::active_tasks(state).len(),
            active_children: children(state),
            active_waiting_intents: intents
                .into_iter()
                .map(|intent| IntentSummary {
                    id: intent.id.clone(),
                    scope: intent.scope,
                    work_item_id: intent.work_item_id.clone(),
                    description: intent.description.clone(),
                    created_at: intent.created_at,
                    trigger_count: intent.trigger_count,
                })
                .collect(),
            active_wait_conditions: readiness::conditions(state)
                .map(|wait| ConditionSummary {
                    id: wait.record.id.clone(),
                    work_item_id: wait.record.work_item_id.clone(),
                    kind: wait.record.kind,
                    waiting_for: wait.record.waiting_for.clone(),
                    wake_sources: wait.record.wake_sources.clone(),
                    external_recoverability: wait.record.recoverability(),
                    created_at: wait.record.created_at,
                })
                .collect(),
            active_external_triggers: triggers
                .into_iter()
                .map(|trigger| TriggerSummary::new(state, trigger))
                .collect(),
            budgets: BudgetSummary::all(state),
            checkpoint: state.context.valid_checkpoint(),
            set_aside: SetAside {
                foreign_records: state.foreign_records,
                carried_records: state.carried_records,
                refused_records: refused,
                queue_entries_without_message: state.queue.orphans(),
            },
            tombstones: Tombstones {
                messages: state.queue.tombstones(),
                tasks: state.tasks.ended.len(),
                work_items: state.work.ended.len(),
                waiting_intents: state.waiting.ended_intents.len(),
                wait_conditions: state.waiting.ended_conditions.len(),
                timers: state.waiting.ended_timers.len(),
                external_triggers: state.ingress.ended.len(),
            },
        }
    }
}

impl AgentListEntry {
    /// The list line of a state: a part of its summary.
    #[must_use]
    pub fn new(state: &State) -> Self {
        AgentSummary::new(state).into_entry()
    }
}

impl AgentSummary {
    /// The line of the agent in a list.
    #[must_use]
    pub fn into_entry(self) -> AgentListEntry {
        AgentListEntry {
            identity: self.identity,
            status: self.status,
            scheduling_posture: self.scheduling_posture,
            lifecycle: self.lifecycle,
            pending: self.pending,
            current_run_id: self.execution.run_id,
            // The reference runtime gives a reason for this status alone (`observed-decisions.md`
            // 2.18).
            waiting_reason: (self.status == AgentStatus::AwaitingTask)
                .then_some(WaitingReason::AwaitingTaskResult),
        }
    }
}
