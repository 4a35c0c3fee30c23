//! Control records: identity, lifecycle, focus, hints and parking (class `control`).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::{AgentId, DeliveryId, ExternalTriggerId, MessageId, RunId, WaitingIntentId, WorkItemId},
    record::{
        budget::{BudgetGranted, BudgetSet, RoundUsage},
        edition::Edition,
        policy::Policy,
        queue::envelope::MessageBody,
        turn::TurnTerminalKind,
        waiting::ExternalTriggerScope,
    },
    tagged::{names, vocabulary},
    time::Timestamp,
};
use wakeful_json::Readable;

/// The version of the ledger format that this crate writes and the newest that it reads.
pub const FORMAT: u32 = 2;

vocabulary! {
    tag "control";
    /// A record of the control plane (class `control`).
    pub enum ControlRecord {
        /// The first entry of every ledger.
        "genesis" => Genesis(Genesis),
        /// The state in `agent.json` of an import.
        "agent_imported" => AgentImported(AgentImported),
        /// The focus moved.
        "focus_set" => FocusSet(FocusSet),
        /// A wake hint is pending.
        "wake_hint_pending" => WakeHintPending(WakeHint),
        /// The pending wake hint became a tick.
        "wake_hint_cleared" => WakeHintCleared(Marker),
        /// The agent may run again.
        "start_requested" => StartRequested(Marker),
        /// The agent must not run.
        "stop_requested" => StopRequested(Marker),
        /// The runtime is shutting down.
        "shutdown_requested" => ShutdownRequested(Marker),
        /// A driver took over the ledger.
        "runtime_restarted" => RuntimeRestarted(Marker),
        /// A work item gives no work signal until its epoch moves (contract 9.4).
        "item_parked" => ItemParked(ItemParked),
        /// The agent starts nothing on its own until input from outside comes (contract 1.5).
        "agent_parked" => AgentParked(Marker),
        /// Policy or edition was replaced.
        "policy_set" => PolicySet(PolicySet),
        /// The host's clock was ahead, and is right again (contract 1.3).
        "clock_corrected" => ClockCorrected(ClockCorrected),
        /// Operator input gave items a new reason to look at them (contract 5.15).
        "epochs_moved" => EpochsMoved(EpochsMoved),
        /// An owner has a budget (contract 16.2).
        "budget_set" => BudgetSet(BudgetSet),
        /// An owner may use more, once (contract 16.2).
        "budget_granted" => BudgetGranted(BudgetGranted),
        /// A round of a run that had ended counts too (contract 16.1).
        "round_counted" => RoundCounted(RoundUsage),
        /// Another day began for budgets that were exhausted (contract 16.4).
        "budget_day_begun" => BudgetDayBegun(Marker),
        /// What the agent is, and what it works with (contract 15.7).
        "agent_described" => AgentDescribed(AgentDescribed),
        /// A newer program took over: from here on, entries may be of this format.
        "format_raised" => FormatRaised(FormatRaised),
    }
}

/// The data of a record or fact whose name says everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Marker {}

/// The settings that, together with the entries, determine every decision (contract 1.4).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Genesis {
    /// The agent that owns the ledger.
    pub agent_id: AgentId,
    /// The version of the ledger format.
    pub format: u32,
    /// The order of the rules, as a named edition.
    pub edition: Edition,
    /// The limits and delays of the scheduler.
    pub policy: Policy,
}

impl Genesis {
    /// Whether edition and policy are both the defaults.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.edition == Edition::default() && self.policy == Policy::default()
    }
}

names! {
    /// The lifecycle status of an agent (contract 4.1).
    pub enum AgentStatus {
        /// Not yet started or restarted.
        Booting,
        /// Between turns, and about to look again.
        AwakeIdle,
        /// A run is open.
        AwakeRunning,
        /// At rest, waiting for a task.
        AwaitingTask,
        /// At rest.
        Asleep,
        /// Stopped until the next start.
        // contract 4.1: `paused` is read as `stopped`.
        Stopped | "paused",
    }
}

names! {
    /// Why the focus moved. Nothing else moves it (contract 5.14).
    pub enum FocusCause {
        /// The model picked the item.
        Pick,
        /// The item was completed.
        Completion,
        /// The focus was cleared explicitly.
        Clear,
    }
}

/// Fact and record `policy_set`: the only way to change the settings of the first entry (contract
/// 1.4). An absent field leaves its setting as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicySet {
    /// The new limits and delays. Those that it does not name get their defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The new order of the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<Edition>,
}

names! {
    /// What an agent is to its runtime.
    pub enum AgentKind {
        /// The one that the runtime starts with.
        Default,
        /// One with a name of its own.
        Named,
        /// One that another agent spawned.
        Child,
    }

    /// Who sees an agent.
    pub enum AgentVisibility {
        /// Everybody.
        Public,
        /// Its owner.
        Private,
    }

    /// Who is responsible for an agent.
    pub enum AgentOwnership {
        /// It is.
        SelfOwned,
        /// The agent that spawned it.
        ParentSupervised,
    }
}

/// Fact and record `agent_described`: what the agent is and what it works with, as its host says.
/// No rule reads it. It replaces what was said before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentDescribed {
    /// What the agent is to its runtime.
    pub kind: AgentKind,
    /// Who sees it.
    pub visibility: AgentVisibility,
    /// Who is responsible for it.
    pub ownership: AgentOwnership,
    /// The name of its profile: the tools and rights that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_preset: Option<String>,
    /// The agent that spawned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    /// The model that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The directory in which its commands start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// The workspace that it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Record `format_raised`: a driver that writes a newer format took over the ledger. Programs that
/// do not know the format refuse the ledger from here on (contract 1.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormatRaised {
    /// The format of this entry and of later ones.
    pub format: u32,
}

/// Record `clock_corrected`: the time of this entry is earlier than that of the entry before it,
/// because the host's clock was ahead (contract 1.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockCorrected {
    /// The time of the entry before this one, by the clock that was ahead.
    pub last_at: Timestamp,
    /// The time that really passed since that entry, in milliseconds, if the host knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

/// Record `epochs_moved`: operator input that names no item may answer these items too (contract
/// 5.15).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EpochsMoved {
    /// The operator input.
    pub message_id: MessageId,
    /// The items that wait for the operator.
    pub work_item_ids: Vec<WorkItemId>,
}

/// A change of the durable focus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FocusSet {
    /// The item that now has the focus; `None` if it was cleared.
    pub work_item_id: Option<WorkItemId>,
    /// Why the focus moved.
    pub cause: FocusCause,
}

/// The state in `agent.json` of an import (contract 3.8).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentImported {
    /// The status of the agent there.
    pub status: AgentStatus,
    /// The number of the newest turn there.
    pub turn_index: u64,
    /// How that turn ended, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_terminal: Option<TurnTerminalKind>,
    /// The number of the turn that ended so, if it is not the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_turn_index: Option<u64>,
    /// The run that was open there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
    /// The work item of the newest turn there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_turn_work_item_id: Option<WorkItemId>,
    /// The wake hint that was pending there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_hint: Option<RecordedHint>,
    /// The lines that the import dropped (contract 3.5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub torn: Vec<TornLine>,
}

/// A wake hint that another runtime recorded. Its time is part of its key (contract 8.4).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedHint {
    /// The hint itself.
    pub hint: WakeHint,
    /// When that runtime recorded it.
    pub created_at: Timestamp,
}

/// A last line without a line end: its writer died in the middle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TornLine {
    /// The name of the file.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u64,
    /// The length of what was there, in bytes.
    pub bytes: u64,
}

/// A wake hint (contract 5.21): a signal to look again, not a message.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeHint {
    /// Why the agent should look.
    pub reason: String,
    /// A longer explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The system that sent the hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether the hint serves a wait of an item or of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ExternalTriggerScope>,
    /// The waiting intent that the hint names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_intent_id: Option<WaitingIntentId>,
    /// The external trigger that the hint names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<ExternalTriggerId>,
    /// The delivery that the hint is. Only the core sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<DeliveryId>,
    /// The thing that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The content, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<MessageBody>,
    /// The media type of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The conversation that the hint belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// What caused the hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

impl WakeHint {
    /// A hint with a reason that names no wait.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            description: None,
            source: None,
            scope: None,
            waiting_intent_id: None,
            external_trigger_id: None,
            delivery_id: None,
            resource: None,
            body: None,
            content_type: None,
            correlation_id: None,
            causation_id: None,
        }
    }

    /// This hint, with the content of `before` if it has none: coalesced hints keep the newest
    /// content (contract 5.21).
    pub(crate) fn with_content_of(self, before: Self) -> Self {
        if self.body.as_ref().is_some_and(MessageBody::is_contentful) {
            return self;
        }
        match before.body {
            // Only the content moves over. The ids that the older hint named are kept in
            // `Coalesced`.
            Some(body) if body.is_contentful() => {
                Self { body: Some(body), content_type: before.content_type, ..self }
            }
            _ => self,
        }
    }
}

names! {
    /// Why a work item was parked.
    pub enum ParkCause {
        /// It was offered as often as the policy allows, and no turn moved it.
        NoProgress,
        /// The operator aborted its turn.
        OperatorAborted,
        /// The turn about it was interrupted too often (contract 5.24).
        ReplayBudget,
        /// Its host found that something of it is broken (contract 1.5).
        Breach,
    }
}

/// Record `item_parked`: the item gives no work signal until its epoch moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ItemParked {
    /// The parked item.
    pub work_item_id: WorkItemId,
    /// Why it was parked.
    pub cause: ParkCause,
}
