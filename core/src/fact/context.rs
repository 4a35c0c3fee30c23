//! The plane of evidence for the model and for explanations. No decision reads it, apart from the
//! runtime error (contract 5.22, 6.2).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fact::{
        outcome::{Outcome, Refusal},
        turn,
    },
    id::RunId,
    record::{
        Record,
        context::{
            BriefKind, BriefRecord, CheckpointRecorded, RoundCall, ToolExecutionRecord,
            ToolExecutionStatus, TranscriptRecord,
        },
        event::{EventKind, EventRecord},
        queue::envelope::TrustLevel,
    },
    state::State,
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

/// Fact `assistant_round_recorded`: the model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssistantRoundRecorded {
    /// The open run.
    pub run_id: RunId,
    /// The answer, carried as given.
    pub data: RawJson,
    /// The calls that the answer makes. Name them, also if there are none: a run that ends before
    /// their executions are recorded then says which calls may have run (contract 5.23).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<RoundCall>>,
}

/// Fact `tool_execution_recorded`: a tool call was executed.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolExecutionRecorded {
    /// The open run.
    pub run_id: RunId,
    /// The id of the call, unique within the agent.
    pub tool_execution_id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// How the call ended.
    pub status: ToolExecutionStatus,
    /// The arguments, carried as given.
    pub input: RawJson,
    /// The result, carried as given.
    pub output: RawJson,
    /// Arguments and result in one line.
    pub summary: String,
    /// The call of the model's answer that was executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

/// Fact `brief_recorded`: a brief was written.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BriefRecorded {
    /// The id of the brief, unique within the agent.
    pub brief_id: String,
    /// What the brief reports.
    pub kind: BriefKind,
    /// The text for people.
    pub text: String,
}

/// Fact `transcript_appended`: a piece of the transcript, inside or outside a run.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptAppended {
    /// The run that the piece belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The content, carried as given.
    pub data: RawJson,
}

/// The transition of `transcript_appended`.
pub(crate) fn transcript(state: &State, fact: TranscriptAppended, at: Timestamp) -> Outcome {
    Outcome::accepted(Vec::from([Record::Transcript(TranscriptRecord {
        agent_id: state.control.agent_id.clone(),
        created_at: at,
        run_id: fact.run_id,
        data: fact.data,
        answer: false,
        calls: None,
    })]))
}

/// The transition of facts that are only evidence.
pub(crate) fn evidence<T: Serialize>(kind: EventKind, fact: &T, at: Timestamp) -> Outcome {
    Outcome::accepted(Vec::from([Record::Event(EventRecord::new(kind, at, fact))]))
}

/// The transition of `checkpoint_recorded`. A checkpoint of an older state of the work is refused.
pub(crate) fn checkpoint(state: &State, fact: &CheckpointRecorded, at: Timestamp) -> Outcome {
    // The host asked for the text of an older checkpoint before the work changed (contract 5.22).
    match state.context.anchored_by {
        Some(seq) if fact.anchor_generation < state.context.anchor => {
            Outcome::ignored(Refusal::Stale, seq)
        }
        _ => evidence(EventKind::CheckpointRecorded, fact, at),
    }
}

/// The transition of `assistant_round_recorded`.
pub(crate) fn assistant_round(
    state: &State,
    fact: AssistantRoundRecorded,
    at: Timestamp,
) -> Outcome {
    turn::in_open_run(state, &fact.run_id.clone(), |_| {
        Vec::from([Record::Transcript(TranscriptRecord {
            agent_id: state.control.agent_id.clone(),
            created_at: at,
            run_id: Some(fact.run_id),
            data: fact.data,
            answer: true,
            calls: fact.calls,
        })])
    })
}

/// The transition of `tool_execution_recorded`.
pub(crate) fn tool_execution(state: &State, fact: ToolExecutionRecorded, at: Timestamp) -> Outcome {
    let run = state.turns.run.as_ref().filter(|run| run.run_id == fact.run_id);
    // A host may report a call again if it is unsure whether it was recorded.
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
            // An imported run names no message, and without one nothing vouches for the call.
            trust: trust.unwrap_or(TrustLevel::UntrustedExternal),
            status: fact.status,
            input: fact.input,
            output: fact.output,
            summary: fact.summary,
            call_id: fact.call_id,
        })])
    })
}

/// The transition of `brief_recorded`. The brief is about the item of the open run.
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
