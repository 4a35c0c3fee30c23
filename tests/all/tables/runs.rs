//! What the records of turns open and end in a fold, in every order (contract 5.4, 5.8, 5.23).

use serde_json::json;
use wakeful_core::{
    json::read,
    record::{Record, entry},
    state::State,
};

use super::driven::{Driven, NOW};

/// The record of a run of a message; `status` is `started`, `terminal` or `interrupted`.
fn record(run: &str, message: &str, status: &str) -> Record {
    let kind = (status == "terminal").then_some("completed");
    let record = json!({"run_id": run, "agent_id": "default", "turn_index": 1, "message_id": message, "status": status, "started_at": NOW, "kind": kind});
    Record::Turn(read(&record.to_string()).expect("a record"))
}

/// The state of a ledger with only these records.
fn folded(records: &[(&str, &str, &str)]) -> State {
    let mut state = Driven::observed().state().clone();
    let records =
        records.iter().map(|(run, message, status)| record(run, message, status)).collect();
    let (entries, _) = entry::seal_all(state.head(), NOW, records);
    entries.iter().for_each(|entry| state.apply(entry));
    state
}

/// The messages whose runs were interrupted and that did not start again.
fn interrupted(records: &[(&str, &str, &str)]) -> Vec<String> {
    folded(records).turns().interrupted.iter().map(|run| run.message_id.to_string()).collect()
}

#[test]
fn a_run_is_ended_by_its_own_record_alone() {
    for status in ["terminal", "interrupted"] {
        let before = folded(&[("open", "m", "started")]).turns().clone();
        let other = folded(&[("open", "m", "started"), ("other", "m", status)]).turns().clone();
        assert_eq!(other, before, "{status}");
        let own = folded(&[("open", "m", "started"), ("open", "m", status)]).turns().clone();
        assert_eq!((own.run, own.settled.is_some()), (None, true), "{status}");
        assert_eq!(
            (own.last_terminal.is_some(), own.newest_interrupted),
            (status == "terminal", status == "interrupted")
        );
    }
}

#[test]
fn a_message_that_is_started_again_is_interrupted_no_more_and_the_others_are() {
    let lost = [
        ("r1", "a", "started"),
        ("r1", "a", "interrupted"),
        ("r2", "b", "started"),
        ("r2", "b", "interrupted"),
    ];
    assert_eq!(interrupted(&lost), ["a", "b"]);
    assert_eq!(interrupted(&[lost.as_slice(), &[("r3", "a", "started")]].concat()), ["b"]);
    // The open run of an import has no message, so the first message that starts a run is taken for
    // its message.
    let imported = [("r0", "", "started"), ("r0", "", "interrupted")];
    assert_eq!(interrupted(&imported), [""]);
    assert_eq!(interrupted(&[imported.as_slice(), &[("r1", "a", "started")]].concat()), [""; 0]);
}
