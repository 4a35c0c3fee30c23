//! What was said, as the model is told it again: the newest turns, and the tool calls of turns that
//! did not come to their end. Folded from the entries of the ledger, bounded, and evidence only: no
//! decision reads it.

use std::collections::{BTreeMap, VecDeque};

use wakeful_core::{
    id::{MessageId, RunId},
    record::{
        Record,
        context::ToolExecutionRecord,
        entry::Entry,
        queue::{envelope::QueueStatus, message::MessageRecord},
        turn::{RunStatus, TurnRecord},
    },
};

/// How many turns are kept.
const TURNS: usize = 64;

/// Of how many runs that were broken off the tool calls are kept.
const BROKEN_OFF: usize = 8;

/// A turn that ended, with what it was about and what was done in it.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// The message that started it; none where it was queued before what is kept.
    pub(crate) message: Option<MessageRecord>,
    /// What the operator said meanwhile.
    pub(crate) interjected: Vec<MessageRecord>,
    /// How it ended.
    pub(crate) turn: TurnRecord,
    /// What was done in it, a line for each tool call.
    pub(crate) calls: Vec<String>,
}

/// The newest turns of an agent.
#[derive(Default)]
pub(crate) struct History {
    messages: BTreeMap<MessageId, MessageRecord>,
    exchanges: VecDeque<Exchange>,
    interjected: Vec<MessageRecord>,
    /// The calls of the newest run, by the number of its turn.
    calls: Vec<ToolExecutionRecord>,
    broken_off: VecDeque<(RunId, Vec<ToolExecutionRecord>)>,
}

impl History {
    /// Reads the next entry.
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
            Record::Turn(turn) => self.turn(turn),
            _ => {}
        }
    }

    /// The turns that are kept, oldest first.
    pub(crate) fn exchanges(&self) -> impl DoubleEndedIterator<Item = &Exchange> {
        self.exchanges.iter()
    }

    /// What was done in a run that was broken off; nothing where it is not kept.
    pub(crate) fn calls_of(&self, run: &RunId) -> &[ToolExecutionRecord] {
        self.broken_off.iter().find(|(broken, _)| broken == run).map_or(&[], |(_, calls)| calls)
    }

    fn turn(&mut self, turn: &TurnRecord) {
        match turn.status {
            RunStatus::Started => {
                self.calls.clear();
                self.interjected.clear();
            }
            RunStatus::Interrupted => {
                self.broken_off.push_back((turn.run_id.clone(), std::mem::take(&mut self.calls)));
                self.broken_off.drain(..self.broken_off.len().saturating_sub(BROKEN_OFF));
            }
            RunStatus::Terminal => {
                let calls = self
                    .calls
                    .drain(..)
                    .map(|call| format!("{}: {}", call.tool_name, call.summary))
                    .collect();
                let message = self.messages.get(&turn.message_id).cloned();
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
