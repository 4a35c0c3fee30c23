//! The Wakeful scheduler: typed facts in, one projection, one decision with its evidence out.
//!
//! A host opens a ledger with a [`Scheduler`], or drives a [`Machine`] itself if its storage is not
//! synchronous. It proposes a [`Fact`] for everything that happens, and takes steps until the agent
//! rests. Each step returns a [`Decision`], and the host carries out each [`Effect`].
//! [`Explanation`] says why the scheduler decides as it does, [`WhyNot`] what would have to change.
//!
//! The core has no clock, files, threads or floats, and nothing iterates in hash order.
//!
//! # Floors
//!
//! The modules below are floors: each uses only modules above it in the list (`cargo xtask tidy`
//! checks that). Data flows down the list. A fact says what happened, and the ledger keeps records
//! of it. The state is folded from the records. Derivations read the state, and the ladder reads
//! both and decides. Consequences are the records and effects that follow from a decision. The
//! machine is the outbox over all of it, and the host loop drives the machine.
//!
//! An embedder uses the names at the root of this crate. The modules themselves are public only
//! with the feature `internals`, which is not stable.

#![no_std]
#![forbid(unsafe_code)]
// Without `internals`, much of this crate is unused: it is there for our own hosts and tests. These
// lints run in the build with it.
#![cfg_attr(not(feature = "internals"), allow(dead_code, unreachable_pub, unused_imports))]

extern crate alloc;
// Lets code in this crate name it `wakeful_core`, as other crates do.
extern crate self as wakeful_core;

pub use wakeful_json as json;

mod tagged;

// Each module is declared twice, because Rust has no attribute for the visibility of a module. A
// macro would hide the files from `cargo fmt`.
#[cfg(not(feature = "internals"))]
mod id;
#[cfg(feature = "internals")]
pub mod id;

#[cfg(not(feature = "internals"))]
mod time;
#[cfg(feature = "internals")]
pub mod time;

#[cfg(not(feature = "internals"))]
mod record;
#[cfg(feature = "internals")]
pub mod record;

#[cfg(not(feature = "internals"))]
mod state;
#[cfg(feature = "internals")]
pub mod state;

#[cfg(not(feature = "internals"))]
mod derive;
#[cfg(feature = "internals")]
pub mod derive;

#[cfg(not(feature = "internals"))]
mod fact;
#[cfg(feature = "internals")]
pub mod fact;

#[cfg(not(feature = "internals"))]
mod ladder;
#[cfg(feature = "internals")]
pub mod ladder;

mod consequence;

#[cfg(not(feature = "internals"))]
mod explain;
#[cfg(feature = "internals")]
pub mod explain;

#[cfg(not(feature = "internals"))]
mod check;
#[cfg(feature = "internals")]
pub mod check;

#[cfg(not(feature = "internals"))]
mod machine;
#[cfg(feature = "internals")]
pub mod machine;

#[cfg(not(feature = "internals"))]
mod foreign;
#[cfg(feature = "internals")]
pub mod foreign;

#[cfg(not(feature = "internals"))]
mod host;
#[cfg(feature = "internals")]
pub mod host;

#[cfg(feature = "story")]
pub mod story;

pub use self::{
    check::{Breach, breaches},
    derive::{
        closure::{Closure, RuntimePosture, WorkReactivationMode, WorkSignal},
        obligation::{Obligation, ObligationKind},
        posture::{AgentPosture, Posture},
        summary::{
            AgentExecution, AgentIdentity, AgentListEntry, AgentModel, AgentSummary, BudgetSummary,
            ChildSummary, ConditionSummary, IntentSummary, Lifecycle, LimitSummary, SetAside,
            Tombstones, TriggerSummary,
        },
    },
    explain::{
        Act, ActKind, Explanation, Headline, Notice, NoticeKind, Oddity, OddityKind, Supposition,
        why_not::{Way, WhyNot},
    },
    fact::{
        Fact,
        context::{
            AssistantRoundRecorded, BriefRecorded, ToolExecutionRecorded, TranscriptAppended,
        },
        control::{ClockRight, OwnerBreach, Restarted},
        ingress::{
            ExternalTriggerCreated, ExternalTriggerDelivered, ExternalTriggerNamed,
            ExternalTriggerRotated, TokenHash,
        },
        outcome::{Answer, Refusal},
        queue::{MessageQueued, NewMessage, observed::MessageNamed},
        task::{TaskChanged, TaskResultMoved},
        turn::{RoundCompleted, TurnAborted, TurnOverBudget, TurnStarted, TurnTerminal},
        waiting::{
            condition::{WaitConditionNamed, WaitConditionRegistered},
            intent::{WaitingIntentCreated, WaitingIntentNamed},
            timer::{TimerCreated, TimerNamed},
        },
        work::{
            WorkItemBlocked, WorkItemCompleted, WorkItemCreated, WorkItemNamed, WorkItemUpdated,
        },
    },
    foreign::{FIXTURE_FORMAT, Folder, ForeignError, agent_of, expected::Expected},
    host::{
        Clock, ErrorCode, ErrorReport, FIRST_SNAPSHOT, Ledger, LedgerError, Provider,
        ProviderError, Receipt, Remedy, Replay, Scheduler, SchedulerError, Steady, StepReport,
        folder_of,
        opening::{Opening, open},
        past::{DecisionFrom, History},
        suite,
    },
    id::{
        AgentId, DelegationId, DeliveryId, ExternalTriggerId, GrantId, MessageId, RunId, Seq,
        TaskId, TimerId, WaitConditionId, WaitingIntentId, WorkItemId,
    },
    ladder::rule::{RuleOutcome, RuleTrace, Spent},
    machine::{
        Machine, OpenError, Options, Proposal, ProposeError, clock::ClockError, import::Import,
    },
    record::{
        CarriedRecord, Class, Record,
        budget::{BudgetGranted, BudgetLimits, BudgetSet},
        chain::{Chain, Head},
        context::{
            BriefKind, BriefRecord, CheckpointRecorded, ContextCompacted, RoundCall, RuntimeFailed,
            ToolExecutionRecord, ToolExecutionStatus, TranscriptRecord,
        },
        continuation::{ClosureOutcome, WaitingReason},
        control::{
            AgentDescribed, AgentImported, AgentKind, AgentOwnership, AgentStatus, AgentVisibility,
            ClockCorrected, ControlRecord, EpochsMoved, FORMAT as LEDGER_FORMAT, FocusCause,
            FocusSet, FormatRaised, Genesis, ItemParked, Marker, ParkCause, PolicySet, WakeHint,
        },
        decision::{Because, Boundary, Decision, DecisionKind, Ignored, IgnoredReason, ReasonCode},
        diagnostic::{Diagnostic, DiagnosticKind, Severity, clock_behind_at},
        edition::Edition,
        effect::{DeferredMessage, Effect, OperatorWait, TurnRequest, UnknownCall},
        entry::{Entry, EntryBytes, EntryError, seal_all},
        event::{EventKind, EventRecord},
        ingress::{ExternalTriggerRecord, ExternalTriggerStatus, ExternalTrust},
        key::{Epoch, Key, TickReason},
        policy::{Delays, Policy, TerminalReentry},
        queue::{
            entry::QueueEntryRecord,
            envelope::{
                AdmissionContext, AuthorityClass, DeliverySurface, MessageBody, MessageKind,
                MessageOrigin, Priority, QueueStatus, TrustLevel,
            },
            message::{MessageRecord, TriggerKind},
        },
        refusal::RefusedContent,
        task::{
            TaskKind, TaskRecord, TaskStatus, TaskWaitPolicy,
            recovery::{ChildWorkspaceMode, CommandTaskSpec, TaskRecovery},
        },
        turn::{AbortReason, RunStatus, TurnBinding, TurnRecord, TurnTerminalKind},
        waiting::{
            CallbackDeliveryMode, EndedBy, ExternalTriggerScope, TimerRecord, TimerStatus,
            WaitConditionKind, WaitConditionRecord, WaitConditionStatus, WaitingIntentRecord,
            WaitingIntentStatus, WakeSource,
        },
        work::{
            DelegationCompleted, DelegationState, WorkItemDelegated, WorkItemPlanStatus,
            WorkItemRecord, WorkItemState,
        },
    },
    state::{
        State,
        budget::Usage,
        snapshot::{Snapshot, SnapshotIgnored},
        task::Task,
        turn::OpenRun,
    },
    time::{Timestamp, TimestampError},
};

/// The version of the JSON Schema of all payloads. It changes if a payload gains or loses a field,
/// independently of the interfaces that carry the payloads.
pub const SCHEMA_VERSION: &str = "0.1.0";
