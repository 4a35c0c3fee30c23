//! Turns in the ledger: the results of a provider's failures, a model's mistakes and a full
//! context.

use serde_json::{Value, json};
use wakeful_core::record::{
    Record,
    context::{ToolExecutionRecord, ToolExecutionStatus},
    entry::Entry,
    event::EventKind,
    turn::{RunStatus, TurnRecord, TurnTerminalKind},
};

use super::{
    model::Asked,
    place::{Place, eventually},
    tasks::until,
};
use crate::openai::answer::{Answer, Events};

/// The turns that have ended, in order.
pub(super) fn ended(entries: &[Entry]) -> Vec<TurnRecord> {
    let turns = entries
        .iter()
        .filter_map(|entry| if let Record::Turn(turn) = &entry.record { Some(turn) } else { None });
    turns.filter(|turn| turn.status == RunStatus::Terminal).cloned().collect()
}

/// The tool calls, in order.
pub(super) fn calls(entries: &[Entry]) -> Vec<ToolExecutionRecord> {
    entries
        .iter()
        .filter_map(
            |entry| if let Record::Tool(call) = &entry.record { Some(call.clone()) } else { None },
        )
        .collect()
}

/// The answer of a call.
pub(super) fn output(call: &ToolExecutionRecord) -> Value {
    serde_json::from_str(call.output.as_str()).expect("JSON")
}

pub(super) fn events(entries: &[Entry], kind: EventKind) -> Vec<Value> {
    let events = entries.iter().filter_map(|entry| {
        if let Record::Event(event) = &entry.record { Some(event) } else { None }
    });
    let of_kind = events.filter(|event| event.kind == kind.as_str());
    of_kind
        .map(|event| serde_json::from_str(event.data().expect("data").as_str()).expect("JSON"))
        .collect()
}

/// Sends `go` to an agent with this model, and runs it until a turn has ended.
pub(super) fn one_turn(
    script: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    extra: &[&str],
) -> (Vec<Entry>, TurnRecord) {
    let place = Place::scripted(script);
    let live = place.start(&[&["--prompt", "go"], extra].concat());
    let turn = place
        .wait_for("default", "turn that ended", |entry| ended(std::slice::from_ref(entry)).pop());
    assert_eq!(place.send(&["shutdown"]).code, 0);
    assert_eq!(live.end(), 0);
    (place.entries("default"), turn)
}

#[test]
fn a_plain_answer_ends_the_turn_with_it() {
    let (entries, turn) = one_turn(|_| Answer::says("Hello."), &[]);
    assert_eq!(
        (turn.kind, turn.last_assistant_message.as_deref()),
        (Some(TurnTerminalKind::Completed), Some("Hello."))
    );
    let rounds = events(&entries, EventKind::ProviderRoundCompleted);
    assert_eq!(rounds.len(), 1);
    assert_eq!(rounds[0]["diagnostics"]["timing"]["attempts"], 1, "{}", rounds[0]);
    assert!(
        rounds[0]["diagnostics"]["prompt_bytes"].as_u64().expect("bytes") > 1_000,
        "{}",
        rounds[0]
    );
}

#[test]
fn a_server_that_refuses_before_any_output_defers_the_turn_and_a_retry_is_owed() {
    let (entries, turn) = one_turn(|_| Answer::error(401, "no such key", "auth", Value::Null), &[]);
    assert_eq!(turn.kind, Some(TurnTerminalKind::DeferredToFallback));
    let why = turn.reason.expect("a reason");
    assert!(
        why.contains("401") && why.contains("no such key") && why.contains("WAKEFUL_API_KEY"),
        "{why}"
    );
    assert!(calls(&entries).is_empty());
}

#[test]
fn an_answer_that_breaks_off_ends_the_turn_and_is_not_asked_for_again() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&asked);
    let (_, turn) = one_turn(
        move |_| {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let events = Events::new().text("I begin, ").text("and never end");
            let answer = Answer::stream(events);
            let length = answer.body_len();
            answer.cut_after(length)
        },
        &[],
    );
    assert_eq!(turn.kind, Some(TurnTerminalKind::ProviderFailedNeedsRecovery));
    assert_eq!(turn.last_assistant_message.as_deref(), Some("I begin, and never end"));
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[test]
fn after_a_round_that_was_accepted_a_failure_needs_recovery() {
    let (entries, turn) = one_turn(
        |asked| match asked.rounds() {
            0 => Answer::calls(&[("AgentGet", json!({}))]),
            _ => Answer::error(400, "no", "bad", Value::Null),
        },
        &[],
    );
    assert_eq!(turn.kind, Some(TurnTerminalKind::ProviderFailedNeedsRecovery));
    assert_eq!(calls(&entries).len(), 1);
}

#[test]
fn calls_that_make_no_sense_are_answered_with_what_is_wrong_and_the_turn_goes_on() {
    let (entries, turn) = one_turn(
        |asked| match asked.rounds() {
            0 => Answer::stream(
                Events::new()
                    .call(0, "a", "ExecCommand")
                    .arguments(0, "{\"cmd\": ")
                    .call(1, "b", "ExecCommand")
                    .arguments(1, "{\"command\":\"ls\"}")
                    .call(2, "c", "LaunchRocket")
                    .arguments(2, "{}")
                    .call(3, "d", "WaitFor")
                    .arguments(
                        3,
                        "{\"reason\":\"a \
                         task\",\"wake\":\"task_result\",\"resource\":\"task-999\"}",
                    )
                    .finish("tool_calls")
                    .done(),
            ),
            _ => {
                assert_eq!(asked.results().len(), 4, "each call has its result: {}", asked.text());
                Answer::says("I see.")
            }
        },
        &[],
    );
    assert_eq!(turn.kind, Some(TurnTerminalKind::Completed));
    let calls = calls(&entries);
    let kinds: Vec<_> = calls
        .iter()
        .map(|call| output(call)["error"]["kind"].as_str().expect("an error").to_owned())
        .collect();
    assert_eq!(kinds, ["invalid_tool_input", "invalid_tool_input", "unknown_tool", "unknown"]);
    assert!(calls.iter().all(|call| call.status == ToolExecutionStatus::Error));
    let said = output(&calls[1])["error"]["message"].to_string();
    assert!(said.contains("unknown field `command`") && said.contains("`cmd`"), "{said}");
    assert_eq!(calls[0].input.as_str(), "\"{\\\"cmd\\\": \"", "invalid JSON is recorded as text");
}

#[test]
fn rounds_that_do_not_fit_are_told_in_short_and_the_newest_exactly() {
    const LINES: &str =
        "seq -f 'line %g of a long output that fills the context of the model bit by bit' 1 400";
    let (entries, turn) = one_turn(
        |asked| match asked.rounds() {
            _ if asked.trigger().starts_with("[runtime] This turn began with") => {
                Answer::says("I remember.")
            }
            _ => Answer::calls(&[(
                "ExecCommand",
                json!({ "cmd": format!("{LINES}; echo {}", asked.text().len()) }),
            )]),
        },
        &["--context-tokens", "30000"],
    );
    assert_eq!(
        (turn.kind, turn.last_assistant_message.as_deref()),
        (Some(TurnTerminalKind::Completed), Some("I remember."))
    );
    let compacted = events(&entries, EventKind::ContextCompacted);
    assert!(!compacted.is_empty());
    // It is about one turn, so it replaces no message of the agent's history.
    assert_eq!(compacted[0], json!({ "compacted_message_count": 0 }));
    let checkpoints = events(&entries, EventKind::CheckpointRecorded);
    assert_eq!(checkpoints[0]["data"]["text"], "I remember.");
}

#[test]
fn a_prompt_that_cannot_fit_ends_the_turn_as_over_budget() {
    let (_, turn) = one_turn(|_| Answer::says("never asked"), &["--context-tokens", "1000"]);
    assert_eq!(turn.kind, Some(TurnTerminalKind::BaselineOverBudget));
    let (_, turn) = one_turn(
        |_| {
            Answer::error(
                400,
                "too long",
                "invalid_request_error",
                json!("context_length_exceeded"),
            )
        },
        &[],
    );
    assert_eq!(turn.kind, Some(TurnTerminalKind::BaselineOverBudget));
}

#[test]
fn a_model_that_never_ends_is_ended_by_the_limit_of_rounds() {
    let (entries, turn) =
        one_turn(|_| Answer::calls(&[("TaskList", json!({}))]), &["--rounds", "3"]);
    assert_eq!((turn.kind, calls(&entries).len()), (Some(TurnTerminalKind::Completed), 3));
    assert_eq!(turn.reason.as_deref(), Some("the turn reached its limit of 3 rounds"));
}

#[test]
fn a_typed_line_that_is_not_utf_8_is_refused_by_its_number_and_the_others_are_taken() {
    for json in [&[][..], &["--json"]] {
        let place = Place::scripted(|_| Answer::says("Hello."));
        let ran = place.run_with_input(json, b"one\ntwo \xff\nthree\n/quit\n");
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let refused = "refused: line 2, byte 5: 0xff is not valid UTF-8; save the text as UTF-8\n";
        let (to, other) = if json.is_empty() { (ran.out, ran.err) } else { (ran.err, ran.out) };
        assert!(to.contains(refused) && !other.contains("refused:"), "{to}{other}");
        let entries = place.entries("default");
        let texts = entries.iter().filter_map(|entry| match &entry.record {
            Record::Message(message) => Some(message.body.as_text().to_string()),
            _ => None,
        });
        assert_eq!(texts.collect::<Vec<_>>(), ["one", "three"]);
    }
}

#[test]
fn a_second_process_is_refused_and_leaves_what_the_first_runs_alone() {
    let place = Place::scripted(|asked| match asked.rounds() {
        0 => {
            let cmd = format!("touch begun; {}; echo whole", until("go"));
            Answer::calls(&[("ExecCommand", json!({ "cmd": cmd }))])
        }
        _ => Answer::says("Done."),
    });
    let first = place.start(&["--prompt", "go", "--until-rest"]);
    eventually("the command begins", || place.workspace().join("begun").exists());
    let second = place.run(&["--until-rest", "--prompt", "and this"]);
    assert_eq!(second.code, 2, "{}{}", second.out, second.err);
    assert!(second.err.contains("agent `default` is driven by process "), "{}", second.err);
    std::fs::write(place.workspace().join("go"), "").expect("a file");
    assert_eq!(first.end(), 0);
    let entries = place.entries("default");
    assert!(calls(&entries)[0].output.as_str().contains("whole"), "{:?}", calls(&entries));
    assert_eq!(ended(&entries).len(), 1);
}
