//! The item of an admitted turn, and the record that opens its run (contract 5.4, 8.2).

use crate::{
    id::{MessageId, RunId, WorkItemId},
    record::{
        key::{Epoch, TickReason},
        queue::message::MessageRecord,
        turn::{RunStatus, TurnBinding, TurnRecord},
    },
    state::State,
    time::Timestamp,
};

impl TurnRecord {
    /// The record that opens a run of the next turn for a message. It names the lineage if the
    /// message is a retry.
    #[must_use]
    pub(crate) fn started(
        state: &State,
        run_id: RunId,
        message_id: &MessageId,
        work_item: Option<TurnBinding>,
        at: Timestamp,
    ) -> Self {
        let retry = state.retry_by(message_id);
        Self {
            run_id,
            agent_id: state.control.agent_id.clone(),
            turn_index: state.turns.turn_index + 1,
            message_id: message_id.clone(),
            status: RunStatus::Started,
            work_item,
            started_at: at,
            kind: None,
            reason: None,
            last_assistant_message: None,
            checkpoint: None,
            completed_at: None,
            retry_of: retry.map(|retry| retry.retry_of.clone()),
            attempt: retry.map_or(0, |retry| retry.attempt),
            deferred_told: None,
        }
    }
}

impl TurnBinding {
    /// The item of the turn that `message` starts: the message's, else the current one (contract
    /// 5.4). Its epoch is the one after the admission batch, which ends waits of the items
    /// `ended_waits_of` (contract 8.2). A replay keeps the item of its first turn, even if the
    /// focus has moved.
    #[must_use]
    pub(crate) fn for_message(
        state: &State,
        message: &MessageRecord,
        ended_waits_of: &[WorkItemId],
    ) -> Option<Self> {
        let focus = state.work.current();
        // A replay comes first: if the first turn had no item, the replay has none either.
        let item = match (state.queue.about(&message.id), &message.work_item_id) {
            (Some(first), _) => state.work.items.get(first.work_item_id.as_ref()?)?,
            (None, Some(id)) => state.work.items.get(id)?,
            (None, None) => focus?,
        };
        let id = &item.record.id;
        // Each end of a wait moves the epoch by one, so this counts ends and not items.
        let by_waits = ended_waits_of.iter().filter(|ended| *ended == id).count() as u64;
        let by_operator =
            u64::from(state.control.live_from.is_some() && message.is_operator_input());
        let has_focus = focus.is_some_and(|focus| focus.record.id == *id);
        Some(Self {
            work_item_id: id.clone(),
            // The fold moves the epoch for the same reasons. Otherwise a turn without progress
            // would seem to have moved its item (contract 9.4).
            epoch: Epoch { moved: item.moved + by_waits + by_operator, ..item.epoch() },
            offered_as: if has_focus {
                TickReason::ContinueActive
            } else {
                TickReason::QueuedAvailable
            },
        })
    }
}
