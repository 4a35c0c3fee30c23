//! `expected.json`: what a replay must find (`observed-decisions.md` 11.4). Closure, posture, rule
//! and evidence are optional.

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    derive::posture::Posture,
    explain::Explanation,
    foreign::{FIXTURE_FORMAT, Folder, ForeignError, layout::Layout},
    id::{MessageId, WorkItemId},
    record::{
        continuation::{ClosureOutcome, WaitingReason},
        decision::DecisionKind,
        turn::TurnTerminalKind,
    },
};
use wakeful_json::{self as json, Readable};

const FILE: &str = "expected.json";

/// What a replay must find. The scalars are always asserted; an absent one is asserted to have its
/// default. The optional parts are asserted only if they are given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expected {
    /// The version of the fixture format.
    #[serde(default = "first_format")]
    pub format: u32,
    /// The open item that has the focus.
    #[serde(default)]
    pub current_work_item_id: Option<WorkItemId>,
    /// The revision of that item.
    #[serde(default)]
    pub current_work_item_revision: Option<u64>,
    /// The number of other runnable items.
    pub queued_work_items: u64,
    /// The number of active tasks.
    pub active_tasks: u64,
    /// Whether an active task blocks its item.
    pub has_blocking_active_tasks: bool,
    /// Whether a wake hint is pending.
    pub pending_wake_hint: bool,
    /// The number of active intents.
    #[serde(default)]
    pub active_waiting_intents: u64,
    /// The number of active intents of work items.
    #[serde(default)]
    pub active_work_item_waiting_intents: u64,
    /// The number of active intents of the agent.
    #[serde(default)]
    pub active_agent_waiting_intents: u64,
    /// The number of active timers.
    #[serde(default)]
    pub active_timers: u64,
    /// Whether a runtime error holds.
    #[serde(default)]
    pub runtime_error: bool,
    /// How the last settled turn ended.
    #[serde(default)]
    pub turn_terminal_kind: Option<TurnTerminalKind>,
    /// The messages that would replay, in order.
    #[serde(default)]
    pub replay_message_ids: Vec<MessageId>,
    /// The number of executed tool calls.
    #[serde(default)]
    pub tool_executions: u64,
    /// The closure of the facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closure: Option<ExpectedClosure>,
    /// The posture of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posture: Option<Posture>,
    /// The decision at the idle boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionKind>,
    /// The reason of the decision, asserted together with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_reason: Option<String>,
    /// The rule that fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The evidence strings of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<String>>,
}

/// The part of a closure that is asserted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpectedClosure {
    /// The outcome of the closure.
    pub outcome: ClosureOutcome,
    /// What the agent waits for, if the outcome is waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
}

fn first_format() -> u32 {
    FIXTURE_FORMAT
}

impl Expected {
    /// Reads the `expected.json` of a folder.
    ///
    /// # Errors
    /// If the file is missing, malformed or of a newer format.
    pub fn of_fixture(folder: &Folder) -> Result<Self, ForeignError> {
        let text = folder.get(FILE).ok_or_else(|| ForeignError::Missing { file: FILE.into() })?;
        let expected: Self = json::read(text).map_err(|why| ForeignError::at(FILE, 1, why))?;
        ForeignError::newer(FILE, expected.format)?;
        Ok(expected)
    }

    /// Reads the expectations of a folder. `None` if it has no `expected.json`, or if it is a data
    /// folder of the reference runtime.
    ///
    /// # Errors
    /// If the file is malformed or of a newer format.
    pub fn of_folder(folder: &Folder) -> Result<Option<Self>, ForeignError> {
        if Layout::new(folder).is_data_folder() || !folder.contains_key(FILE) {
            return Ok(None);
        }
        Self::of_fixture(folder).map(Some)
    }

    /// Everything that was found, with all optional parts.
    #[must_use]
    pub fn from_explanation(found: &Explanation) -> Self {
        let projection = &found.projection;
        let decision = &found.decision;
        Self {
            format: FIXTURE_FORMAT,
            current_work_item_id: projection.current_work_item_id.clone(),
            current_work_item_revision: projection.current_work_item_revision,
            queued_work_items: projection.queued_work_items,
            active_tasks: projection.active_tasks,
            has_blocking_active_tasks: projection.has_blocking_active_tasks,
            pending_wake_hint: projection.pending_wake_hint,
            active_waiting_intents: projection.active_waiting_intents,
            active_work_item_waiting_intents: projection.active_work_item_waiting_intents,
            active_agent_waiting_intents: projection.active_agent_waiting_intents,
            active_timers: projection.active_timers,
            runtime_error: projection.runtime_error,
            turn_terminal_kind: projection.turn_terminal_kind,
            replay_message_ids: projection.replay_message_ids.clone(),
            tool_executions: projection.tool_executions,
            closure: Some(ExpectedClosure {
                outcome: found.closure.outcome,
                waiting_reason: found.closure.waiting_reason,
            }),
            posture: Some(found.posture.posture),
            decision: Some(decision.kind),
            decision_reason: Some(decision.reason.clone()),
            rule: Some(decision.rule.clone()),
            evidence: Some(decision.evidence.clone()),
        }
    }

    /// What a replay found, in the same shape: it has exactly the optional parts that this one has.
    #[must_use]
    pub fn found(&self, found: &Explanation) -> Self {
        let all = Self::from_explanation(found);
        Self {
            format: self.format,
            closure: all.closure.filter(|_| self.closure.is_some()),
            posture: all.posture.filter(|_| self.posture.is_some()),
            decision: all.decision.filter(|_| self.decision.is_some()),
            decision_reason: all.decision_reason.filter(|_| self.decision.is_some()),
            rule: all.rule.filter(|_| self.rule.is_some()),
            evidence: all.evidence.filter(|_| self.evidence.is_some()),
            ..all
        }
    }
}
