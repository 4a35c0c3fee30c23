//! Turns, and the runs that execute them (class `turns`).

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
        /// It succeeded.
        Completed,
        /// Its run was aborted.
        Aborted,
        /// Its prompt no longer fits.
        BaselineOverBudget,
        /// The provider failed before any output was accepted.
        DeferredToFallback,
        /// The provider failed after output was accepted.
        ProviderFailedNeedsRecovery,
    }
}

names! {
    /// The status of a run.
    pub enum RunStatus {
        /// The run is open.
        Started,
        /// The run reached its terminal.
        Terminal,
        /// A restart ended the run; its message replays.
        Interrupted,
    }
}

names! {
    /// Why a run was aborted.
    pub enum AbortReason {
        /// The operator asked for it.
        OperatorAborted,
        /// The agent was stopped.
        AgentStopped,
        /// The runtime shut down.
        DaemonShutdown,
        /// The host or the provider failed.
        RuntimeError,
        /// The provider refuses the content of the message.
        ContentRefused,
    }
}

impl TurnTerminalKind {
    /// Whether the turn failed: every kind but completed (contract 5.5).
    #[must_use]
    pub fn is_failure(self) -> bool {
        self != Self::Completed
    }
}

/// A turn as the ledger keeps it (class `turns`). The latest record of a run counts.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnRecord {
    /// The run that executes the turn.
    pub run_id: RunId,
    /// The agent that owns the ledger.
    pub agent_id: AgentId,
    /// The number of the turn, from 1.
    pub turn_index: u64,
    /// The message that started the turn.
    pub message_id: MessageId,
    /// The status of the run.
    pub status: RunStatus,
    /// The item that the turn is about: the message's, else the current one at admission (contract
    /// 5.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item: Option<TurnBinding>,
    /// When the run started.
    pub started_at: Timestamp,
    /// How the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TurnTerminalKind>,
    /// Why the turn ended so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last text of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// A checkpoint of this turn, carried as given. No decision reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<RawJson>,
    /// When the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// The first message of the lineage, if this is a retry (contract 5.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<MessageId>,
    /// The number of the retry; 0 for the first try.
    #[serde(default, skip_serializing_if = "wakeful_json::is_zero")]
    pub attempt: u64,
    /// The number of deferred messages that the turn is told, the oldest ones; absent for all
    /// (contract 5.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred_told: Option<u64>,
}

impl TurnRecord {
    /// Whether the run was aborted for `reason`.
    #[must_use]
    pub fn was_aborted_by(&self, reason: AbortReason) -> bool {
        self.kind == Some(TurnTerminalKind::Aborted)
            // The reason is text, because a provider gives reasons of its own to other terminals.
            && self.reason.as_deref() == Some(reason.to_string().as_str())
    }
}

/// The item that a turn is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnBinding {
    /// The id of that item.
    pub work_item_id: WorkItemId,
    /// The epoch of the item after the admission batch.
    pub epoch: Epoch,
    /// Which of the item's keys the settlement spends (contract 8.3).
    pub offered_as: TickReason,
}
