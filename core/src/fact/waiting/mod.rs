//! The plane of waits: intents, conditions and timers (contract 5.15 to 5.20).

pub mod condition;
pub mod intent;
pub mod timer;

use alloc::vec::Vec;

use crate::{
    id::WorkItemId,
    record::{
        Record,
        waiting::{self, EndedBy, WaitConditionStatus},
    },
    state::State,
    time::Timestamp,
};

/// The records that end the waits of a completed item. Agent-scoped intents stay (contract 5.14).
pub(crate) fn end_with_item(state: &State, item: &WorkItemId, at: Timestamp) -> Vec<Record> {
    let intents = state
        .intents_for(item)
        .flat_map(|intent| waiting::intent::ended(&intent.record, EndedBy::Completion, at));
    let conditions = state
        .conditions_of(item)
        .into_iter()
        // A mirror ends with its intent, in the records above.
        .filter(|condition| !condition.record.is_mirror());
    let ended = conditions.map(|condition| {
        condition.record.ended(WaitConditionStatus::Cancelled, EndedBy::Completion, at)
    });
    intents.chain(ended).collect()
}
