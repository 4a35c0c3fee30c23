//! The tick of the pending wake hint (contract 5.21).

use alloc::{string::ToString, vec::Vec};

use serde::Serialize;

use crate::{
    id::{ExternalTriggerId, Seq, WaitingIntentId},
    record::{
        Record,
        control::{ControlRecord, Marker, WakeHint},
        key::Key,
        queue::{
            admission,
            envelope::{MessageBody, MessageKind, MessageOrigin, Priority},
            message::MessageRecord,
            note::{self, NoteKey},
        },
        text,
    },
    state::{State, control::PendingHint},
    time::Timestamp,
};

/// Whether the pending hint becomes a tick before the ladder is asked. If waits come before hints,
/// another wait would hold back a delivery to a trigger that a wait names (contract 15.4).
#[must_use]
pub(crate) fn arrives(state: &State) -> bool {
    let Some(pending) = state.control.hint.as_ref().filter(|pending| pending.deliveries > 0) else {
        return false;
    };
    let named = pending.hint.external_trigger_id.iter().chain(&pending.coalesced.triggers);
    state.control.edition.waits_before_hints() && { named }
        .any(|id| state.ingress.knows(id) && state.names_trigger(id))
}

/// The records that queue the tick. The entry at `seq` records its message.
#[must_use]
pub(crate) fn records(
    state: &State,
    pending: &PendingHint,
    seq: Seq,
    at: Timestamp,
) -> Vec<Record> {
    let tick = admission::records(tick(state, pending, seq, at), at);
    // contract 5.21: the batch that emits the tick clears the hint.
    let cleared = Record::Control(ControlRecord::WakeHintCleared(Marker {}));
    tick.into_iter().chain([cleared]).collect()
}

fn tick(state: &State, pending: &PendingHint, seq: Seq, at: Timestamp) -> MessageRecord {
    #[derive(Serialize)]
    struct Note<'a> {
        idempotency_key: Key,
        #[serde(flatten)]
        hint: &'a WakeHint,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        waiting_intent_ids: &'a [WaitingIntentId],
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        external_trigger_ids: &'a [ExternalTriggerId],
        #[serde(skip_serializing_if = "Option::is_none")]
        deliveries: Option<u64>,
    }
    let hint = &pending.hint;
    let note = Note {
        idempotency_key: Key::hint(&pending.hint, pending.generation()),
        hint,
        waiting_intent_ids: &pending.coalesced.intents,
        external_trigger_ids: &pending.coalesced.triggers,
        deliveries: Some(pending.deliveries).filter(|count| *count > 0),
    };
    // As in the reference runtime, the tick is about the item of the named intent
    // (`observed-decisions.md` 4.9.6).
    let intent = hint.waiting_intent_id.as_ref().and_then(|id| state.waiting.intents.get(id));
    let trigger = hint.external_trigger_id.as_ref().and_then(|id| state.ingress.only_item(id));
    let about = intent.and_then(|intent| intent.record.work_item_id.as_ref()).or(trigger);
    MessageRecord {
        origin: MessageOrigin::System { subsystem: NoteKey::WakeHint.to_string() },
        work_item_id: about.cloned(),
        correlation_id: hint.correlation_id.clone(),
        causation_id: hint.causation_id.clone(),
        metadata: Some(note::metadata(NoteKey::WakeHint, &note)),
        ..admission::core_message(
            &state.control.agent_id,
            seq,
            MessageKind::SystemTick,
            Priority::Next,
            MessageBody::text(text::wake_hint(&hint.reason)),
            at,
        )
    }
}
