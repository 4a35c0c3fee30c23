//! The continuation of a message: what it means under the closure before it (contract 6.3).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{record::queue::message::TriggerKind, tagged::names};
use wakeful_json::Readable;

names! {
    /// What the facts so far amount to.
    pub enum ClosureOutcome {
        /// Nothing is left to do.
        Completed,
        /// There is work to continue.
        Continuable,
        /// Something failed.
        Failed,
        /// The agent waits for something.
        Waiting,
    }
}

names! {
    /// What the agent waits for.
    pub enum WaitingReason {
        /// The operator.
        AwaitingOperatorInput,
        /// Something external.
        AwaitingExternalChange,
        /// A task.
        AwaitingTaskResult,
        /// A timer.
        AwaitingTimer,
    }
}

names! {
    /// What a message means for the agent.
    pub enum Class {
        /// It ends a wait as expected.
        ResumeExpectedWait,
        /// It counts under any wait.
        ResumeOverride,
        /// There was no wait, and the agent continues.
        LocalContinuation,
        /// It only keeps the agent alive.
        LivenessOnly,
    }
}

/// How a message met the closure before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    /// What kind of trigger the message is.
    pub trigger_kind: TriggerKind,
    /// What the message means.
    pub class: Class,
    /// Whether the message goes to the model.
    pub model_reentry: bool,
    /// The closure before the message.
    pub prior_closure_outcome: ClosureOutcome,
    /// The wait of that closure, if it was waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_waiting_reason: Option<WaitingReason>,
    /// Whether the message ended that wait.
    pub matched_waiting_reason: bool,
    /// The evidence, as short texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}
