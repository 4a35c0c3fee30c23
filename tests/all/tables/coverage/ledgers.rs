//! What the RFC wants covered by saved ledgers: each fixture with its decision, and what a driver
//! does that takes it over.

use wakeful::case::{self, CaseKind};
use wakeful_core::{
    derive::closure::{self, Facts},
    foreign::expected::Expected,
    record::{
        Record,
        continuation::{ClosureOutcome, WaitingReason},
        decision::{Boundary, DecisionKind},
        queue::envelope::QueueStatus,
        task::TaskStatus,
        turn::TurnTerminalKind,
    },
};
use wakeful_tests::paths;

use crate::tables::driven::{Driven, NOW, task, task_message};

/// An imported fixture, after a check that its `expected.json` holds.
fn fixture(name: &str) -> Driven {
    let case = case::load_one(&paths::data("fixtures/scheduler").join(name)).expect("a fixture");
    let CaseKind::Fixture(folder) = &case.kind else { panic!("{name} is a story") };
    let driven = Driven::imported(folder);
    let found = Expected::from_explanation(&driven.machine().explain(Boundary::RunLoopIdle, NOW));
    let expected = Expected::of_fixture(folder).expect("expected.json reads");
    assert_eq!(
        (found.decision, found.decision_reason),
        (expected.decision, expected.decision_reason),
        "{name}"
    );
    driven
}

#[test]
fn terminal_task_persisted_before_task_result_enqueue() {
    let mut driven = fixture("terminal_task_before_result");
    let (status, _) = driven
        .state()
        .tasks()
        .ended
        .values()
        .next()
        .copied()
        .expect("the fixture has an ended task");
    assert!(status.is_terminal() && driven.state().tasks().active.is_empty());
    let decided = driven.decided();
    assert_eq!(
        (decided.kind, decided.reason.as_str()),
        (DecisionKind::StartModelTurn, "TaskResult")
    );
    driven.restart();
    driven.run();
    assert_eq!(driven.started(), ["result-1"]);
    // I5: the order is the same if the result is the first report of the end.
    let mut live = Driven::told(&[task("t", None, false)]);
    live.tell(&[task_message("m", "task_result", "t", "failed")]);
    let place = |is: fn(&Record) -> bool| live.records.iter().position(is).expect("a record");
    let ended =
        place(|record| matches!(record, Record::Task(task) if task.status == TaskStatus::Failed));
    assert!(
        ended < place(|record| matches!(record, Record::Message(_))),
        "the end of the task is recorded before its result"
    );
}

#[test]
fn dequeued_message_replay_after_restart() {
    let mut driven = fixture("dequeued_message_replays");
    assert_eq!(driven.way_of("taken").last(), Some(&QueueStatus::Dequeued));
    driven.restart();
    driven.run_to_rest();
    let mut started = driven.started();
    started.sort();
    assert_eq!(started, ["taken", "waiting"], "each of the two starts once");
}

#[test]
fn pending_wake_hint_recovery() {
    let mut driven = fixture("wake_hint_survives");
    assert!(driven.state().control().hint.is_some());
    driven.restart();
    let decided = driven.step().expect("a tick");
    assert_eq!(
        (decided.kind, decided.rule.as_str()),
        (DecisionKind::EmitSystemTick, "4.wake_hint")
    );
    assert_eq!(driven.tick_keys(), ["wake_hint:fixture:3"]);
    assert!(
        driven.state().control().hint.is_none(),
        "the batch that emits the tick clears the hint"
    );
}

#[test]
fn current_work_item_with_queued_follow_up() {
    let mut driven = fixture("current_item_with_followup");
    driven.restart();
    driven.run();
    assert_eq!(driven.started(), ["followup"]);
    let run = driven.state().turns().run.as_ref().expect("a run");
    let about = run.work_item.as_ref().map(|binding| binding.work_item_id.as_str());
    assert_eq!(about, Some("migrate"), "the turn is about the current item");
    assert_eq!(driven.tick_keys(), [""; 0], "a follow-up goes before a tick");
}

#[test]
fn blocked_work_item_with_active_waiting_intent() {
    let mut driven = fixture("blocked_item_with_intent");
    let closure = closure::decide(&Facts::from_state(driven.state()));
    assert_eq!(
        (closure.outcome, closure.waiting_reason),
        (ClosureOutcome::Waiting, Some(WaitingReason::AwaitingExternalChange))
    );
    driven.restart();
    let decisions = driven.run();
    assert_eq!(
        decisions.iter().map(|decision| decision.rule.as_str()).collect::<Vec<_>>(),
        ["8.external"]
    );
}

#[test]
fn turn_local_baseline_over_budget_terminal_record() {
    let mut driven = fixture("baseline_over_budget_terminal");
    assert_eq!(
        driven.state().turns().terminal_of_newest(),
        Some(TurnTerminalKind::BaselineOverBudget)
    );
    assert_eq!(closure::decide(&Facts::from_state(driven.state())).outcome, ClosureOutcome::Failed);
    driven.restart();
    driven.run_to_rest();
    assert_eq!(driven.started(), [""; 0], "a turn that does not fit is not tried again");
}
