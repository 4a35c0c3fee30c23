//! The ruling: the answer of the ladder, assembled in one place (contract 7.4).

use alloc::{string::String, vec::Vec};

use crate::{
    id::{MessageId, TaskId, WaitConditionId, WorkItemId},
    ladder::{Rule, RuleOutcome, RuleTrace, View},
    record::{
        decision::{Because, Decision, Ignored, IgnoredReason},
        edition::Edition,
        key::TickReason,
    },
    state::readiness::NAMED,
};

/// The part of a decision that differs between rules.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub(super) reason: String,
    pub(super) model_reentry: bool,
    pub(super) message_id: Option<MessageId>,
    pub(super) work_item_id: Option<WorkItemId>,
    pub(super) task_id: Option<TaskId>,
    pub(super) evidence: Vec<String>,
    pub(super) because: Vec<Because>,
    pub(super) ignored: Vec<Ignored>,
    pub(super) tick: Option<Tick>,
}

/// The tick that a rule emits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tick {
    /// A tick for the pending wake hint.
    WakeHint,
    /// A tick that offers an item to the model, with the number of the offer if the item rested.
    WorkItem(WorkItemId, TickReason, Option<u64>),
    /// A tick for a system wait.
    SystemWait(WaitConditionId),
}

/// The answer of the ladder: the decision, its tick, and the outcome of each rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The decision to record.
    pub decision: Decision,
    /// The tick; set exactly if the decision emits one.
    pub tick: Option<Tick>,
    /// The outcome of each rule, in the order of the edition.
    pub trace: Vec<RuleTrace>,
}

/// Makes the decision of the rule that fired. No other code makes one.
pub(super) fn assemble(
    edition: Edition,
    view: &View,
    rule: &Rule,
    trace: Vec<RuleTrace>,
) -> Ruling {
    let verdict = (rule.decide)(view);
    let mut ignored = verdict.ignored;
    // contract 8.3: a suppressed key is recorded in the decision that was made instead.
    for passed in trace.iter().take_while(|passed| passed.outcome != RuleOutcome::Fired) {
        if let RuleOutcome::Suppressed { keys } = &passed.outcome {
            ignored.extend(keys.iter().take(NAMED).map(|spent| Ignored {
                what: alloc::string::ToString::to_string(&spent.key),
                reason: IgnoredReason::KeySpent,
                seqs: Vec::from([spent.spent_by]),
            }));
        }
    }
    let decision = Decision {
        kind: rule.kind,
        reason: verdict.reason,
        model_reentry: verdict.model_reentry,
        liveness_only: !verdict.model_reentry,
        message_id: verdict.message_id,
        work_item_id: verdict.work_item_id,
        task_id: verdict.task_id,
        boundary: view.boundary,
        evidence: verdict.evidence,
        rule: rule.id.into(),
        edition,
        ignored,
        because: verdict.because,
    };
    Ruling { decision, tick: verdict.tick, trace }
}
