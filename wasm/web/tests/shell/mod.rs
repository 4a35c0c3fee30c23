//! Tests of the shell for Node and browsers.

use js_sys::{Array, Function, JSON, Reflect};
use wakeful_web::{JsHost, Machine, Player, Scheduler};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

const HEARTBEAT: &str = include_str!("../../../../tests/fixtures/stories/heartbeat.json");
const NOW: i64 = 1_779_872_400_000_000_000;

/// A host in memory, with the ledger of the package.
fn host() -> JsValue {
    let ledger = include_str!("../../../../npm/src/ledger/memory.mjs").replace("export ", "");
    let body = format!("{ledger}\n{}", include_str!("host.js"));
    Function::new_with_args("nowNanos", &body)
        .call1(&JsValue::UNDEFINED, &NOW.into())
        .expect("the host's text runs")
}

fn at(value: &JsValue, path: &str) -> JsValue {
    path.split('.')
        .fold(value.clone(), |value, name| Reflect::get(&value, &name.into()).expect("an object"))
}

fn count(host: &JsValue, call: &str) -> f64 {
    at(host, &format!("calls.{call}")).as_f64().expect("a count")
}

fn text(value: &JsValue) -> String {
    value.as_string().expect("a text")
}

fn options() -> JsValue {
    JSON::parse(r#"{"agent_id":"default"}"#).expect("JSON")
}

fn drive(host: &JsValue) -> Scheduler {
    Scheduler::drive(options(), host.unchecked_ref::<JsHost>()).expect("the ledger opens")
}

fn message(id: &str) -> String {
    format!(
        r#"{{"fact":"message_queued","message":{{"id":"{id}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":"look"}}}}}}"#
    )
}

fn lines(host: &JsValue) -> u32 {
    at(host, "lines.lines").unchecked_into::<Array>().length()
}

/// Plays a story to its end. After each call the player gets the turns that the host was told to
/// start.
fn play(host: &JsValue, scheduler: &Scheduler, player: &mut Player) -> u32 {
    for commands in 0..1000 {
        let command = player.next(scheduler.next_wake().expect("a clock")).expect("a command");
        match text(&at(&command, "do")).as_str() {
            "done" => return commands,
            "propose" => {
                drop(scheduler.propose(at(&command, "fact")).expect("a fact of the story"))
            }
            "run" => drop(scheduler.run_until_rest().expect("a rest")),
            "set_clock" => {
                Reflect::set(host, &"at".into(), &player.now().into()).expect("a property");
            }
            other => panic!("unknown command {other}"),
        }
        let started = at(host, "started").unchecked_into::<Array>();
        while started.length() > 0 {
            player.start_turn(started.shift()).expect("a request");
        }
    }
    panic!("the story does not end");
}

#[wasm_bindgen_test]
fn the_heartbeat_runs_to_its_end_over_a_javascript_host() {
    let host = host();
    let mut player = Player::new(HEARTBEAT).expect("the story reads");
    let scheduler = drive(&host);
    let commands = play(&host, &scheduler, &mut player);
    assert!(commands > 20, "{commands} commands were played");
    for call in ["append", "read", "now", "startTurn"] {
        assert!(count(&host, call) > 0.0, "`{call}` was never called");
    }
    assert_eq!(
        count(&host, "startTurn"),
        3.0,
        "one turn for the message, one for the item, one for the timer"
    );
    let explanation = scheduler.explain("run_loop_idle".into()).expect("a boundary");
    assert_eq!(text(&at(&explanation, "decision.decision")), "WaitForTimer");
    assert_eq!(text(&at(&explanation, "next_wake")), "2026-05-27T09:20:00Z");
    assert_eq!(
        at(&explanation, "head.seq").as_f64(),
        Some(f64::from(lines(&host))),
        "the host holds every entry"
    );
}

#[wasm_bindgen_test]
fn a_ledger_that_was_closed_opens_again_at_its_head() {
    let host = host();
    let scheduler = drive(&host);
    play(&host, &scheduler, &mut Player::new(HEARTBEAT).expect("the story reads"));
    let head = scheduler.head_text().expect("a head");
    let again =
        Scheduler::observe(options(), host.unchecked_ref::<JsHost>()).expect("the ledger opens");
    assert_eq!(again.head_text().expect("a head"), head);
    assert_eq!(again.state_text().expect("a state"), scheduler.state_text().expect("a state"));
}

#[wasm_bindgen_test]
fn the_outbox_reaches_the_same_head_as_the_loop() {
    let host = host();
    let scheduler = drive(&host);
    let mut machine = Machine::new(options()).expect("options");
    machine.begin(NOW).expect("nothing is open");
    machine.committed().expect("effects");
    machine.propose(r#"{"fact":"runtime_restarted"}"#.into(), NOW).expect("a fact");
    machine.committed().expect("effects");
    let wait = r#"{"fact":"timer_created","timer_id":"t","duration_ms":1000}"#;
    for fact in [message("m1"), wait.into(), message("m1")] {
        scheduler.propose(fact.as_str().into()).expect("a fact");
        machine.propose(fact.as_str().into(), NOW).expect("a fact");
        machine.committed().expect("effects");
    }
    scheduler.step("run_loop".into()).expect("a step");
    assert!(!machine.step("run_loop".into(), NOW).expect("nothing is open").is_undefined());
    assert_ne!(
        machine.head_text(),
        scheduler.head_text().expect("a head"),
        "a batch that is not committed changes nothing"
    );
    let effects = machine.committed().expect("effects").unchecked_into::<Array>();
    assert_eq!(text(&at(&effects.get(0), "effect")), "start_turn");
    assert_eq!(machine.head_text(), scheduler.head_text().expect("a head"));
    assert_eq!(machine.state_text(), scheduler.state_text().expect("a state"));
}

#[wasm_bindgen_test]
fn a_rejected_proposal_leaves_the_outbox_as_it_was() {
    let mut machine = Machine::new(options()).expect("options");
    machine.begin(NOW).expect("nothing is open");
    machine.committed().expect("effects");
    let head = machine.head_text();
    machine.propose(message("m1").into(), NOW).expect("a fact");
    let busy = machine.propose(message("m2").into(), NOW).expect_err("a proposal is open");
    assert_eq!(text(&at(&busy, "code")), "misuse");
    machine.rejected();
    assert_eq!(machine.head_text(), head);
    assert!(machine.propose(message("m2").into(), NOW).is_ok(), "the next one is taken");
}

#[wasm_bindgen_test]
fn a_batch_that_was_stored_without_an_answer_is_found_when_it_is_loaded() {
    let mut machine = Machine::new(options()).expect("options");
    machine.begin(NOW).expect("nothing is open");
    machine.committed().expect("effects");
    for fact in [r#"{"fact":"runtime_restarted"}"#.to_owned(), message("m1")] {
        machine.propose(fact.as_str().into(), NOW).expect("a fact");
        machine.committed().expect("effects");
    }
    let step = machine.step("run_loop".into(), NOW).expect("nothing is open");
    machine.unacknowledged();
    let batch = at(&step, "batch").unchecked_into::<Array>();
    batch.iter().for_each(|line| machine.load(text(&line)).expect("its own entry"));
    let effects = machine.found().expect("effects").unchecked_into::<Array>();
    assert_eq!(text(&at(&effects.get(0), "effect")), "start_turn");
    assert_eq!(machine.found().expect("effects").unchecked_into::<Array>().length(), 0);
}

#[wasm_bindgen_test]
fn a_malformed_fact_throws_its_place_and_changes_nothing() {
    let host = host();
    let scheduler = drive(&host);
    let before = (lines(&host), scheduler.head_text().expect("a head"));
    let error = scheduler
        .propose("{\"fact\":\"timer_created\",\n \"timer_id\":7}".into())
        .expect_err("an id is text");
    assert!(error.is_instance_of::<js_sys::Error>());
    assert_eq!(text(&at(&error, "name")), "WakefulError");
    assert_eq!(text(&at(&error, "code")), "malformed");
    assert_eq!(
        (text(&at(&error, "place.path")), at(&error, "place.line").as_f64()),
        ("timer_id".to_owned(), Some(2.0))
    );
    assert!(text(&at(&error, "message")).contains("timer_id"));
    let report = JSON::parse(&text(&at(&error, "reportText"))).expect("the report is JSON");
    assert_eq!(text(&at(&report, "message")), text(&at(&error, "message")));
    assert_eq!((lines(&host), scheduler.head_text().expect("a head")), before);
}

#[wasm_bindgen_test]
fn a_second_writer_gets_a_conflict_and_changes_nothing() {
    let host = host();
    let late = drive(&host);
    let first = drive(&host);
    first.propose(message("m1").into()).expect("a fact");
    let before = (lines(&host), late.head_text().expect("a head"));
    let error = late.propose(message("m2").into()).expect_err("the ledger has moved on");
    assert_eq!(text(&at(&error, "code")), "conflict");
    assert_eq!((lines(&host), late.head_text().expect("a head")), before);
}

#[wasm_bindgen_test]
fn a_ledger_that_fails_is_told_apart_from_a_conflict() {
    let host = host();
    let scheduler = drive(&host);
    let broken = Function::new_no_args("throw new Error('the disk is full')");
    Reflect::set(&at(&host, "ledger"), &"append".into(), &broken).expect("a property");
    let error = scheduler.propose(message("m1").into()).expect_err("the ledger fails");
    assert_eq!(text(&at(&error, "code")), "ledger_failed");
    assert!(text(&at(&error, "message")).contains("the disk is full"));
    let asynchronous = Function::new_no_args("return Promise.resolve()");
    Reflect::set(&at(&host, "ledger"), &"append".into(), &asynchronous).expect("a property");
    let error = scheduler.propose(message("m1").into()).expect_err("a promise is not durable");
    assert!(text(&at(&error, "message")).contains("use `AsyncScheduler`"));
}

#[wasm_bindgen_test]
fn a_provider_that_throws_fails_its_turn_and_no_more() {
    let host = host();
    let scheduler = drive(&host);
    let broken = Function::new_no_args("throw new Error('no model answers')");
    Reflect::set(&at(&host, "provider"), &"startTurn".into(), &broken).expect("a property");
    scheduler.propose(message("m1").into()).expect("a fact");
    scheduler.run_until_rest().expect("a rest");
    let entries = at(&host, "lines.lines").unchecked_into::<Array>();
    let kept = |words: &str| entries.iter().any(|line| text(&line).contains(words));
    assert!(
        kept("no model answers") && kept("\"kind\":\"aborted\""),
        "the failure is in the ledger"
    );
}

#[wasm_bindgen_test]
fn a_clock_that_fails_is_seen_before_anything_changes() {
    let host = host();
    let scheduler = drive(&host);
    let before = lines(&host);
    Reflect::set(&host, &"at".into(), &1.5.into()).expect("a property");
    let error = scheduler.propose(message("m1").into()).expect_err("a number is not a bigint");
    assert!(text(&at(&error, "message")).contains("bigint"));
    assert_eq!(lines(&host), before);
}

#[wasm_bindgen_test]
fn what_cannot_be_read_says_what_it_is() {
    let error = Player::new("{\"story\":1}").err().expect("no story");
    assert_eq!(text(&at(&error, "code")), "malformed");
    assert_eq!(text(&at(&error, "place.path")), "story");
    let error = Machine::new(JsValue::NULL).err().expect("no options");
    assert!(text(&at(&error, "message")).starts_with("malformed options"));
    let error = drive(&host()).step("noon".into()).expect_err("no boundary");
    assert!(text(&at(&error, "message")).starts_with("malformed boundary"));
}
