//! The decision: what the ladder answered, as the ledger keeps it (contract 7.4).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::{MessageId, Seq, TaskId, WorkItemId},
    record::{control::AgentStatus, edition::Edition},
    tagged::names,
};
use wakeful_json::Readable;

names! {
    /// What is to be done.
    pub enum DecisionKind {
        /// A message goes to the model.
        StartModelTurn = "StartModelTurn",
        /// A message is settled without the model.
        ReduceMessageOnly = "ReduceMessageOnly",
        /// The runtime sends itself a message.
        EmitSystemTick = "EmitSystemTick",
        /// Rest until a task ends.
        WaitForTask = "WaitForTask",
        /// Rest until something external changes.
        WaitForExternalChange = "WaitForExternalChange",
        /// Rest until a timer fires.
        WaitForTimer = "WaitForTimer",
        /// Rest until the operator speaks.
        WaitForOperator = "WaitForOperator",
        /// Rest: nothing is pending.
        Sleep = "Sleep",
        /// Stay at rest: nothing is pending.
        StayIdle = "StayIdle",
        /// The agent may not run.
        Stop = "Stop",
        /// Nothing to do at this boundary.
        Noop = "Noop",
    }
}

impl DecisionKind {
    /// The kind of this name, in any case of letters.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|known| known.eq_ignore_ascii_case(name))?;
        Some(Self::ALL[at])
    }

    /// The status of an agent after this decision was recorded, where it is a rest (contract 4.1).
    #[must_use]
    pub fn rests_as(self) -> Option<AgentStatus> {
        match self {
            Self::WaitForTask => Some(AgentStatus::AwaitingTask),
            Self::WaitForExternalChange
            | Self::WaitForTimer
            | Self::WaitForOperator
            | Self::Sleep
            | Self::StayIdle => Some(AgentStatus::Asleep),
            Self::StartModelTurn
            | Self::ReduceMessageOnly
            | Self::EmitSystemTick
            | Self::Stop
            | Self::Noop => None,
        }
    }

    /// Whether a repetition of this decision says nothing new (contract 7.5).
    #[must_use]
    pub fn may_repeat(self) -> bool {
        self.rests_as().is_some() || matches!(self, Self::Noop | Self::Stop)
    }

    /// Whether a loop takes another step after this decision.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::ReduceMessageOnly | Self::EmitSystemTick)
    }
}

names! {
    /// Where in the host's loop the scheduler is asked (contract 7.6).
    pub enum Boundary {
        /// Between two messages.
        RunLoop,
        /// With an empty queue.
        RunLoopIdle,
        /// While a message is settled.
        MessageProcessing,
        /// When idle, for a tick.
        IdleTick,
        /// Safe point: before a second or later round with the provider.
        BeforeProviderContinuation,
        /// Safe point: after a round without tool calls.
        AfterProviderRound,
        /// Safe point: before tool calls are executed.
        BeforeToolExecution,
        /// Safe point: after tool calls were executed.
        AfterToolResults,
    }
}

names! {
    /// The stable codes of typed evidence.
    #[non_exhaustive]
    pub enum ReasonCode {
        /// The agent was stopped.
        StopRequested,
        /// The runtime goes down.
        ShutdownRequested,
        /// A run is open.
        RunOpen,
        /// This message is the head of the queue.
        QueueHead,
        /// Its continuation re-enters the model.
        ContinuationReenters,
        /// Its continuation does not re-enter the model.
        ContinuationLivenessOnly,
        /// It satisfies this wait.
        WaitSatisfied,
        /// It names no wait; the closure's reason alone matches it.
        MatchedByReasonClass,
        /// It is operator input of priority interject.
        OperatorInterjection,
        /// A wake hint is pending.
        WakeHintPending,
        /// The item has the focus.
        ItemHasFocus,
        /// The item is runnable.
        ItemRunnable,
        /// The runs of the message were interrupted as often as the policy allows.
        InterruptedTooOften,
        /// It is about something that is no longer so.
        SubjectGone,
        /// Conditions of the agent itself are active.
        AgentWaits,
        /// Intents of the agent are active.
        AgentIntentsActive,
        /// Timers are active.
        TimersActive,
        /// The item waits for the operator.
        ItemWaitsForOperator,
        /// The item waits for a task.
        ItemWaitsForTask,
        /// The item waits for something external.
        ItemWaitsForExternal,
        /// The item waits for a timer.
        ItemWaitsForTimer,
        /// The item waits for the runtime.
        ItemWaitsForSystem,
        /// Nothing above holds.
        NothingPending,
    }
}

names! {
    /// Why an input was passed over.
    #[non_exhaustive]
    pub enum IgnoredReason {
        /// Its key is spent.
        KeySpent,
        /// It satisfies no active wait.
        MismatchedTrigger,
    }
}

/// A reason for the decision and the entries that it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Because {
    /// The reason.
    pub code: ReasonCode,
    /// The entries; empty where the reason is an absence.
    pub seqs: Vec<Seq>,
}

/// An input that the decision passed over (contract 5.18, 8.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ignored {
    /// What was passed over: a key or a message id.
    pub what: String,
    /// Why.
    pub reason: IgnoredReason,
    /// The entries that say so.
    pub seqs: Vec<Seq>,
}

/// One decision at one boundary: the data of a `scheduler_decision` event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// What is to be done.
    #[serde(rename = "decision")]
    pub kind: DecisionKind,
    /// Why, as one code.
    pub reason: String,
    /// Whether the model will see something.
    pub model_reentry: bool,
    /// Whether this only keeps the agent alive.
    pub liveness_only: bool,
    /// The message that it is about.
    pub message_id: Option<MessageId>,
    /// The work item that it is about.
    pub work_item_id: Option<WorkItemId>,
    /// The task that it is about.
    pub task_id: Option<TaskId>,
    /// Where it was asked for.
    pub boundary: Boundary,
    /// The reference runtime's evidence strings.
    pub evidence: Vec<String>,
    /// The rule that fired.
    pub rule: String,
    /// The order of the rules.
    pub edition: Edition,
    /// What was passed over.
    #[serde(default)]
    pub ignored: Vec<Ignored>,
    /// Typed evidence.
    #[serde(default)]
    pub because: Vec<Because>,
}

impl Decision {
    /// Whether the other decision says the same, whatever it rests on (contract 7.5).
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        let Self {
            kind,
            reason,
            model_reentry,
            liveness_only,
            message_id,
            work_item_id,
            task_id,
            boundary,
            evidence,
            rule,
            edition,
            ignored,
            because: _,
        } = self;
        (*kind, *model_reentry, *liveness_only, *boundary, *edition)
            == (other.kind, other.model_reentry, other.liveness_only, other.boundary, other.edition)
            && (message_id, work_item_id, task_id)
                == (&other.message_id, &other.work_item_id, &other.task_id)
            && (reason, rule, evidence, ignored)
                == (&other.reason, &other.rule, &other.evidence, &other.ignored)
    }
}
