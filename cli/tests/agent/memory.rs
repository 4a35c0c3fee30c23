//! What an agent knows of turns that its prompt has no room for: summaries, checkpoints, briefs.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use wakeful_core::record::{
    Record,
    context::{BriefKind, BriefRecord},
    entry::Entry,
    event::EventKind,
    turn::{TurnRecord, TurnTerminalKind},
};

use super::{
    fits::{Agent, said},
    model::Asked,
    place::{KEY, Place},
    turns::{ended, events, one_turn},
};
use crate::openai::answer::{Answer, Events};

/// A small prompt: it has no room for [`ENOUGH`] messages of [`filler`].
const SMALL: [&str; 2] = ["--context-tokens", "16000"];
const ENOUGH: usize = 20;

/// A message that fills the prompt.
fn filler(number: usize) -> String {
    format!("filler {number} {}", "and so on ".repeat(150))
}

/// A model that knows the operator's word only from what it is told. Its summaries repeat it.
fn word(asked: &Asked) -> Answer {
    let knows = asked.text().contains("heron");
    match (asked.is_summary(), knows) {
        (true, true) => Answer::says("The operator's word is heron."),
        (true, false) => Answer::says("Nothing of note."),
        (false, true) if asked.trigger().contains("Which word") => Answer::says("It is heron."),
        (false, false) if asked.trigger().contains("Which word") => Answer::says("I forgot it."),
        _ => Answer::says("Noted."),
    }
}

/// The summaries of a ledger: compactions with an epoch.
fn summaries(entries: &[Entry]) -> Vec<Value> {
    let compacted = events(entries, EventKind::ContextCompacted);
    compacted.into_iter().filter(|it| it.get("compression_epoch").is_some()).collect()
}

/// The rounds that were recorded for this purpose.
fn rounds_for(entries: &[Entry], purpose: &str) -> Vec<Value> {
    let rounds = events(entries, EventKind::ProviderRoundCompleted);
    rounds.into_iter().filter(|round| round["diagnostics"]["round_purpose"] == purpose).collect()
}

fn briefs(entries: &[Entry]) -> Vec<BriefRecord> {
    let briefs = entries.iter().filter_map(|entry| match &entry.record {
        Record::Brief(brief) => Some(brief.clone()),
        _ => None,
    });
    briefs.collect()
}

fn all_complete(turns: &[TurnRecord]) -> bool {
    turns.iter().all(|turn| turn.kind == Some(TurnTerminalKind::Completed))
}

#[test]
fn the_first_of_many_requests_is_remembered_by_a_summary() {
    let agent = Agent::start(word, &[]);
    agent.place.tell(&["prompt", "My word is heron."]);
    for number in 0..63 {
        agent.place.tell(&["prompt", &format!("Count {number}.")]);
    }
    agent.turns(65);
    assert_eq!(said(&agent.answer("Which word was it?")), "It is heron.");
    let entries = agent.end();
    let summaries = summaries(&entries);
    assert_eq!(summaries.len(), 1, "{summaries:?}");
    assert_eq!(summaries[0]["compression_epoch"], 1);
    assert_eq!(summaries[0]["compacted_message_count"], 33);
    assert_eq!(summaries[0]["context_summary"], "The operator's word is heron.");
    let rounds = rounds_for(&entries, "context_summary");
    assert_eq!((rounds.len(), &rounds[0]["round"]), (1, &json!(0)));
    assert!(all_complete(&ended(&entries)));
}

#[test]
fn what_has_no_room_is_remembered_over_several_summaries_and_forgotten_without_them() {
    for (extra, answer) in [(None, "It is heron."), (Some("--no-summaries"), "I forgot it.")] {
        let extra = SMALL.into_iter().chain(extra).collect::<Vec<_>>();
        let agent = Agent::start(word, &extra);
        agent.answer("My word is heron.");
        for number in 0..30 {
            agent.place.tell(&["prompt", &filler(number)]);
        }
        agent.turns(32);
        assert_eq!(said(&agent.answer("Which word was it?")), answer);
        let entries = agent.end();
        assert!(all_complete(&ended(&entries)));
        let summaries = summaries(&entries);
        let counts: Vec<_> =
            summaries.iter().map(|it| it["compacted_message_count"].as_u64()).collect();
        assert!(counts.is_sorted(), "{counts:?}");
        match answer {
            "It is heron." => assert!((2..16).contains(&counts.len()), "{counts:?}"),
            _ => assert!(counts.is_empty(), "{counts:?}"),
        }
    }
}

#[test]
fn each_turn_is_told_or_summarised_and_none_twice() {
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let prompts = Arc::clone(&seen);
    let agent = Agent::start(
        move |asked| {
            if asked.is_summary() {
                // It keeps the number of each filler that it is told, and those before.
                let text = asked.text();
                let numbers = text.match_indices("filler ").map(|(at, _)| {
                    text[at + 7..].split(' ').next().expect("a number").trim_end_matches('.')
                });
                let said: Vec<_> = numbers.map(|number| format!("filler {number}")).collect();
                return Answer::says(&format!("{} .", said.join(" , ")));
            }
            prompts.lock().expect("no panic").push(asked.text());
            Answer::says("Noted.")
        },
        &SMALL,
    );
    for number in 0..25 {
        agent.answer(&filler(number));
    }
    let prompts = seen.lock().expect("no panic").clone();
    for (newest, prompt) in prompts.iter().skip(prompts.len() - 25).enumerate() {
        for number in 0..=newest {
            let times = prompt.matches(&format!("filler {number} ")).count();
            assert_eq!(times, 1, "filler {number} in the prompt of filler {newest}: {prompt}");
        }
    }
    assert!(prompts.last().expect("a prompt").contains("[runtime] Earlier: filler 0"));
    agent.end();
}

#[test]
fn a_summary_that_fails_harms_no_turn_and_is_asked_for_again_in_the_next_one() {
    let whole = Answer::says("The operator's word is heron.");
    let half = whole.body_len() / 2;
    let filtered = "The response was filtered due to the prompt.";
    let failures = [
        ("an error", Answer::error(500, "no", "server_error", Value::Null)),
        ("a refusal", Answer::error(400, "no", "bad", Value::Null)),
        (
            "refused content",
            Answer::error(400, filtered, "invalid_request_error", json!("content_filter")),
        ),
        ("no text", Answer::says("")),
        ("too much text", Answer::says(&"too long ".repeat(1_000))),
        ("a call of a tool that it was not given", Answer::calls(&[("TaskList", json!({}))])),
        ("a broken connection", whole.cut_after(half)),
        (
            "a cut answer",
            Answer::stream(Events::new().text("The word is her").finish("length").done()),
        ),
    ];
    for (what, failure) in failures {
        let asked_for = Arc::<AtomicUsize>::default();
        let is_mended = Arc::<AtomicBool>::default();
        let (count, mended) = (Arc::clone(&asked_for), Arc::clone(&is_mended));
        let agent = Agent::start(
            move |asked| {
                if asked.is_summary() {
                    count.fetch_add(1, Ordering::SeqCst);
                    if !mended.load(Ordering::SeqCst) {
                        return failure.clone();
                    }
                }
                word(asked)
            },
            &SMALL,
        );
        agent.answer("My word is heron.");
        for number in 0..ENOUGH {
            let before = asked_for.load(Ordering::SeqCst);
            assert_eq!(said(&agent.answer(&filler(number))), "Noted.", "{what}");
            assert!(asked_for.load(Ordering::SeqCst) <= before + 1, "{what}: once in a turn");
        }
        assert!(asked_for.load(Ordering::SeqCst) >= 2, "{what}: it is asked for again");
        assert!(summaries(&agent.place.entries("default")).is_empty(), "{what}");
        is_mended.store(true, Ordering::SeqCst);
        assert_eq!(said(&agent.answer("Which word was it?")), "It is heron.", "{what}");
        let entries = agent.end();
        assert_eq!(summaries(&entries).len(), 1, "{what}");
        assert!(all_complete(&ended(&entries)), "{what}");
    }
}

#[test]
fn after_a_restart_the_same_summary_is_told_and_no_turn_twice() {
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let prompts = Arc::clone(&seen);
    let agent = Agent::start(
        move |asked| {
            if !asked.is_summary() {
                prompts.lock().expect("no panic").push(asked.text());
            }
            word(asked)
        },
        &SMALL,
    );
    agent.answer("My word is heron.");
    let mut number = 0;
    while summaries(&agent.place.entries("default")).is_empty() {
        agent.answer(&filler(number));
        number += 1;
    }
    // One more turn, so that the prompts before and after the restart differ in little.
    agent.answer("Count.");
    let agent = agent.kill_and_restart(&SMALL);
    assert_eq!(said(&agent.answer("Which word was it?")), "It is heron.");
    let prompts = seen.lock().expect("no panic").clone();
    let [.., before, after] = prompts.as_slice() else { panic!("two prompts") };
    for prompt in [before, after] {
        assert_eq!(prompt.matches("Earlier: The operator's word is heron.").count(), 1, "{prompt}");
        assert!(!prompt.contains("My word is heron."), "{prompt}");
    }
    for number in 0..number {
        let words = format!("filler {number} ");
        let times = |prompt: &String| prompt.matches(&words).count();
        assert!(times(after) <= 1 && times(before) == times(after), "{words}: {after}");
    }
    assert_eq!(summaries(&agent.end()).len(), 1, "the restart asks for none");
}

#[test]
fn a_summary_that_was_interrupted_is_asked_for_again_by_the_replay() {
    let is_first = Arc::new(AtomicBool::new(true));
    let first = Arc::clone(&is_first);
    let agent = Agent::start(
        move |asked| match asked.is_summary() && first.swap(false, Ordering::SeqCst) {
            true => Answer::never(),
            false => word(asked),
        },
        &SMALL,
    );
    agent.answer("My word is heron.");
    for number in 0..ENOUGH {
        agent.place.tell(&["prompt", &filler(number)]);
    }
    agent.place.wait_for("default", "turn that is the last one before the summary", |_| {
        (!is_first.load(Ordering::SeqCst)).then_some(())
    });
    let agent = agent.kill_and_restart(&SMALL);
    agent.place.tell(&["prompt", "Which word was it?"]);
    let answer = agent.place.wait_for("default", "answer about the word", |entry| {
        let turn = ended(std::slice::from_ref(entry)).pop()?;
        turn.last_assistant_message.filter(|text| text != "Noted.")
    });
    assert_eq!(answer, "It is heron.");
    let entries = agent.end();
    assert!(!summaries(&entries).is_empty() && all_complete(&ended(&entries)));
}

#[test]
fn a_key_in_a_summary_is_removed() {
    let agent = Agent::start(
        |asked| match asked.is_summary() {
            true => Answer::says(&format!("The key is {KEY}.")),
            false => Answer::says("Noted."),
        },
        &SMALL,
    );
    for number in 0..ENOUGH {
        agent.answer(&filler(number));
    }
    let told =
        agent.place.asked().iter().any(|body| body.contains("Earlier: The key is [secret]."));
    assert!(told, "also the prompt of the same turn has no key");
    let summaries = summaries(&agent.end());
    assert_eq!(summaries[0]["context_summary"], "The key is [secret].");
}

#[test]
fn a_summary_of_another_host_is_told_and_the_next_one_merges_it() {
    let agent = Agent::start(word, &SMALL);
    agent.answer("Good morning.");
    let fact = r#"{"fact":"context_compacted","compacted_message_count":40,"context_summary":"The word is heron.","compression_epoch":7}"#;
    agent.place.tell(&["fact", fact]);
    assert_eq!(said(&agent.answer("Which word was it?")), "It is heron.");
    let prompt = agent.place.asked().pop().expect("a request");
    assert!(!prompt.contains("Good morning."), "the summary replaces what has ended: {prompt}");
    assert_eq!(said(&agent.answer("Which word was it, again?")), "It is heron.");
    let prompt = agent.place.asked().pop().expect("a request");
    assert!(prompt.contains("Which word was it?"), "what came after it is told: {prompt}");
    for number in 0..ENOUGH {
        agent.answer(&filler(number));
    }
    let summaries = summaries(&agent.end());
    assert_eq!(summaries[1]["compression_epoch"], 8);
    assert_eq!(summaries[1]["context_summary"], "The operator's word is heron.");
}

#[test]
fn a_summary_whose_content_is_refused_is_found_and_forgotten() {
    let agent = Agent::start(
        |asked| match asked.is_summary() {
            true => Answer::says("A FORBIDDEN word."),
            false if asked.text().contains("FORBIDDEN") => {
                let why = "The response was filtered due to the prompt.";
                Answer::error(400, why, "invalid_request_error", json!("content_filter"))
            }
            false => Answer::says("Noted."),
        },
        &SMALL,
    );
    for number in 0..ENOUGH {
        assert_eq!(said(&agent.answer(&filler(number))), "Noted.");
    }
    let refused = |place: &Place| {
        place.asked().iter().filter(|body| body.contains("Earlier: A FORBIDDEN word.")).count()
    };
    let before = refused(&agent.place);
    assert!(before > 0, "it was sent, and refused");
    assert_eq!(said(&agent.answer("Hello?")), "Noted.");
    assert_eq!(refused(&agent.place), before, "it is not told again");
    let entries = agent.end();
    assert!(summaries(&entries).iter().any(|it| it.get("context_summary").is_none()));
    assert!(events(&entries, EventKind::ContentRefused).is_empty(), "no turn is blamed for it");
}

/// A command whose output fills a part of the prompt.
fn long_command(asked: &Asked) -> Value {
    let lines =
        "seq -f 'line %g of a long output that fills the context of the model bit by bit' 1 400";
    json!({ "cmd": format!("{lines}; echo {}", asked.text().len()) })
}

/// A model that makes long calls until its rounds are left out, says where the work is when it is
/// asked, and ends with `Done.`. `beside`: it goes on with calls in the same answer.
fn worker(asked: &Asked, beside: bool) -> Answer {
    if !asked.trigger().starts_with("[runtime] This turn began with")
        && !asked.trigger().contains("Work.")
    {
        return Answer::says("Hello.");
    }
    let is_asked = asked.hears("Older rounds of this turn are left out");
    // Its own words beside calls are in the chat as they are.
    let has_said = match beside {
        true => asked.text().contains("Half of it is done."),
        false => asked.text().contains("Then you said where the work is: Half of it is done."),
    };
    match (is_asked, has_said) {
        (true, _) if beside => Answer::stream(
            Events::new()
                .text("Half of it is done.")
                .call(0, "call-0", "ExecCommand")
                .arguments(0, &long_command(asked).to_string())
                .finish("tool_calls")
                .done(),
        ),
        (true, _) => Answer::says("Half of it is done."),
        (false, true) => Answer::says("Done."),
        (false, false) => Answer::calls(&[("ExecCommand", long_command(asked))]),
    }
}

#[test]
fn a_compacted_turn_says_where_the_work_is_and_the_terminal_and_later_prompts_have_it() {
    for beside in [true, false] {
        let agent =
            Agent::start(move |asked| worker(asked, beside), &["--context-tokens", "30000"]);
        let turn = agent.answer("Work.");
        assert_eq!((turn.kind, said(&turn)), (Some(TurnTerminalKind::Completed), "Done."));
        let kept = turn.checkpoint.expect("a checkpoint in the terminal");
        let kept: Value = serde_json::from_str(kept.as_str()).expect("JSON");
        assert_eq!(kept["text"], "Half of it is done.");
        assert_eq!(kept["run_id"], turn.run_id.as_str());
        let is_told = |prompt: &str| {
            agent.answer(prompt);
            let request = agent.place.asked().pop().expect("a request");
            request.contains("you said where the work is, and no work item has changed since")
                && request.contains("Half of it is done.")
        };
        assert!(is_told("Hello?"), "the next prompt has it");
        let item = r#"{"fact":"work_item_created","work_item_id":"w","objective":"the door"}"#;
        agent.place.tell(&["fact", item]);
        assert!(!is_told("Hello again?"), "a work item has changed");
        let entries = agent.end();
        let turns = ended(&entries);
        let is_other = |other: &&TurnRecord| other.run_id != turn.run_id;
        assert!(turns.iter().filter(is_other).all(|other| other.checkpoint.is_none()));
        let recorded = events(&entries, EventKind::CheckpointRecorded);
        assert!(recorded.iter().all(|it| it["data"]["text"] == "Half of it is done."));
        assert_eq!(rounds_for(&entries, "runtime_checkpoint").len(), recorded.len());
    }
}

#[test]
fn an_account_of_work_that_changes_before_the_end_of_its_turn_is_not_in_the_terminal() {
    let agent = Agent::start(
        |asked| match asked.hears("Older rounds of this turn are left out") {
            true => Answer::stream(
                Events::new()
                    .text("Half of it is done.")
                    .call(0, "call-0", "CreateWorkItem")
                    .arguments(0, &json!({ "objective": "the door" }).to_string())
                    .finish("tool_calls")
                    .done(),
            ),
            false if asked.text().contains("the door") => Answer::says("Done."),
            false => worker(asked, true),
        },
        &["--context-tokens", "30000"],
    );
    let turn = agent.answer("Work.");
    assert_eq!((said(&turn), turn.checkpoint.as_ref()), ("Done.", None));
    assert_eq!(events(&agent.end(), EventKind::CheckpointRecorded).len(), 1);
}

#[test]
fn a_model_that_says_nothing_about_the_work_is_not_asked_twice_for_one_compaction() {
    let (entries, turn) = one_turn(
        |asked| match asked.trigger().starts_with("[runtime] This turn began with") {
            true if asked.results().len() == 3 => Answer::says("Done."),
            true => Answer::calls(&[
                ("TaskList", json!({})),
                ("TaskList", json!({})),
                ("TaskList", json!({})),
            ]),
            false => Answer::calls(&[("ExecCommand", long_command(asked))]),
        },
        &["--context-tokens", "30000"],
    );
    assert_eq!(turn.last_assistant_message.as_deref(), Some("Done."));
    assert_eq!(turn.checkpoint, None);
    assert!(events(&entries, EventKind::CheckpointRecorded).is_empty());
    assert_eq!(rounds_for(&entries, "runtime_checkpoint").len(), 1);
}

#[test]
fn a_turn_that_ends_by_its_limit_says_where_the_work_is_in_its_last_round() {
    let (_, turn) = one_turn(
        |asked| match asked.hears("This is the last round of this turn") {
            true => {
                assert_eq!(asked.rounds(), 2, "{}", asked.text());
                Answer::stream(
                    Events::new()
                        .text("Two of three steps are done.")
                        .call(0, "call-0", "TaskList")
                        .arguments(0, "{}")
                        .finish("tool_calls")
                        .done(),
                )
            }
            false => Answer::calls(&[("TaskList", json!({}))]),
        },
        &["--rounds", "3"],
    );
    assert_eq!(turn.reason.as_deref(), Some("the turn reached its limit of 3 rounds"));
    let kept = turn.checkpoint.expect("a checkpoint");
    assert!(kept.as_str().contains("Two of three steps are done."), "{}", kept.as_str());
}

#[test]
fn the_answer_in_the_last_round_is_the_result_and_not_an_account() {
    let (entries, turn) = one_turn(
        |asked| match asked.rounds() {
            0 | 1 => Answer::calls(&[("TaskList", json!({}))]),
            _ => Answer::says("All is done."),
        },
        &["--rounds", "3"],
    );
    assert_eq!(
        (turn.last_assistant_message.as_deref(), turn.checkpoint),
        (Some("All is done."), None)
    );
    assert!(events(&entries, EventKind::CheckpointRecorded).is_empty());
}

#[test]
fn acknowledgements_and_results_are_briefs() {
    let (entries, turn) = one_turn(
        |asked| match asked.rounds() {
            0 => Answer::stream(
                Events::new()
                    .text("I look at it.")
                    .call(0, "call-0", "TaskList")
                    .arguments(0, "{}")
                    .finish("tool_calls")
                    .done(),
            ),
            1 => Answer::stream(
                Events::new()
                    .text("And once more.")
                    .call(0, "call-0", "TaskList")
                    .arguments(0, "{}")
                    .finish("tool_calls")
                    .done(),
            ),
            _ => Answer::says(&format!("The key is {KEY}. {}", "long ".repeat(2_000))),
        },
        &[],
    );
    let briefs = briefs(&entries);
    let kinds: Vec<_> = briefs.iter().map(|brief| brief.kind).collect();
    assert_eq!(kinds, [BriefKind::Ack, BriefKind::Result]);
    assert_eq!(briefs[0].text, "I look at it.");
    assert!(briefs[1].text.starts_with("The key is [secret]. long "), "{}", briefs[1].text);
    assert!((3_900..4_100).contains(&briefs[1].text.len()), "{}", briefs[1].text.len());
    assert!(briefs.iter().all(|brief| brief.related_message_id.as_ref() == Some(&turn.message_id)));
}

#[test]
fn what_is_not_said_in_full_is_not_a_brief() {
    let cut = Answer::stream(Events::new().text("It is").finish("length").done());
    let silent = Answer::calls(&[("Sleep", json!({}))]);
    for answer in [cut, silent] {
        let (entries, _) = one_turn(move |_| answer.clone(), &[]);
        assert!(briefs(&entries).is_empty(), "{:?}", briefs(&entries));
    }
    // A tick is nobody's message, so nothing acknowledges it; what came of it is a result.
    let agent = Agent::start(
        |asked| match (asked.trigger().contains("timer"), asked.rounds()) {
            (true, 0) => Answer::stream(
                Events::new()
                    .text("It is time.")
                    .call(0, "call-0", "TaskList")
                    .arguments(0, "{}")
                    .finish("tool_calls")
                    .done(),
            ),
            (true, _) => Answer::says("I looked."),
            (false, _) => Answer::says("Hello."),
        },
        &[],
    );
    let timer = r#"{"fact":"timer_created","timer_id":"t","duration_ms":10,"summary":"look"}"#;
    agent.place.tell(&["fact", timer]);
    agent.turns(2);
    let briefs = briefs(&agent.end());
    let told: Vec<_> = briefs.iter().map(|brief| (brief.kind, brief.text.as_str())).collect();
    assert_eq!(told, [(BriefKind::Result, "I looked.")]);
}
