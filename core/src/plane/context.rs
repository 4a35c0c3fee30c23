//! The context plane: evidence for the model and for explanations. Apart from the runtime error, no decision reads it (contract 5.22, 6.2).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fact::{Outcome, Refusal},
    id::{RunId, Seq},
    json::{RawJson, Readable},
    plane::turn,
    record::{
        Record,
        context::{
            BriefKind, BriefRecord, CheckpointRecorded, ContextCompacted, ToolExecutionRecord, ToolExecutionStatus, TranscriptRecord,
        },
        entry::Place,
        event::{EventKind, EventRecord},
        queue::envelope::TrustLevel,
    },
    state::State,
    time::Timestamp,
};

/// Fact `assistant_round_recorded`: the model said something.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssistantRoundRecorded {
    /// The run.
    pub run_id: RunId,
    /// What it said, carried as given.
    pub data: RawJson,
}

/// Fact `tool_execution_recorded`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolExecutionRecorded {
    /// The run.
    pub run_id: RunId,
    /// The call's id, once per agent.
    pub tool_execution_id: String,
    /// The tool.
    pub tool_name: String,
    /// How it ended.
    pub status: ToolExecutionStatus,
    /// What went in, carried as given.
    pub input: RawJson,
    /// What came out, carried as given.
    pub output: RawJson,
    /// Both in a line.
    pub summary: String,
}

/// Fact `brief_recorded`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BriefRecorded {
    /// Its id, once per agent.
    pub brief_id: String,
    /// What it tells.
    pub kind: BriefKind,
    /// Its text.
    pub text: String,
}

/// Fact `transcript_appended`: a piece of the transcript, inside a run or between runs.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptAppended {
    /// The run that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// What was said, carried as given.
    pub data: RawJson,
}

/// The transition of `transcript_appended`.
pub(crate) fn transcript(state: &State, fact: TranscriptAppended, at: Timestamp) -> Outcome {
    Outcome::accepted(Vec::from([Record::Transcript(TranscriptRecord {
        agent_id: state.control.agent_id.clone(),
        created_at: at,
        run_id: fact.run_id,
        data: fact.data,
    })]))
}

/// The transition of the facts that are evidence and nothing else.
pub(crate) fn evidence<T: Serialize>(kind: EventKind, fact: &T, at: Timestamp) -> Outcome {
    Outcome::accepted(Vec::from([Record::Event(EventRecord::of(kind, at, fact))]))
}

/// The transition of `checkpoint_recorded`: one that describes an older state of the work is not taken.
pub(crate) fn checkpoint(state: &State, fact: &CheckpointRecorded, at: Timestamp) -> Outcome {
    match state.context.anchored_by {
        Some(seq) if fact.anchor_generation < state.context.anchor => Outcome::ignored(Refusal::Stale, seq),
        _ => evidence(EventKind::CheckpointRecorded, fact, at),
    }
}

/// The transition of `assistant_round_recorded`.
pub(crate) fn assistant_round(state: &State, fact: AssistantRoundRecorded, at: Timestamp) -> Outcome {
    turn::in_open_run(state, &fact.run_id.clone(), |_| {
        Vec::from([Record::Transcript(TranscriptRecord {
            agent_id: state.control.agent_id.clone(),
            created_at: at,
            run_id: Some(fact.run_id),
            data: fact.data,
        })])
    })
}

/// The transition of `tool_execution_recorded`.
pub(crate) fn tool_execution(state: &State, fact: ToolExecutionRecorded, at: Timestamp) -> Outcome {
    let run = state.turns.run.as_ref().filter(|run| run.run_id == fact.run_id);
    if let Some(seq) = run.and_then(|run| run.calls.get(&fact.tool_execution_id)) {
        return Outcome::ignored(Refusal::Duplicate, *seq);
    }
    turn::in_open_run(state, &fact.run_id, |run| {
        let trust = state.queue.message(&run.message_id).map(|held| held.record.trust);
        Vec::from([Record::Tool(ToolExecutionRecord {
            id: fact.tool_execution_id,
            agent_id: state.control.agent_id.clone(),
            work_item_id: run.work_item.as_ref().map(|binding| binding.work_item_id.clone()),
            turn_index: run.turn_index,
            tool_name: fact.tool_name,
            created_at: at,
            trust: trust.unwrap_or(TrustLevel::UntrustedExternal),
            status: fact.status,
            input: fact.input,
            output: fact.output,
            summary: fact.summary,
        })])
    })
}

/// The transition of `brief_recorded`; a brief without item is about the item of the open run.
pub(crate) fn brief(state: &State, fact: BriefRecorded, at: Timestamp) -> Outcome {
    let run = state.turns.run.as_ref();
    Outcome::accepted(Vec::from([Record::Brief(BriefRecord {
        id: fact.brief_id,
        agent_id: state.control.agent_id.clone(),
        work_item_id: run.and_then(|run| Some(run.work_item.as_ref()?.work_item_id.clone())),
        kind: fact.kind,
        created_at: at,
        text: fact.text,
        related_message_id: run.map(|run| run.message_id.clone()),
        related_task_id: None,
    })]))
}

/// When something was noted, and the entry that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Readable)]
pub struct Noted {
    /// The record's own time.
    pub at: Timestamp,
    /// The entry.
    pub seq: Seq,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Context {
    /// The newest runtime error since the last completed turn.
    pub error: Option<Noted>,
    /// The newest successful result brief.
    pub success: Option<Noted>,
    /// How many tool calls were executed.
    pub tool_executions: u64,
    /// How many briefs were written.
    pub briefs: u64,
    /// How many pieces of transcript there are.
    pub transcript: u64,
    /// How often the context was compacted.
    pub compression_epoch: u64,
    /// How many messages the context summary stands for.
    pub compacted_message_count: u64,
    /// What stands for them.
    pub context_summary: Option<String>,
    /// The anchor generation: how many work-item snapshots there were.
    pub anchor: u64,
    /// The entry of the newest of them.
    pub anchored_by: Option<Seq>,
    /// The newest checkpoint: its anchor generation and its entry.
    pub checkpoint: Option<(u64, Seq)>,
}

impl Context {
    /// The runtime error that holds (contract 6.2): newer than the last success, however long ago.
    #[must_use]
    pub fn runtime_error(&self) -> Option<Noted> {
        let error = self.error?;
        self.success.is_none_or(|success| error.at > success.at).then_some(error)
    }

    /// The entry of the newest checkpoint, while it describes the work as it is (contract 5.22).
    #[must_use]
    pub fn valid_checkpoint(&self) -> Option<Seq> {
        self.checkpoint.filter(|(anchor, _)| *anchor == self.anchor).map(|(_, seq)| seq)
    }

    pub(crate) fn apply_event(&mut self, place: &Place, record: &EventRecord) {
        let data = record.data.as_ref();
        if record.kind == EventKind::RuntimeError.as_str() {
            self.error = self.error.max(Some(Noted { at: record.created_at, seq: place.seq }));
        } else if record.kind == EventKind::ContextCompacted.as_str() {
            let Some(compacted) = data.and_then(|raw| raw.read::<ContextCompacted>().ok()) else { return };
            self.compression_epoch += 1;
            self.compacted_message_count = compacted.compacted_message_count;
            self.context_summary = compacted.context_summary;
        } else if record.kind == EventKind::CheckpointRecorded.as_str() {
            let Some(checkpoint) = data.and_then(|raw| raw.read::<CheckpointRecorded>().ok()) else { return };
            self.checkpoint = Some((checkpoint.anchor_generation, place.seq));
        }
    }

    /// A work item changed: what a checkpoint said about the work is over.
    pub(crate) fn work_changed(&mut self, place: &Place) {
        self.anchor += 1;
        self.anchored_by = Some(place.seq);
    }

    pub(crate) fn apply_brief(&mut self, place: &Place, record: &BriefRecord) {
        self.briefs += 1;
        if record.kind == BriefKind::Result {
            self.success = self.success.max(Some(Noted { at: record.created_at, seq: place.seq }));
        }
    }

    /// A turn of our own completed: whatever went wrong until then is over.
    pub(crate) fn turn_completed(&mut self, at: Timestamp) {
        self.error = self.error.filter(|error| error.at > at);
    }
}
