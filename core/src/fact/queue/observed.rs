//! Facts about the way of a message through the queue. In a driven ledger the core decides that
//! way; an observed runtime reports it.

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fact::outcome::{Outcome, Refusal},
    id::MessageId,
    record::{
        Record,
        queue::{entry::QueueEntryRecord, envelope::QueueStatus, message::MessageRecord},
    },
    state::State,
    time::Timestamp,
};
use wakeful_json::Readable;

/// Facts `message_dequeued`, `message_processed`, `message_aborted`, `message_dropped` and
/// `message_interjected`.
#[derive(Clone, Debug, PartialEq, Readable, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageNamed {
    /// The message that moved.
    pub message_id: MessageId,
    /// Why, if the status alone does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The transition of facts about what another runtime did with a message.
pub(crate) fn settled(
    state: &State,
    fact: MessageNamed,
    status: QueueStatus,
    at: Timestamp,
) -> Outcome {
    match state.control.live_from {
        Some(seq) => Outcome::ignored(Refusal::SchedulerDecides, seq),
        None => on_message(state, fact, status, at),
    }
}

/// The transition of `message_dropped`: a host may withdraw a message that is not in a run
/// (contract 5.2).
pub(crate) fn dropped(state: &State, fact: MessageNamed, at: Timestamp) -> Outcome {
    match &state.turns.run {
        Some(run) if run.message_id == fact.message_id => {
            Outcome::ignored(Refusal::RunOpen, run.seq)
        }
        _ => on_message(state, fact, QueueStatus::Dropped, at),
    }
}

fn on_message(state: &State, fact: MessageNamed, status: QueueStatus, at: Timestamp) -> Outcome {
    if let Some(seq) = state.queue.ended(&fact.message_id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, seq);
    }
    let Some(held) = state.queue.message(&fact.message_id) else {
        return Outcome::ignored(Refusal::Unknown, state.head.seq);
    };
    Outcome::accepted(Vec::from([record(&held.record, status, fact.reason, at)]))
}

fn record(
    message: &MessageRecord,
    status: QueueStatus,
    reason: Option<String>,
    at: Timestamp,
) -> Record {
    Record::QueueEntry(QueueEntryRecord { reason, ..QueueEntryRecord::new(message, status, at) })
}
