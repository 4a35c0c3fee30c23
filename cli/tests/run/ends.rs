//! How a running agent ends, and how it continues.

use std::{thread, time::Duration};

use wakeful_core::record::{Record, control::ControlRecord, entry::Entry, turn::RunStatus};

use super::{
    HEAD,
    agent::{Home, Outcome, entries},
};
use crate::{program::arg, stories::documented};

/// A second of work: prompts, a task, timers, an item that is completed, and one that stays open.
pub(super) const WORK: &str = r#"
[[script]]
fact = { fact = "policy_set", policy = { replay_budget = 1000 } }

[[script]]
prompt = "build"

[[script]]
wait_ms = 120

[[script]]
prompt = "rest a little"

[[script]]
until = "next_wake"

[[script]]
hint = "look"

[[script]]
prompt = "thank you"

[[turns]]
when = { text = "build" }
moves = [
  { says = "I build.", calls = [{ tool = "Exec" }, { tool = "Exec" }] },
  { create = "build", plan = "ready" },
  { pick = "build" },
  { delay_ms = 60 },
  { start_task = "compile", item = "build", blocking = true, ends = "completed", after_ms = 150,
    result = "compiled" },
  { wait_for = "task", task = "compile", item = "build" },
  { delay_ms = 40 },
]

[[turns]]
when = { kind = "task_result" }
moves = [
  { delay_ms = 50 },
  { says = "It is compiled." },
  { complete = "build", result = "done" },
  { create = "publish" },
]

[[turns]]
when = { text = "rest" }
moves = [
  { set_timer = "soon", after_ms = 100 },
  { delay_ms = 30 },
  { end = "baseline_over_budget" },
]

[[turns]]
when = { kind = "timer_tick" }
moves = [{ delay_ms = 40 }, { block = "publish", by = "the operator's word" }]
"#;

fn started(entries: &[Entry]) -> usize {
    let is_start = |entry: &&Entry| {
        matches!(
            &entry.record,
            Record::Turn(turn) if turn.status == RunStatus::Started
        )
    };
    entries.iter().filter(is_start).count()
}

#[test]
fn the_documented_example_crashes_once_and_goes_on_to_its_end() {
    let home = Home::with(&documented());
    let first = home.run(&["--virtual", "--until-rest"]);
    assert_eq!(first.code, 3, "{}{}", first.out, first.err);
    assert_eq!(first.err, "crashed as the story demands; run the same command again to continue\n");
    assert!(
        first.out.ends_with("{\"text\":\"It is built; now the pipeline.\"}\n"),
        "{}",
        first.out
    );
    let second = home.run(&["--virtual", "--until-rest"]);
    assert_eq!(second.code, 0, "{}{}", second.out, second.err);
    for line in [
        "turn        2 interrupted, run `default:run-34` on message `build/result`",
        "2026-05-27T09:01:35Z      wait        `build/result/wait-1` external active about \
         `release`: the pipeline",
        "WaitForTimer (active_timers) by rule 8.timer, because timers active (entry 62)",
        "2026-05-27T11:00:00Z      turn        5 terminal completed",
    ] {
        assert!(second.out.contains(line), "no `{line}` in\n{}", second.out);
    }
    let third = home.run(&["--virtual", "--until-rest"]);
    assert_eq!(
        (third.code, third.out.lines().count()),
        (0, 1),
        "nothing is played again: {}",
        third.out
    );
    assert_eq!(started(&home.entries()), 5);
}

#[test]
fn kill_9_at_any_time_and_another_start_come_to_what_an_unbroken_run_comes_to() {
    let story = format!("{HEAD}{WORK}");
    let unbroken = Home::with(&story);
    assert_eq!(unbroken.run(&["--until-rest"]).code, 0);
    let expected = Outcome::from_entries(&unbroken.entries());
    assert_eq!(expected.items.len(), 2, "{expected:?}");
    for first in [0, 1, 2, 4, 8, 16] {
        let home = Home::with(&story);
        let mut kills = 0;
        loop {
            let mut live = home.start(&["--until-rest"]);
            // Each run gets further than the one before.
            live.prints(first + kills);
            // Not only right after an entry.
            thread::sleep(Duration::from_millis(kills as u64 * 7 % 30));
            if !live.kill() {
                break;
            }
            kills += 1;
        }
        assert!(kills > 0, "it was killed before its end");
        assert_eq!(
            Outcome::from_entries(&home.entries()),
            expected,
            "killed {kills} times, first after {first} entries"
        );
    }
}

#[test]
fn what_was_recorded_is_not_done_again() {
    let text = format!(
        "{HEAD}script = [{{ prompt = \"go\" }}]\n\
         [[turns]]\n\
         moves = [\n\
         \x20 {{ calls = [{{ tool = \"A\" }}, {{ tool = \"B\" }}] }},\n\
         \x20 {{ create = \"w\" }},\n\
         \x20 {{ update = \"w\", objective = \"W\" }},\n\
         \x20 {{ delay_ms = 5 }},\n\
         \x20 {{ crash = true }},\n\
         \x20 {{ calls = [{{ tool = \"C\" }}] }},\n\
         ]\n"
    );
    let home = Home::with(&text);
    assert_eq!(home.run(&["--virtual", "--until-rest"]).code, 3);
    assert_eq!(home.run(&["--virtual", "--until-rest"]).code, 0);
    let tools: Vec<_> = home
        .entries()
        .iter()
        .filter_map(|entry| match &entry.record {
            Record::Tool(tool) => Some(tool.tool_name.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(tools, ["A", "B", "C"]);
    assert_eq!(Outcome::from_entries(&home.entries()).items["w"].0, 2, "the item was updated once");
}

/// Real files that cannot grow, at the first append, the second, and so on. What was stored stays,
/// what was not stored is done again, and no tool is called twice.
#[cfg(unix)]
#[test]
fn on_a_disk_that_takes_no_more_the_agent_can_be_ended_and_with_more_space_it_goes_on() {
    let text = format!(
        "{HEAD}script = [{{ prompt = \"one\" }}, {{ prompt = \"two\" }}, {{ prompt = \"three\" \
         }}]\n\
         [[turns]]\n\
         repeat = true\n\
         moves = [{{ says = \"a\" }}, {{ calls = [{{ tool = \"A\" }}] }}, {{ says = \"b\" }}]\n"
    );
    let (mut full, mut worked) = (0, 0);
    for blocks in (8..).step_by(30) {
        let home = Home::with(&text);
        let ran = home.run_on_a_disk_of(blocks, &["--virtual", "--until-rest"]);
        if ran.code == 0 {
            break;
        }
        assert_eq!(ran.code, 2, "{}", ran.err);
        let is_told = ran.err.contains("reading or writing the disk failed")
            || ran.err.contains("the disk is full");
        assert!(
            is_told && ran.err.trim_end().ends_with("try again"),
            "{blocks} blocks: {}",
            ran.err
        );
        full += 1;
        worked += usize::from(ran.out.contains("terminal completed"));
        let again = home.run(&["--virtual", "--until-rest"]);
        assert_eq!(again.code, 0, "{blocks} blocks: {}", again.err);
        let entries = home.entries();
        let completed = |entry: &&Entry| {
            matches!(
                &entry.record,
                Record::Turn(turn) if turn.status == RunStatus::Terminal
            )
        };
        let tools = |entry: &&Entry| matches!(&entry.record, Record::Tool(_));
        let counts =
            (entries.iter().filter(completed).count(), entries.iter().filter(tools).count());
        assert_eq!(
            counts,
            (3, 3),
            "{blocks} blocks: each prompt has one turn, and each tool call one record"
        );
    }
    println!("{full} disks were full, {worked} of them after a turn");
    assert!(full > 10 && worked > 3, "{full} disks were full, {worked} of them after a turn");
}

#[test]
fn a_signal_shuts_down_and_another_start_goes_on() {
    for signal in ["INT", "TERM"] {
        let text = format!(
            "{HEAD}script = [{{ prompt = \"go\" }}]\n\
             [[turns]]\n\
             moves = [{{ says = \"a moment\" }}, {{ delay_ms = 3600000 }}, {{ says = \"done\" }}]\n"
        );
        let home = Home::with(&text);
        let live = home.start(&[]);
        live.says("{\"text\":\"a moment\"}");
        live.signal(signal);
        live.says("shutdown requested");
        live.says("turn        1 interrupted");
        live.says("Stop (shutdown) by rule 1.closing");
        assert_eq!(live.end(), (0, String::new()), "{signal}");
        let again = home.run(&["--virtual", "--until-rest"]);
        assert_eq!(again.code, 0, "{}", again.err);
        assert!(
            again.out.contains("{\"text\":\"done\"}")
                && again.out.contains("turn        2 terminal completed"),
            "{}",
            again.out
        );
    }
}

#[test]
fn an_agent_at_rest_is_shut_down_by_a_signal_too() {
    let home = Home::with(HEAD);
    let live = home.start(&[]);
    live.says("StayIdle");
    live.signal("INT");
    assert_eq!(live.end(), (0, String::new()));
    let closing = |entry: &Entry| {
        matches!(entry.record, Record::Control(ControlRecord::ShutdownRequested(_)))
    };
    assert!(home.entries().iter().any(closing));
}

#[test]
fn a_shutdown_that_a_story_asks_for_is_asked_for_once() {
    let home = Home::with(&format!(
        "{HEAD}script = [{{ prompt = \"go\" }}, {{ control = \"shutdown\" }}, {{ prompt = \"good \
         morning\" }}]\n"
    ));
    let first = home.run(&["--virtual", "--until-rest"]);
    assert!(
        first.code == 0 && first.out.contains("Stop (shutdown) by rule 1.closing"),
        "{}{}",
        first.out,
        first.err
    );
    assert_eq!(started(&home.entries()), 1);
    let second = home.run(&["--virtual", "--until-rest"]);
    assert!(second.code == 0 && !second.out.contains("shutdown"), "{}{}", second.out, second.err);
    assert_eq!(started(&home.entries()), 2, "the story continued with its next line");
}

#[test]
fn the_tasks_of_a_story_outlive_a_crash_but_not_a_stop() {
    let task =
        "{ start_task = \"build\", ends = \"completed\", after_ms = 60_000, result = \"built\" }";
    let ends_as = |then: &str, script: &str| {
        let turn = format!("[[turns]]\nwhen = {{ text = \"go\" }}\nmoves = [{task}{then}]\n");
        let home = Home::with(&format!("{HEAD}script = [{{ prompt = \"go\" }}{script}]\n{turn}"));
        while home.run(&["--virtual", "--until-rest"]).code == 3 {}
        home.entries()
            .iter()
            .filter_map(|entry| {
                if let Record::Task(task) = &entry.record {
                    Some(task.status.to_string())
                } else {
                    None
                }
            })
            .collect::<Vec<_>>()
    };
    let crash = ", { delay_ms = 10 }, { crash = true }";
    assert_eq!(ends_as(crash, "").last().map(String::as_str), Some("completed"));
    assert_eq!(
        ends_as("", ", { control = \"restart\" }").last().map(String::as_str),
        Some("completed")
    );
    let stopped =
        ends_as("", ", { control = \"stop\" }, { wait_ms = 120_000 }, { control = \"start\" }");
    assert_eq!(stopped.last().map(String::as_str), Some("interrupted"), "{stopped:?}");
}

#[test]
fn an_agent_that_never_rests_is_shut_down_too() {
    let text = format!(
        "{HEAD}script = [{{ prompt = \"go\" }}]\n\
         [provider]\n\
         adversary = \"never_completes\"\n\
         turns = 1_000_000\n"
    );
    let home = Home::with(&text);
    let live = home.start(&["--virtual"]);
    live.says("revision 20: Nearly done");
    live.signal("INT");
    assert_eq!(live.end(), (0, String::new()));
}

#[test]
fn a_run_at_the_instants_of_an_earlier_one_makes_the_same_entries() {
    let home = Home::with(&format!("{HEAD}{WORK}"));
    assert_eq!(home.run(&["--until-rest"]).code, 0);
    let first = home.entries();
    let kept = home.file("first.sqlite");
    std::fs::rename(home.file("agent.sqlite"), &kept).expect("a rename");
    let again = home.run(&["--until-rest", "--recorded", &arg(&kept)]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(home.entries().last().map(Entry::head), first.last().map(Entry::head));
}

#[test]
fn hours_pass_in_no_time_and_repeating_timers_do_not_hold_the_end_up() {
    let text = format!(
        "{HEAD}script = [{{ prompt = \"go\" }}]\n\
         [[turns]]\n\
         moves = [{{ set_timer = \"often\", every_ms = 3_600_000 }}, {{ set_timer = \"once\", \
         after_ms = 36_000_000 }}]\n"
    );
    let home = Home::with(&text);
    assert_eq!(home.run(&["--virtual", "--until-rest"]).code, 0);
    let entries = home.entries();
    assert_eq!(
        entries.last().expect("entries").at.to_string(),
        "2026-05-27T19:00:00Z",
        "the agent waits for the one-shot timer"
    );
    assert_eq!(started(&entries), 1 + 10 + 1);
}

#[test]
fn a_fact_that_cannot_be_taken_is_told_and_the_story_goes_on() {
    let text = format!(
        "{HEAD}[[script]]\nfact = {{ fact = \"pondered\" }}\n[[script]]\nprompt = \"go\"\n"
    );
    let ran = Home::with(&text).run(&["--virtual", "--until-rest"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.err.starts_with(
            "refused: {\"fact\":\"pondered\"}: malformed fact: unknown variant `pondered`"
        ),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("turn        1 terminal completed"), "{}", ran.out);
}

#[test]
fn json_gives_programs_the_entries_as_they_are_stored() {
    let home = Home::with(&format!("{HEAD}script = [{{ prompt = \"go\" }}]\n"));
    let ran = home.run(&["--virtual", "--until-rest", "--json"]);
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let seqs: Vec<_> = lines.iter().map(|line| line["seq"].as_u64().expect("a position")).collect();
    assert_eq!(seqs, (1..=home.entries().len() as u64).collect::<Vec<_>>());
    assert_eq!(lines[0]["record"]["control"], "genesis");
}

#[test]
fn one_file_holds_many_agents() {
    let home = Home::with(&format!("{HEAD}script = [{{ prompt = \"go\" }}]\n"));
    for agent in ["ada", "bob"] {
        assert_eq!(home.run(&["--virtual", "--until-rest", "--agent", agent]).code, 0);
        assert_eq!(started(&entries(&home.file("agent.sqlite"), agent)), 1);
    }
}

#[test]
fn an_agent_in_the_sandbox_lives_the_same_life() {
    let story = documented();
    let heads = ["native", "wasm"].map(|engine| {
        let home = Home::with(&story);
        let codes =
            [(); 2].map(|()| home.run(&["--virtual", "--until-rest", "--engine", engine]).code);
        (codes, home.entries().last().map(Entry::head))
    });
    assert_eq!(heads[0].0, [3, 0], "it crashes once, as the story demands");
    assert_eq!(heads[0], heads[1]);
}
