//! Effects: what the host must do. They are released only after their batch is durable (contract
//! 3.2).

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    id::{MessageId, RunId},
    record::{
        queue::message::MessageRecord,
        turn::{AbortReason, TurnBinding},
    },
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
    /// Messages that have not reached a completed turn yet, oldest first (contract 5.3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<MessageRecord>,
    /// The number of deferred messages beyond the policy's limit, which were not kept.
    #[serde(default, skip_serializing_if = "wakeful_json::is_zero")]
    pub deferred_overflow: u64,
    /// Whether the item rests: earlier turns left it unchanged. The turn should change it or
    /// register a wait (contract 9.4).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub work_item_rests: bool,
}
