//! The history for the prompt: the newest turns, and the tool calls of interrupted runs. It is
//! folded from the entries of the ledger and bounded. It is evidence for the model only; no
//! decision reads it.

use std::collections::{BTreeMap, VecDeque};

use wakeful_core::{
    id::{MessageId, RunId},
    record::{
        Record,
        context::ToolExecutionRecord,
        entry::Entry,
        event::{EventKind, EventRecord},
        queue::{envelope::QueueStatus, message::MessageRecord},
        refusal::RefusedContent,
        turn::{AbortReason, RunStatus, TurnRecord},
    },
};

/// Turns that are kept.
const TURNS: usize = 64;

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
            Record::Tool(call) => self.calls.push(call.clone()),
            Record::Event(event) => self.refused(event),
            Record::Turn(turn) => self.turn(turn),
            _ => {}
        }
    }

    /// The turns that are kept, oldest first.
    pub(crate) fn exchanges(&self) -> impl DoubleEndedIterator<Item = &Exchange> {
        self.exchanges.iter()
    }

    /// A tool call of the newest run, or of an interrupted one.
    pub(crate) fn call(&self, id: &str) -> Option<&ToolExecutionRecord> {
        let broken_off = self.broken_off.iter().flat_map(|(_, calls)| calls);
        self.calls.iter().chain(broken_off).find(|call| call.id == id)
    }

    /// What the provider refuses is not told again (contract 5.3).
    fn refused(&mut self, event: &EventRecord) {
        if event.known() != Some(EventKind::ContentRefused) {
            return;
        }
        let Some(refused) = event.particulars::<RefusedContent>() else { return };
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
