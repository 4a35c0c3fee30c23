//! Where a story stands, read from the ledger of the agent that it was played to: no second store.
//!
//! The script stands where its newest marker says: a piece of transcript, which decides nothing. A fact of the script is recorded before
//! its marker, and the next process says it again where the marker is missing; what it brings has an id that it had before, so the ledger
//! refuses the second. The parts of messages follow from the turns that were started, and the ends of tasks from when they began.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
};

use serde::{Deserialize, Serialize};

use super::{
    player::Player,
    turn::{Cue, words},
};
use crate::{
    entry::{Entry, Record},
    fact::Fact,
    id::MessageId,
    json::RawJson,
    plane::{
        context::TranscriptAppended,
        control::ControlRecord,
        queue::MessageRecord,
        turn::{RunStatus, TurnRecord},
    },
    time::Timestamp,
};

/// Where the script of a story stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// The story.
    pub(super) story: String,
    /// The newest line, from 1.
    pub(super) line: u64,
    /// When that line is done, where it lets time pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<Timestamp>,
}

impl Marker {
    pub(super) fn of(story: &str) -> Self {
        Self { story: story.to_string(), line: 0, until: None }
    }

    pub(super) fn fact(&self) -> RawJson {
        RawJson::of(&Fact::TranscriptAppended(TranscriptAppended { run_id: None, data: RawJson::of(self) }))
    }
}

/// Reads a ledger to the end, entry by entry, and gives the player that goes on from there.
#[derive(Clone, Debug)]
pub struct Recall {
    player: Player,
    messages: BTreeMap<MessageId, MessageRecord>,
}

impl Recall {
    /// A player, and nothing read.
    #[must_use]
    pub fn new(player: Player) -> Self {
        Self { player, messages: BTreeMap::new() }
    }

    /// Reads the next entry.
    pub fn read(&mut self, entry: &Entry) {
        self.player.set_now(entry.at);
        match &entry.record {
            Record::Message(message) => {
                self.messages.insert(message.id.clone(), message.clone());
            }
            Record::QueueEntry(queued) if queued.status.is_terminal() => {
                self.messages.remove(&queued.message_id);
            }
            Record::Turn(turn) if turn.status == RunStatus::Started => self.turn_started(turn),
            Record::Tool(tool) => {
                self.player.called.insert(tool.id.clone());
            }
            Record::Task(task) => {
                self.player.unschedule(&task.id);
                if !task.status.is_terminal() {
                    self.player.schedule(&task.id, task.created_at);
                }
            }
            Record::Transcript(said) => {
                if let Ok(marker) = said.data.read::<Marker>() {
                    self.marked(&marker);
                }
            }
            // A hint has no id that the ledger could know again, but it carries the line that it came from.
            Record::Control(ControlRecord::WakeHintPending(hint)) => {
                if hint.correlation_id.as_ref() == Some(&self.player.line_id()) {
                    self.player.line_done();
                }
            }
            _ => {}
        }
    }

    /// The player that goes on from here.
    #[must_use]
    pub fn done(self) -> Player {
        self.player
    }

    fn turn_started(&mut self, turn: &TurnRecord) {
        let Some(message) = self.messages.get(&turn.message_id) else { return };
        self.player.cast.give(&Cue {
            run_id: turn.run_id.clone(),
            message_id: turn.message_id.clone(),
            kind: message.kind,
            text: words(&message.body),
            item: turn.work_item.as_ref().map(|binding| binding.work_item_id.clone()),
            replays: false,
        });
    }

    fn marked(&mut self, marker: &Marker) {
        if marker.story != self.player.name {
            return;
        }
        let done = if marker.until.is_some() { marker.line.saturating_sub(1) } else { marker.line };
        while self.player.line < done && !self.player.script.is_empty() {
            self.player.line_done();
        }
        self.player.line_due = marker.until;
    }
}
