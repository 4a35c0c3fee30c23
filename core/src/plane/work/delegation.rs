//! Delegations: work items handed to another agent. They are evidence; what an item waits for is said by its waits.

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    entry::{EventKind, EventRecord, Record},
    fact::{Outcome, Refusal},
    id::{AgentId, DelegationId, WorkItemId},
    json::Readable,
    state::State,
    tagged::names,
    time::Timestamp,
};

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

/// The transition of `work_item_delegated`.
pub(crate) fn delegated(state: &State, fact: &WorkItemDelegated, at: Timestamp) -> Outcome {
    let known = state.work.delegations.get(&fact.delegation_id);
    if let Some((_, seq)) = known {
        return Outcome::ignored(Refusal::Duplicate, *seq);
    }
    super::on_open_item(state, &fact.work_item_id, |_| Vec::from([event(EventKind::WorkItemDelegated, fact, at)]))
}

/// The transition of `work_item_delegation_completed`; the item itself is completed by its own fact.
pub(crate) fn completed(state: &State, fact: &DelegationCompleted, at: Timestamp) -> Outcome {
    match state.work.delegations.get(&fact.delegation_id) {
        Some((DelegationState::Open, _)) => Outcome::accepted(Vec::from([event(EventKind::WorkItemDelegationCompleted, fact, at)])),
        Some((DelegationState::Completed, seq)) => Outcome::ignored(Refusal::AlreadyTerminal, *seq),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}

fn event<T: Serialize>(kind: EventKind, data: &T, at: Timestamp) -> Record {
    Record::Event(EventRecord::of(kind, at, data))
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
