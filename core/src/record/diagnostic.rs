//! Diagnostics: what looks wrong, for operators. Never an input of a decision (contract 11.3).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    id::{WaitConditionId, WaitingIntentId, WorkItemId},
    record::{
        budget::LimitUse,
        event::{EventKind, EventRecord},
        queue::message::MessageRecord,
        refusal::RefusedContent,
        task::message::TaskPayloadError,
        text,
        turn::{TurnRecord, TurnTerminalKind},
    },
    tagged::names,
    time::Timestamp,
};

names! {
    /// What looks wrong. More kinds may be added (contract 11.3).
    #[non_exhaustive]
    pub enum DiagnosticKind {
        /// The posture is idle, but there is runnable work.
        IdlePostureHasRunnableWork,
        /// The posture is idle, but messages are queued.
        IdlePostureHasQueuedInput,
        /// An external wait has no fallback: it never ends if its event is lost.
        ExternalWaitHasWeakRecoverability,
        /// An external wait has no fallback, and says why.
        ExternalWaitHasNoFallback,
        /// Nothing will ever look at this blocker again.
        BlockedWorkItemWithoutRecheckOrWait,
        /// No trigger can name this intent.
        WaitingIntentWithoutExternalTrigger,
        /// Nothing that can happen ends this wait.
        WaitWithoutWaker,
        /// Work is runnable but its key is spent, so the agent rests.
        RunnableWorkAtRest,
        /// A message could not be classified and was dropped.
        MalformedMessage,
        /// An item or the agent is parked until something moves it.
        Parked,
        /// The runs of a message were interrupted too often, and the message was dropped.
        ReplayBudget,
        /// The open run recorded no fact for longer than the policy allows.
        StalledRun,
        /// All retries of a turn failed.
        RetriesExhausted,
        /// The host's clock is behind the newest entry of the ledger.
        ClockBehind,
        /// The provider refused content.
        ContentRefused,
        /// Turns of one owner fail in a row for one cause.
        TurnsFail,
        /// A limit of a budget is reached, and its owner rests.
        BudgetExhausted,
        /// The host found that something of an owner is broken, and the owner is parked.
        OwnerBreach,
    }
}

names! {
    /// How serious a diagnostic is.
    #[non_exhaustive]
    pub enum Severity {
        /// The operator should look: the agent may be stuck, or something was lost.
        Warning,
    }
}

/// Something that looks wrong, with its subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnostic {
    /// What looks wrong.
    pub kind: DiagnosticKind,
    /// How serious it is.
    pub severity: Severity,
    /// The diagnostic in a sentence.
    pub message: String,
    /// The work item concerned.
    pub work_item_id: Option<WorkItemId>,
    /// The waiting intent concerned.
    pub waiting_intent_id: Option<WaitingIntentId>,
    /// The wait condition concerned.
    pub wait_condition_id: Option<WaitConditionId>,
    /// Details as `key=value` texts.
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

/// The diagnostic of a message that cannot be classified and is dropped (contract 5.2).
#[must_use]
pub fn malformed_message(message: &MessageRecord, why: &TaskPayloadError) -> Diagnostic {
    let evidence = Vec::from([
        format!("message_id={}", message.id),
        format!("message_kind={:?}", message.kind),
        why.to_string(),
    ]);
    Diagnostic {
        work_item_id: message.work_item_id.clone(),
        ..Diagnostic::new(DiagnosticKind::MalformedMessage, text::MALFORMED_MESSAGE, evidence)
    }
}

/// The diagnostic of a message that is dropped because its runs were interrupted as often as the
/// policy allows (contract 5.24).
#[must_use]
pub fn replay_budget(message: &MessageRecord, interruptions: u64) -> Diagnostic {
    let evidence = Vec::from([
        format!("message_id={}", message.id),
        format!("interrupted_runs={interruptions}"),
    ]);
    Diagnostic {
        work_item_id: message.work_item_id.clone(),
        ..Diagnostic::new(DiagnosticKind::ReplayBudget, text::REPLAY_BUDGET, evidence)
    }
}

/// The time of the host's clock in a `clock_behind` diagnostic; `None` for other events. The
/// entry's own time does not show it, because it never runs backwards.
#[must_use]
pub fn clock_behind_at(event: &EventRecord) -> Option<Timestamp> {
    let evidence: Vec<String> = Some(event)
        .filter(|event| is_recorded(event, DiagnosticKind::ClockBehind))?
        .particular("evidence")?;
    Timestamp::parse(evidence.iter().find_map(|said| said.strip_prefix(HOST_NOW))?).ok()
}

pub(crate) const HOST_NOW: &str = "host_now=";

/// Whether this event records a diagnostic of kind `kind`.
#[must_use]
pub(crate) fn is_recorded(event: &EventRecord, kind: DiagnosticKind) -> bool {
    event.known() == Some(EventKind::SchedulerDiagnostic) && event.particular("kind") == Some(kind)
}

/// The diagnostic of an agent that used up the turns it may start on its own (contract 9.5).
#[must_use]
pub fn agent_parked(turns: u64) -> Diagnostic {
    let evidence = Vec::from([format!("autonomous_turns={turns}")]);
    Diagnostic::new(DiagnosticKind::Parked, text::AGENT_PARKED, evidence)
}

/// The diagnostic of content that a provider refused (contract 5.3).
pub(crate) fn content_refused(refused: &RefusedContent) -> Diagnostic {
    let mut evidence = Vec::from([format!("run_id={}", refused.run_id)]);
    evidence.extend(refused.message_ids.iter().map(|id| format!("message_id={id}")));
    evidence.extend(refused.reason.as_ref().map(|reason| format!("reason={reason}")));
    Diagnostic::new(DiagnosticKind::ContentRefused, text::CONTENT_REFUSED, evidence)
}

/// The diagnostic of turns that fail in a row for one cause (I26). It names the cause and a way
/// out.
pub(crate) fn turns_fail(turn: &TurnRecord, cause: TurnTerminalKind) -> Diagnostic {
    let evidence = [
        format!("cause={cause}"),
        format!("reason={}", turn.reason.as_deref().unwrap_or("none")),
        format!("way_out={}", text::way_out(cause)),
    ];
    Diagnostic {
        work_item_id: turn.work_item.as_ref().map(|binding| binding.work_item_id.clone()),
        ..Diagnostic::new(DiagnosticKind::TurnsFail, text::TURNS_FAIL, evidence.into())
    }
}

/// The diagnostic of an owner of which something is broken: an item, or the agent (contract 1.5).
pub(crate) fn owner_breach(owner: Option<&WorkItemId>, reason: &str) -> Diagnostic {
    let owner_named = owner.map_or_else(|| "agent".to_string(), ToString::to_string);
    let evidence = Vec::from([format!("owner={owner_named}"), format!("reason={reason}")]);
    Diagnostic {
        work_item_id: owner.cloned(),
        ..Diagnostic::new(DiagnosticKind::OwnerBreach, text::OWNER_BREACH, evidence)
    }
}

/// The diagnostic of an owner that is over its budget: an item, or the agent (contract 16.4).
pub(crate) fn budget_exhausted(owner: Option<&WorkItemId>, reached: &LimitUse) -> Diagnostic {
    let owner_named = owner.map_or_else(|| "agent".to_string(), ToString::to_string);
    let evidence = Vec::from([
        format!("owner={owner_named}"),
        format!("limit={}", reached.limit),
        format!("used={}", reached.used),
        format!("of={}", reached.of),
        format!("way_out={}", text::budget_way_out(reached.is_of_a_day)),
    ]);
    Diagnostic {
        work_item_id: owner.cloned(),
        ..Diagnostic::new(DiagnosticKind::BudgetExhausted, text::BUDGET_EXHAUSTED, evidence)
    }
}

/// The diagnostic of a lineage whose retries are used up.
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
            text::RETRIES_EXHAUSTED,
            evidence.into(),
        )
    }
}
