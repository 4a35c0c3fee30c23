//! Rechecks: when to look at the blocker of an item again (contract 5.17, D6;
//! `observed-decisions.md` 3.4).

use alloc::vec::Vec;

use crate::{
    id::WorkItemId,
    record::work::WorkItemRecord,
    state::{State, work::Item},
    time::Timestamp,
};
use wakeful_json::sort::sort_by_key;

/// The time of the next recheck of an open item. `None` if the item has no blocker or no such time,
/// or if a turn was told of it already.
#[must_use]
pub fn pending_at(item: &Item) -> Option<Timestamp> {
    let record = &item.record;
    let at = record.recheck_at.filter(|_| record.blocked_by.is_some())?;
    // Our own turns note it beside the item, without a snapshot (D29). An import has it in the
    // record.
    if item.recheck.as_ref().is_some_and(|told| told.consumed && told.recheck_at == at) {
        return None;
    }
    record.recheck_consumed_at.is_none_or(|told| told < at).then_some(at)
}

/// The items whose recheck is due, the earliest first.
#[must_use]
pub fn due(state: &State, now: Timestamp) -> Vec<&Item> {
    let items = state.work.items.values();
    let mut due: Vec<_> =
        items.filter_map(|item| Some((pending_at(item).filter(|at| *at <= now)?, item))).collect();
    sort_by_key(&mut due, |(at, item)| (*at, queued_order(&item.record)));
    due.into_iter().map(|(_, item)| item).collect()
}

/// The earliest recheck that no turn was told of; it may be in the past.
#[must_use]
pub fn next(state: &State) -> Option<Timestamp> {
    state.work.items.values().filter_map(pending_at).min()
}

/// The order of `WorkQueue::queued_blocked`.
pub(crate) fn queued_order(record: &WorkItemRecord) -> (bool, Timestamp, Timestamp, &WorkItemId) {
    (record.blocked_by.is_some(), record.created_at, record.updated_at, &record.id)
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String};

    use super::*;
    use crate::record::work::WorkItemRecord;
    use wakeful_json as json;

    fn item(id: &str, more: &str) -> Item {
        let record: WorkItemRecord = json::read(&format!(
            r#"{{"id":"{id}","agent_id":"a","objective":"o","state":"open","plan_status":"ready",
            "created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z"{more}}}"#
        ))
        .expect("an item");
        Item::new(crate::id::Seq(1), record)
    }

    fn blocked(id: &str, recheck: &str, consumed: &str) -> Item {
        let at = |field: &str, minute: &str| match minute {
            "" => String::new(),
            minute => format!(r#","{field}":"2026-05-27T09:{minute}:00Z""#),
        };
        item(
            id,
            &format!(
                r#","blocked_by":"b"{}{}"#,
                at("recheck_at", recheck),
                at("recheck_consumed_at", consumed)
            ),
        )
    }

    fn minute(minute: u64) -> Timestamp {
        Timestamp::parse("2026-05-27T09:00:00Z").expect("an instant").plus_ms(minute * 60_000)
    }

    #[test]
    fn a_recheck_is_pending_until_the_model_was_told_of_it() {
        assert_eq!(pending_at(&blocked("w", "10", "")), Some(minute(10)));
        assert_eq!(
            pending_at(&blocked("w", "10", "09")),
            Some(minute(10)),
            "the model was told of an earlier recheck"
        );
        assert_eq!(pending_at(&blocked("w", "10", "10")), None);
        assert_eq!(pending_at(&blocked("w", "", "")), None);
        assert_eq!(
            pending_at(&item("w", r#","recheck_at":"2026-05-27T09:10:00Z""#)),
            None,
            "nothing blocks it"
        );
    }

    #[test]
    fn due_rechecks_come_earliest_first_and_the_next_may_be_past() {
        let mut state = State::default();
        for item in [
            blocked("c", "20", ""),
            blocked("b", "10", ""),
            blocked("a", "10", ""),
            blocked("told", "05", "05"),
        ] {
            state.work.items.insert(item.record.id.clone(), item);
        }
        let due_at = |at| {
            due(&state, at).into_iter().map(|item| item.record.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(due_at(minute(9)), [""; 0]);
        assert_eq!(due_at(minute(10)), ["a", "b"]);
        assert_eq!(due_at(minute(30)), ["a", "b", "c"]);
        assert_eq!(next(&state), Some(minute(10)));
    }
}
