//! What is recorded again and what is not. A rest or Noop that says nothing new is not (contract
//! 7.5); every other decision is always recorded.

use serde_json::json;
use wakeful_core::{
    fact::outcome::{Answer, Refusal},
    record::{
        decision::{Because, Boundary, Decision, DecisionKind, ReasonCode},
        event::EventKind,
    },
};

use super::driven::{
    Driven, condition, end, fact, hint, intent, item, needs_input, of_item, prompt, task, timer,
    webhook,
};

/// An agent whose next decision is of this kind.
fn deciding(kind: DecisionKind) -> Driven {
    let focused = [item("w"), of_item("work_item_picked", "w")];
    let mut driven = Driven::told(match kind {
        DecisionKind::WaitForTask | DecisionKind::WaitForOperator => &focused,
        _ => &[],
    });
    match kind {
        DecisionKind::StartModelTurn => driven.tell(&[prompt("m")]),
        DecisionKind::ReduceMessageOnly => driven.tell(&[webhook("m", "")]),
        DecisionKind::EmitSystemTick => driven.tell(&[hint(json!({}))]),
        DecisionKind::WaitForTask => driven.tell(&[task("t", Some("w"), true)]),
        DecisionKind::WaitForExternalChange => driven.tell(&[intent("i", "agent", None, "e")]),
        DecisionKind::WaitForTimer => driven.tell(&[timer("k", 1_000)]),
        DecisionKind::WaitForOperator => driven.tell(&[needs_input("w")]),
        DecisionKind::Sleep => {}
        DecisionKind::StayIdle => {
            driven.step();
        }
        DecisionKind::Stop => driven.tell(&[fact("stop_requested")]),
        DecisionKind::Noop => {
            driven.tell(&[prompt("m")]);
            driven.step();
        }
    }
    driven
}

/// Whether an equal decision of this kind is not recorded again (contract 7.5). This includes Stop:
/// steps of a stopped agent must not grow its ledger.
fn goes_unrecorded(kind: DecisionKind) -> bool {
    match kind {
        DecisionKind::StartModelTurn
        | DecisionKind::ReduceMessageOnly
        | DecisionKind::EmitSystemTick => false,
        DecisionKind::WaitForTask
        | DecisionKind::WaitForExternalChange
        | DecisionKind::WaitForTimer
        | DecisionKind::WaitForOperator
        | DecisionKind::Sleep
        | DecisionKind::StayIdle
        | DecisionKind::Stop
        | DecisionKind::Noop => true,
    }
}

#[test]
fn a_rest_that_says_nothing_new_is_recorded_once() {
    for &kind in DecisionKind::ALL {
        assert_eq!(kind.may_repeat(), goes_unrecorded(kind), "{kind:?}");
        if !goes_unrecorded(kind) {
            continue;
        }
        let mut driven = deciding(kind);
        assert_eq!(driven.step().map(|decision| decision.kind), Some(kind));
        let head = driven.state().head();
        // The first Sleep puts the agent to rest, so the next decision is new: it stays idle.
        let next = (kind == DecisionKind::Sleep).then_some(DecisionKind::StayIdle);
        assert_eq!(driven.step().map(|decision| decision.kind), next, "{kind:?}");
        let grown = driven.state().head().seq.0 - head.seq.0;
        // The evidence of a wait does not contain the status, so resting changes nothing there.
        assert_eq!(grown, u64::from(next.is_some()), "{kind:?}");
        for _ in 0..3 {
            assert_eq!(driven.step(), None, "{kind:?}: a third time");
        }
    }
}

#[test]
fn every_other_decision_is_recorded_each_time() {
    for (kind, again) in [
        (DecisionKind::StartModelTurn, prompt("m2")),
        (DecisionKind::ReduceMessageOnly, webhook("m2", "")),
        (DecisionKind::EmitSystemTick, hint(json!({}))),
    ] {
        let mut driven = deciding(kind);
        let mut seen = 0;
        for round in 0..3 {
            seen += driven.run_to_rest().iter().filter(|decision| decision.kind == kind).count();
            assert_eq!(seen, round + 1, "{kind:?}: one decision for each cause");
            let mut again = again.clone();
            if let Some(message) = again.get_mut("message") {
                message["id"] = json!(format!("m{}", round + 2));
            }
            driven.tell(&[again]);
        }
    }
}

/// Every field except `because` counts: if one differs, the decision is recorded.
#[test]
fn a_rest_says_the_same_if_only_its_because_differs() {
    let mut driven = deciding(DecisionKind::WaitForTimer);
    let decision = driven.step().expect("a wait");
    let other = |change: fn(&mut Decision)| {
        let mut other = decision.clone();
        change(&mut other);
        decision.says_the_same(&other)
    };
    assert!(other(|_| {}));
    assert!(other(|decision| decision.because.clear()));
    assert!(other(|decision| decision
        .because
        .push(Because { code: ReasonCode::NothingPending, seqs: Vec::new() })));
    let changes: [fn(&mut Decision); 11] = [
        |decision| decision.kind = DecisionKind::WaitForTask,
        |decision| decision.reason.push('x'),
        |decision| decision.model_reentry = true,
        |decision| decision.liveness_only = false,
        |decision| decision.message_id = Some("m".into()),
        |decision| decision.work_item_id = Some("w".into()),
        |decision| decision.task_id = Some("t".into()),
        |decision| decision.boundary = Boundary::IdleTick,
        |decision| decision.evidence.clear(),
        |decision| decision.rule.push('x'),
        |decision| {
            decision.ignored.push(wakeful_core::record::decision::Ignored {
                what: "k".into(),
                reason: wakeful_core::record::decision::IgnoredReason::KeySpent,
                seqs: Vec::new(),
            });
        },
    ];
    for (at, change) in changes.into_iter().enumerate() {
        assert!(!other(change), "change {at}");
    }
}

/// In a ledger, a wait is not recorded again if it only rests on other entries. It is if it counts
/// more of them.
#[test]
fn a_wait_that_rests_on_another_entry_is_not_recorded_again() {
    let registered =
        |id: &str| condition(id, "external", None, json!({"kind": "external_ingress"}));
    let mut driven = Driven::told(&[registered("c")]);
    let first = driven.step().expect("a wait");
    driven.tell(&[registered("d")]);
    let second = driven.decided();
    assert_ne!(first.because, second.because, "the newer condition superseded the older one");
    assert_eq!(driven.step(), None, "but the wait says the same");
    driven.tell(&[intent("i", "agent", None, "e")]);
    assert!(driven.step().is_some(), "the evidence counts one more intent");
}

/// I22: the decision of a stop or a shutdown names the entry of the request.
#[test]
fn a_stop_rests_on_the_entry_that_asked_for_it() {
    for (asked, code) in [
        ("stop_requested", ReasonCode::StopRequested),
        ("shutdown_requested", ReasonCode::ShutdownRequested),
    ] {
        let mut driven = Driven::told(&[fact(asked)]);
        let seq = driven.state().head().seq;
        let decision = driven.step().expect("a stop");
        assert_eq!(decision.because, [Because { code, seqs: vec![seq] }], "{asked}");
    }
}

/// contract 4.2, 4.3: stop and shutdown each forbid turns, and the view says so.
#[test]
fn turns_are_allowed_only_if_the_agent_is_neither_stopped_nor_closing() {
    use wakeful_core::ladder::View;
    for (facts, allowed) in [
        (vec![], true),
        (vec![fact("stop_requested")], false),
        (vec![fact("shutdown_requested")], false),
        (vec![fact("stop_requested"), fact("shutdown_requested")], false),
        (vec![fact("stop_requested"), fact("start_requested")], true),
    ] {
        let driven = Driven::told(&facts);
        assert_eq!(
            View::new(driven.state(), Boundary::RunLoop, driven.now).turns_allowed,
            allowed,
            "{facts:?}"
        );
    }
}

/// There is one event per decision: the batch of a step records the decision once.
#[test]
fn each_step_records_one_decision() {
    let mut driven = Driven::told(&[prompt("m")]);
    let decisions = driven.run();
    driven.tell(&[end("completed")]);
    let more = driven.run();
    assert_eq!(driven.events(EventKind::SchedulerDecision), decisions.len() + more.len());
}

/// contract 2.2, 5.23: a host that does not know whether a tool call was recorded may report it
/// again, and it stays one call.
#[test]
fn a_tool_call_of_a_run_is_recorded_once() {
    let call = |id: &str| {
        json!({"fact": "tool_execution_recorded", "run_id": "$run", "tool_execution_id": id, "tool_name": "ExecCommand",
            "status": "success", "input": {}, "output": {}, "summary": "make"})
    };
    let mut driven = Driven::told(&[prompt("m")]);
    driven.run();
    driven.tell(&[call("x1")]);
    let recorded = driven.state().head().seq;
    driven.tell(&[call("x2")]);
    assert_eq!(
        driven.say(&call("x1")),
        Answer::Ignored { reason: Refusal::Duplicate, because: recorded }
    );
    assert_eq!(driven.state().context().tool_executions, 2);
}
