//! Work items and delegations (class `work_items`).

use alloc::string::String;

use serde::Serialize;

use crate::{
    id::{AgentId, DelegationId, WorkItemId},
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

names! {
    /// Whether a work item is done.
    pub enum WorkItemState {
        /// Still to be done.
        Open,
        /// Done. It never becomes runnable or current again.
        Completed,
    }
}

names! {
    /// The status of an item's plan. Draft and ready are equal for scheduling.
    pub enum WorkItemPlanStatus {
        /// The plan is being written.
        Draft,
        /// The plan is complete.
        Ready,
        /// The plan needs an answer from the operator first.
        NeedsInput,
    }
}

/// A work item as the ledger keeps it (class `work_items`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemRecord {
    /// Unique within the agent.
    pub id: WorkItemId,
    /// The agent that owns the ledger.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// The workspace in which the item is worked on.
    #[serde(default = "agent_home")]
    pub workspace_id: String,
    /// The revision, from 1; each snapshot adds one.
    #[serde(default = "first_revision")]
    pub revision: u64,
    /// The goal of the item.
    pub objective: String,
    /// Whether the item is done.
    pub state: WorkItemState,
    /// The status of the plan.
    pub plan_status: WorkItemPlanStatus,
    /// The plan, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RawJson>,
    /// The todo list, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_list: Option<RawJson>,
    /// What blocks the item. An empty text blocks too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// When to look at the blocker again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Timestamp>,
    /// The instant from which `recheck_at` was derived; absent if it was named absolutely (contract
    /// 1.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_from: Option<Timestamp>,
    /// When a recheck was last consumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_consumed_at: Option<Timestamp>,
    /// The result in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
    /// When the item was created.
    pub created_at: Timestamp,
    /// When this snapshot was recorded.
    pub updated_at: Timestamp,
}

pub(crate) fn agent_home() -> String {
    "agent_home".into()
}

fn first_revision() -> u64 {
    1
}

names! {
    /// Whether a delegation is still open.
    pub enum DelegationState {
        /// The other agent works on it.
        Open,
        /// It has ended.
        Completed,
    }
}

/// Fact `work_item_delegated`: a work item was handed to another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemDelegated {
    /// Chosen by the host, unique within the agent.
    pub delegation_id: DelegationId,
    /// The item that was handed over.
    pub work_item_id: WorkItemId,
    /// The agent that received it.
    pub child_agent_id: AgentId,
    /// The id of the item at that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_work_item_id: Option<WorkItemId>,
}

/// Fact `work_item_delegation_completed`: the other agent has finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelegationCompleted {
    /// The delegation that ended.
    pub delegation_id: DelegationId,
}
