//! What the server measures, read by Prometheus' own tool.

use std::{
    collections::BTreeMap,
    io::{ErrorKind, Write},
    process::{Command, Stdio},
    time::Instant,
};

use serde_json::json;
use wakeful_core::{
    host::Ledger,
    record::{chain::Chain, entry::EntryBytes},
};
use wakeful_serve::Scope;

use crate::place::{Place, place, until};

/// The text of the metrics.
fn text(place: &Place) -> String {
    let mut answer = place.get("/metrics", &place.operator);
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4");
    answer.body_mut().read_to_string().expect("text")
}

/// The values by name and labels.
fn values(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let value = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    };
    lines.map(value).collect()
}

fn value(place: &Place, name: &str) -> f64 {
    values(&text(place)).get(name).copied().unwrap_or(f64::NAN)
}

#[test]
fn what_happens_is_counted_and_what_is_there_is_measured() {
    let place = place();
    // Another program runs these, and has made its first entries before the server began.
    assert!(!text(&place).contains("wakeful_turns_total{"));
    place.make("eva");
    let said = place.report(
        "eva",
        &json!({ "fact": "wait_condition_registered" , "wait_condition_id": "c",
        "kind": "external", "waiting_for": "a reply",
        "wake_sources": [{ "kind": "external_ingress" }], "expires_in_ms": 86_400_000 }),
    );
    assert_eq!(said["answer"], "accepted", "{said}");
    until("the wait is measured", || value(&place, "wakeful_oldest_wait_seconds") > 0.0);
    place.say("eva", "look at the build");
    place.say("eva", "and at the tests");
    until("the turn is open", || value(&place, "wakeful_agents{posture=\"active_turn\"}") == 1.0);
    assert_eq!(value(&place, "wakeful_queue_messages{lane=\"normal\"}"), 1.0);
    let turn = place.ask("/v1/agents/eva/turn").1;
    let run = &turn["run_id"];
    for round in 1..=2 {
        place.report(
            "eva",
            &json!({ "fact": "provider_round_completed", "run_id": run,
            "round": round, "input_tokens": 1_000, "output_tokens": 10 }),
        );
    }
    place.report(
        "eva",
        &json!({ "fact": "turn_terminal", "run_id": run, "kind": "completed",
        "last_assistant_message": "It is green." }),
    );
    let body = r#"{"external_trigger_id":"build"}"#;
    let made = place.post("/v1/agents/eva/triggers", &place.operator, body).1;
    let path = made["path"].as_str().expect("a path");
    assert_eq!(place.post(path, "", "green").0, 202);
    assert_eq!(place.post("/in/wkt_0", "", "green").0, 404);
    let decision = "wakeful_decisions_total{kind=\"StartModelTurn\"";
    until("what was recorded is counted", || {
        let values = values(&text(&place));
        values.iter().filter(|(name, _)| name.starts_with(decision)).map(|(_, n)| n).sum::<f64>()
            == 2.0
            && values.get("wakeful_turns_total{terminal=\"completed\"}") == Some(&1.0)
    });
    let found = values(&text(&place));
    for (name, expected) in [
        ("wakeful_tokens_total{direction=\"input\",model=\"unknown\"}", 2_000.0),
        ("wakeful_tokens_total{direction=\"output\",model=\"unknown\"}", 20.0),
        ("wakeful_ingress_total{outcome=\"accepted\"}", 1.0),
        ("wakeful_ingress_total{outcome=\"unknown_token\"}", 1.0),
        ("wakeful_agents{posture=\"active_turn\"}", 1.0),
        ("wakeful_agents_living", 0.0),
        ("wakeful_parked", 0.0),
        ("wakeful_streams", 0.0),
        ("wakeful_requests_total{route=\"/v1/agents/{agent}/messages\",status=\"200\"}", 2.0),
        ("wakeful_requests_total{route=\"/in/{token}\",status=\"404\"}", 1.0),
        ("wakeful_requests_total{route=\"/v1/agents/{agent}\",status=\"201\"}", 1.0),
    ] {
        assert_eq!(found.get(name), Some(&expected), "{name}: {found:#?}");
    }
    assert!(found["wakeful_append_seconds_count"] >= 7.0);
    assert!(!text(&place).contains("eva"), "no agent has a label");
    promtool(&text(&place));
}

/// Asks Prometheus' own tool. If it is not installed, the values above are checked all the same.
fn promtool(text: &str) {
    let tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut tool = match tool {
        Ok(tool) => tool,
        Err(why) if why.kind() == ErrorKind::NotFound => {
            eprintln!("NOT CHECKED: `promtool` is not installed (Debian: prometheus)");
            return;
        }
        Err(why) => panic!("promtool: {why}"),
    };
    tool.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let told = tool.wait_with_output().expect("it ends");
    let said = [told.stdout, told.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(told.status.success() && said.is_empty(), "{said}\n{text}");
}

#[test]
fn metrics_need_a_token_that_may_read_all_agents() {
    let place = place();
    let read = |token: &str| place.get("/metrics", token).status().as_u16();
    assert_eq!(place.client.get(place.url("/metrics")).call().expect("an answer").status(), 401);
    assert_eq!(read(&place.token("reader", &[Scope::Read], None)), 200);
    assert_eq!(read(&place.token("visitor", &[Scope::Read], Some("ada"))), 403);
    assert_eq!(read(&place.token("door", &[Scope::Ingress], None)), 403);
}

#[test]
fn a_path_that_there_is_not_is_counted_without_its_name() {
    let place = place();
    assert_eq!(place.ask("/v1/secret-of-a-client").0, 404);
    let found = text(&place);
    assert!(found.contains("wakeful_requests_total{route=\"none\",status=\"404\"} 1"), "{found}");
    assert!(!found.contains("secret-of-a-client"));
}

#[test]
fn open_streams_are_measured_until_they_end() {
    let place = place();
    let stream = place.get("/v1/agents/ada/entries", &place.operator);
    assert_eq!(value(&place, "wakeful_streams"), 1.0);
    drop(stream);
    place.say("ada", "the server sees that nobody reads");
    until("the stream is gone", || value(&place, "wakeful_streams") == 0.0);
}

#[test]
fn the_metrics_of_many_agents_cost_far_less_than_to_ask_for_each() {
    let mut place = place();
    place.stop();
    let file = place.file();
    for number in 0..300 {
        let ledger = file.ledger(&format!("agent-{number}").as_str().into());
        wakeful_core::host::Scheduler::observe(
            wakeful_core::Options::new(format!("agent-{number}").as_str().into()),
            ledger,
            wakeful_host::clock::SystemClock,
            wakeful_host::provider::Elsewhere,
        )
        .expect("an agent");
    }
    drop(file);
    place.start(crate::place::With::default());
    let found = values(&text(&place));
    let agents = found.iter().filter(|(name, _)| name.starts_with("wakeful_agents{"));
    assert_eq!(agents.map(|(_, count)| count).sum::<f64>(), 302.0);
    let began = Instant::now();
    for number in 0..300 {
        assert_eq!(place.ask(&format!("/v1/agents/agent-{number}")).0, 200);
    }
    let each = began.elapsed();
    let began = Instant::now();
    (0..10).for_each(|_| drop(text(&place)));
    assert!(began.elapsed() < each, "ten scrapes took {:?}, and they {each:?}", began.elapsed());
}

#[test]
fn a_broken_ledger_stops_the_counting_of_its_agent_only() {
    let place = place();
    place.make("eva");
    // No process appends to this one.
    let mut ledger = place.file().ledger(&"ada".into());
    let head = ledger.head().expect("a head");
    let record = r#"{"control":"wake_hint_cleared"}"#;
    let line = format!(
        r#"{{"seq":{},"at":"2030-01-01T00:00:00Z","class":"control","record":{record}}}"#,
        head.seq.0 + 1
    );
    // Its chain does not follow from the entry before it.
    let entry = EntryBytes::join(line, &Chain::from_bytes([7; 32]));
    ledger.append(&head, &[entry]).expect("the store does not check it");
    until("the agent cannot be read", || place.ask("/v1/agents/ada").0 == 500);
    place.say("eva", "look at the build");
    let turn = place.open_turn("eva");
    place.report(
        "eva",
        &json!({ "fact": "turn_terminal", "run_id": turn["run_id"],
        "kind": "completed", "last_assistant_message": "It is green." }),
    );
    until("the other agent is counted", || {
        value(&place, "wakeful_turns_total{terminal=\"completed\"}") == 1.0
    });
    let found = values(&text(&place));
    let agents = found.iter().filter(|(name, _)| name.starts_with("wakeful_agents{"));
    assert_eq!(agents.map(|(_, count)| count).sum::<f64>(), 2.0, "one has no posture: {found:#?}");
}
