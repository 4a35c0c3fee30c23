//! Turns with a model and a server that have their own ways: what is executed, what is recorded,
//! and what goes back.

use serde_json::{Value, json};
use wakeful_core::record::{
    context::ToolExecutionStatus,
    event::EventKind,
    turn::{AbortReason, TurnTerminalKind},
};

use super::{
    place::{KEY, Place},
    turns::{calls, ended, events, one_turn, output},
};
use crate::openai::answer::{Answer, Events};

/// An answer that ends inside the arguments of its last call.
fn cut(arguments: &str) -> Answer {
    Answer::stream(
        Events::new()
            .call(0, "a", "AgentGet")
            .arguments(0, "{}")
            .call(1, "b", "ExecCommand")
            .arguments(1, arguments)
            .finish("length")
            .done(),
    )
}

#[test]
fn a_call_that_the_limit_cut_is_not_executed_and_the_turn_goes_on() {
    for arguments in ["{\"cmd\": \"touch made", ""] {
        let place = Place::scripted(move |asked| match asked.rounds() {
            0 => cut(arguments),
            _ => {
                let why = asked.results()[1]["error"].clone();
                assert_eq!(why["kind"], "call_cut_off", "{why}");
                Answer::says("I see.")
            }
        });
        place.rest(&["--prompt", "go"]);
        let entries = place.entries("default");
        let calls = calls(&entries);
        let status: Vec<_> = calls.iter().map(|call| call.status).collect();
        assert_eq!(status, [ToolExecutionStatus::Success, ToolExecutionStatus::Error]);
        let kinds: Vec<_> = ended(&entries).iter().map(|turn| turn.kind).collect();
        assert_eq!(kinds, [Some(TurnTerminalKind::Completed)]);
        assert!(!place.workspace().join("made").exists());
    }
}

#[test]
fn a_limit_that_cuts_calls_again_and_again_ends_the_turn() {
    let (entries, turn) = one_turn(|_| cut("{\"cmd\": \"ec"), &[]);
    assert_eq!(turn.kind, Some(TurnTerminalKind::ProviderFailedNeedsRecovery));
    let why = turn.reason.expect("a reason");
    assert!(why.contains("cut a call in 3 rounds in a row"), "{why}");
    assert_eq!(calls(&entries).len(), 6);
}

#[test]
fn a_complete_call_is_executed_whatever_the_reason_for_the_end() {
    for reason in ["length", "stop", "abort", "no such reason"] {
        let (entries, turn) = one_turn(
            move |asked| match asked.rounds() {
                0 => Answer::stream(
                    Events::new()
                        .call(0, "a", "ExecCommand")
                        .arguments(0, "{\"cmd\":\"echo hi\"}")
                        .finish(reason)
                        .done(),
                ),
                _ => Answer::says("Done."),
            },
            &[],
        );
        assert_eq!(turn.kind, Some(TurnTerminalKind::Completed), "{reason}");
        assert_eq!(calls(&entries)[0].status, ToolExecutionStatus::Success, "{reason}");
    }
}

#[test]
fn calls_beyond_the_limit_of_a_round_are_not_executed_and_few_facts_say_so() {
    let (entries, turn) = one_turn(
        |asked| match asked.rounds() {
            0 => Answer::calls(&vec![("ExecCommand", json!({"cmd": "echo hi"})); 500]),
            _ => {
                assert_eq!(asked.results().len(), 6, "{}", asked.text());
                Answer::says("Done.")
            }
        },
        &["--calls-per-round", "3"],
    );
    assert_eq!(turn.kind, Some(TurnTerminalKind::Completed), "{:?}", turn.reason);
    let calls = calls(&entries);
    let status: Vec<_> =
        calls.iter().map(|call| call.status == ToolExecutionStatus::Success).collect();
    assert_eq!(status, [true, true, true, false, false, false]);
    for call in &calls[3..] {
        assert_eq!(output(call)["error"]["kind"], "too_many_calls");
    }
    let said = output(&calls[5])["error"]["message"].to_string();
    assert!(said.contains("494 more calls after it were left out"), "{said}");
    let rounds = events(&entries, EventKind::ProviderRoundCompleted);
    assert_eq!(rounds.len(), 2);
}

#[test]
fn arguments_of_every_form_are_recorded_as_written_and_answered() {
    let written: [(&str, Value, &str); 7] = [
        ("TaskList", json!(""), "success"),
        ("TaskList", json!(null), "success"),
        ("ExecCommand", json!({"cmd": "echo hi"}), "success"),
        ("ExecCommand", json!("\"{\\\"cmd\\\":\\\"echo hi\\\"}\""), "success"),
        ("ExecCommand", json!("{\"cmd\": \"echo"), "error"),
        ("ExecCommand", json!("[\"echo\"]"), "error"),
        ("ExecCommand", json!(""), "error"),
    ];
    let given = written.clone();
    let (entries, turn) = one_turn(
        move |asked| match asked.rounds() {
            0 => {
                let calls: Vec<Value> = given
                    .iter()
                    .enumerate()
                    .map(|(index, (name, arguments, _))| {
                        json!({"index": index, "id": format!("c{index}"),
                            "function": {"name": name, "arguments": arguments}})
                    })
                    .collect();
                let events = Events::new().delta(json!({ "tool_calls": calls }));
                Answer::stream(events.finish("tool_calls").done())
            }
            _ => Answer::says("Done."),
        },
        &[],
    );
    // The server of the test refuses a chat whose arguments are not objects.
    assert_eq!(turn.kind, Some(TurnTerminalKind::Completed), "{:?}", turn.reason);
    let calls = calls(&entries);
    assert_eq!(calls.len(), written.len());
    for (call, (name, arguments, status)) in calls.iter().zip(&written) {
        assert_eq!(output(call)["status"], *status, "{name} {arguments}");
    }
    assert_eq!(calls[4].input.as_str(), "\"{\\\"cmd\\\": \\\"echo\"", "as it was written");
}

#[test]
fn a_call_without_a_fitting_name_is_answered() {
    let (entries, turn) = one_turn(
        |asked| match asked.rounds() {
            0 => Answer::calls(&[
                (" AgentGet\n", json!({})),
                ("", json!({})),
                ("  ", json!({})),
                ("no such tool", json!({})),
            ]),
            _ => {
                assert_eq!(asked.results().len(), 4, "{}", asked.text());
                Answer::says("Done.")
            }
        },
        &[],
    );
    assert_eq!(turn.kind, Some(TurnTerminalKind::Completed), "{:?}", turn.reason);
    let answers: Vec<_> = calls(&entries)
        .iter()
        .map(|call| (call.tool_name.clone(), output(call)["status"].clone()))
        .collect();
    assert_eq!(
        answers,
        [
            ("AgentGet".to_owned(), json!("success")),
            ("(unnamed)".to_owned(), json!("error")),
            ("(unnamed)".to_owned(), json!("error")),
            ("no such tool".to_owned(), json!("error")),
        ]
    );
}

#[test]
fn a_command_is_executed_as_the_model_wrote_it_and_recorded_without_the_key() {
    let place = Place::scripted(|asked| match asked.rounds() {
        0 => Answer::calls(&[("ExecCommand", json!({"cmd": format!("mkdir -p {KEY}/models")}))]),
        _ => Answer::says("Done."),
    });
    place.rest(&["--prompt", "go"]);
    assert!(place.workspace().join(KEY).join("models").is_dir());
    let entries = place.entries("default");
    let call = &calls(&entries)[0];
    assert!(call.input.as_str().contains("mkdir -p [secret]/models"), "{}", call.input.as_str());
    let ledger: String = entries.iter().map(|entry| format!("{entry:?}")).collect();
    assert!(!ledger.contains(KEY));
}

#[test]
fn no_part_of_the_key_is_left_where_a_command_is_shortened() {
    // The summary of a command has 80 characters, and the cut falls into the key.
    let cmd = format!("echo {} {KEY}", "x".repeat(65));
    let place = Place::scripted(move |asked| {
        match (asked.trigger().starts_with("[operator]"), asked.rounds()) {
            (true, 0) => Answer::calls(&[
                ("ExecCommand", json!({"cmd": cmd})),
                ("CreateWorkItem", json!({"objective": cmd})),
            ]),
            _ => Answer::says("Done."),
        }
    });
    let live = place.start(&["--prompt", "go"]);
    place.wait_for("default", "turn that ended", |entry| ended(std::slice::from_ref(entry)).pop());
    assert_eq!(place.send(&["shutdown"]).code, 0);
    assert_eq!(live.end(), 0);
    let entries = place.entries("default");
    let summaries: Vec<_> = calls(&entries).into_iter().map(|call| call.summary).collect();
    assert_eq!(summaries.len(), 2);
    let ledger: String = entries.iter().map(|entry| format!("{entry:?}")).collect();
    assert!(!ledger.contains(&KEY[..7]), "{summaries:?}");
}

#[test]
fn content_that_is_refused_ends_the_turn_with_the_words_of_the_provider() {
    let (entries, turn) = one_turn(
        |_| Answer::error(400, "The response was filtered.", "x", json!("content_filter")),
        &[],
    );
    assert!(turn.was_aborted_by(AbortReason::ContentRefused), "{turn:?}");
    let refused = events(&entries, EventKind::ContentRefused);
    let why = refused[0]["reason"].as_str().expect("a reason");
    assert!(why.contains("The response was filtered."), "{why}");
}

#[test]
fn thoughts_go_back_within_the_turn_and_enter_no_ledger() {
    let place = Place::scripted(|asked| match asked.rounds() {
        0 => Answer::stream(
            Events::new()
                .delta(json!({"reasoning_content": "I think hard."}))
                .call(0, "a", "AgentGet")
                .delta(json!({"tool_calls": [{"index": 0, "extra_content": {"sign": "sealed"}}]}))
                .finish("tool_calls")
                .done(),
        ),
        _ if asked.text().contains("I think hard.") && asked.text().contains("sealed") => {
            Answer::says("Done.")
        }
        _ => Answer::error(400, "the thoughts are missing", "x", Value::Null),
    });
    let out = place.rest(&["--prompt", "go"]);
    assert!(out.contains("Done.") && !out.contains("I think hard."), "{out}");
    let ledger: String =
        place.entries("default").iter().map(|entry| format!("{entry:?}")).collect();
    assert!(!ledger.contains("I think hard.") && !ledger.contains("sealed"));
}

#[test]
fn options_limit_how_long_and_how_much_a_model_answers() {
    let (_, turn) =
        one_turn(|_| Answer::says(&"word ".repeat(1_000)), &["--max-answer-bytes", "100"]);
    let why = turn.reason.expect("a reason");
    assert!(why.contains("longer than the limit of 100 bytes"), "{why}");
    for option in ["--first-output-timeout", "--idle-timeout", "--answer-timeout"] {
        let (_, turn) = one_turn(
            |_| {
                let answer = Answer::stream(Events::new().text("First"));
                let length = answer.body_len();
                answer.silent_after(length)
            },
            &[option, "1", "--idle-timeout", "1"][..if option == "--idle-timeout" { 2 } else { 4 }],
        );
        let why = turn.reason.expect("a reason");
        assert!(why.contains("took longer than 1 s"), "{option}: {why}");
    }
}
