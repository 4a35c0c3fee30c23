//! Asking selected rows of the product's ladder: the reference runtime asks several questions that
//! our ladder answers at once.

use serde::Serialize;

use wakeful_core::{
    id::{MessageId, TaskId, WorkItemId},
    ladder::{self, View},
    record::{
        decision::{Decision, DecisionKind},
        edition::Edition,
    },
};

/// The rows for the message that goes next.
pub(super) const MESSAGE_ROWS: &[&str] = &["1.", "3."];

/// The rows that go before a tick for an item.
pub(super) const WAIT_ROWS: &[&str] = &["1.", "2.", "7.", "8."];

/// The last row.
pub(super) const REST_ROW: &[&str] = &["9.sleep"];

/// The rows that remain if there was no tick.
pub(super) const IDLE_ROWS: &[&str] = &["1.", "2.", "7.", "8.", "9."];

/// The product's rules: all, or all but `without`.
pub(super) struct Ladder<'a> {
    pub(super) without: Option<&'a str>,
}

impl Ladder<'_> {
    /// The decision by the rules of these rows of contract 7.2; `None` if none of them fires.
    pub(super) fn asked(&self, rows: &[&str], view: &View) -> Option<Decision> {
        let rules = Edition::default().rules().iter().filter(|rule| {
            rows.iter().any(|row| rule.id.starts_with(row)) && Some(rule.id) != self.without
        });
        ladder::decide_by(Edition::default(), rules, view).ok().map(|ruling| ruling.decision)
    }
}

/// A decision with the keys of the reference runtime.
#[derive(Serialize)]
pub(super) struct Said {
    decision: DecisionKind,
    reason: String,
    model_reentry: bool,
    liveness_only: bool,
    message_id: Option<MessageId>,
    work_item_id: Option<WorkItemId>,
    task_id: Option<TaskId>,
    boundary: Option<String>,
    pub(super) evidence: Vec<String>,
}

impl Said {
    pub(super) fn from_decision(decision: Decision) -> Self {
        Self {
            decision: decision.kind,
            reason: decision.reason,
            model_reentry: decision.model_reentry,
            liveness_only: decision.liveness_only,
            message_id: decision.message_id,
            work_item_id: decision.work_item_id,
            task_id: decision.task_id,
            boundary: Some(decision.boundary.to_string()),
            evidence: decision.evidence,
        }
    }
    /// The same decision with another boundary, or without one.
    pub(super) fn at(self, boundary: Option<&str>) -> Self {
        Self { boundary: boundary.map(ToString::to_string), ..self }
    }
}
