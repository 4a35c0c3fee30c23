//! Input that does not fit into a prompt, and input that a provider refuses to read: neither makes
//! a later turn fail.

use serde_json::{Value, json};
use wakeful_core::record::{
    entry::Entry,
    event::EventKind,
    turn::{AbortReason, TurnRecord, TurnTerminalKind},
};

use super::{
    model::Asked,
    place::{Live, Place, eventually},
    turns::{calls, ended, events, output},
};
use crate::openai::answer::Answer;

/// Text of this length, with an end that shows whether it was read.
fn long(bytes: usize) -> String {
    let mut text = "one line of a long build log\n".repeat(bytes / 29 + 1);
    text.truncate(bytes - 7);
    text + "THE END"
}

/// An agent that sleeps after the prompt `go`, and answers every other message with these.
pub(super) struct Agent {
    pub(super) place: Place,
    live: Live,
}

impl Agent {
    pub(super) fn start(
        script: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
        extra: &[&str],
    ) -> Self {
        let place = Place::scripted(move |asked| {
            match (asked.trigger().starts_with("[operator]\ngo"), asked.rounds()) {
                (true, 0) => Answer::calls(&[("Sleep", json!({ "duration_ms": 36_000_000 }))]),
                _ => script(asked),
            }
        });
        let live = place.start(&[&["--prompt", "go"], extra].concat());
        let agent = Self { place, live };
        agent.turns(1);
        agent
    }

    /// Waits until this many turns have ended, and returns them.
    pub(super) fn turns(&self, count: u64) -> Vec<TurnRecord> {
        self.place.wait_for("default", "turn that ended", |entry: &Entry| {
            ended(std::slice::from_ref(entry)).pop().filter(|turn| turn.turn_index >= count)
        });
        ended(&self.place.entries("default"))
    }

    /// The answer to a prompt.
    pub(super) fn answer(&self, prompt: &str) -> TurnRecord {
        let turns = ended(&self.place.entries("default")).len() as u64;
        self.place.tell(&["prompt", prompt]);
        self.turns(turns + 1).pop().expect("a turn")
    }

    /// Kills it as `kill -9` does, and starts it again.
    pub(super) fn kill_and_restart(self, extra: &[&str]) -> Self {
        self.live.kill();
        let live = self.place.start(extra);
        Self { place: self.place, live }
    }

    pub(super) fn end(self) -> Vec<Entry> {
        self.place.tell(&["shutdown"]);
        assert_eq!(self.live.end(), 0);
        self.place.entries("default")
    }
}

pub(super) fn said(turn: &TurnRecord) -> &str {
    turn.last_assistant_message.as_deref().unwrap_or_default()
}

/// A server that reads at most this many bytes of chat, and says so in the words of one server.
fn within(bytes: usize, asked: &Asked, answer: impl FnOnce() -> Answer) -> Answer {
    if asked.text().len() > bytes {
        let why = "This model's maximum context length is exceeded. Please reduce the length.";
        return Answer::error(400, why, "invalid_request_error", json!("context_length_exceeded"));
    }
    answer()
}

/// A server that refuses to read one word.
fn decent(asked: &Asked, answer: impl FnOnce() -> Answer) -> Answer {
    if asked.text().contains("FORBIDDEN") {
        let why = "The response was filtered due to the prompt.";
        return Answer::error(400, why, "invalid_request_error", json!("content_filter"));
    }
    answer()
}

#[test]
fn a_long_event_is_told_in_part_and_a_tool_reads_the_rest() {
    let agent = Agent::start(
        |asked| match asked.rounds() {
            0 if asked.is_told("event for trigger ci") => {
                assert!(
                    asked.is_told("of 120000 bytes; ReadRest with id \"e-1\""),
                    "{}",
                    asked.text()
                );
                Answer::calls(&[("ReadRest", json!({ "id": "e-1", "offset": 119_000 }))])
            }
            0 => Answer::says("Hello."),
            _ => {
                let rest = asked.results()[0]["result"].clone();
                Answer::says(rest["text"].as_str().expect("a text"))
            }
        },
        &["--context-tokens", "32000"],
    );
    agent.place.tell(&["deliver", "--id", "e-1", "--trigger", "ci", &long(120_000)]);
    assert!(said(&agent.answer("Are you there?")).ends_with("THE END"));
    assert_eq!(said(&agent.answer("Hello?")), "Hello.");
    let entries = agent.end();
    assert!(ended(&entries).iter().all(|turn| turn.kind == Some(TurnTerminalKind::Completed)));
}

#[test]
fn a_night_of_events_is_told_over_several_turns() {
    let agent = Agent::start(
        |asked| {
            let told = asked.text().matches("event for trigger ci").count();
            within(150_000, asked, || Answer::says(&format!("{told}")))
        },
        &[],
    );
    for number in 0..64 {
        let text = format!("{number} {}", long(7_000));
        agent.place.tell(&["deliver", "--id", &format!("e-{number}"), "--trigger", "ci", &text]);
    }
    let mut told = 0;
    let mut turns = 0;
    while told < 64 && turns < 20 {
        let now: u64 = said(&agent.answer("And?")).parse().expect("a number");
        assert!(now > 0, "each turn learns of some");
        told += now;
        turns += 1;
    }
    assert!(turns > 1, "they do not fit into one");
    agent.end();
}

#[test]
fn long_results_are_cut_until_the_prompt_fits() {
    let place = Place::scripted(|asked| match asked.rounds() {
        0 => {
            let call = |from: u32| {
                let cmd = format!("seq {from} {}", from + 9_999);
                ("ExecCommand", json!({ "cmd": cmd, "max_output_tokens": 64_000 }))
            };
            Answer::calls(&[call(100_000), call(200_000), call(300_000)])
        }
        _ => {
            assert_eq!(asked.text().matches("ReadRest with id").count(), 3, "{}", asked.text());
            within(64_000, asked, || Answer::says("Done."))
        }
    });
    place.rest(&["--prompt", "Look.", "--context-tokens", "16000"]);
    let turns = ended(&place.entries("default"));
    assert_eq!((turns.len(), said(&turns[0])), (1, "Done."));
}

#[test]
fn a_server_that_reads_less_than_was_said_is_believed() {
    let agent = Agent::start(
        |asked| match asked.rounds() {
            0 if asked.trigger().contains("Look") => Answer::calls(&[(
                "ExecCommand",
                json!({ "cmd": "seq 100000 109999", "max_output_tokens": 64_000 }),
            )]),
            0 => within(60_000, asked, || Answer::says("Hello.")),
            _ => within(60_000, asked, || Answer::says("Seen.")),
        },
        &["--context-tokens", "100000"],
    );
    assert_eq!(said(&agent.answer("Look.")), "Seen.");
    assert_eq!(said(&agent.answer("Hello?")), "Hello.");
    agent.end();
}

#[test]
fn a_message_that_cannot_fit_is_named_and_the_exit_code_says_that_the_turn_failed() {
    let place = Place::scripted(|_| Answer::says("Hello."));
    let long = long(100_000);
    let ran = place.run(&["--until-rest", "--context-tokens", "16000", "--prompt", &long]);
    assert_eq!(ran.code, 5, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("the operator's message 100011 bytes"), "{}", ran.err);
    assert!(ran.err.contains("--context-tokens"), "{}", ran.err);
    let ran = place.run(&["--until-rest", "--context-tokens", "16000", "--prompt", "Hello?"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn an_event_that_is_refused_is_told_once() {
    let agent = Agent::start(|asked| decent(asked, || Answer::says("Hello.")), &[]);
    agent.place.tell(&["deliver", "--id", "e-1", "--trigger", "ci", "a FORBIDDEN word"]);
    for prompt in ["Are you there?", "Hello?", "Anybody?"] {
        assert_eq!(said(&agent.answer(prompt)), "Hello.");
    }
    assert_eq!(told_of_refusals(&agent.place), 1);
    let refused = events(&agent.end(), EventKind::ContentRefused);
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0]["message_ids"], json!(["e-1"]));
}

#[test]
fn of_several_events_the_refused_one_is_found() {
    let agent = Agent::start(|asked| decent(asked, || Answer::says(&asked.text())), &[]);
    agent.place.tell(&["deliver", "--id", "e-1", "--trigger", "ci", "the first word"]);
    agent.place.tell(&["deliver", "--id", "e-2", "--trigger", "ci", "a FORBIDDEN word"]);
    agent.place.tell(&["deliver", "--id", "e-3", "--trigger", "ci", "the last word"]);
    let heard: Vec<_> = (0..6).map(|_| said(&agent.answer("And?")).to_owned()).collect();
    let hears = |word: &str| heard.iter().any(|text| text.contains(word));
    assert!(hears("the first word") && hears("the last word"), "{heard:?}");
    let entries = agent.end();
    assert!(ended(&entries).iter().all(|turn| turn.kind == Some(TurnTerminalKind::Completed)));
    let refused = events(&entries, EventKind::ContentRefused);
    let named: Vec<_> = refused.iter().filter_map(|it| it.get("message_ids")).collect();
    assert_eq!(named, [&json!(["e-2"])], "{refused:?}");
}

#[test]
fn a_prompt_that_is_refused_is_dropped_and_not_told_again() {
    let agent = Agent::start(|asked| decent(asked, || Answer::says("Hello.")), &[]);
    let turn = agent.answer("a FORBIDDEN word");
    assert!(turn.was_aborted_by(AbortReason::ContentRefused), "{turn:?}");
    let before = told_of_refusals(&agent.place);
    for prompt in ["Are you there?", "Hello?"] {
        assert_eq!(said(&agent.answer(prompt)), "Hello.");
    }
    assert_eq!(told_of_refusals(&agent.place), before, "it is not sent again");
    agent.end();
}

#[test]
fn a_current_state_that_is_refused_is_not_blamed_on_events_or_earlier_turns() {
    let agent = Agent::start(|asked| decent(asked, || Answer::says("Hello.")), &[]);
    agent.place.tell(&["deliver", "--id", "e-1", "--trigger", "ci", "a harmless word"]);
    assert_eq!(said(&agent.answer("Are you there?")), "Hello.");
    // Blocked while the agent is stopped, so that no offer has the word in its own text.
    agent.place.tell(&["stop"]);
    let item = r#"{"fact":"work_item_created","work_item_id":"w","objective":"a FORBIDDEN word"}"#;
    let blocked = r#"{"fact":"work_item_blocked","work_item_id":"w","blocked_by":"the weather"}"#;
    agent.place.tell(&["fact", item]);
    agent.place.tell(&["fact", blocked]);
    agent.place.tell(&["start"]);
    assert_eq!(said(&agent.answer("Hello?")), "Hello.");
    assert!(told_of_refusals(&agent.place) > 0, "the state was sent, and refused");
    assert_eq!(events(&agent.end(), EventKind::ContentRefused), Vec::<Value>::new());
}

#[test]
fn a_result_that_is_refused_is_left_out_and_the_turn_goes_on() {
    let agent = Agent::start(
        |asked| {
            decent(asked, || match asked.rounds() {
                0 if asked.trigger().contains("Look") => {
                    Answer::calls(&[("ExecCommand", json!({ "cmd": "printf FORB; echo IDDEN" }))])
                }
                _ => Answer::says("Hello."),
            })
        },
        &[],
    );
    for prompt in ["Look.", "Hello?"] {
        let turn = agent.answer(prompt);
        assert_eq!((turn.kind, said(&turn)), (Some(TurnTerminalKind::Completed), "Hello."));
    }
    agent.end();
}

#[test]
fn a_call_that_may_have_run_is_told_as_unknown() {
    let place = Place::scripted(|asked| match asked.rounds() {
        0 if asked.is_told("They may have run") => {
            assert!(asked.is_told("ExecCommand: {\"cmd\":\"echo PAID"), "{}", asked.text());
            assert!(!asked.is_told("nothing was recorded"), "{}", asked.text());
            Answer::says("I check first.")
        }
        0 => {
            Answer::calls(&[("ExecCommand", json!({ "cmd": "echo PAID >> journal; sleep 3600" }))])
        }
        _ => Answer::says("never"),
    });
    let live = place.start(&["--prompt", "Pay."]);
    let journal = place.workspace().join("journal");
    eventually("the command begins", || journal.exists());
    live.kill();
    place.rest(&[]);
    let entries = place.entries("default");
    assert_eq!(said(&ended(&entries)[0]), "I check first.");
    assert!(calls(&entries).iter().all(|call| output(call)["status"] != "success"));
}

/// How many requests had the refused word.
fn told_of_refusals(place: &Place) -> usize {
    place.asked().iter().filter(|body| body.contains("FORBIDDEN")).count()
}

#[test]
fn an_answer_to_two_questions_ends_both_waits() {
    let place = Place::scripted(|asked| {
        let trigger = asked.trigger();
        match asked.rounds() {
            0 if trigger.contains("Paint") => Answer::calls(&[
                ("CreateWorkItem", json!({ "objective": "the door", "plan_status": "ready" })),
                ("CreateWorkItem", json!({ "objective": "the fence", "plan_status": "ready" })),
            ]),
            1 if trigger.contains("Paint") => {
                let wait = |of: &Value| {
                    (
                        "WaitFor",
                        json!({ "reason": "the colour", "wake": "operator_input",
                        "work_item_id": of["result"]["work_item"]["id"] }),
                    )
                };
                let results = asked.results();
                Answer::calls(&[wait(&results[0]), wait(&results[1])])
            }
            0 if trigger.contains("blue") => {
                let text = asked.text();
                let waits: Vec<_> = text
                    .match_indices("EndWait with wait_condition_id")
                    .map(|(at, _)| text[at..].split("\\\"").nth(1).expect("an id").to_owned())
                    .collect();
                let ends: Vec<_> = waits
                    .iter()
                    .map(|id| ("EndWait", json!({ "wait_condition_id": id })))
                    .collect();
                assert_eq!(ends.len(), 2, "{text}");
                Answer::calls(&ends)
            }
            _ => Answer::says("I go on."),
        }
    });
    let live = place.start(&["--prompt", "Paint both."]);
    let wait = |entry: &Entry| ended(std::slice::from_ref(entry)).pop();
    place.wait_for("default", "turn", wait);
    place.tell(&["prompt", "The door blue, the fence green."]);
    // Both items are offered again: each gets a turn of its own.
    place.wait_for("default", "turn for each item", |entry| {
        wait(entry).filter(|turn| turn.turn_index >= 3)
    });
    place.tell(&["shutdown"]);
    assert_eq!(live.end(), 0);
    let ends = calls(&place.entries("default"));
    let ends = ends.iter().filter(|call| call.tool_name == "EndWait");
    assert!(
        ends.clone().count() == 2 && ends.clone().all(|call| output(call)["status"] == "success")
    );
}
