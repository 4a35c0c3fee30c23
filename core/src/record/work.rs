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
    /// Whether an item is still to be done.
    pub enum WorkItemState {
        /// To be done.
        Open,
        /// Done; never runnable or current again.
        Completed,
    }
}

names! {
    /// How far the plan of an item is. Draft and ready are equivalent for scheduling.
    pub enum WorkItemPlanStatus {
        /// Being made.
        Draft,
        /// Made.
        Ready,
        /// The operator is asked first.
        NeedsInput,
    }
}

/// A work item as the ledger keeps it (class `work_items`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemRecord {
    /// Its id.
    pub id: WorkItemId,
    /// The agent.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// The workspace.
    #[serde(default = "agent_home")]
    pub workspace_id: String,
    /// From 1, plus one per snapshot.
    #[serde(default = "first_revision")]
    pub revision: u64,
    /// What is to be reached.
    pub objective: String,
    /// Whether it is still to be done.
    pub state: WorkItemState,
    /// How far its plan is.
    pub plan_status: WorkItemPlanStatus,
    /// The plan, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RawJson>,
    /// The todo list, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_list: Option<RawJson>,
    /// What blocks it; even an empty text blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// When the blocker is to be looked at again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Timestamp>,
    /// When a recheck was last consumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_consumed_at: Option<Timestamp>,
    /// What came out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When this snapshot was made.
    pub updated_at: Timestamp,
}

pub(crate) fn agent_home() -> String {
    "agent_home".into()
}

fn first_revision() -> u64 {
    1
}

names! {
    /// Whether a delegation still runs.
    pub enum DelegationState {
        /// It runs.
        Open,
        /// It is over.
        Completed,
    }
}

/// Fact `work_item_delegated`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemDelegated {
    /// Its id; the host's to choose, once per agent.
    pub delegation_id: DelegationId,
    /// The item.
    pub work_item_id: WorkItemId,
    /// To whom.
    pub child_agent_id: AgentId,
    /// What the item is called there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_work_item_id: Option<WorkItemId>,
}

/// Fact `work_item_delegation_completed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelegationCompleted {
    /// The delegation.
    pub delegation_id: DelegationId,
}
