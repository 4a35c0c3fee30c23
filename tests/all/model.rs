//! Searches a part of the machine's states, and checks that the model checker finds seeded
//! mistakes. `cargo xtask model` searches more.

use std::{fs, process::Command};

use wakeful_tests::{
    model::{
        self, Bounds,
        adversary::Adversary,
        cast::Cast,
        openings::{self, Opening},
        process, rest,
    },
    scenario,
};

fn bounds() -> Bounds {
    Bounds {
        cast: Cast::FULL,
        openings: openings::ALL.to_vec(),
        shapes: 50_000,
        depth: 1_000,
        threads: model::all_cores(),
        adversary: None,
    }
}

#[test]
fn fifteen_thousand_shapes_keep_the_invariants_and_come_to_rest() {
    let report = model::search(&Bounds { shapes: 15_000, ..bounds() }, |_| {});
    assert!(report.finding.is_none(), "{:#?}", report.finding);
    assert!(report.shapes >= 15_000 && report.transitions > report.shapes, "{report:?}");
    let looked_at = report.shapes - report.edge;
    assert!(
        report.rested >= looked_at && report.rested + report.rested_at_edge >= report.shapes,
        "some shapes were not walked to rest: {report:?}"
    );
    assert!(
        (8..=rest::LIMIT / 2).contains(&report.steps_to_rest),
        "the limit is not near what is needed: {report:?}"
    );
}

#[test]
fn a_space_with_an_end_is_searched_to_its_end() {
    let bounds =
        Bounds { cast: Cast::HINT, openings: vec![openings::NOTHING], threads: 1, ..bounds() };
    let report = model::search(&bounds, |_| {});
    assert!(report.is_exhausted(), "{report:?}");
    let near = model::search(&Bounds { depth: report.depth - 1, ..bounds }, |_| {});
    assert!(
        !near.is_exhausted()
            && near.edge > 0
            && near.rested + near.rested_at_edge >= near.shapes
            && near.shapes < report.shapes
            && near.depth + 1 == report.depth,
        "a search that is one move shorter misses some: {near:?}, {report:?}"
    );
}

#[test]
fn openings_stand_where_their_names_say() {
    for opening in openings::ALL {
        let stored = process::begun(&opening);
        let state = &*stored.state;
        let (turns, queue, work, waiting) =
            (state.turns(), state.queue(), state.work(), state.waiting());
        let waits = |id: &str| queue.waiting().any(|held| held.record.id == id.into());
        let stands = match opening.name {
            "nothing" => work.items.is_empty() && turns.turn_index == 0,
            "an item with a task" => work.items.len() == 1 && state.tasks().active.len() == 1,
            "two items" => work.items.len() == 2 && work.focus.is_some(),
            "waits for a task and a trigger" => {
                waiting.conditions.len() == 2 && waiting.intents.len() == 1
            }
            "a blocker and a timer" => {
                waiting.timers.len() == 1
                    && work.items.values().any(|item| item.record.blocked_by.is_some())
            }
            "an open run with a deferred message" => {
                turns.run.is_some() && queue.deferred.iter().next().is_some()
            }
            "a retry in its backoff" => {
                turns.run.is_none() && turns.retries.len() == 1 && queue.is_empty()
            }
            "a replay after a death" => {
                turns.run.is_none() && turns.interrupted.len() == 1 && !queue.is_empty()
            }
            "a parked item" => {
                work.items.values().all(|item| item.progress.parked.is_some())
                    && !work.items.is_empty()
            }
            "stopped with queued input" => state.control().stopped.is_some() && waits("p1"),
            "two tasks of which one has ended" => {
                state.tasks().active.len() == 1 && state.tasks().ended.len() == 1
            }
            "an interval timer that has fired" => {
                waiting.timers.values().any(|timer| timer.record.fire_count == 1)
                    && !queue.is_empty()
            }
            "a delivery that waits" => {
                turns.run.is_some() && waits("c1") && waiting.intents.len() == 1
            }
            "a delivery to a trigger that has ended" => {
                !state.ingress().ended.is_empty()
                    && state.control().hint.is_some()
                    && waiting.conditions.len() == 1
            }
            "a budget that is exhausted" => {
                state.budgets().agent.exhausted.is_some() && turns.run.is_none() && waits("h")
            }
            other => panic!("`{other}` has no check here"),
        };
        assert!(
            stands && stored.broken.is_none(),
            "`{}` does not match its name: {state:#?}",
            opening.name
        );
        let clock = opening.lines().filter_map(|line| line.strip_prefix("clock ")).next_back();
        assert!(
            clock.is_none_or(|clock| state.at().to_string() == clock),
            "`{}` ends with a clock that no entry shows",
            opening.name
        );
    }
}

/// Checks that the checker finds this adversary by these properties in at most `moves` moves, and
/// that the scenario of the finding plays as it says.
fn found(adversary: Adversary, (cast, openings): (Cast, Vec<Opening>), by: &[&str], moves: usize) {
    let report = model::search(
        &Bounds { cast, openings, threads: 1, adversary: Some(adversary), ..bounds() },
        |_| {},
    );
    let shapes = report.shapes;
    let finding =
        report.finding.unwrap_or_else(|| panic!("{adversary:?} is not found in {shapes} shapes"));
    let names: Vec<_> = finding.broken.name.split(", ").collect();
    assert_eq!(names, by, "{} in {shapes} shapes\n{}", finding.broken, finding.scenario);
    assert!(finding.moves <= moves, "{} moves\n{}", finding.moves, finding.scenario);
    assert_eq!(scenario::play(&finding.scenario), finding.scenario);
}

#[test]
fn reason_class_matching_is_found() {
    found(Adversary::ReasonClass, (Cast::FULL, openings::ALL.to_vec()), &["I17"], 4);
}

#[test]
fn duplicates_by_window_are_found() {
    found(Adversary::Window, (Cast::FULL, openings::ALL.to_vec()), &["I9", "I17"], 10);
}

#[test]
fn a_suppressed_rule_that_hides_the_next_is_found() {
    found(Adversary::HiddenRule, (Cast::FULL, openings::ALL.to_vec()), &["I17", "I19"], 5);
}

#[test]
fn a_cleared_blocker_is_found() {
    found(Adversary::ClearedBlocker, (Cast::FULL, openings::ALL.to_vec()), &["5.7"], 5);
}

#[test]
fn a_lost_interjection_is_found() {
    found(
        Adversary::LostInterjection,
        (Cast::ITEM_AND_PROMPT, vec![openings::NOTHING]),
        &["3.2"],
        4,
    );
}

#[test]
fn a_recheck_consumed_unseen_is_found() {
    found(Adversary::UnseenRecheck, (Cast::FULL, openings::ALL.to_vec()), &["5.17"], 2);
}

#[test]
fn a_result_before_its_wait_is_found() {
    found(Adversary::LateWait, (Cast::WAITING, vec![openings::TASK]), &["9.2"], 7);
}

#[test]
fn a_spin_is_found() {
    found(Adversary::Spin, (Cast::FULL, openings::ALL.to_vec()), &["9.2"], rest::LIMIT);
}

#[test]
fn a_correction_that_moves_nothing_is_found() {
    let timer = Cast { timers: 1, ..Cast::NOBODY };
    found(Adversary::StuckTimers, (timer, vec![openings::NOTHING]), &["I27"], 3);
}

#[test]
fn what_the_program_finds_is_written_as_a_scenario() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = |more: &[&str]| {
        let mut call = Command::new(env!("CARGO_BIN_EXE_model"));
        call.args(["--shapes", "20000", "--json", "--write"])
            .arg(folder.path().join("found"))
            .args(more)
            .output()
            .expect("the program starts")
    };
    let found = call(&["--adversary", "cleared-blocker"]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let told: serde_json::Value = serde_json::from_slice(&found.stdout).expect("a line of JSON");
    let text = fs::read_to_string(told["written"].as_str().expect("a path")).expect("the file");
    assert_eq!(told["written"].as_str(), folder.path().join("found/broken_5_7.txt").to_str());
    assert!(
        text.starts_with("# 5.7: entry ")
            && text.contains("\n# With the seeded mistake `cleared-blocker`"),
        "{text}"
    );
    assert_eq!(scenario::play(&text), text);
    assert_eq!(call(&["--adversary", "nobody"]).status.code(), Some(2));
}
