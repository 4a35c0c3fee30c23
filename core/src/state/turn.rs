//! The plane of turns: the open run, interrupted runs, the last terminal, and pending retries.

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId, RunId, Seq, WorkItemId},
    record::{
        context::{RoundCall, ToolExecutionRecord, TranscriptRecord},
        effect::{Effect, UnknownCall},
        entry::Place,
        event::EventRecord,
        queue::note::{RetryNote, Subject},
        turn::{RunStatus, TurnBinding, TurnRecord, TurnTerminalKind},
    },
    time::Timestamp,
};
use wakeful_json::{Map, Readable};

/// A failed turn that will be retried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct Retry {
    /// The first message of the lineage.
    pub retry_of: MessageId,
    /// The number of the retry, from 1.
    pub attempt: u64,
    /// The run that failed.
    pub failed_run_id: RunId,
    /// The message that started that run.
    pub failed_message_id: MessageId,
    /// The reason of the failure, in words.
    pub failure: String,
    /// What the host said of the failure, at most [`ERROR_CHARS`] characters of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The work item of the failed turn.
    pub work_item_id: Option<WorkItemId>,
    /// The subject of the lineage, if a message of the core started it.
    pub subject: Subject,
    /// When the turn failed, from which the backoff counts.
    pub from: Timestamp,
    /// When the core queues the retry.
    pub due_at: Timestamp,
    /// The entry of the failure.
    pub seq: Seq,
    /// The message of the retry, once it is queued: the core's own, or a follow-up of the host.
    pub message_id: Option<MessageId>,
    /// The calls of the failed runs that may have run (contract 5.23).
    #[serde(default)]
    pub unknown_calls: Vec<UnknownCall>,
}

impl Retry {
    /// The note in the metadata of the retry's message.
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

/// The open run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[non_exhaustive]
pub struct OpenRun {
    /// The id of the run.
    pub run_id: RunId,
    /// The entry that opened it.
    pub seq: Seq,
    /// The number of the turn that it executes.
    pub turn_index: u64,
    /// The message that started it; empty for the open run of an import.
    pub message_id: MessageId,
    /// The item that the turn is about.
    pub work_item: Option<TurnBinding>,
    /// When it started.
    pub started_at: Timestamp,
    /// Whether the run was asked to end after its round. The effect for it is released once per run
    /// (contract 3.2).
    #[serde(default)]
    pub yields: bool,
    /// When the newest fact of the run was recorded.
    #[serde(default)]
    pub heard_at: Timestamp,
    /// Whether the run was reported as silent for too long (contract 5.8).
    #[serde(default)]
    pub stalled: bool,
    /// The first message of the lineage, if this is a retry (contract 5.6).
    #[serde(default)]
    pub retry_of: Option<MessageId>,
    /// The number of the retry; 0 for the first try.
    #[serde(default)]
    pub attempt: u64,
    /// The tool calls of the run, each with its entry. A host may report a call again if it is
    /// unsure whether it was recorded (contract 2.2).
    #[serde(default)]
    pub calls: Map<String, Seq>,
    /// The calls of earlier runs of the lineage that may have run (contract 5.23).
    #[serde(default)]
    pub inherited: Vec<UnknownCall>,
    /// The calls of the newest round whose execution is not recorded yet.
    #[serde(default)]
    pub pending: Vec<UnknownCall>,
    /// What the host said of its failure, at most [`ERROR_CHARS`] characters of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The most characters that are kept of an error, for the sentence that tells of it.
pub const ERROR_CHARS: usize = 200;

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
            deferred_told: None,
        }
    }

    /// The calls that may have run if the run ends now: those of the lineage, oldest first.
    #[must_use]
    pub fn unknown_calls(&self) -> Vec<UnknownCall> {
        self.inherited.iter().chain(&self.pending).cloned().collect()
    }

    /// The record that ends this run at a restart, or at an abort while closing.
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
    /// The number of that turn.
    pub turn_index: u64,
    /// The terminal kind.
    pub kind: TurnTerminalKind,
    /// The entry of the terminal record.
    pub seq: Seq,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Turns {
    /// The number of the newest turn; 0 before the first.
    pub turn_index: u64,
    /// The open run, if there is one.
    pub run: Option<OpenRun>,
    /// The item of an import's open run. It has no epoch, so it is not a binding and spends no key
    /// (contract 8.3).
    pub imported_item: Option<WorkItemId>,
    /// How the last settled turn ended.
    pub last_terminal: Option<LastTerminal>,
    /// The entry that last ended a run.
    pub settled: Option<Seq>,
    /// Runs that a restart interrupted and whose message is not settled yet.
    pub interrupted: Vec<InterruptedRun>,
    /// Whether the newest turn was interrupted: it has no terminal and never gets one (D10).
    pub newest_interrupted: bool,
    /// The number of turns in a row that started without outside input (contract 9.5).
    #[serde(default)]
    pub autonomous: u64,
    /// Failed turns that will be retried, by the first message of their lineage (contract 5.6).
    #[serde(default)]
    pub retries: Map<MessageId, Retry>,
    /// The owners whose newest turns failed for one cause (I26).
    #[serde(default)]
    pub failing: Vec<Failing>,
}

/// Turns of one owner that failed in a row for one cause, since the operator was last told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct Failing {
    /// The item of the turns; `None` for turns without one.
    pub work_item_id: Option<WorkItemId>,
    /// How they ended.
    pub cause: TurnTerminalKind,
    /// The number of these turns.
    pub count: u64,
}

/// A run that a restart interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct InterruptedRun {
    /// The id of the run.
    pub run_id: RunId,
    /// The message that started the run and replays; empty for the open run of an import.
    pub message_id: MessageId,
    /// The entry of the interruption.
    pub seq: Seq,
    /// The calls of its lineage that may have run (contract 5.23).
    #[serde(default)]
    pub unknown_calls: Vec<UnknownCall>,
}

impl Turns {
    /// Folds a turn. `inherited` are the calls that may have run in earlier runs of its lineage.
    pub(crate) fn apply(
        &mut self,
        place: &Place,
        record: &TurnRecord,
        inherited: Vec<UnknownCall>,
    ) {
        let is_open = self.run.as_ref().is_some_and(|run| run.run_id == record.run_id);
        match record.status {
            RunStatus::Started => {
                self.turn_index = record.turn_index;
                // This run replays the message, which discharges its interrupted runs. Those of an
                // import have no message, so the first run discharges them.
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
                    inherited,
                    pending: Vec::new(),
                    error: None,
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
                let unknown_calls =
                    self.run.take().map_or_else(Vec::new, |run| run.unknown_calls());
                self.settled = Some(place.seq);
                self.newest_interrupted = true;
                self.interrupted.push(InterruptedRun {
                    run_id: record.run_id.clone(),
                    message_id: record.message_id.clone(),
                    seq: place.seq,
                    unknown_calls,
                });
            }
            // contract 3.3: the run has ended, and its first end counts.
            RunStatus::Terminal | RunStatus::Interrupted => {}
        }
    }

    /// The interrupted runs of a message, and those of an import, whose messages are unknown.
    #[must_use]
    pub fn interrupted_for(&self, message: &MessageId) -> Vec<RunId> {
        let of_message = |run: &&InterruptedRun| {
            run.message_id == *message || run.message_id.as_str().is_empty()
        };
        self.interrupted.iter().filter(of_message).map(|run| run.run_id.clone()).collect()
    }

    /// Folds an answer of the model. Its calls may run from now on, and those before it have ended.
    pub(crate) fn answered(&mut self, place: &Place, record: &TranscriptRecord) {
        let Some(run) = &mut self.run else { return };
        if record.run_id.as_ref() != Some(&run.run_id) {
            return;
        }
        let unknown = |call: Option<&RoundCall>| UnknownCall {
            run_id: run.run_id.clone(),
            seq: place.seq,
            call_id: call.map(|call| call.call_id.clone()),
            tool_name: call.map(|call| call.tool_name.clone()),
        };
        run.pending = match &record.calls {
            Some(calls) => calls.iter().map(|call| unknown(Some(call))).collect(),
            // The host does not say what the answer calls, so it is unknown as a whole.
            None => Vec::from([unknown(None)]),
        };
    }

    /// Folds the end of a round of tool calls: how each of them ended is recorded.
    pub(crate) fn round_completed(&mut self) {
        if let Some(run) = &mut self.run {
            run.pending.clear();
        }
    }

    /// Folds a fact of the open run, which shows that it is not stalled.
    pub(crate) fn heard(&mut self, at: Timestamp) {
        if let Some(run) = &mut self.run {
            (run.heard_at, run.stalled) = (at, false);
        }
    }

    /// Folds a tool call of the open run. The first record of a call id counts.
    pub(crate) fn called(&mut self, place: &Place, call: &ToolExecutionRecord) {
        if let Some(run) = &mut self.run {
            run.calls.get_or_insert(call.id.clone(), place.seq);
            run.pending.retain(|pending| call.call_id.is_none() || pending.call_id != call.call_id);
        }
    }

    /// Folds the report that the open run is stalled.
    pub(crate) fn set_stalled(&mut self) {
        if let Some(run) = &mut self.run {
            run.stalled = true;
        }
    }

    /// Folds an error of the open run, which a settlement records before its end.
    pub(crate) fn failed(&mut self, record: &EventRecord) {
        let of: Option<RunId> = record.particular("run_id");
        let run = self.run.as_mut().filter(|run| of.as_ref() == Some(&run.run_id));
        if let (Some(run), Some(error)) = (run, record.particular::<String>("error")) {
            run.error = Some(error.chars().take(ERROR_CHARS).collect());
        }
    }

    /// The effect that ends the open run after its round, if it was not released before.
    pub(crate) fn yield_once(&self) -> Option<Effect> {
        let run = self.run.as_ref().filter(|run| !run.yields)?;
        Some(Effect::YieldTurn { run_id: run.run_id.clone() })
    }

    /// Notes that something asked the open run to end after its round.
    pub(crate) fn set_yields(&mut self) {
        if let Some(run) = &mut self.run {
            run.yields = true;
        }
    }

    /// Folds the settlement of a message: its interrupted runs are no longer owed.
    pub(crate) fn message_settled(&mut self, id: &MessageId) {
        self.interrupted.retain(|run| run.message_id != *id);
    }

    /// The item of the open run, if it has one.
    #[must_use]
    pub fn item_of_run(&self) -> Option<&WorkItemId> {
        let run = self.run.as_ref()?;
        let bound = run.work_item.as_ref().map(|binding| &binding.work_item_id);
        // The open run of an import has no binding, only the item that the import names.
        bound.or_else(|| self.imported_item.as_ref().filter(|_| run.message_id.as_str().is_empty()))
    }

    /// The terminal of the newest turn, if it has one.
    #[must_use]
    pub fn terminal_of_newest(&self) -> Option<TurnTerminalKind> {
        // The newest turn may be open or interrupted, and then this is the end of an earlier one.
        self.last_terminal.filter(|last| last.turn_index == self.turn_index).map(|last| last.kind)
    }
}
