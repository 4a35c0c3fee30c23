//! Effects: what the host must do. They are released only after their batch is durable (contract
//! 3.2).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::{MessageId, RunId, Seq, WaitConditionId, WorkItemId},
    record::{
        queue::message::MessageRecord,
        turn::{AbortReason, TurnBinding},
    },
    time::Timestamp,
};
use wakeful_json::Readable;

/// One thing for the host to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "effect", rename_all = "snake_case")]
// A batch releases one or two effects, so boxing the request would gain nothing.
#[allow(clippy::large_enum_variant)]
pub enum Effect {
    /// Start a turn. The host reports what happens in it as facts that name its run.
    StartTurn(TurnRequest),
    /// Insert an operator message into the open run at this safe point.
    Interject {
        /// The open run.
        run_id: RunId,
        /// The message to insert.
        message_id: MessageId,
    },
    /// End the run after the current round.
    YieldTurn {
        /// The run to end.
        run_id: RunId,
    },
    /// Abort the run.
    AbortTurn {
        /// The run to abort.
        run_id: RunId,
        /// Why it is aborted.
        reason: AbortReason,
    },
    /// The agent was stopped: release what the host holds for it.
    Release,
}

impl Effect {
    /// The run that the effect is about; `None` if it is about the agent.
    #[must_use]
    pub fn run_id(&self) -> Option<&RunId> {
        match self {
            Self::StartTurn(request) => Some(&request.run_id),
            Self::Interject { run_id, .. }
            | Self::YieldTurn { run_id }
            | Self::AbortTurn { run_id, .. } => Some(run_id),
            Self::Release => None,
        }
    }
}

/// What a provider needs to start a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnRequest {
    /// The id of the run. Every fact about the turn must name it.
    pub run_id: RunId,
    /// The number of the turn, from 1.
    pub turn_index: u64,
    /// The message that starts it.
    pub message: MessageRecord,
    /// The item that the turn is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item: Option<TurnBinding>,
    /// Earlier runs of this message that were interrupted. Their recorded tool calls are never run
    /// again (contract 5.23).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupted_runs: Vec<RunId>,
    /// The calls of those runs, and of failed runs of the lineage, that may have run: nothing says
    /// how they ended (contract 5.23).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_calls: Vec<UnknownCall>,
    /// Messages that have not reached a completed turn yet, oldest first, within the policy's
    /// `deferred_bytes` (contract 5.3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<DeferredMessage>,
    /// The number of deferred messages that wait for a later turn, because they did not fit.
    #[serde(default, skip_serializing_if = "wakeful_json::is_zero")]
    pub deferred_later: u64,
    /// The number of deferred messages beyond the policy's limit, which were not kept.
    #[serde(default, skip_serializing_if = "wakeful_json::is_zero")]
    pub deferred_overflow: u64,
    /// Whether the item rests: earlier turns left it unchanged. The turn should change it or
    /// register a wait (contract 9.4).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub work_item_rests: bool,
    /// The other waits for the operator, newest first, if the turn is about operator input that
    /// names no item (contract 5.15).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operator_waits: Vec<OperatorWait>,
}

/// A deferred message as a turn is told it.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeferredMessage {
    /// The message. If its body is cut, it is plain text with the beginning of the content. Long
    /// metadata is left out.
    #[serde(flatten)]
    pub message: MessageRecord,
    /// The length of the whole content in bytes of text, if the body is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
}

/// A tool call that may have run: its round is recorded, its execution is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnknownCall {
    /// The run that made it.
    pub run_id: RunId,
    /// The entry with the model's answer.
    pub seq: Seq,
    /// The call; absent if the host did not say which calls the answer made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The tool that it called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
}

/// A wait for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperatorWait {
    /// The condition; absent if the plan of the item needs input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_condition_id: Option<WaitConditionId>,
    /// The item that waits; absent if the agent does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What is awaited, in words; the objective of an item whose plan needs input.
    pub waiting_for: String,
    /// When the wait began.
    pub since: Timestamp,
}
