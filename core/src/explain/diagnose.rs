//! Diagnostics: what looks wrong in a state, for people. No decision reads them (contract 11.3;
//! `observed-decisions.md` section 10).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    derive::{
        closure::{Facts, WorkSignal},
        posture::{self, Posture},
        waker,
        work_queue::{Candidate, WorkQueue},
    },
    id::Seq,
    ladder::{self, View},
    record::{
        decision::Boundary,
        diagnostic::{self, Diagnostic, DiagnosticKind},
        text,
        waiting::{WaitConditionRecord, WaitingIntentRecord, recoverability::Recoverability},
    },
    state::{
        State,
        readiness::{self, SchedulingState},
    },
};

impl State {
    /// Everything that looks wrong, for people; no decision reads it.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        all(self)
    }

    /// The newest entry of the diagnostic's subject. `None` if the subject has ended, or if the
    /// diagnostic has none.
    #[must_use]
    pub fn subject_of(&self, diagnostic: &Diagnostic) -> Option<Seq> {
        let item = diagnostic
            .work_item_id
            .as_ref()
            .and_then(|id| self.work.items.get(id))
            .map(|item| item.seq);
        let intent = diagnostic
            .waiting_intent_id
            .as_ref()
            .and_then(|id| self.waiting.intents.get(id))
            .map(|wait| wait.seq);
        let condition = diagnostic
            .wait_condition_id
            .as_ref()
            .and_then(|id| self.waiting.conditions.get(id))
            .map(|wait| wait.seq);
        condition.or(intent).or(item)
    }
}

/// Everything that looks wrong in a state.
#[must_use]
pub fn all(state: &State) -> Vec<Diagnostic> {
    let mut all = known_to_the_reference(state, state.queue.len() as u64);
    let conditions = readiness::conditions(state).map(|condition| &condition.record);
    all.extend(conditions.filter_map(|condition| waker::is_missing(state, condition)));
    all.extend(runnable_at_rest(state));
    all.extend(state.budgets.exhausted().filter_map(|(owner, account, _)| {
        account.reached().map(|reached| diagnostic::budget_exhausted(owner, &reached))
    }));
    // contract 4.3: nothing starts between a shutdown and the next restart, so pending input and
    // work are as they should be.
    all.retain(|odd| state.control.closing.is_none() || !is_about_rest(odd.kind));
    all
}

/// Whether a diagnostic says that an agent rests beside something pending.
fn is_about_rest(kind: DiagnosticKind) -> bool {
    matches!(
        kind,
        DiagnosticKind::IdlePostureHasQueuedInput
            | DiagnosticKind::IdlePostureHasRunnableWork
            | DiagnosticKind::RunnableWorkAtRest
    )
}

/// The diagnostics that the reference runtime has too, in its order and words. `queue_len` is the
/// number of waiting messages.
#[must_use]
pub fn known_to_the_reference(state: &State, queue_len: u64) -> Vec<Diagnostic> {
    let mut found: Vec<_> = idle_posture(state, queue_len).into_iter().collect();
    found.extend(
        state
            .waiting
            .conditions
            .values()
            .filter_map(|condition| hard_to_recover(&condition.record)),
    );
    found.extend(WorkQueue::new(state).candidates.iter().filter_map(forgotten_blocker));
    let unnamed = state
        .waiting
        .intents
        .values()
        .filter(|intent| intent.record.external_trigger_id.as_str().trim().is_empty());
    found.extend(unnamed.map(|intent| without_trigger(&intent.record)));
    found
}

fn idle_posture(state: &State, queue_len: u64) -> Option<Diagnostic> {
    if posture::posture(state).posture != Posture::Idle {
        return None;
    }
    let idle = String::from("posture=Idle");
    if let Some(WorkSignal { work_item_id, reactivation_mode, .. }) =
        Facts::from_state(state).work_signal
    {
        let message = "agent posture is idle while scheduler facts contain runnable work";
        let evidence = Vec::from([idle, format!("reactivation_mode={reactivation_mode:?}")]);
        return Some(Diagnostic {
            work_item_id: Some(work_item_id),
            ..Diagnostic::new(DiagnosticKind::IdlePostureHasRunnableWork, message, evidence)
        });
    }
    let message = "agent posture is idle while scheduler facts contain queued input";
    let evidence = Vec::from([idle, format!("queue_len={queue_len}")]);
    (queue_len > 0)
        .then(|| Diagnostic::new(DiagnosticKind::IdlePostureHasQueuedInput, message, evidence))
}

fn hard_to_recover(condition: &WaitConditionRecord) -> Option<Diagnostic> {
    let recoverability = condition.recoverability()?;
    let (kind, message) = match recoverability {
        Recoverability::Recoverable => return None,
        Recoverability::Weak => (
            DiagnosticKind::ExternalWaitHasWeakRecoverability,
            "active external wait lacks a durable recovery path",
        ),
        Recoverability::ExplicitNoFallback => (
            DiagnosticKind::ExternalWaitHasNoFallback,
            "active external wait explicitly has no fallback recovery path",
        ),
    };
    let mut evidence = Vec::from([
        format!("external_recoverability={recoverability:?}"),
        text::wake_sources(&condition.wake_sources),
    ]);
    evidence.extend(
        condition.no_fallback_reason().map(|reason| format!("no_fallback_reason={reason}")),
    );
    Some(Diagnostic {
        work_item_id: condition.work_item_id.clone(),
        wait_condition_id: Some(condition.id.clone()),
        ..Diagnostic::new(kind, message, evidence)
    })
}

fn forgotten_blocker(candidate: &Candidate<'_>) -> Option<Diagnostic> {
    let record = candidate.record;
    // A blocked item has no other wait (contract 5.13), so only a recheck looks at it again. A
    // parked item has no blocker, and was reported when it was parked (contract 9.4).
    let is_blocked = candidate.state == SchedulingState::Blocked && record.blocked_by.is_some();
    (is_blocked && record.recheck_at.is_none()).then(|| Diagnostic {
        work_item_id: Some(record.id.clone()),
        ..Diagnostic::new(
            DiagnosticKind::BlockedWorkItemWithoutRecheckOrWait,
            "blocked WorkItem has no recheck deadline or active wait condition",
            [
                "scheduling_state=Blocked",
                "blocked_by_present=true",
                "recheck_at=None",
                "has_active_waits=false",
            ]
            .map(ToString::to_string)
            .into(),
        )
    })
}

fn without_trigger(intent: &WaitingIntentRecord) -> Diagnostic {
    let evidence =
        Vec::from([format!("scope={:?}", intent.scope), "external_trigger_id_empty=true".into()]);
    Diagnostic {
        work_item_id: intent.work_item_id.clone(),
        waiting_intent_id: Some(intent.id.clone()),
        ..Diagnostic::new(
            DiagnosticKind::WaitingIntentWithoutExternalTrigger,
            "active waiting intent has no external trigger id",
            evidence,
        )
    }
}

fn runnable_at_rest(state: &State) -> Option<Diagnostic> {
    let view = View::new(state, Boundary::RunLoopIdle, state.at);
    // contract 9.4: an item that is offered again later is not an oddity.
    let items = view.current.iter().map(|(item, _)| item).chain(&view.queued);
    if items
        .filter(|item| item.state == SchedulingState::Runnable)
        .any(|item| item.key.enabled_at.is_some())
    {
        return None;
    }
    let decision = ladder::decide(state.control.edition, &view).decision;
    decision.kind.rests_as()?;
    let WorkSignal { work_item_id, reactivation_mode, .. } = Facts::from_state(state).work_signal?;
    let mut evidence = Vec::from([format!("reactivation_mode={reactivation_mode:?}")]);
    evidence.extend(decision.ignored.iter().map(|ignored| format!("key_spent={}", ignored.what)));
    Some(Diagnostic {
        work_item_id: Some(work_item_id),
        ..Diagnostic::new(
            DiagnosticKind::RunnableWorkAtRest,
            "agent rests although work is runnable: it was already offered",
            evidence,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::Seq,
        record::{
            entry::Place,
            key::{Epoch, Key, TickReason},
            task::TaskStatus,
            work::WorkItemRecord,
        },
        state::{waiting::Active, work::Item},
    };
    use wakeful_json as json;

    const AT: &str = r#""created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z""#;

    fn state(items: &[&str], conditions: &[&str]) -> State {
        let mut state = State::default();
        for more in items {
            let text = format!(
                r#"{{"id":"w","agent_id":"a","objective":"o","state":"open","plan_status":"ready",{AT}{more}}}"#
            );
            let record: WorkItemRecord = json::read(&text).expect("an item");
            state.work.items.insert(record.id.clone(), Item::new(Seq(1), record));
        }
        for fields in conditions {
            let text =
                format!(r#"{{"agent_id":"a","status":"active","waiting_for":"x",{AT},{fields}}}"#);
            let record: WaitConditionRecord = json::read(&text).expect("a condition");
            state.waiting.conditions.insert(record.id.clone(), Active { seq: Seq(2), record });
        }
        state.relist_all();
        state
    }

    fn found(state: &State) -> Vec<(DiagnosticKind, String)> {
        all(state).into_iter().map(|found| (found.kind, found.evidence.join("; "))).collect()
    }

    #[test]
    fn nothing_is_wrong_with_an_empty_state() {
        assert_eq!(found(&State::default()), []);
        assert!(
            known_to_the_reference(&State::default(), 1)[0].kind
                == DiagnosticKind::IdlePostureHasQueuedInput
        );
    }

    #[test]
    fn a_blocker_that_nothing_will_look_at_again_is_named() {
        let forgotten = [(
            DiagnosticKind::BlockedWorkItemWithoutRecheckOrWait,
            "scheduling_state=Blocked; blocked_by_present=true; recheck_at=None; \
             has_active_waits=false"
                .into(),
        )];
        assert_eq!(found(&state(&[r#","blocked_by":"b""#], &[])), forgotten);
        assert_eq!(
            found(&state(&[r#","blocked_by":"b","recheck_at":"2026-05-27T10:00:00Z""#], &[])),
            []
        );
    }

    #[test]
    fn a_wait_that_nothing_ends_is_named_unless_it_is_inert_or_has_a_deadline() {
        let lacks = |fields: &str| {
            found(&state(&[], &[fields])).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>()
        };
        let of_item = r#""id":"c","work_item_id":"w""#;
        assert_eq!(
            lacks(&format!(r#"{of_item},"kind":"task""#)),
            [DiagnosticKind::WaitWithoutWaker]
        );
        let other_waker = r#""wake_sources":[{"kind":"operator_input"}]"#;
        assert_eq!(
            lacks(&format!(r#"{of_item},"kind":"timer",{other_waker}"#)),
            [DiagnosticKind::WaitWithoutWaker]
        );
        let own_waker = r#""wake_sources":[{"kind":"task_result","task_id":"t"}]"#;
        assert_eq!(lacks(&format!(r#"{of_item},"kind":"task",{own_waker}"#)), []);
        assert_eq!(
            lacks(&format!(r#"{of_item},"kind":"task","expires_at":"2026-05-27T10:00:00Z""#)),
            []
        );
        assert_eq!(lacks(&format!(r#"{of_item},"kind":"operator""#)), []);
        assert_eq!(lacks(r#""id":"c","kind":"task""#), [], "imported without an item, it is inert");
    }

    #[test]
    fn a_wait_for_a_task_that_has_ended_is_named_unless_its_result_may_still_come() {
        let sources =
            r#""wake_sources":[{"kind":"task_result","task_id":"t"},{"kind":"operator_input"}]"#;
        let mut state =
            state(&[], &[&format!(r#""id":"c","work_item_id":"w","kind":"task",{sources}"#)]);
        assert_eq!(found(&state), [], "the task may not be known yet");
        state.tasks.ended.insert("t".into(), (TaskStatus::Interrupted, Seq(3)));
        let lost =
            [(DiagnosticKind::WaitWithoutWaker, "task_id=t; task_status=Interrupted".into())];
        assert_eq!(found(&state), lost);
        state.tasks.told.insert("t".into(), Seq(4));
        assert_eq!(found(&state), lost, "its result was reported, and that message is gone");
        let (place, message) = (
            Place { seq: Seq(4), live: false },
            r#"{"id":"m","agent_id":"a","kind":"task_result","origin":{"kind":"task","task_id":"t"},"trust":"trusted_system","priority":"next","body":{"type":"text","text":"x"},"created_at":"2026-05-27T09:00:00Z"}"#,
        );
        state.queue.apply_message(&place, &json::read(message).expect("a message"));
        let entry = r#"{"id":"q","agent_id":"a","message_id":"m","status":"queued","priority":"next","created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z"}"#;
        state.queue.apply_entry(&place, &json::read(entry).expect("an entry"));
        assert!(
            found(&state).iter().all(|(kind, _)| *kind != DiagnosticKind::WaitWithoutWaker),
            "its message waits"
        );
    }

    #[test]
    fn a_weak_external_wait_tells_its_sources() {
        let sources = r#""wake_sources":[{"kind":"external_ingress","external_trigger_id":"e"},{"kind":"external_ingress"},{"kind":"task_result","task_id":"t"},{"kind":"operator_input"}]"#;
        let state = state(&[], &[&format!(r#""id":"c","kind":"external",{sources}"#)]);
        let told = r#"external_recoverability=Weak; wake_sources=[ExternalIngress { external_trigger_id: Some("e") }, ExternalIngress { external_trigger_id: None }, TaskResult { task_id: "t" }, OperatorInput]"#;
        assert_eq!(
            found(&state),
            [(DiagnosticKind::ExternalWaitHasWeakRecoverability, told.into())]
        );
    }

    #[test]
    fn work_that_was_offered_and_can_go_on_is_named_while_the_agent_rests_on_it() {
        let mut state = state(&[""], &[]);
        assert_eq!(found(&state), [], "its tick comes first");
        let key =
            Key::work(TickReason::QueuedAvailable, &"w".into(), Epoch { revision: 1, moved: 0 });
        state.work.spend(&"w".into(), TickReason::QueuedAvailable, key, Seq(3));
        let told = "reactivation_mode=ActivateQueued; key_spent=work_queue:queued_available:w:1";
        assert_eq!(found(&state), [(DiagnosticKind::RunnableWorkAtRest, told.into())]);
    }
}
