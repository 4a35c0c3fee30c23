//! What replays after a restart: every queue status and every end of a run (contract 5.5, 5.23;
//! I18).

use serde_json::{Value, json};
use wakeful_core::{
    machine::Machine,
    record::{
        event::EventKind,
        queue::envelope::QueueStatus,
        turn::{AbortReason, TurnTerminalKind},
    },
};

use super::driven::{Driven, abort, fact, prompt};

/// The run of the message when the process dies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Run {
    /// The message has no run.
    None,
    /// The run is open.
    Open,
    /// Its driver was asked to shut down and aborted it, so it was interrupted before the restart.
    BrokenOff,
}

/// The fact with which another runtime reports this status; `None` for queued.
fn said(status: QueueStatus) -> Option<Value> {
    let name = match status {
        QueueStatus::Queued => return None,
        QueueStatus::Dequeued => "message_dequeued",
        QueueStatus::Processed => "message_processed",
        QueueStatus::Interjected => "message_interjected",
        QueueStatus::Aborted => "message_aborted",
        QueueStatus::Dropped => "message_dropped",
    };
    Some(json!({"fact": name, "message_id": "m"}))
}

#[test]
fn restart_replay_classification() {
    for status in QueueStatus::ALL {
        for run in [Run::None, Run::Open, Run::BrokenOff] {
            let case = format!("{status}, {run:?}");
            let mut driven = Driven::observed();
            driven.tell(&[prompt("m")]);
            if run != Run::None {
                driven.tell(&[json!({"fact": "turn_started", "run_id": "r", "message_id": "m"})]);
            }
            // A runtime can withdraw only a message that it has not taken, so this case does not
            // exist.
            if *status == QueueStatus::Dropped && run != Run::None {
                continue;
            }
            driven.tell(said(*status).as_slice());
            if run == Run::BrokenOff {
                driven.tell(&[
                    fact("shutdown_requested"),
                    json!({"fact": "turn_aborted", "run_id": "r", "reason": "daemon_shutdown"}),
                ]);
            }
            driven.restart();
            assert!(driven.state().turns().run.is_none(), "{case}: no run survives");
            // contract 5.23: queued and dequeued messages replay; processed, aborted, dropped and
            // interjected ones do not.
            let replays = match status {
                QueueStatus::Queued | QueueStatus::Dequeued => true,
                QueueStatus::Processed
                | QueueStatus::Interjected
                | QueueStatus::Aborted
                | QueueStatus::Dropped => false,
            };
            let told_elsewhere = usize::from(run != Run::None);
            driven.run();
            assert_eq!(driven.started().len() - told_elsewhere, usize::from(replays), "{case}");
            if let (true, Some(open)) = (replays, &driven.state().turns().run) {
                assert_ne!(open.run_id.as_str(), "r", "{case}: a new run id");
            }
            assert_eq!(
                driven.events(EventKind::ToolRoundCompleted),
                0,
                "{case}: no recorded tool call is run again"
            );
        }
    }
}

#[test]
fn a_message_replays_until_its_turn_reaches_a_terminal_of_any_kind() {
    for kind in TurnTerminalKind::ALL {
        let mut driven = Driven::told(&[prompt("m")]);
        driven.step();
        driven.restart();
        driven.run();
        assert_eq!(driven.started(), ["m", "m"], "{kind}: it replays");
        driven.tell(&[json!({"fact": "turn_terminal", "run_id": "$run", "kind": kind})]);
        // contract 5.5: an aborted turn settles its message as aborted, every other end as
        // processed.
        let settled = match kind {
            TurnTerminalKind::Aborted => QueueStatus::Aborted,
            TurnTerminalKind::Completed
            | TurnTerminalKind::BaselineOverBudget
            | TurnTerminalKind::DeferredToFallback
            | TurnTerminalKind::ProviderFailedNeedsRecovery => QueueStatus::Processed,
        };
        assert_eq!(
            driven.way_of("m"),
            [QueueStatus::Queued, QueueStatus::Dequeued, QueueStatus::Dequeued, settled],
            "{kind}"
        );
        driven.restart();
        driven.run();
        assert_eq!(driven.started(), ["m", "m"], "{kind}: and does not replay again");
    }
}

/// contract 4.3, 5.5: an abort settles the message for every reason. While closing, it interrupts
/// the run instead, so that the message replays.
#[test]
fn an_abort_settles_its_message_unless_the_agent_is_closing() {
    for reason in AbortReason::ALL {
        for closing in [false, true] {
            let mut driven = Driven::told(&[prompt("m")]);
            driven.step();
            if closing {
                driven.tell(&[fact("shutdown_requested")]);
            }
            driven.tell(&[abort(&reason.to_string())]);
            driven.restart();
            driven.run();
            assert_eq!(
                driven.started().len(),
                1 + usize::from(closing),
                "{reason}, closing: {closing}"
            );
            let errors = usize::from(*reason == AbortReason::RuntimeError && !closing);
            assert_eq!(
                driven.events(EventKind::RuntimeError),
                errors,
                "{reason}, closing: {closing}"
            );
        }
    }
}

/// contract 3.4, 3.5: a snapshot continues only the history in which it was made.
#[test]
fn a_snapshot_stands_at_the_newest_entry_of_its_own_history_and_at_no_other() {
    let [one, other] = ["one", "other"].map(|id| Driven::told(&[prompt(id)]));
    let resumed = Machine::resume(one.machine().options().clone(), &one.machine().snapshot())
        .expect("a snapshot of this program");
    let [newest, before, elsewhere] =
        [one.entries.last(), one.entries.iter().rev().nth(1), other.entries.last()];
    assert_eq!(one.entries.len(), other.entries.len());
    let stands =
        [newest, before, elsewhere].map(|entry| resumed.stands_at(entry.expect("an entry")));
    assert_eq!(stands, [true, false, false]);
}
