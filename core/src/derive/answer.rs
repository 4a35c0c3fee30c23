//! Answers that name nothing: the waits for the operator that such an answer may be about (contract
//! 5.15).

use alloc::vec::Vec;

use crate::{
    derive::continuation::{self, Satisfied},
    id::WorkItemId,
    record::{effect::OperatorWait, queue::message::MessageRecord},
    state::{State, lists::Asked},
};

/// The waits for the operator beside those that this message ends, newest first, at most as many as
/// the policy allows. Empty unless the message is operator input that names no item.
#[must_use]
pub fn other_waits(state: &State, message: &MessageRecord, ended: &Satisfied) -> Vec<OperatorWait> {
    let names_nothing = message.is_operator_input() && message.work_item_id.is_none();
    if !names_nothing || state.control.live_from.is_none() {
        return Vec::new();
    }
    let answered = continuation::answered(state, message);
    let others = state.asked().filter_map(|asked| match asked {
        Asked::Condition(wait) => {
            let record = &wait.record;
            // INVARIANT: they are in the order of their ids.
            let is_other = ended.conditions.binary_search(&record.id).is_err();
            is_other.then(|| OperatorWait {
                wait_condition_id: Some(record.id.clone()),
                work_item_id: record.work_item_id.clone(),
                waiting_for: record.waiting_for.clone(),
                since: record.created_at,
            })
        }
        Asked::Item(item) => {
            let record = &item.record;
            (answered.as_ref() != Some(&record.id)).then(|| OperatorWait {
                wait_condition_id: None,
                work_item_id: Some(record.id.clone()),
                waiting_for: record.objective.clone(),
                since: record.updated_at,
            })
        }
    });
    let most = usize::try_from(state.control.policy.operator_waits.get()).unwrap_or(usize::MAX);
    others.take(most).collect()
}

/// The items of these waits, each once, in their order.
#[must_use]
pub(crate) fn items_of(waits: &[OperatorWait]) -> Vec<WorkItemId> {
    let mut items: Vec<WorkItemId> = Vec::new();
    for item in waits.iter().filter_map(|wait| wait.work_item_id.as_ref()) {
        if !items.contains(item) {
            items.push(item.clone());
        }
    }
    items
}
