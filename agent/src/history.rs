//! The history for the prompt: the newest turns that no summary replaces, and the tool calls of
//! interrupted runs. It is folded from the entries of the ledger and bounded. It is evidence for
//! the model only; no decision reads it.

use std::collections::{BTreeMap, VecDeque};

use wakeful_core::{
    id::{MessageId, RunId},
    json::RawJson,
    record::{
        Record,
        context::{ContextCompacted, ToolExecutionRecord, TranscriptRecord},
        entry::Entry,
        event::{EventKind, EventRecord},
        queue::{envelope::QueueStatus, message::MessageRecord},
        refusal::RefusedContent,
        turn::{AbortReason, RunStatus, TurnRecord},
    },
};

use crate::confine::WALL;

/// Turns that are kept: twice as many as a prompt tells. Those that a prompt leaves out must still
/// be here when their summary fails and is tried again in later turns.
const TURNS: usize = 128;

/// Interrupted runs whose tool calls are kept.
const BROKEN_OFF: usize = 8;

/// A turn that ended, with its messages and tool calls.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// The message that started the turn; `None` if it was queued before the entries that were
    /// read.
    pub(crate) message: Option<MessageRecord>,
    /// Messages that the operator sent during the turn.
    pub(crate) interjected: Vec<MessageRecord>,
    /// How the turn ended.
    pub(crate) turn: TurnRecord,
    /// A line for each tool call.
    pub(crate) calls: Vec<String>,
}

/// The newest turns of an agent.
#[derive(Default)]
pub(crate) struct History {
    messages: BTreeMap<MessageId, MessageRecord>,
    exchanges: VecDeque<Exchange>,
    interjected: Vec<MessageRecord>,
    /// The calls of the newest run.
    calls: Vec<ToolExecutionRecord>,
    broken_off: VecDeque<(RunId, Vec<ToolExecutionRecord>)>,
    /// The newest turn that ended, also if it is not told again.
    newest: Option<TurnRecord>,
    /// The number of the first turn whose beginning was read.
    first: Option<u64>,
    /// The newest piece of transcript that says which wall holds.
    wall: Option<RawJson>,
}

impl History {
    /// Folds the next entry.
    pub(crate) fn read(&mut self, entry: &Entry) {
        match &entry.record {
            Record::Message(message) => {
                drop(self.messages.insert(message.id.clone(), message.clone()))
            }
            Record::QueueEntry(record) if record.status == QueueStatus::Interjected => {
                self.interjected.extend(self.messages.remove(&record.message_id));
            }
            Record::QueueEntry(record) if record.status.is_terminal() => {
                drop(self.messages.remove(&record.message_id))
            }
            Record::Transcript(piece) if is_of_wall(piece) => self.wall = Some(piece.data.clone()),
            Record::Tool(call) => self.calls.push(call.clone()),
            Record::Event(event) => self.event(event),
            Record::Turn(turn) => self.turn(turn),
            _ => {}
        }
    }

    /// The turns that are kept, oldest first.
    pub(crate) fn exchanges(&self) -> impl DoubleEndedIterator<Item = &Exchange> {
        self.exchanges.iter()
    }

    /// The newest turn that ended.
    pub(crate) fn newest(&self) -> Option<&TurnRecord> {
        self.newest.as_ref()
    }

    /// What says which wall holds; `None` if that is older than what was read.
    pub(crate) fn wall(&self) -> Option<&RawJson> {
        self.wall.as_ref()
    }

    /// Whether it has all turns that are kept, if a summary replaces those up to this number.
    pub(crate) fn reaches(&self, replaced: u64) -> bool {
        self.exchanges.len() >= TURNS
            || self.first.is_some_and(|first| first <= replaced.saturating_add(1))
    }

    /// A tool call of the newest run, or of an interrupted one.
    pub(crate) fn call(&self, id: &str) -> Option<&ToolExecutionRecord> {
        let broken_off = self.broken_off.iter().flat_map(|(_, calls)| calls);
        self.calls.iter().chain(broken_off).find(|call| call.id == id)
    }

    fn event(&mut self, event: &EventRecord) {
        match event.known() {
            Some(EventKind::ContentRefused) => {
                event.particulars().iter().for_each(|refused| self.refused(refused));
            }
            Some(EventKind::ContextCompacted) => {
                event.particulars().iter().for_each(|compacted| self.compacted(compacted));
            }
            _ => {}
        }
    }

    /// What a summary replaces is not told again. A compaction with an epoch replaces the turns
    /// that have ended before it and whose numbers are at most its `compacted_message_count`: each
    /// turn has one message. A compaction without an epoch replaces no turn here: it is about the
    /// rounds of one turn, or its host counts in another way. So the ledger alone says which turns
    /// are told, also after a restart.
    fn compacted(&mut self, compacted: &ContextCompacted) {
        if compacted.compression_epoch.is_some() && compacted.context_summary.is_some() {
            let newest = compacted.compacted_message_count;
            self.exchanges.retain(|kept| kept.turn.turn_index > newest);
        }
    }

    /// What the provider refuses is not told again (contract 5.3).
    fn refused(&mut self, refused: &RefusedContent) {
        let is_refused = |message: &MessageRecord| refused.message_ids.contains(&message.id);
        self.exchanges.retain(|kept| !kept.message.iter().chain(&kept.interjected).any(is_refused));
        self.interjected.retain(|message| !is_refused(message));
    }

    /// The calls of an interrupted run; empty if it is not kept.
    pub(crate) fn calls_of(&self, run: &RunId) -> &[ToolExecutionRecord] {
        self.broken_off.iter().find(|(broken, _)| broken == run).map_or(&[], |(_, calls)| calls)
    }

    fn turn(&mut self, turn: &TurnRecord) {
        match turn.status {
            RunStatus::Started => {
                self.first.get_or_insert(turn.turn_index);
                self.calls.clear();
                // What an interrupted run was told is deferred (contract 5.3), so the replay gets
                // it in its request.
                self.interjected.clear();
            }
            RunStatus::Interrupted => {
                // The replay's request names the interrupted runs (contract 5.23), and the prompt
                // says what they did.
                self.broken_off.push_back((turn.run_id.clone(), std::mem::take(&mut self.calls)));
                self.broken_off.drain(..self.broken_off.len().saturating_sub(BROKEN_OFF));
            }
            RunStatus::Terminal => {
                let calls = self
                    .calls
                    .iter()
                    .map(|call| format!("{}: {}", call.tool_name, call.summary))
                    .collect();
                // Its queue entry follows in the same batch (contract 5.4) and removes the message
                // from the map.
                let message = self
                    .messages
                    .get(&turn.message_id)
                    .filter(|_| !turn.was_aborted_by(AbortReason::ContentRefused))
                    .cloned();
                self.newest = Some(turn.clone());
                let interjected = std::mem::take(&mut self.interjected);
                self.exchanges.push_back(Exchange {
                    message,
                    interjected,
                    turn: turn.clone(),
                    calls,
                });
                self.exchanges.drain(..self.exchanges.len().saturating_sub(TURNS));
            }
        }
    }
}

/// Whether a piece of transcript says which wall holds.
fn is_of_wall(piece: &TranscriptRecord) -> bool {
    piece.run_id.is_none()
        && piece
            .data
            .field("kind")
            .is_some_and(|kind| kind.read::<String>().is_ok_and(|kind| kind == WALL))
}
