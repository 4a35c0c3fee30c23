//! Evidence for the model and for explanations: transcript, tool calls, briefs, and the data of
//! events about them.

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId, RunId, TaskId, WorkItemId},
    record::queue::envelope::TrustLevel,
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

names! {
    /// What a brief reports.
    pub enum BriefKind {
        /// A message was received.
        Ack,
        /// A result was reached.
        Result,
        /// Something failed.
        Failure,
    }
}

names! {
    /// How a tool call ended.
    pub enum ToolExecutionStatus {
        /// It succeeded.
        Success,
        /// It returned an error.
        Error,
    }
}

/// A brief (class `briefs`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BriefRecord {
    /// Identifies the brief.
    pub id: String,
    /// The agent that owns the ledger.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// The work item that the brief is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What the brief reports.
    pub kind: BriefKind,
    /// When the brief was written.
    pub created_at: Timestamp,
    /// The text for people.
    pub text: String,
    /// The message that the brief answers.
    #[serde(default)]
    pub related_message_id: Option<MessageId>,
    /// The task that the brief reports on.
    #[serde(default)]
    pub related_task_id: Option<TaskId>,
}

/// A tool call that was executed (class `tools`); never executed again (contract 5.23).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolExecutionRecord {
    /// Identifies the call.
    pub id: String,
    /// The agent that owns the ledger.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// The work item that the call served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The number of the turn that made the call.
    #[serde(default)]
    pub turn_index: u64,
    /// The name of the tool.
    pub tool_name: String,
    /// When the call was made.
    pub created_at: Timestamp,
    /// The trust under which the call was made.
    pub trust: TrustLevel,
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

/// A call that an answer of the model makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundCall {
    /// The id of the call, unique within its run.
    pub call_id: String,
    /// The tool that it calls.
    pub tool_name: String,
}

/// A piece of the transcript (class `transcript`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptRecord {
    /// The agent that owns the ledger.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// When the piece was recorded.
    pub created_at: Timestamp,
    /// The run that the piece belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// What was said, carried as given.
    pub data: RawJson,
    /// Whether it is an answer of the model. Format 1 does not say it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub answer: bool,
    /// The calls of the answer, if the host named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<RoundCall>>,
}

/// Fact `runtime_error`: the host or its provider failed outside a turn's own terminal (contract
/// 6.2).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuntimeFailed {
    /// The error in words.
    pub error: String,
    /// The message that was being handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The run that was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// Fact `context_compacted`: the host shortened the past that it shows the model (contract 5.22).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextCompacted {
    /// The total number of messages that the summary replaces.
    pub compacted_message_count: u64,
    /// The summary that replaces them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_summary: Option<String>,
    /// The host's number of the compaction. Without it, or if it is not newer than the state's, the
    /// state counts on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression_epoch: Option<u64>,
}

/// Fact `checkpoint_recorded`: the model's own account of where the work is (contract 5.22).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckpointRecorded {
    /// The anchor generation that the checkpoint describes: the state's anchor when its text was
    /// requested.
    pub anchor_generation: u64,
    /// The account, carried as given.
    pub data: RawJson,
}
