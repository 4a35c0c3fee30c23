//! Events: what happened, including decisions (class `events`).

use alloc::string::{String, ToString};

use serde::Serialize;

use crate::time::Timestamp;
use wakeful_json::{RawJson, Readable};

macro_rules! event_kinds {
    ($( $(#[$doc:meta])* $Kind:ident = $wire:literal; )*) => {
        /// The event kinds that the core writes or reads. Foreign ledgers contain others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum EventKind { $( $(#[$doc])* $Kind, )* }

        impl EventKind {
            /// The name in records.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$Kind => $wire, )* }
            }

            /// The kind with this name; `None` if the core does not know it.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $( $wire => Some(Self::$Kind), )*
                    _ => None,
                }
            }
        }
    };
}

event_kinds! {
    /// A decision of the ladder (contract 7.4).
    SchedulerDecision = "scheduler_decision";
    /// How a message met the prior closure (contract 6.3).
    ContinuationResolved = "continuation_resolved";
    /// The closure after a turn (contract 6.1).
    ClosureDecided = "closure_decided";
    /// The turn-end commit (contract 5.7).
    WorkItemTurnEndCommitted = "work_item_turn_end_committed";
    /// A turn was told of a due recheck (contract 5.17).
    WorkItemRecheckConsumed = "work_item_recheck_consumed";
    /// Something looks wrong (contract 11.3).
    SchedulerDiagnostic = "scheduler_diagnostic";
    /// The host or the provider failed (contract 6.2).
    RuntimeError = "runtime_error";
    /// The host started to execute a turn.
    TurnStarted = "turn_started";
    /// The result of a task was queued as a message.
    TaskResultQueued = "task_result_queued";
    /// The result of a task reached the model.
    TaskResultDelivered = "task_result_delivered";
    /// A work item was handed to another agent.
    WorkItemDelegated = "work_item_delegated";
    /// A delegation ended.
    WorkItemDelegationCompleted = "work_item_delegation_completed";
    /// Another runtime coalesced a wake hint into the pending one.
    WakeHintCoalesced = "wake_hint_coalesced";
    /// Another runtime ignored a wake hint.
    WakeHintIgnored = "wake_hint_ignored";
    /// The host compacted the model's context (contract 5.22).
    ContextCompacted = "context_compacted";
    /// A checkpoint was recorded (contract 5.22).
    CheckpointRecorded = "checkpoint_recorded";
    /// A round with the provider ended.
    ProviderRoundCompleted = "provider_round_completed";
    /// A round of tool calls ended.
    ToolRoundCompleted = "tool_round_completed";
    /// The provider refused content of a turn (contract 5.3).
    ContentRefused = "content_refused";
    /// A fact changed nothing, with the reason (contract 2.2).
    FactIgnored = "fact_ignored";
}

/// Something that happened (class `events`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventRecord {
    /// When it happened.
    pub created_at: Timestamp,
    /// The name of its kind, known to the core or not.
    pub kind: String,
    /// The data of that kind.
    #[serde(default)]
    pub data: Option<RawJson>,
}

impl EventRecord {
    /// An event of the core.
    #[must_use]
    pub fn new<T: Serialize>(kind: EventKind, at: Timestamp, data: &T) -> Self {
        Self {
            created_at: at,
            kind: kind.as_str().to_string(),
            data: Some(RawJson::from_value(data)),
        }
    }

    /// The kind; `None` if the core does not know it.
    #[must_use]
    pub fn known(&self) -> Option<EventKind> {
        EventKind::parse(&self.kind)
    }

    /// The data as a typed value. `None` if there is none or it has another shape: other runtimes
    /// write events with the same names.
    #[must_use]
    pub fn particulars<T: Readable>(&self) -> Option<T> {
        self.data.as_ref()?.read().ok()
    }

    /// One field of the data as a typed value; `None` as above.
    #[must_use]
    pub fn particular<T: Readable>(&self, field: &str) -> Option<T> {
        self.data.as_ref()?.field(field)?.read().ok()
    }
}
