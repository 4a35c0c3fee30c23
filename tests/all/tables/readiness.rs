//! Readiness of work items: every plan status, blocker and set of waits, open and completed
//! (contract 5.13, 5.14; I6, I8).

use serde_json::{Value, json};
use wakeful_core::{
    derive::work_queue::WorkQueue,
    ladder::View,
    record::{
        decision::Boundary,
        work::{WorkItemPlanStatus, WorkItemState},
    },
    state::readiness::{self, SchedulingState},
};

use super::driven::{Driven, condition, intent, item, of_item, task};

/// What an item can wait for and the state that it then has, in the order of contract 5.13.
const WAITS: [(&str, SchedulingState); 7] = [
    ("blocking task", SchedulingState::WaitingTask),
    ("task", SchedulingState::WaitingTask),
    ("operator", SchedulingState::WaitingOperator),
    ("timer", SchedulingState::WaitingTimer),
    ("external", SchedulingState::WaitingExternal),
    ("intent", SchedulingState::WaitingExternal),
    ("system", SchedulingState::WaitingSystem),
];

/// The fact after which the item has this wait.
fn wait(name: &str) -> Value {
    let by = |kind: &str, source| condition(kind, kind, Some("w"), source);
    match name {
        "blocking task" => task("blocks", Some("w"), true),
        "task" => by("task", json!({"kind": "task_result", "task_id": "background"})),
        "operator" => by("operator", json!({"kind": "operator_input"})),
        "timer" => by("timer", json!({"kind": "timer", "wake_at": "2027-01-01T00:00:00Z"})),
        "external" => by("external", json!({"kind": "external_ingress"})),
        "intent" => intent("i", "work_item", Some("w"), "e"),
        "system" => by("system", json!({"kind": "system_tick"})),
        other => panic!("`{other}` is not a wait of an item"),
    }
}

/// The state by contract 5.13: the first line that matches.
fn expected(plan: WorkItemPlanStatus, waits: u8, blocked: bool) -> SchedulingState {
    match plan {
        WorkItemPlanStatus::NeedsInput => return SchedulingState::WaitingOperator,
        WorkItemPlanStatus::Draft | WorkItemPlanStatus::Ready => {}
    }
    let first = WAITS.iter().enumerate().find(|(at, _)| waits & (1 << at) > 0);
    first.map_or(
        if blocked { SchedulingState::Blocked } else { SchedulingState::Runnable },
        |(_, (_, state))| *state,
    )
}

/// An item with these waits. The ledger is observed, so an owner may have several conditions
/// (contract 5.17 is only for live ledgers).
fn with(plan: WorkItemPlanStatus, waits: u8, blocked: bool) -> Driven {
    let mut driven = Driven::observed();
    driven.tell(&[
        item("w"),
        json!({"fact": "work_item_updated", "work_item_id": "w", "plan_status": plan}),
        task("background", Some("w"), false),
    ]);
    for (_, (name, _)) in WAITS.iter().enumerate().filter(|(at, _)| waits & (1 << at) > 0) {
        driven.tell(&[wait(name)]);
    }
    if blocked {
        // contract 5.13: even an empty text blocks, because the field is there.
        driven.tell(&[json!({"fact": "work_item_blocked", "work_item_id": "w", "blocked_by": ""})]);
    }
    driven
}

#[test]
fn work_item_readiness() {
    for plan in WorkItemPlanStatus::ALL {
        for waits in 0..1 << WAITS.len() {
            for blocked in [false, true] {
                for focused in [false, true] {
                    let mut driven = with(*plan, waits, blocked);
                    if focused {
                        driven.tell(&[of_item("work_item_picked", "w")]);
                    }
                    let state = driven.state();
                    let stands = readiness::standing(state, &state.work().items[&"w".into()]).state;
                    let expected = expected(*plan, waits, blocked);
                    let case =
                        format!("{plan}, waits {waits:07b}, blocked {blocked}, focused {focused}");
                    assert_eq!(stands, expected, "{case}");
                    let runnable = expected == SchedulingState::Runnable;
                    let view = View::new(state, Boundary::RunLoopIdle, state.at());
                    assert_eq!(
                        view.queued.len(),
                        usize::from(runnable && !focused),
                        "{case}: only a runnable item without the focus is queued"
                    );
                    assert_eq!(view.current_state(), focused.then_some(expected), "{case}");
                }
            }
        }
    }
}

#[test]
fn completed_work_items_are_never_runnable() {
    for state in WorkItemState::ALL {
        for plan in WorkItemPlanStatus::ALL {
            for waits in 0..1 << WAITS.len() {
                let mut driven = with(*plan, waits, true);
                driven.tell(&[of_item("work_item_picked", "w")]);
                if *state == WorkItemState::Open {
                    let stands = WorkQueue::new(driven.state()).candidates[0].state;
                    assert_ne!(
                        stands,
                        SchedulingState::Completed,
                        "{plan} {waits:07b}: an open item is not done"
                    );
                    continue;
                }
                driven.tell(&[of_item("work_item_completed", "w")]);
                let after = driven.state();
                let case = format!("{plan}, waits {waits:07b}");
                assert!(
                    after.work().current().is_none() && after.work().focus.is_none(),
                    "{case}: completion clears the focus"
                );
                assert!(readiness::queued_runnable(after).next().is_none(), "{case}");
                assert!(
                    after.waiting().conditions.is_empty() && after.waiting().intents.is_empty(),
                    "{case}: its own waits end with it"
                );
                let shown: Vec<_> = WorkQueue::new(after)
                    .candidates
                    .iter()
                    .map(|candidate| candidate.state)
                    .collect();
                assert_eq!(shown, [SchedulingState::Completed], "{case}");
                for fact in ["work_item_picked", "work_item_unblocked", "work_item_completed"] {
                    assert_ne!(
                        driven.say(&of_item(fact, "w")),
                        wakeful_core::fact::outcome::Answer::Accepted,
                        "{case}: {fact}"
                    );
                }
                assert!(
                    driven.state().work().current().is_none(),
                    "{case}: a completed item cannot become current"
                );
            }
        }
    }
}

/// contract 5.13: only an item's own waits make it wait. Those of another item or of the agent
/// leave it runnable.
#[test]
fn what_another_owner_waits_for_leaves_an_item_runnable() {
    for owner in [Some("other"), None] {
        for (kind, source) in [
            ("task", json!({"kind": "task_result", "task_id": "blocks"})),
            ("operator", json!({"kind": "operator_input"})),
            ("timer", json!({"kind": "timer", "wake_at": "2027-01-01T00:00:00Z"})),
            ("external", json!({"kind": "external_ingress"})),
            ("system", json!({"kind": "system_tick"})),
        ] {
            let driven = Driven::told(&[
                item("w"),
                item("other"),
                task("blocks", owner, true),
                condition("c", kind, owner, source),
            ]);
            let state = driven.state();
            assert_eq!(
                readiness::standing(state, &state.work().items[&"w".into()]).state,
                SchedulingState::Runnable,
                "{owner:?} {kind}"
            );
        }
    }
}
