//! The ruling: what the ladder answers, made in one place (contract 7.4).

use alloc::{string::String, vec::Vec};

use crate::{
    id::{MessageId, TaskId, WaitConditionId, WorkItemId},
    ladder::{Rule, RuleOutcome, RuleTrace, View},
    record::{
        decision::{Because, Decision, Ignored, IgnoredReason},
        edition::Edition,
        key::TickReason,
    },
};

/// What a rule says; the rest of the decision is the same for all rules.
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

/// The tick that a rule asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tick {
    /// One for the pending wake hint.
    WakeHint,
    /// One that offers an item to the model; with the number of the offer where the item rested.
    WorkItem(WorkItemId, TickReason, Option<u64>),
    /// One for a wait for the runtime.
    SystemWait(WaitConditionId),
}

/// What the ladder answers: the decision, the tick that it asks for, and what each rule said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The decision.
    pub decision: Decision,
    /// The tick; there exactly where the decision emits one.
    pub tick: Option<Tick>,
    /// What each rule said, in the order of the edition.
    pub trace: Vec<RuleTrace>,
}

/// Makes the decision of the rule that fired; no other code makes one.
pub(super) fn assemble(
    edition: Edition,
    view: &View,
    rule: &Rule,
    trace: Vec<RuleTrace>,
) -> Ruling {
    let verdict = (rule.decide)(view);
    let mut ignored = verdict.ignored;
    for passed in trace.iter().take_while(|passed| passed.outcome != RuleOutcome::Fired) {
        if let RuleOutcome::Suppressed { keys } = &passed.outcome {
            ignored.extend(keys.iter().map(|spent| Ignored {
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
