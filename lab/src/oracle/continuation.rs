//! Operation `continuation`: a prior closure and a trigger in, a resolution out. Triggers of the
//! vectors name no wait, so their class decides.

use serde::Serialize;

use wakeful_core::{
    derive::continuation::{self, Found, Prior, Satisfied},
    record::{
        continuation::{Class, ClosureOutcome, Resolution, WaitingReason},
        policy::Policy,
        queue::message::TriggerKind,
        task::TaskWaitPolicy,
    },
    state::trigger::{Names, Trigger},
};
use wakeful_json::{self as json, JsonError, Readable};

#[derive(Readable)]
struct Input {
    prior: Prior,
    trigger: GivenTrigger,
}

#[derive(Readable)]
struct GivenTrigger {
    kind: TriggerKind,
    contentful: bool,
    task_terminal: bool,
    task_blocking: bool,
    task_wait_policy: Option<TaskWaitPolicy>,
    wake_hint_source: Option<String>,
}

/// The resolution, with absent parts as nulls.
#[derive(Serialize)]
pub(super) struct Resolved {
    trigger_kind: TriggerKind,
    class: Class,
    model_reentry: bool,
    prior_closure_outcome: ClosureOutcome,
    prior_waiting_reason: Option<WaitingReason>,
    matched_waiting_reason: bool,
    evidence: Vec<String>,
}

impl From<Resolution> for Resolved {
    fn from(resolution: Resolution) -> Self {
        Self {
            trigger_kind: resolution.trigger_kind,
            class: resolution.class,
            model_reentry: resolution.model_reentry,
            prior_closure_outcome: resolution.prior_closure_outcome,
            prior_waiting_reason: resolution.prior_waiting_reason,
            matched_waiting_reason: resolution.matched_waiting_reason,
            evidence: resolution.evidence,
        }
    }
}

pub(super) fn answer(input: &str, without: Option<&str>) -> Result<String, JsonError> {
    let Input { prior, trigger: given } = json::read(input)?;
    let trigger = Trigger {
        kind: given.kind,
        meets_as: given.kind,
        contentful: given.contentful,
        task_terminal: given.task_terminal,
        task_blocking: given.task_blocking,
        task_wait_policy: given.task_wait_policy,
        wake_hint_source: given.wake_hint_source,
        unawaited: false,
        names: Names::default(),
    };
    let overrides = trigger.contentful && Policy::default().overrides_waits.contains(&trigger.kind);
    let rows = continuation::ROWS.iter().filter(|row| Some(row.id) != without);
    let resolution = continuation::classify_by(
        rows,
        &trigger,
        prior,
        &Found::Nameless(Satisfied::default()),
        overrides,
    )
    .ok_or_else(|| JsonError::at_field("trigger", "no remaining row holds"))?;
    Ok(json::write(&Resolved::from(resolution)))
}
