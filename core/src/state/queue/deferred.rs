//! Deferred messages: messages that reached no turn are passed to the next one (contract 5.3, D11).

use alloc::vec::Vec;
use core::num::NonZeroU64;

use serde::Serialize;
use wakeful_json::Readable;

use crate::{
    id::{RunId, Seq},
    record::{
        queue::{
            entry::QueueEntryRecord, envelope::QueueStatus, message::MessageRecord, note::NoteKey,
        },
        turn::{TurnRecord, TurnTerminalKind},
    },
    state::{queue::lanes::Held, trigger::Trigger},
};

/// Messages that no completed turn has read, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Deferred {
    messages: Vec<Unread>,
    /// The number of messages beyond the limit, which were dropped from the front.
    pub overflow: u64,
}

/// A deferred message, and the run that last received it.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
struct Unread {
    seq: Seq,
    record: MessageRecord,
    listed_by: Option<RunId>,
}

impl Deferred {
    /// The messages for the next turn, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &MessageRecord> {
        self.messages.iter().map(|unread| &unread.record)
    }

    /// Folds a settlement without a turn, or an interjection into the open run.
    pub(crate) fn settled(
        &mut self,
        held: &Held,
        entry: &QueueEntryRecord,
        in_run: bool,
        run: Option<&RunId>,
        cap: NonZeroU64,
    ) {
        let listed_by = match entry.status {
            // A reason marks a stale tick, which is not deferred.
            QueueStatus::Processed if !in_run && entry.reason.is_none() && says_something(held) => {
                None
            }
            QueueStatus::Interjected => run.cloned(),
            _ => return,
        };
        self.messages.push(Unread { seq: held.seq, record: held.record.clone(), listed_by });
        if self.messages.len() as u64 > cap.get() {
            // contract 5.3: the newest messages are kept, and the number of the others is counted.
            self.messages.remove(0);
            self.overflow += 1;
        }
    }

    /// Folds the start of a run, which receives all deferred messages.
    pub(crate) fn listed(&mut self, run: &RunId) {
        self.messages.iter_mut().for_each(|unread| unread.listed_by = Some(run.clone()));
    }

    /// Folds the end of a run. If it completed, the messages that it received are read.
    pub(crate) fn ended(&mut self, turn: &TurnRecord) {
        if turn.kind == Some(TurnTerminalKind::Completed) {
            self.messages.retain(|unread| unread.listed_by.as_ref() != Some(&turn.run_id));
            // The completed turn was given this count together with the messages.
            self.overflow = 0;
        }
    }
}

/// Whether the message has content and a trigger. A tick about work does not count: its content
/// does not last.
fn says_something(held: &Held) -> bool {
    held.live
        && held.record.raw_note(NoteKey::WorkQueue).is_none()
        && Trigger::read(held).is_some_and(|trigger| trigger.contentful)
}
