//! Delegations: work items handed to another agent. They are evidence only; what an item waits for
//! follows from its waits.

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    fact::{
        outcome::{Outcome, Refusal},
        work,
    },
    record::{
        Record,
        event::{EventKind, EventRecord},
        work::{DelegationCompleted, DelegationState, WorkItemDelegated},
    },
    state::State,
    time::Timestamp,
};

/// The transition of `work_item_delegated`.
pub(crate) fn delegated(state: &State, fact: &WorkItemDelegated, at: Timestamp) -> Outcome {
    let known = state.work.delegations.get(&fact.delegation_id);
    if let Some((_, seq)) = known {
        return Outcome::repeated(state, &event(EventKind::WorkItemDelegated, fact, at), *seq);
    }
    work::on_open_item(state, &fact.work_item_id, |_| {
        Vec::from([event(EventKind::WorkItemDelegated, fact, at)])
    })
}

/// The transition of `work_item_delegation_completed`. The item itself is completed by its own
/// fact.
pub(crate) fn completed(state: &State, fact: &DelegationCompleted, at: Timestamp) -> Outcome {
    match state.work.delegations.get(&fact.delegation_id) {
        Some((DelegationState::Open, _)) => {
            Outcome::accepted(Vec::from([event(EventKind::WorkItemDelegationCompleted, fact, at)]))
        }
        Some((DelegationState::Completed, seq)) => Outcome::ignored(Refusal::AlreadyTerminal, *seq),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}

fn event<T: Serialize>(kind: EventKind, data: &T, at: Timestamp) -> Record {
    Record::Event(EventRecord::new(kind, at, data))
}
