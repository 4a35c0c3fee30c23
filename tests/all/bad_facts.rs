//! Malformed facts: each gives a typed error with its place and changes nothing (contract 2.3).
//! Noise never panics.

use serde_json::{Map, Value, json};
use wakeful_core::{
    fact::Fact,
    json::JsonError,
    machine::{Machine, Options, ProposeError},
    record::chain::Head,
    time::Timestamp,
};

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// One fact of every name with its required fields only, and the names of these fields.
fn examples() -> Vec<(Value, &'static [&'static str])> {
    let run = |name: &str| json!({"fact": name, "run_id": "r", "round": 1});
    let task = |name: &str| json!({"fact": name, "task_id": "t"});
    let of_message = |name: &str| json!({"fact": name, "message_id": "m"});
    let wait = |name: &str| json!({"fact": name, "wait_condition_id": "c"});
    let item = |name: &str| json!({"fact": name, "work_item_id": "w"});
    vec![
        (json!({"fact": "message_queued", "message": message()}), &["message"]),
        (of_message("message_dequeued"), &["message_id"]),
        (of_message("message_processed"), &["message_id"]),
        (of_message("message_aborted"), &["message_id"]),
        (of_message("message_dropped"), &["message_id"]),
        (of_message("message_interjected"), &["message_id"]),
        (
            json!({"fact": "turn_started", "run_id": "r", "message_id": "m"}),
            &["run_id", "message_id"],
        ),
        (run("provider_round_completed"), &["run_id", "round"]),
        (
            json!({"fact": "assistant_round_recorded", "run_id": "r", "data": {}}),
            &["run_id", "data"],
        ),
        (run("tool_round_completed"), &["run_id", "round"]),
        (json!({"fact": "turn_terminal", "run_id": "r", "kind": "completed"}), &["run_id", "kind"]),
        (
            json!({"fact": "turn_aborted", "run_id": "r", "reason": "operator_aborted"}),
            &["run_id", "reason"],
        ),
        (json!({"fact": "turn_baseline_over_budget", "run_id": "r"}), &["run_id"]),
        (json!({"fact": "content_refused", "run_id": "r"}), &["run_id"]),
        (task("task_created"), &["task_id"]),
        (task("task_running"), &["task_id"]),
        (task("task_cancelling"), &["task_id"]),
        (task("task_completed"), &["task_id"]),
        (task("task_failed"), &["task_id"]),
        (task("task_cancelled"), &["task_id"]),
        (task("task_interrupted"), &["task_id"]),
        (task("task_result_queued"), &["task_id"]),
        (task("task_result_delivered"), &["task_id"]),
        (
            json!({"fact": "work_item_created", "work_item_id": "w", "objective": "o"}),
            &["work_item_id", "objective"],
        ),
        (item("work_item_picked"), &["work_item_id"]),
        (item("work_item_updated"), &["work_item_id"]),
        (
            json!({"fact": "work_item_blocked", "work_item_id": "w", "blocked_by": "b"}),
            &["work_item_id", "blocked_by"],
        ),
        (item("work_item_unblocked"), &["work_item_id"]),
        (item("work_item_completed"), &["work_item_id"]),
        (
            json!({"fact": "work_item_delegated", "delegation_id": "d", "work_item_id": "w", "child_agent_id": "child"}),
            &["delegation_id", "work_item_id", "child_agent_id"],
        ),
        (
            json!({"fact": "work_item_delegation_completed", "delegation_id": "d"}),
            &["delegation_id"],
        ),
        (
            json!({"fact": "waiting_intent_created", "waiting_intent_id": "i", "scope": "agent", "description": "d", "source": "s",
                   "delivery_mode": "wake_hint", "external_trigger_id": "e"}),
            &["waiting_intent_id", "scope", "description", "source", "delivery_mode"],
        ),
        (
            json!({"fact": "waiting_intent_triggered", "waiting_intent_id": "i"}),
            &["waiting_intent_id"],
        ),
        (
            json!({"fact": "waiting_intent_cancelled", "waiting_intent_id": "i"}),
            &["waiting_intent_id"],
        ),
        (
            json!({"fact": "wait_condition_registered", "wait_condition_id": "c", "kind": "operator", "waiting_for": "an answer"}),
            &["wait_condition_id", "kind", "waiting_for"],
        ),
        (wait("wait_condition_resolved"), &["wait_condition_id"]),
        (wait("wait_condition_cancelled"), &["wait_condition_id"]),
        (wait("wait_condition_expired"), &["wait_condition_id"]),
        (
            json!({"fact": "timer_created", "timer_id": "t", "duration_ms": 1}),
            &["timer_id", "duration_ms"],
        ),
        (json!({"fact": "timer_fired", "timer_id": "t"}), &["timer_id"]),
        (json!({"fact": "timer_completed", "timer_id": "t"}), &["timer_id"]),
        (json!({"fact": "timer_cancelled", "timer_id": "t"}), &["timer_id"]),
        (
            json!({"fact": "external_trigger_created", "external_trigger_id": "e", "token_hash": HASH, "description": "d",
                   "delivery_mode": "wake_hint", "trust": "untrusted_external"}),
            &["external_trigger_id", "token_hash", "description", "delivery_mode", "trust"],
        ),
        (
            json!({"fact": "external_trigger_rotated", "external_trigger_id": "e", "token_hash": HASH}),
            &["external_trigger_id", "token_hash"],
        ),
        (
            json!({"fact": "external_trigger_revoked", "external_trigger_id": "e"}),
            &["external_trigger_id"],
        ),
        (
            json!({"fact": "external_trigger_delivered", "external_trigger_id": "e", "token_hash": HASH, "delivery_id": "d"}),
            &["external_trigger_id", "token_hash", "delivery_id"],
        ),
        (json!({"fact": "budget_set"}), &[]),
        (json!({"fact": "budget_granted", "grant_id": "g"}), &["grant_id"]),
        (json!({"fact": "wake_hint_submitted", "reason": "r"}), &["reason"]),
        (json!({"fact": "wake_hint_coalesced", "reason": "r"}), &["reason"]),
        (json!({"fact": "wake_hint_ignored", "reason": "r"}), &["reason"]),
        (json!({"fact": "start_requested"}), &[]),
        (json!({"fact": "stop_requested"}), &[]),
        (json!({"fact": "shutdown_requested"}), &[]),
        (json!({"fact": "clock_corrected"}), &[]),
        (json!({"fact": "runtime_restarted"}), &[]),
        (json!({"fact": "policy_set"}), &[]),
        (
            json!({"fact": "agent_described", "kind": "named", "visibility": "public", "ownership": "self_owned"}),
            &["kind", "visibility", "ownership"],
        ),
        (json!({"fact": "transcript_appended", "data": {}}), &["data"]),
        (
            json!({"fact": "tool_execution_recorded", "run_id": "r", "tool_execution_id": "x", "tool_name": "T", "status": "success",
                   "input": {}, "output": {}, "summary": "s"}),
            &["run_id", "tool_execution_id", "tool_name", "status", "input", "output", "summary"],
        ),
        (
            json!({"fact": "brief_recorded", "brief_id": "b", "kind": "result", "text": "t"}),
            &["brief_id", "kind", "text"],
        ),
        (json!({"fact": "runtime_error", "error": "e"}), &["error"]),
        (json!({"fact": "owner_breach_reported", "reason": "r"}), &["reason"]),
        (
            json!({"fact": "context_compacted", "compacted_message_count": 3}),
            &["compacted_message_count"],
        ),
        (
            json!({"fact": "checkpoint_recorded", "anchor_generation": 1, "data": {}}),
            &["anchor_generation", "data"],
        ),
    ]
}

const HASH: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn message() -> Value {
    json!({"id": "m", "kind": "operator_prompt", "origin": {"kind": "operator"}, "trust": "trusted_operator",
           "body": {"type": "text", "text": "hello"}})
}

/// A machine with its first entry committed.
fn begun() -> Machine {
    let mut machine = Machine::new(Options::new("default".into()));
    machine.begin(NOW).expect("a fresh ledger");
    machine.committed();
    machine
}

/// Proposes a text that must be malformed, and checks that nothing changes.
fn refused(machine: &mut Machine, text: &str) -> JsonError {
    let before = machine.state().clone();
    let why = match machine.propose_json(text, NOW) {
        Err(ProposeError::Malformed(why)) => why,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(machine.state(), &before, "{text}");
    assert_ne!(machine.head(), Head::START);
    assert!(why.line == 1 && why.column >= 1, "{text}: {why:?}");
    why
}

#[test]
fn there_is_an_example_of_every_fact_and_it_is_one() {
    let names: Vec<_> = examples()
        .iter()
        .map(|(fact, _)| fact["fact"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(names, Fact::NAMES);
    for (fact, _) in examples() {
        let decoded = Fact::decode(&fact.to_string()).unwrap_or_else(|why| panic!("{fact}: {why}"));
        assert_eq!(decoded.name(), fact["fact"]);
    }
}

#[test]
fn every_missing_field_is_named() {
    let mut machine = begun();
    let mut cases = 0;
    for (fact, required) in examples() {
        for field in required {
            let mut without: Map<String, Value> = fact.as_object().expect("an object").clone();
            without.remove(*field);
            let why = refused(&mut machine, &Value::Object(without).to_string());
            assert_eq!(why.message, format!("missing field `{field}`"), "{fact}");
            cases += 1;
        }
    }
    assert!(cases >= 40, "{cases}");
}

#[test]
fn every_field_of_a_wrong_type_is_named_by_its_path() {
    let mut machine = begun();
    let mut cases = 0;
    for (fact, required) in examples() {
        for field in required.iter().filter(|field| !matches!(**field, "data" | "input" | "output"))
        {
            for wrong in [json!([1, 2]), json!({"x": {}}), json!(true), Value::Null] {
                let mut changed = fact.clone();
                changed[*field] = wrong;
                let why = refused(&mut machine, &changed.to_string());
                assert!(
                    why.path == *field
                        || why.path.starts_with(&format!("{field}."))
                        || why.path.starts_with(&format!("{field}[")),
                    "{changed}: {why:?}"
                );
                cases += 1;
            }
        }
    }
    assert!(cases >= 120, "{cases}");
}

#[test]
fn what_is_wrong_inside_a_message_has_its_path() {
    let mut machine = begun();
    let table: [(&str, Value, &str, &str); 12] = [
        ("/kind", json!("pigeon"), "message.kind", "unknown variant `pigeon`"),
        ("/trust", json!("trusted"), "message.trust", "unknown variant `trusted`"),
        ("/priority", json!("asap"), "message.priority", "unknown variant `asap`"),
        ("/origin", json!({"kind": "pigeon"}), "message.origin.kind", "unknown variant `pigeon`"),
        (
            "/origin",
            json!({"kind": "timer"}),
            "message.origin",
            "missing field `timer_id` of `timer`",
        ),
        (
            "/origin",
            json!({"kind": "callback"}),
            "message.origin",
            "missing field `descriptor_id` of `callback`",
        ),
        (
            "/origin",
            json!({"kind": "timer", "timer_id": 5}),
            "message.origin.timer_id",
            "expected a string",
        ),
        ("/body", json!({"type": "text"}), "message.body", "missing field `text` of `text`"),
        ("/body", json!({"type": "song"}), "message.body.type", "unknown variant `song`"),
        ("/body", json!({"type": "text", "text": 7}), "message.body.text", "expected a string"),
        ("/id", json!("x".repeat(257)), "message.id", "id is 257 bytes long, the limit is 256"),
        (
            "/delivery_surface",
            json!("window"),
            "message.delivery_surface",
            "unknown variant `window`",
        ),
    ];
    for (pointer, wrong, path, message) in table {
        let mut fact = json!({"fact": "message_queued", "message": message_with(pointer)});
        *fact.pointer_mut(&format!("/message{pointer}")).expect("the field") = wrong;
        let why = refused(&mut machine, &fact.to_string());
        assert_eq!(why.path, path, "{fact}");
        assert!(why.message.contains(message), "{fact}: {}", why.message);
    }
}

/// The first and last characters of C0 and C1, what a terminal obeys, and DEL.
const CONTROL: [char; 9] =
    ['\0', '\t', '\n', '\r', '\u{1b}', '\u{1f}', '\u{7f}', '\u{80}', '\u{9f}'];

#[test]
fn an_id_with_a_control_character_is_named_by_its_path() {
    let mut machine = begun();
    let mut cases = 0;
    // Every id at any depth, so that a new field cannot be forgotten here.
    for (fact, _) in examples() {
        for pointer in ids("", &fact) {
            for control in CONTROL {
                let mut changed = fact.clone();
                *changed.pointer_mut(&pointer).expect("the id") = json!(format!("a{control}b"));
                let why = refused(&mut machine, &changed.to_string());
                assert_eq!(why.path, pointer[1..].replace('/', "."), "{changed}");
                let code = u32::from(control);
                assert_eq!(why.message, format!("id contains the control character U+{code:04X}"));
                cases += 1;
            }
        }
    }
    assert!(cases >= 40 * CONTROL.len(), "{cases}");
}

/// The pointers to all texts in a fact that are ids.
fn ids(pointer: &str, value: &Value) -> Vec<String> {
    let Value::Object(members) = value else { return Vec::new() };
    let mut found = Vec::new();
    for (name, member) in members {
        let at = format!("{pointer}/{name}");
        if member.is_string() && (name == "id" || name.ends_with("_id")) {
            // The core only carries these two. Nothing is found by them.
            if !["tool_execution_id", "brief_id"].contains(&name.as_str()) {
                found.push(at);
            }
        } else {
            found.extend(ids(&at, member));
        }
    }
    found
}

#[test]
fn an_id_that_is_not_read_from_json_has_no_control_character_either() {
    let mut machine = begun();
    let before = machine.state().clone();
    for control in CONTROL {
        let id = format!("a{control}b");
        let fact = json!({"fact": "work_item_created", "work_item_id": id, "objective": "o"});
        // Reading what was stored accepts such ids.
        let fact = Fact::decode(&fact.to_string()).expect("an old fact");
        let why = machine.propose(fact, NOW).expect_err("a new id");
        assert!(matches!(why, ProposeError::WrongId(_)), "{why}");
        assert_eq!(machine.state(), &before);
    }
    // Letters of all scripts and marks that join them are not control characters.
    for id in ["ä", "日本", "\u{200d}", "a b"] {
        let fact = json!({"fact": "timer_created", "timer_id": id, "duration_ms": 1});
        assert!(machine.propose_json(&fact.to_string(), NOW).is_ok(), "{id}");
        machine.committed();
    }
}

fn message_with(pointer: &str) -> Value {
    let mut with = message();
    with.as_object_mut()
        .expect("an object")
        .entry(pointer.trim_start_matches('/'))
        .or_insert(Value::Null);
    with
}

#[test]
fn texts_that_are_no_facts_say_where_they_go_wrong() {
    let mut machine = begun();
    let table = [
        ("", "EOF while parsing a value"),
        ("{", "EOF while parsing an object"),
        ("[]", "invalid type: sequence, expected an object"),
        ("null", "invalid type: null"),
        ("{}", "missing field `fact`"),
        (r#"{"fact":1}"#, "invalid type: integer `1`"),
        (r#"{"fact":"start_requested"} {}"#, "trailing characters"),
        (r#"{"fact":"start_requested","fact":"stop_requested"}"#, "duplicate field `fact`"),
        (r#"{"fact":"work_item_picked","work_item_id":"\ud800"}"#, "unexpected end of hex escape"),
        ("{\"fact\":\"work_item_picked\",\"work_item_id\":\"a\u{0}\"}", "control character"),
    ];
    for (text, message) in table {
        let why = {
            let before = machine.state().clone();
            let why = machine.propose_json(text, NOW).expect_err(text);
            assert_eq!(machine.state(), &before);
            why.to_string()
        };
        assert!(why.contains(message), "{text}: {why}");
    }
}

#[test]
fn a_field_that_is_not_known_is_refused_with_the_nearest_name() {
    let mut machine = begun();
    let table = [
        (
            r#"{"fact":"timer_created","timer_id":"t","duration_ms":1,"intervall_ms":5}"#,
            "unknown field `intervall_ms`, did you mean `interval_ms`? at `intervall_ms`, line 1 \
             column 56",
        ),
        // The misspelt name is the cause, and what is missing follows from it.
        (
            r#"{"fact":"timer_created","timer":"t","duration_ms":1}"#,
            "unknown field `timer`, did you mean `timer_id`?",
        ),
        (
            r#"{"fact":"message_queued","message":{"id":"m","kind":"operator_prompt","origin":{"kind":"operator","actor":"me"},"trust":"trusted_operator","body":{"type":"text","text":"x"}}}"#,
            "unknown field `actor`, did you mean `actor_id`? at `message.origin.actor`",
        ),
        (
            r#"{"fact":"message_queued","message":{"id":"m","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"x"},"lane":"next"}}"#,
            "unknown field `lane`, expected one of `id`, ",
        ),
        (r#"{"fact":"stop_requested","why":1}"#, "unknown field `why`, there are no fields"),
        (
            r#"{"fact":"stop_request"}"#,
            "unknown variant `stop_request`, did you mean `stop_requested`?",
        ),
        (r#"{"fact":"work_item_picked","work_item_id":""}"#, "id is empty at `work_item_id`"),
    ];
    for (text, message) in table {
        let why = machine.propose_json(text, NOW).expect_err(text).to_string();
        assert!(why.contains(message), "{text}: {why}");
    }
    for (mut fact, _) in examples() {
        fact["of_tomorrow"] = 1.into();
        let why = machine.propose_json(&fact.to_string(), NOW).expect_err("it is not known");
        assert!(why.to_string().contains("unknown field `of_tomorrow`, "), "{fact}: {why}");
    }
    // Free JSON has any fields, and a field of a neighbour in the same object is known.
    let free = r#"{"fact":"message_queued","message":{"id":"m","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"json","value":{"any":1}},"metadata":{"of":"mine"}}}"#;
    assert!(machine.propose_json(free, NOW).is_ok());
}

#[test]
fn a_host_that_passes_on_newer_facts_says_so() {
    let newer = r#"{"fact":"timer_created","timer_id":"t","duration_ms":1,"of_tomorrow":5}"#;
    let options = Options { strict: false, ..Options::new("default".into()) };
    let mut lenient = Machine::new(options);
    lenient.begin(NOW).expect("it begins");
    lenient.committed();
    assert!(lenient.propose_json(newer, NOW).is_ok());
    assert!(begun().propose_json(newer, NOW).is_err());
}

#[test]
fn an_option_that_is_not_known_is_refused() {
    let why = |text| Options::from_json(text).expect_err(text).to_string();
    assert!(Options::from_json(r#"{"agent_id":"a","strict":false}"#).is_ok());
    assert!(
        why(r#"{"agent_id":"a","polcy":{}}"#)
            .contains("unknown field `polcy`, did you mean `policy`?")
    );
    let nested = why(r#"{"agent_id":"a","strict":false,"policy":{"replay_bugdet":1}}"#);
    assert!(nested.contains("did you mean `replay_budget`? at `policy.replay_bugdet`"), "{nested}");
}

#[test]
fn a_ledger_begins_for_an_agent_with_an_id() {
    let why = Machine::new(Options::new("".into())).begin(NOW).expect_err("it has none");
    assert_eq!(why.to_string(), "agent_id: id is empty: choose another one");
}

/// A generator with a fixed seed: the same noise on every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("small")
    }

    fn json(&mut self, depth: usize) -> Value {
        const WORDS: [&str; 12] = [
            "fact",
            "message",
            "kind",
            "id",
            "work_item_id",
            "run_id",
            "timer_id",
            "duration_ms",
            "completed",
            "operator",
            "\u{1f980}",
            "",
        ];
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => Value::Bool(self.next().is_multiple_of(2)),
            2 => json!(self.next()),
            3 => json!(WORDS[self.below(WORDS.len())]),
            4 => json!(Fact::NAMES[self.below(Fact::NAMES.len())]),
            5 => (0..self.below(5)).map(|_| self.json(depth - 1)).collect(),
            _ => Value::Object(
                (0..self.below(6))
                    .map(|_| (WORDS[self.below(WORDS.len())].to_owned(), self.json(depth - 1)))
                    .collect(),
            ),
        }
    }
}

/// Proposes ten million bytes of noise, and checks that the machine still works.
fn survives(noise: impl Fn(&mut Noise) -> String) {
    let mut machine = begun();
    let mut generator = Noise(0x9E37_79B9_7F4A_7C15);
    let mut bytes = 0;
    while bytes < 10_000_000 {
        let text = noise(&mut generator);
        bytes += text.len().max(1);
        if machine.propose_json(&text, NOW).is_ok() {
            machine.committed();
        }
    }
    let prompt = json!({"fact": "message_queued", "message": message()}).to_string();
    assert!(machine.propose_json(&prompt, NOW).is_ok(), "the machine still accepts a fact");
}

#[test]
fn ten_million_random_bytes_never_panic() {
    survives(|noise| {
        let length = noise.below(400);
        let bytes: Vec<u8> = (0..length).map(|_| noise.next().to_le_bytes()[0]).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    });
}

#[test]
fn ten_million_bytes_of_random_json_never_panic() {
    survives(|noise| {
        let mut value = noise.json(4);
        if let Value::Object(object) = &mut value {
            // A real name lets the noise reach the second step of decoding.
            object.insert("fact".to_owned(), json!(Fact::NAMES[noise.below(Fact::NAMES.len())]));
        }
        value.to_string()
    });
}
