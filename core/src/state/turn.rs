//! The state of the plane: the open run, what restarts interrupted, how the last turn ended, what
//! is to be tried again.

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId, RunId, Seq, WorkItemId},
    record::{
        context::ToolExecutionRecord,
        effect::Effect,
        entry::Place,
        queue::{
            message::MessageRecord,
            note::{self, RetryNote, Subject},
        },
        turn::{RunStatus, TurnBinding, TurnRecord, TurnTerminalKind},
    },
    time::Timestamp,
};
use wakeful_json::{Map, Readable};

/// A failed turn that is to be tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct Retry {
    /// The first message of the lineage.
    pub retry_of: MessageId,
    /// Which try it will be, from 1.
    pub attempt: u64,
    /// The run that failed.
    pub failed_run_id: RunId,
    /// The message that started it.
    pub failed_message_id: MessageId,
    /// How it failed, in words.
    pub failure: String,
    /// The item that it was about.
    pub work_item_id: Option<WorkItemId>,
    /// What the lineage is for, where it began with a message of the core.
    pub subject: Subject,
    /// When the core makes the message itself.
    pub due_at: Timestamp,
    /// The entry of the failure.
    pub seq: Seq,
    /// The message that tries again, once there is one: the core's own, or a follow-up of the host.
    pub message_id: Option<MessageId>,
}

impl Retry {
    /// What its message says about it.
    #[must_use]
    pub fn note(&self) -> RetryNote {
        RetryNote {
            retry_of: self.retry_of.clone(),
            attempt: self.attempt,
            failed_run_id: self.failed_run_id.clone(),
            subject: self.subject.clone(),
        }
    }
}

/// The run that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[non_exhaustive]
pub struct OpenRun {
    /// The run.
    pub run_id: RunId,
    /// The entry that opened it.
    pub seq: Seq,
    /// The turn that it executes.
    pub turn_index: u64,
    /// The message that started it; empty for the open run of an import.
    pub message_id: MessageId,
    /// The item that it is about.
    pub work_item: Option<TurnBinding>,
    /// When it started.
    pub started_at: Timestamp,
    /// Whether it was asked to end after its round: an effect is released once for a run (contract
    /// 3.2).
    #[serde(default)]
    pub yields: bool,
    /// When the newest fact of it came.
    #[serde(default)]
    pub heard_at: Timestamp,
    /// Whether it was reported that no fact of it came for too long (contract 5.8).
    #[serde(default)]
    pub stalled: bool,
    /// The first message of the lineage that it tries again (contract 5.6).
    #[serde(default)]
    pub retry_of: Option<MessageId>,
    /// Which try it is; 0 where it is the first.
    #[serde(default)]
    pub attempt: u64,
    /// Its tool calls, and the entry of each: a host that is not sure whether one was recorded says
    /// it again (contract 2.2).
    #[serde(default)]
    pub calls: Map<String, Seq>,
}

impl OpenRun {
    pub(crate) fn record(&self, agent_id: &AgentId) -> TurnRecord {
        TurnRecord {
            run_id: self.run_id.clone(),
            agent_id: agent_id.clone(),
            turn_index: self.turn_index,
            message_id: self.message_id.clone(),
            status: RunStatus::Started,
            work_item: self.work_item.clone(),
            started_at: self.started_at,
            kind: None,
            reason: None,
            last_assistant_message: None,
            checkpoint: None,
            completed_at: None,
            retry_of: self.retry_of.clone(),
            attempt: self.attempt,
        }
    }

    /// The record with which a restart, or an abort while closing, ends this run.
    pub(crate) fn interrupted(&self, agent_id: &AgentId, at: Timestamp) -> TurnRecord {
        TurnRecord {
            status: RunStatus::Interrupted,
            completed_at: Some(at),
            ..self.record(agent_id)
        }
    }
}

/// How the last settled turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct LastTerminal {
    /// The turn.
    pub turn_index: u64,
    /// How it ended.
    pub kind: TurnTerminalKind,
    /// The entry that says so.
    pub seq: Seq,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Turns {
    /// The number of the newest turn; 0 before the first.
    pub turn_index: u64,
    /// The run that is open.
    pub run: Option<OpenRun>,
    /// The item that the open run of an import was about there; without epoch, so it is no binding
    /// and spends no key (contract 8.3).
    pub imported_item: Option<WorkItemId>,
    /// How the last settled turn ended.
    pub last_terminal: Option<LastTerminal>,
    /// The entry that last ended a run.
    pub settled: Option<Seq>,
    /// Runs that a restart ended and whose message is still to be settled.
    pub interrupted: Vec<InterruptedRun>,
    /// Whether the newest turn was interrupted: it has no terminal and will get none (D10).
    pub newest_interrupted: bool,
    /// How many turns in a row were started without input from outside (contract 9.5).
    #[serde(default)]
    pub autonomous: u64,
    /// Failed turns that are to be tried again, by the first message of their lineage (contract
    /// 5.6).
    #[serde(default)]
    pub retries: Map<MessageId, Retry>,
}

/// A run that a restart ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct InterruptedRun {
    /// The run.
    pub run_id: RunId,
    /// The message that started it, and replays; empty for the open run of an import.
    pub message_id: MessageId,
    /// The entry of the interruption.
    pub seq: Seq,
}

impl Turns {
    pub(crate) fn apply(&mut self, place: &Place, record: &TurnRecord) {
        let is_open = self.run.as_ref().is_some_and(|run| run.run_id == record.run_id);
        match record.status {
            RunStatus::Started => {
                self.turn_index = record.turn_index;
                self.interrupted.retain(|run| {
                    run.message_id != record.message_id && !run.message_id.as_str().is_empty()
                });
                self.newest_interrupted = false;
                self.run = Some(OpenRun {
                    run_id: record.run_id.clone(),
                    seq: place.seq,
                    turn_index: record.turn_index,
                    message_id: record.message_id.clone(),
                    work_item: record.work_item.clone(),
                    started_at: record.started_at,
                    yields: false,
                    heard_at: record.started_at,
                    stalled: false,
                    retry_of: record.retry_of.clone(),
                    attempt: record.attempt,
                    calls: Map::new(),
                });
            }
            RunStatus::Terminal if is_open => {
                self.run = None;
                self.settled = Some(place.seq);
                self.last_terminal = record.kind.map(|kind| LastTerminal {
                    turn_index: record.turn_index,
                    kind,
                    seq: place.seq,
                });
            }
            RunStatus::Interrupted if is_open => {
                self.run = None;
                self.settled = Some(place.seq);
                self.newest_interrupted = true;
                self.interrupted.push(InterruptedRun {
                    run_id: record.run_id.clone(),
                    message_id: record.message_id.clone(),
                    seq: place.seq,
                });
            }
            RunStatus::Terminal | RunStatus::Interrupted => {}
        }
    }

    /// The interrupted runs of a message, and those of an import, which does not say whose they
    /// were.
    #[must_use]
    pub fn interrupted_for(&self, message: &MessageId) -> Vec<RunId> {
        let of_message = |run: &&InterruptedRun| {
            run.message_id == *message || run.message_id.as_str().is_empty()
        };
        self.interrupted.iter().filter(of_message).map(|run| run.run_id.clone()).collect()
    }

    /// A fact of the open run came.
    pub(crate) fn heard(&mut self, at: Timestamp) {
        if let Some(run) = &mut self.run {
            (run.heard_at, run.stalled) = (at, false);
        }
    }

    /// A tool call of the open run was recorded.
    pub(crate) fn called(&mut self, place: &Place, call: &ToolExecutionRecord) {
        if let Some(run) = &mut self.run {
            run.calls.get_or_insert(call.id.clone(), place.seq);
        }
    }

    /// It was reported that the open run is silent.
    pub(crate) fn set_stalled(&mut self) {
        if let Some(run) = &mut self.run {
            run.stalled = true;
        }
    }

    /// The effect that ends the open run after its round, where it was not released already.
    pub(crate) fn yield_once(&self) -> Option<Effect> {
        let run = self.run.as_ref().filter(|run| !run.yields)?;
        Some(Effect::YieldTurn { run_id: run.run_id.clone() })
    }

    /// Something asked the open run to end after its round.
    pub(crate) fn set_yields(&mut self) {
        if let Some(run) = &mut self.run {
            run.yields = true;
        }
    }

    /// The message is settled: the runs that it started are owed no more, and it tries nothing
    /// again.
    pub(crate) fn message_settled(&mut self, id: &MessageId) {
        self.interrupted.retain(|run| run.message_id != *id);
        self.retries.retain(|_, retry| retry.message_id.as_ref() != Some(id));
    }

    /// The retry whose message this is.
    #[must_use]
    pub fn retry_by(&self, message: &MessageId) -> Option<&Retry> {
        self.retries.values().find(|retry| retry.message_id.as_ref() == Some(message))
    }

    /// The retry that goes on after the failure of this message.
    #[must_use]
    pub fn retry_after(&self, failed: &MessageId) -> Option<&Retry> {
        self.retries.values().find(|retry| retry.failed_message_id == *failed)
    }

    /// A message was queued: where it goes on after a failed one, it is the retry.
    pub(crate) fn message_queued(&mut self, message: &MessageRecord) {
        let Some(failed) = note::continues(message) else { return };
        let retry = self
            .retries
            .find_mut(|retry| retry.failed_message_id == failed && retry.message_id.is_none());
        if let Some(retry) = retry {
            retry.message_id = Some(message.id.clone());
        }
    }

    /// A turn settled: its lineage owes what it owes now.
    pub(crate) fn set_owed(&mut self, turn: &TurnRecord, retry: Option<Retry>) {
        self.retries.remove(turn.retry_of.as_ref().unwrap_or(&turn.message_id));
        if let Some(retry) = retry {
            self.retries.insert(retry.retry_of.clone(), retry);
        }
    }

    /// The item that the open run is about, if it is about one.
    #[must_use]
    pub fn item_of_run(&self) -> Option<&WorkItemId> {
        let run = self.run.as_ref()?;
        let bound = run.work_item.as_ref().map(|binding| &binding.work_item_id);
        // Only the open run of an import has no binding of ours.
        bound.or_else(|| self.imported_item.as_ref().filter(|_| run.message_id.as_str().is_empty()))
    }

    /// How the newest turn ended, if it did.
    #[must_use]
    pub fn terminal_of_newest(&self) -> Option<TurnTerminalKind> {
        self.last_terminal.filter(|last| last.turn_index == self.turn_index).map(|last| last.kind)
    }
}
