//! Effects: what the host must do, released only after the batch that asks for it is durable
//! (contract 3.2).

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
// A batch releases one or two effects; boxing the request would buy nothing.
#[allow(clippy::large_enum_variant)]
pub enum Effect {
    /// Start a turn; what happens in it comes back as facts that name its run.
    StartTurn(TurnRequest),
    /// Insert an operator message into the open run at this safe point.
    Interject {
        /// The run.
        run_id: RunId,
        /// The message.
        message_id: MessageId,
    },
    /// End the run after this round.
    YieldTurn {
        /// The run.
        run_id: RunId,
    },
    /// Break off the run.
    AbortTurn {
        /// The run.
        run_id: RunId,
        /// Why.
        reason: AbortReason,
    },
    /// The agent was stopped: let go of what is held for it.
    Release,
}

impl Effect {
    /// The run that it is about. `None` if it is about the agent.
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
    /// The run; every fact about the turn names it.
    pub run_id: RunId,
    /// The number of the turn, from 1.
    pub turn_index: u64,
    /// The message that starts it.
    pub message: MessageRecord,
    /// The item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item: Option<TurnBinding>,
    /// Runs that were interrupted before this one; their recorded tool calls are never run again
    /// (contract 5.23).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupted_runs: Vec<RunId>,
    /// What was said since the last turn that completed, and reached none; oldest first (contract
    /// 5.3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<MessageRecord>,
    /// How many more there were than the policy keeps.
    #[serde(default, skip_serializing_if = "wakeful_json::is_zero")]
    pub deferred_overflow: u64,
    /// Whether the item rests: its turns left it unchanged, and it is to be moved, or to wait for
    /// something (contract 9.4).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub work_item_rests: bool,
}
