//! Evidence for the model and for explanations: transcript, tool calls, briefs, and the data of the
//! events about them.

use alloc::string::String;

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId, RunId, TaskId, WorkItemId},
    record::queue::envelope::TrustLevel,
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

names! {
    /// What a brief tells.
    pub enum BriefKind {
        /// Something was received.
        Ack,
        /// Something was reached.
        Result,
        /// Something failed.
        Failure,
    }
}

names! {
    /// How a tool call ended.
    pub enum ToolExecutionStatus {
        /// Well.
        Success,
        /// With an error.
        Error,
    }
}

/// A brief (class `briefs`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BriefRecord {
    /// Its id.
    pub id: String,
    /// The agent.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// The item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What it tells.
    pub kind: BriefKind,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its text.
    pub text: String,
    /// The message that it answers.
    #[serde(default)]
    pub related_message_id: Option<MessageId>,
    /// The task that it reports.
    #[serde(default)]
    pub related_task_id: Option<TaskId>,
}

/// A tool call that was executed (class `tools`); never executed again (contract 5.23).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolExecutionRecord {
    /// Its id.
    pub id: String,
    /// The agent.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// The item that it served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The turn in which it was made.
    #[serde(default)]
    pub turn_index: u64,
    /// The tool.
    pub tool_name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Under whose trust.
    pub trust: TrustLevel,
    /// How it ended.
    pub status: ToolExecutionStatus,
    /// What went in, carried as given.
    pub input: RawJson,
    /// What came out, carried as given.
    pub output: RawJson,
    /// Both in a line.
    pub summary: String,
}

/// A piece of the transcript (class `transcript`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptRecord {
    /// The agent.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// When it was made.
    pub created_at: Timestamp,
    /// The run that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// What was said, carried as given.
    pub data: RawJson,
}

/// Fact `runtime_error`: the host or its provider failed outside a turn's own terminal (contract
/// 6.2).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuntimeFailed {
    /// What went wrong, in words.
    pub error: String,
    /// The message that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The run that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// Fact `context_compacted`: what the model is shown of the past got shorter (contract 5.22).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextCompacted {
    /// How many messages the summary stands for, all in all.
    pub compacted_message_count: u64,
    /// What stands for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_summary: Option<String>,
}

/// Fact `checkpoint_recorded`: where the work stood, in the model's words (contract 5.22).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckpointRecorded {
    /// The anchor generation that it describes: the state's anchor when its text was asked for.
    pub anchor_generation: u64,
    /// What it says, carried as given.
    pub data: RawJson,
}
