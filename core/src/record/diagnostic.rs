//! Diagnostics: what looks wrong, for people. Never an input of a decision (contract 11.3).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    id::{WaitConditionId, WaitingIntentId, WorkItemId},
    record::{
        event::{EventKind, EventRecord},
        queue::message::MessageRecord,
        task::message::TaskPayloadError,
        turn::TurnRecord,
    },
    tagged::names,
    time::Timestamp,
};

names! {
    /// What looks wrong. More kinds will follow (contract 11.3).
    #[non_exhaustive]
    pub enum DiagnosticKind {
        /// The posture says idle, but work can go on.
        IdlePostureHasRunnableWork,
        /// The posture says idle, but messages wait.
        IdlePostureHasQueuedInput,
        /// An external wait never ends when its event is lost.
        ExternalWaitHasWeakRecoverability,
        /// So does this one, on purpose.
        ExternalWaitHasNoFallback,
        /// Nothing will ever look at this blocker again.
        BlockedWorkItemWithoutRecheckOrWait,
        /// No trigger can serve this intent by name.
        WaitingIntentWithoutExternalTrigger,
        /// Nothing that can happen ends this wait.
        WaitWithoutWaker,
        /// Work can go on, but was offered already, so that the agent rests on it.
        RunnableWorkAtRest,
        /// A message could not be classified and was dropped.
        MalformedMessage,
        /// A work item gives no work signal until something moves it.
        Parked,
        /// The runs of a message were interrupted too often, and it was dropped.
        ReplayBudget,
        /// No fact of the open run came for longer than the policy allows.
        StalledRun,
        /// A turn failed at every try.
        RetriesExhausted,
        /// The host's clock is behind the newest entry of the ledger.
        ClockBehind,
    }
}

names! {
    /// How bad it is.
    #[non_exhaustive]
    pub enum Severity {
        /// The agent may be stuck.
        Warning,
    }
}

/// Something that looks wrong, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnostic {
    /// What looks wrong.
    pub kind: DiagnosticKind,
    /// How bad it is.
    pub severity: Severity,
    /// The same in a sentence.
    pub message: String,
    /// The item that it is about.
    pub work_item_id: Option<WorkItemId>,
    /// The intent that it is about.
    pub waiting_intent_id: Option<WaitingIntentId>,
    /// The condition that it is about.
    pub wait_condition_id: Option<WaitConditionId>,
    /// What speaks for it.
    pub evidence: Vec<String>,
}

impl Diagnostic {
    pub(crate) fn new(kind: DiagnosticKind, message: &str, evidence: Vec<String>) -> Self {
        Self {
            kind,
            severity: Severity::Warning,
            message: message.into(),
            work_item_id: None,
            waiting_intent_id: None,
            wait_condition_id: None,
            evidence,
        }
    }
}

/// A message that cannot be classified, and is dropped (contract 5.2).
#[must_use]
pub fn malformed_message(message: &MessageRecord, why: &TaskPayloadError) -> Diagnostic {
    let evidence = Vec::from([
        format!("message_id={}", message.id),
        format!("message_kind={:?}", message.kind),
        why.to_string(),
    ]);
    Diagnostic {
        work_item_id: message.work_item_id.clone(),
        ..Diagnostic::new(
            DiagnosticKind::MalformedMessage,
            "a message could not be classified and was dropped",
            evidence,
        )
    }
}

/// A message whose runs were interrupted as often as the policy allows, and that is dropped
/// (contract 5.24).
#[must_use]
pub fn replay_budget(message: &MessageRecord, interruptions: u64) -> Diagnostic {
    let evidence = Vec::from([
        format!("message_id={}", message.id),
        format!("interrupted_runs={interruptions}"),
    ]);
    Diagnostic {
        work_item_id: message.work_item_id.clone(),
        ..Diagnostic::new(
            DiagnosticKind::ReplayBudget,
            "the runs of a message were interrupted too often, and it was dropped",
            evidence,
        )
    }
}

/// What the host's clock said when this was recorded, if it is the diagnostic of a clock that is
/// behind: the entry's own time is the ledger's.
#[must_use]
pub fn clock_behind_at(event: &EventRecord) -> Option<Timestamp> {
    let evidence: Vec<String> = Some(event)
        .filter(|event| is_recorded(event, DiagnosticKind::ClockBehind))?
        .particular("evidence")?;
    Timestamp::parse(evidence.iter().find_map(|said| said.strip_prefix(HOST_NOW))?).ok()
}

pub(crate) const HOST_NOW: &str = "host_now=";

/// Whether this event records a diagnostic of this kind.
#[must_use]
pub(crate) fn is_recorded(event: &EventRecord, kind: DiagnosticKind) -> bool {
    event.known() == Some(EventKind::SchedulerDiagnostic) && event.particular("kind") == Some(kind)
}

/// An agent that has started as many turns in a row by itself as it may (contract 9.5).
#[must_use]
pub fn agent_parked(turns: u64) -> Diagnostic {
    let evidence = Vec::from([format!("autonomous_turns={turns}")]);
    Diagnostic::new(
        DiagnosticKind::Parked,
        "the agent is parked after this turn until input from outside",
        evidence,
    )
}

/// A lineage that was tried as often as the policy says.
pub(crate) fn exhausted(turn: &TurnRecord) -> Diagnostic {
    let evidence = [
        alloc::format!("message_id={}", turn.retry_of.as_ref().unwrap_or(&turn.message_id)),
        alloc::format!("attempts={}", turn.attempt + 1),
        alloc::format!("reason={}", turn.reason.as_deref().unwrap_or("none")),
    ];
    Diagnostic {
        work_item_id: turn.work_item.as_ref().map(|binding| binding.work_item_id.clone()),
        ..Diagnostic::new(
            DiagnosticKind::RetriesExhausted,
            "a turn failed at every try and is not tried again",
            evidence.into(),
        )
    }
}
