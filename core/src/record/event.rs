//! Events: what happened, including decisions (class `events`).

use alloc::{
    boxed::Box,
    string::{String, ToString},
};

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId},
    record::{continuation::Resolution, decision::Decision},
    time::Timestamp,
};
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
    data: Option<RawJson>,
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    made_of: MadeOf,
}

/// The values that the core made the data of. A step folds its own events, and reading their text
/// again would be a fifth of its cost.
#[derive(Clone, Debug, Default)]
enum MadeOf {
    /// The text alone is known.
    #[default]
    Text,
    Decision(Box<Decision>),
    Resolution(Box<Resolved>),
}

impl PartialEq for MadeOf {
    /// The data says it all.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The data of [`EventKind::ContinuationResolved`], as far as it is read.
#[derive(Clone, Debug, Readable)]
pub struct Resolved {
    /// The message.
    pub message_id: MessageId,
    /// How it met the closure before it.
    pub resolution: Resolution,
}

impl EventRecord {
    /// An event whose data another program wrote.
    #[must_use]
    pub fn from_text(kind: String, at: Timestamp, data: Option<RawJson>) -> Self {
        Self { created_at: at, kind, data, made_of: MadeOf::Text }
    }

    /// An event of the core.
    #[must_use]
    pub fn new<T: Serialize>(kind: EventKind, at: Timestamp, data: &T) -> Self {
        Self {
            created_at: at,
            kind: kind.as_str().to_string(),
            data: Some(RawJson::from_value(data)),
            made_of: MadeOf::Text,
        }
    }

    /// The event of a decision.
    #[must_use]
    pub fn decided(at: Timestamp, decision: &Decision) -> Self {
        let made_of = MadeOf::Decision(Box::new(decision.copied()));
        Self { made_of, ..Self::new(EventKind::SchedulerDecision, at, decision) }
    }

    /// The event of how a message of this agent met the closure.
    #[must_use]
    pub fn resolved(at: Timestamp, agent_id: &AgentId, resolved: Resolved) -> Self {
        #[derive(Serialize)]
        struct Data<'a> {
            agent_id: &'a AgentId,
            message_id: &'a MessageId,
            resolution: &'a Resolution,
        }
        let Resolved { message_id, resolution } = &resolved;
        let event = Self::new(
            EventKind::ContinuationResolved,
            at,
            &Data { agent_id, message_id, resolution },
        );
        Self { made_of: MadeOf::Resolution(Box::new(resolved)), ..event }
    }

    /// The data as it is stored.
    #[must_use]
    pub fn data(&self) -> Option<&RawJson> {
        self.data.as_ref()
    }

    /// The decision that this event records; `None` if it records none.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        match &self.made_of {
            MadeOf::Decision(decision) => Some(decision.copied()),
            _ => self.particulars(),
        }
    }

    /// How a message met the closure; `None` if this event does not say.
    #[must_use]
    pub fn resolution(&self) -> Option<Resolved> {
        match &self.made_of {
            MadeOf::Resolution(resolved) => Some(Resolved::clone(resolved)),
            _ => self.particulars(),
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
