//! Stories in TOML: the documented example plays, and errors in a story are reported with their
//! place.

use std::{fs, path::PathBuf};

use serde_json::Value;
use wakeful::trace::Tracer;

use crate::program::{Ran, arg, source, trace, wakeful};

/// The example of `docs/stories.md`.
pub(crate) fn documented() -> String {
    let page = fs::read_to_string(source("docs/stories.md")).expect("the page");
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    rest.split_once("```").expect("its end").0.to_owned()
}

/// Writes a story into a new folder.
pub(crate) fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("story.toml");
    fs::write(&path, text).expect("a story");
    (folder, path)
}

fn explained(text: &str) -> Ran {
    let (_folder, path) = written(text);
    wakeful(["explain", &arg(&path)])
}

/// The records of one class that a story leaves.
fn records(text: &str, class: &str) -> Vec<Value> {
    let (_folder, path) = written(text);
    let trace = trace(&path, &mut Tracer::Native);
    let steps = trace["steps"].as_array().expect("steps").iter();
    let entries = steps.flat_map(|step| step["entries"].as_array().expect("entries").clone());
    entries.filter(|entry| entry["class"] == class).map(|entry| entry["record"].clone()).collect()
}

const HEAD: &str =
    "story = \"s\"\nshows = \"\"\nagent_id = \"default\"\nstarts_at = 2026-05-27T09:00:00Z\n";

/// So all engines are compared over the documented example.
#[test]
fn the_documented_example_is_the_one_that_every_engine_plays() {
    assert_eq!(
        documented(),
        fs::read_to_string(source("tests/fixtures/stories/release.toml")).expect("the story")
    );
}

#[test]
fn the_documented_example_plays_to_its_end() {
    let ran = explained(&documented());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("At rest: nothing is pending."), "{}", ran.out);
    let items = records(&documented(), "work_items");
    let last = items.last().expect("an item");
    assert_eq!(
        (&last["id"], &last["state"], &last["result_summary"]),
        (&"release".into(), &"completed".into(), &"1.2 is out".into())
    );
    let turns = records(&documented(), "turns");
    let of = |status: &str| turns.iter().filter(|turn| turn["status"] == status).count();
    assert_eq!(
        (of("terminal"), of("interrupted")),
        (4, 1),
        "prompt, result (after a crash), delivery and timer"
    );
    let tools = records(&documented(), "tools");
    assert_eq!(tools.len(), 1);
}

#[test]
fn a_task_of_a_story_ends_when_it_says_and_not_when_the_next_line_comes() {
    let ended = records(&documented(), "tasks");
    assert_eq!(ended.last().expect("a task")["updated_at"], "2026-05-27T09:01:30Z");
}

#[test]
fn a_delay_takes_its_time_and_what_arrives_meanwhile_waits() {
    let text = format!(
        "{HEAD}script = [{{ prompt = \"go\" }}]\n\
         [[turns]]\n\
         moves = [\n\
         \x20 {{ set_timer = \"t\", after_ms = 1_000 }},\n\
         \x20 {{ delay_ms = 2_000 }},\n\
         \x20 {{ says = \"done\" }},\n\
         ]\n"
    );
    let turns = records(&text, "turns");
    let first = turns.iter().find(|turn| turn["status"] == "terminal").expect("a turn");
    assert_eq!(first["completed_at"], "2026-05-27T09:00:02Z");
    let tick = records(&text, "messages")
        .into_iter()
        .find(|message| message["kind"] == "timer_tick")
        .expect("a tick");
    assert_eq!(
        tick["created_at"], "2026-05-27T09:00:02Z",
        "the clock of a story that is played in memory jumps"
    );
}

#[test]
fn every_way_to_end_a_turn_is_played() {
    for kind in [
        "completed",
        "aborted",
        "baseline_over_budget",
        "deferred_to_fallback",
        "provider_failed_needs_recovery",
    ] {
        let text = format!(
            "{HEAD}script = [{{ prompt = \"go\" }}]\n\
             turns = [{{ moves = [{{ end = \"{kind}\", reason = \"because\" }}] }}]\n"
        );
        let turns = records(&text, "turns");
        let first = turns.iter().find(|turn| turn["status"] == "terminal").expect("a turn");
        assert_eq!((&first["kind"], &first["reason"]), (&kind.into(), &"because".into()));
    }
    let text = format!(
        "{HEAD}script = [{{ prompt = \"go\" }}]\n\
         turns = [{{ moves = [{{ host_error = \"no memory\" }}] }}]\n"
    );
    let turns = records(&text, "turns");
    let first = turns.iter().find(|turn| turn["status"] == "terminal").expect("a turn");
    assert_eq!((&first["kind"], &first["reason"]), (&"aborted".into(), &"runtime_error".into()));
    let errors: Vec<_> = records(&text, "events")
        .into_iter()
        .filter(|event| event["kind"] == "runtime_error")
        .collect();
    assert_eq!(errors[0]["data"]["error"], "no memory");
}

#[test]
fn turns_are_taken_by_what_fits_and_repeated_ones_again() {
    let text = format!(
        "{HEAD}script = [{{ prompt = \"one\" }}, {{ prompt = \"two\" }}, {{ prompt = \"two \
         again\" }}, {{ prompt = \"three\" }}]\n\
         turns = [\n\
         \x20 {{ when = {{ text = \"two\" }}, repeat = true, \
         moves = [{{ says = \"second\" }}] }},\n\
         \x20 {{ moves = [{{ says = \"first\" }}] }},\n\
         ]\n"
    );
    let said: Vec<_> =
        records(&text, "transcript").into_iter().map(|said| said["data"]["text"].clone()).collect();
    assert_eq!(said, ["first", "second", "second"], "no turn is left for the fourth");
}

#[test]
fn moves_become_the_facts_that_they_stand_for() {
    let text = format!(
        "{HEAD}script = [{{ prompt = \"go\", lane = \"next\" }}, {{ hint = \"ci\", trigger = \
         \"t\" }}, {{ control = \"stop\" }}, {{ control = \"start\" }}]\n\
         [[turns]]\n\
         moves = [\n\
         \x20 {{ create = \"w\" }},\n\
         \x20 {{ update = \"w\", objective = \"W\", plan = \"needs_input\" }},\n\
         \x20 {{ block = \"w\", by = \"a review\", recheck_ms = 60_000 }},\n\
         \x20 {{ unblock = \"w\" }},\n\
         \x20 {{ wait_for = \"operator\", item = \"w\" }},\n\
         \x20 {{ wait_for = \"timer\", after_ms = 5, deadline_ms = 10 }},\n\
         \x20 {{ wait_for = \"system\" }},\n\
         \x20 {{ enqueue = \"go on\", lane = \"background\", item = \"w\" }},\n\
         \x20 {{ set_timer = \"t\", every_ms = 7 }},\n\
         \x20 {{ cancel_timer = \"t\" }},\n\
         \x20 {{ brief = \"so far\", kind = \"ack\" }},\n\
         \x20 {{ fact = {{ fact = \"transcript_appended\", data = {{ of = \"$message\", run = \
         \"$run\" }} }} }},\n\
         \x20 {{ calls = [{{ tool = \"Exec\", status = \"error\" }}] }},\n\
         ]\n"
    );
    let items = records(&text, "work_items");
    assert_eq!(items[0]["objective"], "w", "the objective defaults to the id");
    assert_eq!(
        (&items[1]["objective"], &items[1]["plan_status"]),
        (&"W".into(), &"needs_input".into())
    );
    assert_eq!(
        (&items[2]["blocked_by"], &items[2]["recheck_at"]),
        (&"a review".into(), &"2026-05-27T09:01:00Z".into())
    );
    assert!(items[3]["blocked_by"].is_null());
    let waits = records(&text, "wait_conditions");
    let waited: Vec<_> = waits
        .iter()
        .filter(|wait| wait["status"] == "active")
        .map(|wait| wait["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(waited, ["operator", "timer", "system"]);
    let timed = waits.iter().find(|wait| wait["kind"] == "timer").expect("a wait");
    assert_eq!(
        (&timed["wake_sources"][0]["wake_at"], &timed["expires_at"]),
        (&"2026-05-27T09:00:00.005Z".into(), &"2026-05-27T09:00:00.010Z".into())
    );
    let timers = records(&text, "timers");
    assert_eq!(
        (&timers[0]["duration_ms"], &timers[0]["interval_ms"], &timers[1]["status"]),
        (&7.into(), &7.into(), &"cancelled".into())
    );
    let messages = records(&text, "messages");
    assert_eq!((&messages[0]["id"], &messages[0]["priority"]), (&"s:1".into(), &"next".into()));
    let followup = messages
        .iter()
        .find(|message| message["kind"] == "internal_followup")
        .expect("a follow-up");
    assert_eq!(
        (&followup["priority"], &followup["work_item_id"], &followup["trust"]),
        (&"background".into(), &"w".into(), &"trusted_system".into())
    );
    assert_eq!(records(&text, "briefs")[0]["kind"], "ack");
    assert_eq!(records(&text, "tools")[0]["status"], "error");
    let said = records(&text, "transcript");
    let run = records(&text, "turns")[0]["run_id"].clone();
    assert_eq!((&said[0]["data"]["of"], &said[0]["data"]["run"]), (&"s:1".into(), &run));
    let control: Vec<_> = records(&text, "control")
        .iter()
        .map(|record| record["control"].as_str().expect("a name").to_owned())
        .collect();
    assert!(
        control.contains(&"wake_hint_pending".to_owned())
            && control.ends_with(&["stop_requested".to_owned(), "start_requested".to_owned()]),
        "{control:?}"
    );
}

/// The text of a story of `tests/fixtures/stories`.
fn bundled(name: &str) -> String {
    fs::read_to_string(source(&format!("tests/fixtures/stories/{name}.toml"))).expect("the story")
}

#[test]
fn a_delivery_of_a_story_wakes_its_agent_and_counts_once() {
    let text = bundled("callback");
    let triggers = records(&text, "external_triggers");
    let last = |id: &str| {
        let all = triggers.iter().rev();
        let mut of = all.filter(|trigger| trigger["external_trigger_id"] == id);
        let trigger = of.next().expect("a trigger");
        (trigger["status"].clone(), trigger["delivery_count"].clone())
    };
    assert_eq!(last("build"), ("used".into(), 1.into()));
    assert_eq!(last("mail"), ("revoked".into(), 2.into()));
    let ignored: Vec<_> = records(&text, "events")
        .into_iter()
        .filter(|event| event["kind"] == "fact_ignored")
        .map(|event| event["data"]["reason"].clone())
        .collect();
    assert_eq!(ignored, ["duplicate", "wrong_token", "already_terminal"]);
    let items = records(&text, "work_items");
    assert_eq!(items.last().expect("an item")["state"], "completed");
    let waits = records(&text, "wait_conditions");
    assert_eq!(waits.last().expect("a wait")["status"], "resolved");
}

/// The story has no secrets, so the token of its trigger is known: the id.
#[test]
fn another_process_delivers_to_the_trigger_of_a_story() {
    let text = format!("{HEAD}[[script]]\ncreate_trigger = \"build\"\n");
    let (folder, path) = written(&text);
    let ledger = arg(&folder.path().join("agent.sqlite"));
    let ran =
        wakeful(["run", "--ledger", &ledger, "--story", &arg(&path), "--virtual", "--until-rest"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let deliver = |token: &str| {
        wakeful(["send", "deliver", "--ledger", &ledger, "--virtual", token, "green"]).code
    };
    assert_eq!((deliver("build"), deliver("built")), (0, 2));
}

#[test]
fn a_budget_of_a_story_holds_back_until_a_grant_or_midnight() {
    let text = bundled("budget");
    let (_folder, path) = written(&text);
    let trace = trace(&path, &mut Tracer::Native);
    let steps = trace["steps"].as_array().expect("steps").iter();
    let entries: Vec<_> =
        steps.flat_map(|step| step["entries"].as_array().expect("entries").clone()).collect();
    let at = |what: &dyn Fn(&Value) -> bool| {
        let found = entries.iter().filter(|entry| what(&entry["record"]));
        found.map(|entry| entry["at"].as_str().expect("a time").to_owned()).collect::<Vec<_>>()
    };
    let (evening, midnight) = ("2026-05-27T20:00:00Z", "2026-05-28T00:00:00Z");
    let begun = at(&|record| record["control"] == "budget_day_begun");
    assert_eq!(begun, [midnight]);
    let ticks = at(&|record| record["kind"] == "system_tick" && record["body"]["text"] != "");
    assert!(ticks.contains(&evening.to_owned()) && ticks.contains(&midnight.to_owned()));
    let exhausted = at(&|record| record["data"]["kind"] == "budget_exhausted");
    assert_eq!(exhausted, [evening, evening, midnight], "of the agent twice, and of the item");
}

/// A budget that is set has no id, and a process can end between the line and its marker.
#[test]
fn a_process_that_plays_on_sets_no_budget_again() {
    let text = format!(
        "{HEAD}[[script]]\nset_budget = {{ tokens_total = 5 }}\n[[script]]\nprompt = \"go\"\n"
    );
    let (folder, path) = written(&text);
    let ledger = arg(&folder.path().join("agent.sqlite"));
    let rest = || {
        let ran = wakeful([
            "run",
            "--ledger",
            &ledger,
            "--story",
            &arg(&path),
            "--virtual",
            "--until-rest",
        ]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    // As if the first process had ended there: the limits are recorded, and their marker is not.
    let only_head = format!("{HEAD}[[script]]\nwait_ms = 1\n").replace("\"s\"", "\"other\"");
    let (_other, begin) = written(&only_head);
    let began =
        wakeful(["run", "--ledger", &ledger, "--story", &arg(&begin), "--virtual", "--until-rest"]);
    assert_eq!(began.code, 0, "{}", began.err);
    let set = wakeful(["send", "--ledger", &ledger, "--virtual", "budget", "--tokens-total", "5"]);
    assert_eq!(set.code, 0, "{}", set.err);
    let out = rest();
    assert!(out.contains("prompt `s:2`") && !out.contains("budget set"), "{out}");
}

#[test]
fn toml_and_json_say_the_same() {
    let (_folder, toml) = written(&documented());
    let (_, json) = wakeful::story::read_toml(&documented()).expect("the example reads");
    let copy = toml.with_extension("json");
    fs::write(&copy, json).expect("a story");
    let explained = |path: &std::path::Path| wakeful(["explain", "--json", &arg(path)]).out;
    assert_eq!(explained(&toml), explained(&copy));
}

#[test]
fn numbers_and_instants_of_toml_become_those_of_json() {
    let (_, json) = wakeful::story::read_toml(&format!(
        "{HEAD}[[script]]\n\
         fact = {{ hex = 0xff, big = 1_000, plus = +5, float = 1e2, yes = true, at = \
         2026-05-27T09:00:00+02:00, text = \"a\\\"b\" }}\n"
    ))
    .expect("a story");
    let numbers = r#"{"hex":255,"big":1000,"plus":5,"float":1e2,"yes":true,"#;
    let rest = r#""at":"2026-05-27T09:00:00+02:00","text":"a\"b"}"#;
    assert!(json.contains(&format!("{numbers}{rest}")), "{json}");
}

#[test]
fn what_is_wrong_with_a_story_is_named_with_line_and_column() {
    let wrong = |text: &str| {
        let ran = explained(text);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        ran.err
    };
    let err = wrong(&format!("{HEAD}storey = 5\n"));
    assert!(
        err.contains("story.toml:5:1: unknown field `storey`") && err.contains("(field `storey`)"),
        "{err}"
    );
    let err = wrong(&format!(
        "{HEAD}[[turns]]\nmoves = [\n  {{ pick = \"a\" }},\n  {{ pikc = \"a\" }},\n]\n"
    ));
    assert!(
        err.contains("story.toml:8:5: unknown field `pikc`")
            && err.contains("(field `turns[0].moves[1].pikc`)"),
        "{err}"
    );
    let err = wrong(&format!("{HEAD}[[script]]\nwait_ms = \"long\"\n"));
    assert!(err.contains("story.toml:6:11: invalid type: string \"long\", expected u64"), "{err}");
    let err = wrong(&format!("{HEAD}[[script]]\nprompt = \"go\"\ntrigger = \"t\"\n"));
    assert!(
        err.contains("story.toml:5:1: ") && err.contains("`trigger` does not go with `prompt`"),
        "{err}"
    );
    let err = wrong(&format!(
        "{HEAD}[[turns]]\nmoves = [\n  {{ pick = \"a\" }},\n  {{ set_timer = \"t\" }},\n]\n"
    ));
    assert!(
        err.contains("story.toml:8:3: `set_timer` needs `after_ms`")
            && err.contains("(field `turns[0].moves[1]`)"),
        "{err}"
    );
    let err = wrong("story = \"s\"\nshows = \n");
    assert!(err.contains("story.toml:2:"), "{err}");
    let err = wrong(&format!("{HEAD}[provider]\nadversary = \"sleeps\"\n"));
    assert!(
        err.contains("story.toml:6:13: unknown variant `sleeps`, expected one of `ends_bare`"),
        "{err}"
    );
    let err = wrong(&format!("{HEAD}[provider]\nadversary = \"ends_bare\"\nturns = 0\n"));
    assert!(err.contains("story.toml:7:9:") && err.contains("expected a nonzero u64"), "{err}");
}

/// At the last instant there is no later one. What repeats there must not go on without end.
#[test]
fn a_story_that_waits_until_the_last_instant_of_all_ends() {
    let last = i64::MAX;
    let turns = [
        format!("{{ set_timer = \"t\", after_ms = {last}, every_ms = 600000 }}"),
        format!("{{ set_timer = \"t\", every_ms = {last} }}"),
        format!(
            "{{ set_timer = \"t\", after_ms = {last}, every_ms = 1 }}, {{ create = \"w\", plan = \
             \"ready\" }}"
        ),
        format!(
            "{{ create = \"w\", plan = \"ready\" }}, {{ block = \"w\", by = \"x\", recheck_ms = \
             {last} }}"
        ),
        format!("{{ delay_ms = {last} }}, {{ set_timer = \"t\", every_ms = 1000 }}"),
        format!("{{ delay_ms = {last} }}, {{ end = \"baseline_over_budget\" }}"),
    ];
    for moves in turns {
        let (folder, path) = written(&format!(
            "{HEAD}script = [{{ prompt = \"go\" }}, {{ until = \"next_wake\" }}, {{ until = \
             \"next_wake\" }}]\n[[turns]]\nrepeat = true\nmoves = [{moves}]\n"
        ));
        let (story, out) = (arg(&path), arg(&folder.path().join("folder")));
        for args in
            [&["explain", &story][..], &["why", &story], &["export", &story, "--output", &out]]
        {
            let ran = wakeful(args);
            assert_eq!(ran.code, 0, "{args:?} with {moves}: {}", ran.err);
        }
    }
}

#[test]
fn a_timer_that_has_no_slot_left_is_over() {
    let timers = records(
        &format!(
            "{HEAD}script = [{{ prompt = \"go\" }}, {{ until = \"next_wake\" }}]\n[[turns]]\nmoves \
             = [{{ set_timer = \"t\", after_ms = {}, every_ms = 600000 }}]\n",
            i64::MAX
        ),
        "timers",
    );
    let last = timers.last().expect("a timer");
    assert_eq!((&last["status"], &last["next_fire_at"]), (&"completed".into(), &Value::Null));
    assert_eq!(last["fire_count"], 1);
}
