//! Deferred messages: messages that reached no turn are passed to the next one (contract 5.3, D11).

use alloc::vec::Vec;
use core::num::NonZeroU64;

use serde::Serialize;
use wakeful_json::Readable;

use crate::{
    id::{MessageId, RunId, Seq},
    record::{
        effect::DeferredMessage,
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
    /// The run in which a provider refused content without naming any. From then on a turn is told
    /// one message, so that the next refusal names its culprit. It ends when no message is left.
    #[serde(default)]
    pub refused_in: Option<RunId>,
}

/// The fewest bytes of a message that are told, if it has as many. Less would say nothing.
const LEAST_TOLD: usize = 1 << 10;

/// The bytes that a message takes beside its content and metadata.
const ENVELOPE: usize = 256;

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

    /// The number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The messages that the next turn is told, oldest first: as many as fit into `budget` bytes,
    /// and each cut to its share. `retried` is the failed run, if the turn is a retry.
    #[must_use]
    pub fn told(&self, budget: NonZeroU64, retried: Option<&RunId>) -> Vec<DeferredMessage> {
        let most = match &self.refused_in {
            // The retry shows whether the culprit is among the deferred messages at all.
            Some(run) if retried == Some(run) => 0,
            Some(_) => 1,
            None => self.messages.len(),
        };
        let budget = usize::try_from(budget.get()).unwrap_or(usize::MAX);
        // Many messages share the budget, so that one turn hears of as many as possible.
        let share = (budget / self.messages.len().max(1)).max(LEAST_TOLD).min(budget);
        let mut left = budget;
        let mut told = Vec::new();
        for unread in self.messages.iter().take(most) {
            let (message, bytes) = shortened(&unread.record, share);
            // The first message always fits: its share is at most the budget.
            if bytes > left && !told.is_empty() {
                break;
            }
            left = left.saturating_sub(bytes);
            told.push(message);
        }
        told
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

    /// Folds the start of a run, which receives the oldest `told` messages, or all of them.
    pub(crate) fn listed(&mut self, run: &RunId, told: Option<u64>) {
        let told = told.and_then(|told| usize::try_from(told).ok()).unwrap_or(usize::MAX);
        let receives = self.messages.iter_mut().take(told);
        receives.for_each(|unread| unread.listed_by = Some(run.clone()));
    }

    /// Folds a refusal of the provider. What it names is never told again. If it names nothing, the
    /// run has been told nothing.
    pub(crate) fn refused(&mut self, run: &RunId, named: &[MessageId]) {
        self.messages.retain(|unread| !named.contains(&unread.record.id));
        if named.is_empty() {
            for unread in &mut self.messages {
                unread.listed_by.take_if(|listed_by| listed_by == run);
            }
            self.refused_in = Some(run.clone());
        }
        self.calm_down();
    }

    fn calm_down(&mut self) {
        if self.messages.is_empty() {
            self.refused_in = None;
        }
    }

    /// Folds the end of a run. If it completed, the messages that it received are read.
    pub(crate) fn ended(&mut self, turn: &TurnRecord) {
        if turn.kind == Some(TurnTerminalKind::Completed) {
            self.messages.retain(|unread| unread.listed_by.as_ref() != Some(&turn.run_id));
            // The completed turn was given this count together with the messages.
            self.overflow = 0;
            self.calm_down();
        }
    }
}

/// The message with at most `share` bytes of content, and the bytes that it takes of the budget.
fn shortened(message: &MessageRecord, share: usize) -> (DeferredMessage, usize) {
    let room = share.saturating_sub(ENVELOPE);
    let metadata = message.metadata.as_ref().filter(|data| data.as_str().len() <= room / 2);
    let noted = metadata.map_or(0, |data| data.as_str().len());
    let whole = message.body.bytes();
    let fits = whole <= room - noted;
    let body = if fits { message.body.clone() } else { message.body.beginning(room - noted) };
    let bytes = ENVELOPE + noted + body.bytes();
    let told = DeferredMessage {
        message: MessageRecord { metadata: metadata.cloned(), body, ..message.clone() },
        body_bytes: (!fits).then_some(whole as u64),
    };
    (told, bytes)
}

/// Whether the message has content and a trigger. A tick about work does not count: its content
/// does not last.
fn says_something(held: &Held) -> bool {
    held.live
        && held.record.raw_note(NoteKey::WorkQueue).is_none()
        && Trigger::read(held).is_some_and(|trigger| trigger.contentful)
}
