//! The decision of the ladder, as the ledger keeps it (contract 7.4).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::{MessageId, Seq, TaskId, WorkItemId},
    record::{control::AgentStatus, edition::Edition},
    tagged::names,
};
use wakeful_json::Readable;

names! {
    /// What the agent does next.
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
        /// Stay at rest: nothing is pending, and the agent is asleep already.
        StayIdle = "StayIdle",
        /// The agent is stopped or closing.
        Stop = "Stop",
        /// Nothing to do at this boundary.
        Noop = "Noop",
    }
}

impl DecisionKind {
    /// The kind with this name; case does not matter.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|known| known.eq_ignore_ascii_case(name))?;
        Some(Self::ALL[at])
    }

    /// The status of an agent after this decision is recorded, if it is a rest (contract 4.1).
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

    /// Whether the host loop takes another step after this decision.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::ReduceMessageOnly | Self::EmitSystemTick)
    }
}

names! {
    /// The point in the host's loop at which it asks the scheduler (contract 7.6).
    pub enum Boundary {
        /// Between two messages.
        RunLoop,
        /// With an empty queue.
        RunLoopIdle,
        /// While a message is settled.
        MessageProcessing,
        /// While idle, to emit a tick.
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
    /// A stable code for a piece of typed evidence.
    #[non_exhaustive]
    pub enum ReasonCode {
        /// The agent was stopped.
        StopRequested,
        /// The runtime is shutting down.
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
        /// It names no wait; only the closure's reason matches.
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
        /// The message is about something that no longer exists or has changed.
        SubjectGone,
        /// Wait conditions of the agent itself are active.
        AgentWaits,
        /// Waiting intents of the agent are active.
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
        /// Nothing is pending.
        NothingPending,
        /// A budget is exhausted, and holds back what is pending.
        BudgetExhausted,
    }
}

names! {
    /// Why an input was ignored.
    #[non_exhaustive]
    pub enum IgnoredReason {
        /// Its key is spent.
        KeySpent,
        /// It satisfies no active wait.
        MismatchedTrigger,
    }
}

/// A reason for the decision, with the entries that it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Because {
    /// The stable code.
    pub code: ReasonCode,
    /// The entries, of many the first 16; empty if the reason is that something is absent.
    pub seqs: Vec<Seq>,
}

/// An input that the decision ignored (contract 5.18, 8.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ignored {
    /// The ignored key or message id.
    pub what: String,
    /// Why it was ignored.
    pub reason: IgnoredReason,
    /// The entries that show it.
    pub seqs: Vec<Seq>,
}

/// One decision at one boundary: the data of a `scheduler_decision` event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// What the agent does next.
    #[serde(rename = "decision")]
    pub kind: DecisionKind,
    /// Why, as one code.
    pub reason: String,
    /// Whether a message goes to the model.
    pub model_reentry: bool,
    /// Whether this only keeps the agent alive.
    pub liveness_only: bool,
    /// The message that the decision is about.
    pub message_id: Option<MessageId>,
    /// The work item that the decision is about.
    pub work_item_id: Option<WorkItemId>,
    /// The task that the decision is about.
    pub task_id: Option<TaskId>,
    /// The point in the host's loop at which the decision was requested.
    pub boundary: Boundary,
    /// The reference runtime's evidence strings.
    pub evidence: Vec<String>,
    /// The id of the rule that fired.
    pub rule: String,
    /// The order of the rules that was in force.
    pub edition: Edition,
    /// The inputs that were ignored.
    #[serde(default)]
    pub ignored: Vec<Ignored>,
    /// Typed evidence: reasons with their entries.
    #[serde(default)]
    pub because: Vec<Because>,
}

impl Decision {
    /// Out-of-line clone: one copy of this code keeps the guest small.
    #[inline(never)]
    pub(crate) fn copied(&self) -> Self {
        self.clone()
    }

    /// Whether both decisions are equal in everything but `because` (contract 7.5).
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        // Destructured, so that a new field cannot be forgotten here.
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
