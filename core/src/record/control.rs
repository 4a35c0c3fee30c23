//! Control records: identity, lifecycle, focus, hints and parking (class `control`).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::{AgentId, ExternalTriggerId, RunId, WaitingIntentId, WorkItemId},
    record::{
        edition::Edition, policy::Policy, queue::envelope::MessageBody, turn::TurnTerminalKind,
        waiting::ExternalTriggerScope,
    },
    tagged::{names, vocabulary},
    time::Timestamp,
};
use wakeful_json::Readable;

/// The version of the ledger format that this crate writes and the newest that it reads.
pub const FORMAT: u32 = 1;

vocabulary! {
    tag "control";
    /// What the control plane keeps (class `control`).
    pub enum ControlRecord {
        /// The first entry of every ledger.
        "genesis" => Genesis(Genesis),
        /// What `agent.json` of an import says.
        "agent_imported" => AgentImported(AgentImported),
        /// The focus moved.
        "focus_set" => FocusSet(FocusSet),
        /// A wake hint became pending.
        "wake_hint_pending" => WakeHintPending(WakeHint),
        /// The pending wake hint was turned into a tick.
        "wake_hint_cleared" => WakeHintCleared(Marker),
        /// The agent may run.
        "start_requested" => StartRequested(Marker),
        /// The agent may not run.
        "stop_requested" => StopRequested(Marker),
        /// The runtime goes down.
        "shutdown_requested" => ShutdownRequested(Marker),
        /// A driver took the ledger over.
        "runtime_restarted" => RuntimeRestarted(Marker),
        /// A work item gives no work signal until its epoch moves (contract 9.4).
        "item_parked" => ItemParked(ItemParked),
        /// Policy or edition changed.
        "policy_set" => PolicySet(PolicySet),
    }
}

/// A record or fact that says all with its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Marker {}

/// What alone determines every decision on a ledger, besides its entries (contract 1.4).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Genesis {
    /// The agent.
    pub agent_id: AgentId,
    /// The version of the ledger format.
    pub format: u32,
    /// The order of the rules.
    pub edition: Edition,
    /// The limits and delays.
    pub policy: Policy,
}

impl Genesis {
    /// Whether edition and policy are the defaults.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.edition == Edition::default() && self.policy == Policy::default()
    }
}

names! {
    /// Where an agent stands in its life (contract 4.1).
    pub enum AgentStatus {
        /// Not yet started or restarted.
        Booting,
        /// Between turns, with a reason to look again.
        AwakeIdle,
        /// A run is open.
        AwakeRunning,
        /// At rest, waiting for a task.
        AwaitingTask,
        /// At rest.
        Asleep,
        /// Not to run until started.
        Stopped | "paused",
    }
}

names! {
    /// Why the focus moved: nothing else moves it (contract 5.14).
    pub enum FocusCause {
        /// The model picked the item.
        Pick,
        /// The item was completed.
        Completion,
        /// It was cleared.
        Clear,
    }
}

/// Fact and record `policy_set`: the only change of what the first entry says (contract 1.4). What
/// is absent stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicySet {
    /// The limits and delays; those that are not named get their defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The order of the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<Edition>,
}

/// The durable focus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FocusSet {
    /// The item, or none.
    pub work_item_id: Option<WorkItemId>,
    /// Why it moved.
    pub cause: FocusCause,
}

/// What `agent.json` of an import says (contract 3.8).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentImported {
    /// Its status there.
    pub status: AgentStatus,
    /// The number of its newest turn.
    pub turn_index: u64,
    /// How that turn ended, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_terminal: Option<TurnTerminalKind>,
    /// The number of the turn that ended so, where it is not the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_turn_index: Option<u64>,
    /// The run that was open there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
    /// The item that its newest turn was about there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_turn_work_item_id: Option<WorkItemId>,
    /// The wake hint that was pending there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_hint: Option<RecordedHint>,
    /// The lines that the import dropped (contract 3.5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub torn: Vec<TornLine>,
}

/// A wake hint that another runtime recorded: its time is part of its key (contract 8.4).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedHint {
    /// The hint.
    pub hint: WakeHint,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// A last line without end, which its writer did not live to finish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TornLine {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// How much of it was there, in bytes.
    pub bytes: u64,
}

/// A wake hint (contract 5.21): a signal to look again, not a message.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeHint {
    /// Why to look.
    pub reason: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whose wait it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ExternalTriggerScope>,
    /// The intent that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_intent_id: Option<WaitingIntentId>,
    /// The external trigger that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<ExternalTriggerId>,
    /// The thing that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// What it says, if it says anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<MessageBody>,
    /// The type of what it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The conversation that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// What caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

impl WakeHint {
    /// A hint that gives a reason and names nothing.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            description: None,
            source: None,
            scope: None,
            waiting_intent_id: None,
            external_trigger_id: None,
            resource: None,
            body: None,
            content_type: None,
            correlation_id: None,
            causation_id: None,
        }
    }

    /// This hint; where it says nothing, with what the one before it said: of hints that come
    /// together the newest content stays (contract 5.21).
    pub(crate) fn with_content_of(self, before: Self) -> Self {
        if self.body.as_ref().is_some_and(MessageBody::is_contentful) {
            return self;
        }
        match before.body {
            Some(body) if body.is_contentful() => {
                Self { body: Some(body), content_type: before.content_type, ..self }
            }
            _ => self,
        }
    }
}

names! {
    /// Why an item was parked.
    pub enum ParkCause {
        /// It was offered as often as the policy says, and no turn moved it.
        NoProgress,
        /// The operator broke its turn off.
        OperatorAborted,
        /// The turn about it was interrupted too often (contract 5.24).
        ReplayBudget,
    }
}

/// Control record `item_parked`: the item gives no work signal until its epoch moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ItemParked {
    /// The item.
    pub work_item_id: WorkItemId,
    /// Why.
    pub cause: ParkCause,
}
