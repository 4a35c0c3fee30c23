//! The position in a story, recalled from the agent's ledger, so that there is no second store.
//!
//! - The newest marker has the position in the script. A marker is a piece of transcript, which no
//!   decision reads. Each fact of the script is recorded before its marker. If the marker is
//!   missing, the next process reports the fact again. The id is the same, so the ledger refuses
//!   the second.
//! - The started turns tell which turn a message plays.
//! - The start of a task tells when it ends.
//! - The records of a run tell how far its turn was played. The core is deterministic, so a fact
//!   gives the same records again in the same state.

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

/// The position in the script of a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub(super) struct Marker {
    /// The name of the story.
    pub(super) story: String,
    /// The number of the newest line, from 1.
    pub(super) line: u64,
    /// When that line is done, if it lets time pass.
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

/// Whether a piece of transcript is a marker: the position in the script of a story.
#[must_use]
pub fn is_marker(data: &RawJson) -> bool {
    data.read::<Marker>().is_ok()
}

/// Reads a ledger entry by entry, and returns the player that continues from there.
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
    /// The number of steps that are recorded.
    played: usize,
    /// The records of the newest of these steps that are still to come in its batch.
    batch: VecDeque<Record>,
}

impl Recall {
    /// A recall that has read nothing yet.
    #[must_use]
    pub fn new(player: Player) -> Self {
        Self { player, state: State::default(), messages: BTreeMap::new(), open: None }
    }

    /// Reads the next entry, starting with entry 1.
    pub fn read(&mut self, entry: &Entry) {
        self.player.set_now(entry.at);
        // Before the entry is folded, because the fact of a step meets the state before it.
        if let Some(turn) = &mut self.open {
            turn.read(&self.state, entry);
        }
        self.fold(entry);
        self.state.apply(entry);
    }

    /// The player that continues from here.
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
                    // From the start of the task, as `begin_times` counts.
                    self.player.schedule(&task.id, task.created_at);
                }
            }
            Record::Transcript(said) => {
                if let Ok(marker) = said.data.read::<Marker>() {
                    self.marked(&marker);
                }
            }
            // A hint has no id that the ledger could recognise, but it carries the line that it
            // comes from.
            Record::Control(ControlRecord::WakeHintPending(hint))
                if hint.correlation_id.as_ref() == Some(&self.player.line_id()) =>
            {
                self.player.line_done();
            }
            // The limits of a budget have no id either. To set the same ones again changes nothing,
            // so it does not matter who set them.
            Record::Control(ControlRecord::BudgetSet(set))
                if self.player.script.front().is_some_and(|line| line.sets(set)) =>
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

    /// Keeps how far the turn of the open run was played, because the run ended or another process
    /// will continue it.
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
        // A line that lets time pass is done only at that instant.
        let done = if marker.until.is_some() { marker.line.saturating_sub(1) } else { marker.line };
        while self.player.line < done && !self.player.script.is_empty() {
            self.player.line_done();
        }
        self.player.line_due = marker.until;
    }
}

impl OpenTurn {
    /// Reads an entry that was recorded in this state while the run was open. If the next step
    /// gives this record, that step was played.
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
            // The step of a task belongs to the fact before it, which starts the task.
            while let Some(Step::Task(_)) = self.steps.get(self.played) {
                self.played += 1;
            }
        }
    }

    /// The next step that records something, with its fact. Delays before it have passed if it was
    /// recorded. A fact that cannot be read was not recorded.
    fn next_fact(&self) -> Option<(usize, Fact)> {
        let mut left = self.steps.iter().enumerate().skip(self.played);
        left.find_map(|(at, step)| match step {
            Step::Fact(text) => Some((at, Fact::decode(text.as_str()).ok()?)),
            Step::Delay(_) | Step::Task(_) | Step::Crash => None,
        })
    }

    /// The number of played steps, including a crash that comes next. However the process ended
    /// there, that counts as the crash, so that it happens only once.
    fn played_with_crash(&self) -> usize {
        let mut left = self.steps.iter().enumerate().skip(self.played);
        let next = left.find(|(_, step)| !matches!(step, Step::Delay(_) | Step::Task(_)));
        match next {
            Some((at, Step::Crash)) => at + 1,
            _ => self.played,
        }
    }
}
