//! Where a story stands, read from the ledger of the agent that it was played to: no second store.
//!
//! The script stands where its newest marker says: a piece of transcript, which decides nothing. A
//! fact of the script is recorded before its marker, and the next process says it again where the
//! marker is missing; what it brings has an id that it had before, so the ledger refuses the
//! second. Which turn a message plays follows from the turns that were started, and the ends of
//! tasks from when they began. How far a turn was played follows from the facts themselves: the
//! core is deterministic, so a fact that was taken gave the records that it gives again in the
//! state before them.

use alloc::{
    collections::{BTreeMap, VecDeque},
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    fact::{Fact, context::TranscriptAppended},
    id::MessageId,
    record::{
        Record,
        control::ControlRecord,
        entry::Entry,
        queue::message::MessageRecord,
        turn::{RunStatus, TurnRecord},
    },
    state::State,
    story::{
        player::Player,
        steps::Step,
        turn::{Cue, words},
    },
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

/// Where the script of a story stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
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
    pub(super) fn new(story: &str) -> Self {
        Self { story: story.to_string(), line: 0, until: None }
    }

    pub(super) fn fact(&self) -> RawJson {
        RawJson::from_value(&Fact::TranscriptAppended(TranscriptAppended {
            run_id: None,
            data: RawJson::from_value(self),
        }))
    }
}

/// Whether a piece of transcript says where the script of a story stands, and nothing else.
#[must_use]
pub fn is_marker(data: &RawJson) -> bool {
    data.read::<Marker>().is_ok()
}

/// Reads a ledger to the end, entry by entry, and gives the player that goes on from there.
#[derive(Clone, Debug)]
pub struct Recall {
    player: Player,
    state: State,
    messages: BTreeMap<MessageId, MessageRecord>,
    open: Option<OpenTurn>,
}

/// A turn of the story whose run is open.
#[derive(Clone, Debug)]
struct OpenTurn {
    message_id: MessageId,
    steps: Vec<Step>,
    /// How many of the steps are recorded.
    played: usize,
    /// What is still to come of the batch in which the newest of them is recorded.
    batch: VecDeque<Record>,
}

impl Recall {
    /// A player, and nothing read.
    #[must_use]
    pub fn new(player: Player) -> Self {
        Self { player, state: State::default(), messages: BTreeMap::new(), open: None }
    }

    /// Reads the next entry; the first is entry 1.
    pub fn read(&mut self, entry: &Entry) {
        self.player.set_now(entry.at);
        if let Some(turn) = &mut self.open {
            turn.read(&self.state, entry);
        }
        self.fold(entry);
        self.state.apply(entry);
    }

    /// The player that goes on from here.
    #[must_use]
    pub fn done(mut self) -> Player {
        self.close();
        self.player
    }

    fn fold(&mut self, entry: &Entry) {
        match &entry.record {
            Record::Message(message) => {
                self.messages.insert(message.id.clone(), message.clone());
            }
            Record::QueueEntry(queued) if queued.status.is_terminal() => {
                self.messages.remove(&queued.message_id);
                self.player.played.remove(&queued.message_id);
            }
            Record::Turn(turn) => {
                self.close();
                if turn.status == RunStatus::Started {
                    self.turn_started(turn);
                }
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
            // A hint has no id that the ledger could know again, but it carries the line that it
            // came from.
            Record::Control(ControlRecord::WakeHintPending(hint))
                if hint.correlation_id.as_ref() == Some(&self.player.line_id()) =>
            {
                self.player.line_done();
            }
            _ => {}
        }
    }

    fn turn_started(&mut self, turn: &TurnRecord) {
        let Some(message) = self.messages.get(&turn.message_id) else { return };
        let cue = Cue {
            run_id: turn.run_id.clone(),
            message_id: turn.message_id.clone(),
            kind: message.kind,
            text: words(&message.body),
            item: turn.work_item.as_ref().map(|binding| binding.work_item_id.clone()),
        };
        let now = self.player.now();
        let steps = self.player.cast.steps(&cue, now);
        let played = self.player.played.get(&cue.message_id).copied().unwrap_or_default();
        self.open =
            Some(OpenTurn { message_id: cue.message_id, steps, played, batch: VecDeque::new() });
    }

    /// The open run is over, or goes on in another process: how far its turn was played is kept.
    fn close(&mut self) {
        if let Some(turn) = self.open.take() {
            let played = turn.played_with_crash();
            self.player.played.insert(turn.message_id, played);
        }
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

impl OpenTurn {
    /// Reads an entry that was made in this state while the run was open: is it what the next step
    /// gives?
    fn read(&mut self, state: &State, entry: &Entry) {
        if let Some(due) = self.batch.pop_front() {
            if due != entry.record {
                self.batch.clear();
            }
            return;
        }
        let Some((at, fact)) = self.next_fact() else { return };
        let mut records = VecDeque::from(fact.transition(state, entry.at).records);
        if records.pop_front().as_ref() == Some(&entry.record) {
            self.batch = records;
            self.played = at + 1;
            // A task begins with the fact that says so.
            while let Some(Step::Task(_)) = self.steps.get(self.played) {
                self.played += 1;
            }
        }
    }

    /// The next step that records something. Delays before it are over when it is there, and what
    /// nobody can read is not.
    fn next_fact(&self) -> Option<(usize, Fact)> {
        let mut left = self.steps.iter().enumerate().skip(self.played);
        left.find_map(|(at, step)| match step {
            Step::Fact(text) => Some((at, Fact::decode(text.as_str()).ok()?)),
            Step::Delay(_) | Step::Task(_) | Step::Crash => None,
        })
    }

    /// How many steps were played, with the crash that comes next: a process that ended there has
    /// crashed, by whatever, and it comes once.
    fn played_with_crash(&self) -> usize {
        let mut left = self.steps.iter().enumerate().skip(self.played);
        let next = left.find(|(_, step)| !matches!(step, Step::Delay(_) | Step::Task(_)));
        match next {
            Some((at, Step::Crash)) => at + 1,
            _ => self.played,
        }
    }
}
