//! Messages to a running agent from outside, and two processes that want to drive it.

use wakeful_core::{
    Options,
    host::Scheduler,
    record::{
        Record,
        queue::envelope::QueueStatus,
        turn::{RunStatus, TurnTerminalKind},
    },
};
use wakeful_host::{clock::SystemClock, ledger::SqliteFile, provider::Elsewhere};

use super::{HEAD, agent::Home};
use crate::program::{arg, wakeful};

/// A story in which the turn of the prompt `one` takes this long.
fn slow(delay_ms: u64) -> String {
    format!(
        "[[turns]]\nwhen = {{ text = \"one\" }}\nmoves = [{{ says = \"a moment\" }}, \
         {{ delay_ms = {delay_ms} }}, {{ says = \"done\" }}]\n"
    )
}

#[test]
fn what_is_sent_wakes_an_agent_at_rest() {
    let home = Home::with(HEAD);
    let live = home.start(&[]);
    live.says("StayIdle");
    let sent = home.send(&["prompt", "Look at the repository."]);
    assert_eq!(sent.code, 0, "{}", sent.err);
    assert!(sent.out.starts_with("accepted, the ledger ends at entry "), "{}", sent.out);
    live.says(": Look at the repository.");
    live.says("StartModelTurn");
    live.says("turn        1 terminal completed");
    assert_eq!(home.send(&["hint", "the pipeline has ended", "--text", "green"]).code, 0);
    live.says("wake hint pending: the pipeline has ended");
    live.says("EmitSystemTick");
    live.says("turn        2 terminal completed");
    assert_eq!(home.send(&["deliver", "--trigger", "trigger-1", "it is green"]).code, 0);
    live.says(": it is green");
    live.says("turn        3 terminal completed");
    assert_eq!(home.send(&["shutdown"]).code, 0);
    assert_eq!(live.end(), (0, String::new()), "shutdown from outside ends the process");
}

#[test]
fn stop_breaks_the_open_run_off_and_start_lets_the_agent_go_on() {
    let home = Home::with(&format!("{HEAD}{}", slow(3_600_000)));
    let live = home.start(&[]);
    live.says("StayIdle");
    home.send(&["prompt", "one"]);
    live.says("{\"text\":\"a moment\"}");
    assert_eq!(home.send(&["stop"]).code, 0);
    live.says("stop requested");
    live.says("turn        1 terminal aborted, agent stopped");
    assert_eq!(home.send(&["hint", "look"]).code, 1, "a stopped agent is not woken");
    home.send(&["prompt", "two"]);
    live.says(": two");
    assert_eq!(home.send(&["start"]).code, 0);
    live.says("turn        2 terminal completed");
    live.signal("INT");
    assert_eq!(live.end().0, 0);
    let terminal = |entry: &wakeful_core::record::entry::Entry| match &entry.record {
        Record::Turn(turn) if turn.status == RunStatus::Terminal => turn.kind,
        _ => None,
    };
    let kinds: Vec<_> = home.entries().iter().filter_map(terminal).collect();
    assert_eq!(kinds, [TurnTerminalKind::Aborted, TurnTerminalKind::Completed]);
}

#[test]
fn an_interjection_goes_into_the_open_run() {
    // The turn must not end before the message is there.
    let begun = [600, 6_000, 60_000, 600_000].into_iter().find_map(|delay_ms| {
        let home = Home::with(&format!("{HEAD}{}", slow(delay_ms)));
        let live = home.start(&[]);
        live.says("StayIdle");
        home.send(&["prompt", "one"]);
        live.says("{\"text\":\"a moment\"}");
        home.send(&["prompt", "and mind the tests", "--lane", "interject", "--id", "i1"]);
        let decided =
            "ReduceMessageOnly (operator_interjection) by rule 2.interjection, message `i1`";
        let ended = "turn        1 terminal completed";
        live.says_one_of(&[decided, ended]).contains(decided).then_some((home, live))
    });
    let (home, live) = begun.expect("it is decided while the turn is open");
    live.says("`i1` interjected");
    live.says("turn        1 terminal completed");
    live.signal("INT");
    assert_eq!(live.end().0, 0);
    let status = home.entries().iter().rev().find_map(|entry| match &entry.record {
        Record::QueueEntry(queued) if queued.message_id.as_str() == "i1" => Some(queued.status),
        _ => None,
    });
    assert_eq!(status, Some(QueueStatus::Interjected));
}

#[test]
fn who_comes_second_is_refused_and_drives_as_soon_as_the_first_is_killed() {
    let home = Home::with(HEAD);
    let mut first = home.start(&[]);
    first.says("StayIdle");
    let before = home.entries().len();
    let second = home.run(&["--until-rest"]);
    assert_eq!((second.code, second.out.as_str()), (2, ""));
    let start =
        format!("error: agent `default` is driven by process {} (`wakeful`) since ", first.id());
    assert!(second.err.starts_with(&start), "{}", second.err);
    let end = ": say things to it with `wakeful send`, or end that process first\n";
    assert!(second.err.ends_with(end), "{}", second.err);
    assert_eq!(home.entries().len(), before, "nothing is recorded");
    home.send(&["prompt", "go"]);
    first.says("turn        1 terminal completed");

    assert!(first.kill());
    let third = home.start(&[]);
    third.says("runtime restarted");
    home.send(&["prompt", "go on"]);
    third.says("turn        2 terminal completed");
    third.signal("INT");
    assert_eq!(third.end(), (0, String::new()));
    assert_eq!(home.locks(), 0, "the lock file of the killed process is removed too");
}

#[test]
fn agents_of_one_file_run_side_by_side_and_the_list_says_who_drives_them() {
    let home = Home::with(HEAD);
    let listed = |options: &[&str]| {
        let file = arg(&home.file("agent.sqlite"));
        wakeful(["agents", file.as_str()].iter().chain(options)).out
    };
    let agents = ["ada", "bob"].map(|agent| home.start(&["--agent", agent]));
    agents.iter().for_each(|live| drop(live.says("StayIdle")));
    let [ada, bob] = agents;
    let both = listed(&[]);
    for live in [&ada, &bob] {
        let line = format!("\n  driven by process {} (`wakeful`), since 20", live.id());
        assert!(both.contains(&line), "{both}");
    }
    let id = bob.id();
    ada.signal("INT");
    assert_eq!(ada.end(), (0, String::new()));
    let rows: Vec<serde_json::Value> =
        listed(&["--json"]).lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    assert_eq!(rows[0]["driven_by"], serde_json::Value::Null);
    assert_eq!(rows[1]["driven_by"]["pid"], id);
    assert_eq!(rows[1]["driven_by"]["program"], "wakeful");
    assert!(rows[1]["driven_by"]["since"].is_string(), "{}", rows[1]);
    drop(bob);
    assert!(!listed(&[]).contains("driven by"), "a killed process drives nothing");
}

/// A program that asks for no claim.
#[test]
fn a_driver_without_a_claim_that_takes_over_ends_the_first() {
    let home = Home::with(HEAD);
    let first = home.start(&[]);
    first.says("StayIdle");
    let ledger =
        SqliteFile::open(&home.file("agent.sqlite")).expect("it opens").ledger(&"default".into());
    Scheduler::drive(Options::new("default".into()), ledger, SystemClock, Elsewhere)
        .expect("it takes over");
    let (code, err) = first.end();
    assert_eq!(code, 2);
    assert!(
        err.contains(
            "another process took over the ledger at entry 5: let only one process drive the agent"
        ),
        "{err}"
    );
}

#[test]
fn sends_at_the_same_time_all_arrive_once() {
    let home = Home::with(&format!(
        "{HEAD}[[turns]]\nrepeat = true\nmoves = [{{ says = \"x\" }}, {{ says = \"y\" }}]\n"
    ));
    let live = home.start(&[]);
    live.says("StayIdle");
    std::thread::scope(|scope| {
        for sender in 0..4 {
            let home = &home;
            scope.spawn(move || {
                for number in 0..5 {
                    let sent =
                        home.send(&["prompt", "go", "--id", &format!("m-{sender}-{number}")]);
                    assert_eq!(sent.code, 0, "{}{}", sent.out, sent.err);
                }
            });
        }
    });
    live.says("turn        20 terminal completed");
    live.signal("INT");
    assert_eq!(live.end(), (0, String::new()));
    let admitted =
        home.entries().iter().filter(|entry| matches!(entry.record, Record::Message(_))).count();
    assert_eq!(admitted, 20);
}

#[test]
fn what_became_of_a_fact_is_the_exit_code() {
    let home = Home::with(&format!("{HEAD}script = [{{ prompt = \"go\" }}]\n"));
    assert_eq!(home.run(&["--virtual", "--until-rest"]).code, 0);
    let accepted = home.send(&["--virtual", "prompt", "again", "--id", "m1"]);
    assert_eq!(accepted.code, 0, "{}", accepted.err);
    let at = home.entries().last().expect("entries").at.to_string();
    assert_eq!(at, "2026-05-27T09:00:00Z", "sent at the time of the ledger");
    let ignored = home.send(&["--virtual", "prompt", "again", "--id", "m1"]);
    assert_eq!(ignored.code, 1);
    assert!(ignored.out.starts_with("ignored: duplicate, because of entry "), "{}", ignored.out);
    let json = home.send(&[
        "--virtual",
        "--json",
        "fact",
        r#"{"fact":"work_item_picked","work_item_id":"w"}"#,
    ]);
    assert_eq!(json.code, 1);
    let receipt: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!((&receipt["answer"], &receipt["reason"]), (&"ignored".into(), &"unknown".into()));
    let malformed = home.send(&["fact", r#"{"fact":"pondered"}"#]);
    assert_eq!((malformed.code, malformed.out.as_str()), (2, ""));
    assert!(
        malformed.err.starts_with(
            "error: malformed fact: unknown variant `pondered`, expected one of `message_queued`"
        ),
        "{}",
        malformed.err
    );
}

#[test]
fn whom_to_say_it_to_is_asked_for() {
    let home = Home::with(&format!("{HEAD}script = [{{ prompt = \"go\" }}]\n"));
    let missing = home.send(&["stop"]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("does not exist"), "{}", missing.err);
    assert!(!home.file("agent.sqlite").exists(), "sending creates no file");
    for agent in ["ada", "bob"] {
        assert_eq!(home.run(&["--virtual", "--until-rest", "--agent", agent]).code, 0);
    }
    let which = home.send(&["stop"]);
    assert_eq!(which.code, 2);
    assert!(
        which.err.contains("holds 2 agents: name one of them with --agent: `ada`, `bob`"),
        "{}",
        which.err
    );
    let nobody = home.send(&["--agent", "eve", "stop"]);
    assert_eq!(nobody.code, 2);
    assert!(nobody.err.contains("holds no agent `eve`; it holds: `ada`, `bob`"), "{}", nobody.err);
    assert_eq!(home.send(&["--agent", "bob", "stop"]).code, 0);
    let story = arg(&home.file("story.toml"));
    let foreign = wakeful(["send", "--ledger", &story, "stop"]);
    assert_eq!(foreign.code, 2);
}

#[test]
fn what_would_come_to_nothing_is_not_said() {
    let home = Home::with(&format!(
        "{HEAD}script = [{{ fact = {{ fact = \"work_item_created\", work_item_id = \"w\", \
         objective = \"W\" }} }}]\n"
    ));
    assert_eq!(home.run(&["--virtual", "--until-rest"]).code, 0);
    let before = home.entries().len();
    let nowhere = home.send(&["prompt", "go", "--item", "v"]);
    assert!(
        nowhere.code == 2
            && nowhere.err.contains("agent `default` has no work item `v`; it has: `w`"),
        "{}",
        nowhere.err
    );
    let empty = home.send(&["prompt", ""]);
    assert!(
        empty.code == 2 && empty.err.contains("a value is required for '<TEXT>'"),
        "{}",
        empty.err
    );
    assert_eq!(home.entries().len(), before);
    let unknown = home.send(&["fact", r#"{"fact":"task_interrupted","task_id":"t"}"#, "--virtual"]);
    assert!(
        unknown.code == 1
            && unknown.out.starts_with(
                "ignored: it names something that the agent does not have, up to entry "
            ),
        "{}",
        unknown.out
    );
    let json = home.send(&["prompt", "go", "--item", "w", "--virtual", "--json"]);
    let receipt: serde_json::Value = serde_json::from_str(&json.out)
        .unwrap_or_else(|why| panic!("{why}: {}{}", json.out, json.err));
    assert_eq!((json.code, receipt["answer"].as_str()), (0, Some("accepted")), "{receipt}");
}
