//! What a message meant under the closure before it (contract 6.3).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{record::queue::message::TriggerKind, tagged::names};
use wakeful_json::Readable;

names! {
    /// What the facts add up to.
    pub enum ClosureOutcome {
        /// Nothing is left to do.
        Completed,
        /// There is work to go on with.
        Continuable,
        /// Something failed.
        Failed,
        /// Something is waited for.
        Waiting,
    }
}

names! {
    /// What is waited for.
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
        /// What was waited for came.
        ResumeExpectedWait,
        /// Something came that counts whatever is waited for.
        ResumeOverride,
        /// Nothing was waited for, and it goes on.
        LocalContinuation,
        /// It only keeps the agent alive.
        LivenessOnly,
    }
}

/// How a message met the closure before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    /// What the message set off.
    pub trigger_kind: TriggerKind,
    /// What it means.
    pub class: Class,
    /// Whether it asks for the model.
    pub model_reentry: bool,
    /// The closure before it.
    pub prior_closure_outcome: ClosureOutcome,
    /// What was waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_waiting_reason: Option<WaitingReason>,
    /// Whether it is what was waited for.
    pub matched_waiting_reason: bool,
    /// What speaks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}
