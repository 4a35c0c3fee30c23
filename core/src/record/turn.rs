//! Turns and the runs that execute them (class `turns`).

use alloc::string::{String, ToString};

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId, RunId, WorkItemId},
    record::key::{Epoch, TickReason},
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

names! {
    /// How a turn ended.
    pub enum TurnTerminalKind {
        /// Well.
        Completed,
        /// Its run was aborted.
        Aborted,
        /// Its prompt does not fit any more.
        BaselineOverBudget,
        /// The provider failed before any output was accepted.
        DeferredToFallback,
        /// The provider failed after output was accepted.
        ProviderFailedNeedsRecovery,
    }
}

names! {
    /// Where a run stands.
    pub enum RunStatus {
        /// It is open.
        Started,
        /// It reached its terminal.
        Terminal,
        /// A restart ended it; its message replays.
        Interrupted,
    }
}

names! {
    /// Why a run was aborted.
    pub enum AbortReason {
        /// The operator asked.
        OperatorAborted,
        /// The agent was stopped.
        AgentStopped,
        /// The runtime shuts down.
        DaemonShutdown,
        /// The host or the provider failed.
        RuntimeError,
    }
}

impl TurnTerminalKind {
    /// Whether the turn failed: every kind but completed (contract 5.5).
    #[must_use]
    pub fn is_failure(self) -> bool {
        self != Self::Completed
    }
}

/// A turn as the ledger keeps it (class `turns`); the latest record of a run counts.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnRecord {
    /// The run that executes it.
    pub run_id: RunId,
    /// The agent.
    pub agent_id: AgentId,
    /// Its number, from 1.
    pub turn_index: u64,
    /// The message that started it.
    pub message_id: MessageId,
    /// Where the run stands.
    pub status: RunStatus,
    /// The item that it is about, by message or focus, when it was admitted (contract 5.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item: Option<TurnBinding>,
    /// When it started.
    pub started_at: Timestamp,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TurnTerminalKind>,
    /// Why it ended so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last thing that the model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// A turn-local checkpoint, carried as given; no decision reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<RawJson>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// The first message of the lineage that it tries again (contract 5.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<MessageId>,
    /// Which try it is; 0 where it is the first.
    #[serde(default, skip_serializing_if = "wakeful_json::is_zero")]
    pub attempt: u64,
}

impl TurnRecord {
    /// Whether this run was aborted for this reason.
    #[must_use]
    pub fn was_aborted_by(&self, reason: AbortReason) -> bool {
        self.kind == Some(TurnTerminalKind::Aborted)
            && self.reason.as_deref() == Some(reason.to_string().as_str())
    }
}

/// The item that a turn is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnBinding {
    /// The item.
    pub work_item_id: WorkItemId,
    /// Its epoch after the admission batch.
    pub epoch: Epoch,
    /// Which of its keys the settlement spends (contract 8.3).
    pub offered_as: TickReason,
}
