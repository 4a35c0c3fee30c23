//! Simulates a few families of agents over virtual days, with faults at every import. `cargo xtask
//! sim` simulates more.

use std::{fs, process::Command};

use serde::Deserialize;
use serde_json::value::RawValue;
use wakeful_core::record::{chain::Head, edition::Edition, entry::EntryBytes};
use wakeful_tests::sim::{self, Plan};

#[test]
fn families_live_through_wild_days_and_leave_nothing_undone() {
    let mut whole = sim::Report::default();
    for seed in 0..3 {
        for edition in [Edition::Pages20260527, Edition::Rfc20260508] {
            let plan = Plan { seed, days: 2, edition, loses: false };
            let report = sim::live(&plan);
            assert_eq!(report.wrong, [] as [String; 0], "seed {seed}, edition {edition}");
            whole.add(&report);
        }
    }
    assert!(
        whole.befell.len() > 15 && whole.befell.values().all(|count| *count > 0),
        "{:?}",
        whole.befell
    );
}

#[test]
fn a_seed_determines_all_of_it() {
    let plan = Plan { seed: 7, days: 2, edition: Edition::default(), loses: false };
    assert_eq!(sim::live_and_tell(&plan), sim::live_and_tell(&plan));
    assert_ne!(sim::live(&plan).digest, sim::live(&Plan { seed: 8, ..plan }).digest);
}

#[test]
fn a_host_that_loses_a_message_is_found_out() {
    let plan = Plan { seed: 1, days: 2, edition: Edition::default(), loses: true };
    let lost: Vec<_> = (1..8).flat_map(|seed| sim::live(&Plan { seed, ..plan }).wrong).collect();
    assert!(
        !lost.is_empty() && lost.iter().all(|what| what.contains("never reached its end")),
        "{lost:?}"
    );
}

#[test]
fn two_editions_are_told_apart_where_they_first_decide_differently() {
    let plan = Plan { seed: 0, days: 2, edition: Edition::Pages20260527, loses: false };
    assert_eq!(sim::divergence(&plan, Edition::Pages20260527), None);
    let first = (0..8)
        .find_map(|seed| sim::divergence(&Plan { seed, ..plan }, Edition::Rfc20260508))
        .expect("some family shows it");
    assert_ne!(first.decided[0], first.decided[1]);
}

#[test]
fn histories_are_written_entry_by_entry_and_not_over_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = || {
        let mut call = Command::new(env!("CARGO_BIN_EXE_sim"));
        call.args(["--seed", "2", "--families", "1", "--days", "2", "--histories"])
            .arg(folder.path())
            .output()
            .expect("the program starts")
    };
    assert_eq!(call().status.code(), Some(0));
    let (report, histories) =
        sim::live_and_tell(&Plan { seed: 2, days: 2, edition: Edition::default(), loses: false });
    let mut places = Vec::new();
    for history in &histories {
        let text = fs::read_to_string(folder.path().join(format!("2/{}.jsonl", history.agent)))
            .expect("a history");
        let mut head = Head::START;
        for line in text.lines() {
            let line: Line = serde_json::from_str(line).expect("a line of JSON");
            head = EntryBytes::from_stored(line.entry.get().to_owned())
                .open(&head)
                .expect("an entry of its ledger")
                .head();
            places.push(line.place);
        }
    }
    places.sort_unstable();
    assert!(
        report.agents > 1 && places == (0..report.entries).collect::<Vec<_>>(),
        "each entry of {report:?} has its place"
    );
    let again = call();
    assert!(
        again.status.code() == Some(1)
            && String::from_utf8_lossy(&again.stdout).contains("cannot be written"),
        "{again:?}"
    );
}

/// A line of a history.
#[derive(Deserialize)]
struct Line<'a> {
    place: u64,
    #[serde(borrow)]
    entry: &'a RawValue,
}
