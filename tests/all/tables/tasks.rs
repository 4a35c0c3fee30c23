//! Task statuses are monotonic: every status after every other, in the rule, in transitions and in
//! folds (contract 3.3, 5.10; I3, I4).

use serde_json::{Value, json};
use wakeful_core::{
    fact::outcome::{Answer, Refusal},
    record::{
        Record, entry,
        task::{TaskKind, TaskRecord, TaskStatus},
    },
    state::State,
};

use super::driven::{Driven, NOW, item, of_task, task, task_message};

/// The statuses, in the order of the rows and columns.
const STATUSES: [TaskStatus; 7] = [
    TaskStatus::Queued,
    TaskStatus::Running,
    TaskStatus::Cancelling,
    TaskStatus::Completed,
    TaskStatus::Failed,
    TaskStatus::Cancelled,
    TaskStatus::Interrupted,
];

/// Which status is accepted (columns) after which (rows). Phases never fall, the first terminal
/// status stays, and an equal status replaces it.
const TAKEN: [&str; 7] = [
    "qrcCFXI", // queued
    ".rcCFXI", // running
    "..cCFXI", // cancelling
    "...C...", // completed
    "....F..", // failed
    ".....X.", // cancelled
    "......I", // interrupted
];

fn taken(latest: TaskStatus, next: TaskStatus) -> bool {
    let place =
        |status| STATUSES.iter().position(|known| *known == status).expect("a row per status");
    TAKEN[place(latest)].as_bytes()[place(next)] != b'.'
}

/// Whether a status ends a task.
fn ends(status: TaskStatus) -> bool {
    match status {
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelling => false,
        TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::Interrupted => true,
    }
}

/// The name of the fact that reports this status.
fn said(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Queued => "task_created",
        TaskStatus::Running => "task_running",
        TaskStatus::Cancelling => "task_cancelling",
        TaskStatus::Completed => "task_completed",
        TaskStatus::Failed => "task_failed",
        TaskStatus::Cancelled => "task_cancelled",
        TaskStatus::Interrupted => "task_interrupted",
    }
}

/// The status of `t` in the state, and whether it is active.
fn known(state: &State) -> (TaskStatus, bool) {
    let (active, ended) =
        (state.tasks().active.get(&"t".into()), state.tasks().ended.get(&"t".into()));
    match (active, ended) {
        (Some(task), None) => (task.record.status, true),
        (None, Some((status, _))) => (*status, false),
        _ => panic!("a task is active or ended, never both: {:?}", state.tasks()),
    }
}

#[test]
fn task_status_monotonicity() {
    assert_eq!(TaskStatus::ALL, STATUSES, "a new status needs a row and a column");
    for latest in STATUSES {
        assert_eq!(latest.is_terminal(), ends(latest), "{latest}");
        for next in STATUSES {
            assert_eq!(next.may_follow(latest), taken(latest, next), "{next} after {latest}");
        }
    }
}

#[test]
fn a_fact_moves_a_task_forward_only() {
    for latest in STATUSES {
        for next in STATUSES {
            let mut driven = Driven::told(&[task("t", None, true)]);
            if latest != TaskStatus::Queued {
                driven.tell(&[of_task(said(latest), "t")]);
            }
            let state = driven.state();
            let seq = state
                .tasks()
                .active
                .get(&"t".into())
                .map_or_else(|| state.tasks().ended[&"t".into()].1, |task| task.seq);
            let answer = driven.say(&of_task(said(next), "t"));
            let expected = match (ends(latest), taken(latest, next)) {
                // A task that has ended ignores every fact, even an equal one.
                (true, _) => Answer::Ignored { reason: Refusal::AlreadyTerminal, because: seq },
                (false, true) => Answer::Accepted,
                (false, false) => Answer::Ignored { reason: Refusal::Stale, because: seq },
            };
            assert_eq!(answer, expected, "{next} after {latest}");
            let stays = if expected == Answer::Accepted { next } else { latest };
            assert_eq!(known(driven.state()), (stays, !ends(stays)), "{next} after {latest}");
        }
    }
}

#[test]
fn a_fold_keeps_the_first_terminal_and_counts_what_it_refuses() {
    let record = |status| {
        let record = json!({"id": "t", "agent_id": "default", "kind": "command_task", "status": status, "created_at": NOW, "updated_at": NOW});
        Record::Task(serde_json::from_value::<TaskRecord>(record).expect("a task"))
    };
    for latest in STATUSES {
        for next in STATUSES {
            let mut state = Driven::observed().state().clone();
            let (entries, _) =
                entry::seal_all(state.head(), NOW, vec![record(latest), record(next)]);
            entries.iter().for_each(|entry| state.apply(entry));
            // contract 3.3: in a fold only terminal statuses absorb. An earlier phase that comes
            // later is accepted, because the other runtime knows better.
            let refused = ends(latest) && latest != next;
            let stays = if refused { latest } else { next };
            assert_eq!(known(&state), (stays, !ends(stays)), "{next} after {latest}");
            assert_eq!(state.tasks().refused, u64::from(refused), "{next} after {latest}");
        }
    }
}

/// A child task never blocks, in any spelling. Other tasks block if their detail says so (contract
/// 12).
#[test]
fn only_a_task_that_says_so_and_is_not_a_child_blocks() {
    for kind in TaskKind::ALL {
        for (policy, says) in [("blocking", true), ("background", false)] {
            let mut driven = Driven::new();
            driven.tell(&[json!({"fact": "task_created", "task_id": "t", "task_kind": kind, "detail": {"wait_policy": policy}})]);
            let child = match kind {
                TaskKind::ChildAgentTask
                | TaskKind::SubagentTask
                | TaskKind::WorktreeSubagentTask => true,
                TaskKind::CommandTask | TaskKind::SleepJob => false,
            };
            assert_eq!(
                driven.state().tasks().active[&"t".into()].is_blocking(),
                says && !child,
                "{kind} {policy}"
            );
        }
    }
}

/// The number of recorded task records.
fn recorded(driven: &Driven) -> usize {
    driven.records.iter().filter(|record| matches!(record, Record::Task(_))).count()
}

/// A message of the runtime may report the status of a task. It gives a task record if it is news,
/// and fields that it leaves out stay (contract 5.10, 5.11).
#[test]
fn a_message_of_the_runtime_is_recorded_if_it_moves_its_task() {
    for latest in STATUSES {
        for next in STATUSES {
            let mut driven = Driven::told(&[item("w"), task("t", Some("w"), true)]);
            if latest != TaskStatus::Queued {
                driven.tell(&[of_task(said(latest), "t")]);
            }
            let before = recorded(&driven);
            driven.now = NOW.plus_ms(1);
            driven.tell(&[task_message("m", "task_status", "t", next.as_str())]);
            let is_news = !ends(latest) && next != latest && taken(latest, next);
            assert_eq!(recorded(&driven) - before, usize::from(is_news), "{next} after {latest}");
            assert_eq!(
                known(driven.state()).0,
                if is_news { next } else { latest },
                "{next} after {latest}"
            );
            if let Some(task) = driven.state().tasks().active.get(&"t".into()) {
                assert_eq!(
                    (task.record.created_at, &task.record.work_item_id),
                    (NOW, &Some("w".into())),
                    "{next} after {latest}"
                );
                assert!(task.is_blocking(), "{next} after {latest}");
            }
        }
    }
}

#[test]
fn messages_of_others_and_of_observed_runtimes_do_not_move_a_task() {
    let with = |change: fn(&mut Value)| {
        let mut message = task_message("m", "task_result", "t", "completed");
        change(&mut message["message"]);
        message
    };
    let told = [
        (Driven::new(), with(|_| ()), true),
        (Driven::observed(), with(|_| ()), false),
        (Driven::new(), with(|message| message["trust"] = json!("trusted_integration")), false),
        (Driven::new(), with(|message| message["kind"] = json!("internal_followup")), false),
    ];
    for (mut driven, message, is_news) in told {
        driven.tell(&[task("t", None, false)]);
        let before = recorded(&driven);
        driven.tell(std::slice::from_ref(&message));
        assert_eq!(recorded(&driven) - before, usize::from(is_news), "{message}");
    }
}
