//! Streams of entries: whole, verifiable, and resumable after any of them.

use std::io::Read;

use serde_json::json;
use wakeful_core::{
    host::Ledger,
    machine::{Machine, Options},
    record::{chain::Head, entry::EntryBytes},
};
use wakeful_serve::Scope;

use crate::place::{events, place, told};

#[test]
fn the_stream_has_the_stored_bytes_and_goes_on_after_any_entry() {
    let place = place();
    for number in 0..20 {
        assert_eq!(place.say("ada", &format!("message {number}")).0, 200);
    }
    let all = events(place.get("/v1/agents/ada/entries?until=head", &place.operator));
    // A client that was never told anything else can prove that nothing is missing.
    let mut head = Head::START;
    for (number, line) in &all {
        let entry = EntryBytes::from_stored(line.clone()).open(&head).expect("the next entry");
        head = entry.head();
        assert_eq!(head.seq.0, *number);
    }
    assert_eq!(head, place.file().ledger(&"ada".into()).head().expect("a head"));
    for after in [0, 1, 7, all.len() - 1, all.len()] {
        let asked = place.client.get(place.url("/v1/agents/ada/entries?until=head"));
        let asked = asked.header("authorization", format!("Bearer {}", place.operator));
        let rest = events(asked.header("last-event-id", after.to_string()).call().expect("it"));
        assert_eq!(rest, all[after..]);
        let path = format!("/v1/agents/ada/entries?until=head&after={after}");
        assert_eq!(events(place.get(&path, &place.operator)), all[after..]);
    }
    for wrong in ["", "-1", "x", "1.5"] {
        let asked = place.client.get(place.url("/v1/agents/ada/entries?until=head"));
        let asked = asked.header("authorization", format!("Bearer {}", place.operator));
        let answer = asked.header("last-event-id", wrong).call().expect("an answer");
        assert_eq!(answer.status(), 400, "`{wrong}`");
    }
}

#[test]
fn a_snapshot_and_the_entries_after_it_are_the_state() {
    let place = place();
    let snapshot =
        |token: &str, agent: &str| place.get(&format!("/v1/agents/{agent}/snapshot"), token);
    let mut ada = place.driver("ada");
    let hint = |number: u32| {
        json!({ "fact": "wake_hint_submitted", "reason": format!("hint {number}") }).to_string()
    };
    ada.propose(&hint(0)).expect("it is recorded");
    assert_eq!(told(snapshot(&place.operator, "ada")), (204, serde_json::Value::Null));
    for number in 1..=300 {
        ada.propose(&hint(number)).expect("it is recorded");
    }
    let mut answer = snapshot(&place.operator, "ada");
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (200, &"application/json".parse().expect("a header"))
    );
    let text = answer.body_mut().read_to_string().expect("text");
    let stored = place.file().ledger(&"ada".into()).load_snapshot().expect("it reads");
    assert_eq!(Some(&text), stored.as_ref());
    let mut machine = Machine::resume(Options::new("ada".into()), &text).expect("a snapshot");
    let path = format!("/v1/agents/ada/entries?until=head&after={}", machine.head().seq);
    let rest = events(place.get(&path, &place.operator));
    assert!(rest.len() < 100, "{} entries are left", rest.len());
    for (_, line) in rest {
        machine.load(&EntryBytes::from_stored(line)).expect("the next entry");
    }
    assert_eq!(machine.head(), ada.state().head());
    let visitor = place.token("visitor", &[Scope::Prompt], None);
    assert_eq!(told(snapshot(&visitor, "ada")).1["code"], "forbidden");
    assert_eq!(told(snapshot(&place.operator, "eve")).1["code"], "no_such_agent");
}

#[test]
fn the_list_says_who_drives_an_agent() {
    let place = place();
    let driven = || place.ask("/v1/agents").1["driven"].clone();
    assert_eq!(driven(), json!([]));
    let file = place.file();
    let owned = file.own(&"bob".into()).expect("it is free");
    let told = driven();
    assert_eq!(
        (&told[0]["agent_id"], &told[0]["pid"]),
        (&json!("bob"), &json!(std::process::id()))
    );
    assert_eq!(place.ask("/v1/agents?limit=1").1["driven"], json!([]), "only those of the page");
    owned.release().expect("it writes");
    assert_eq!(driven(), json!([]));
}

#[test]
fn an_open_stream_tells_what_is_new_and_ends_when_the_server_stops() {
    let mut place = place();
    let mut other = place.driver("ada");
    let mut stream = place.get("/v1/agents/ada/entries?after=2", &place.operator);
    let mut reader = stream.body_mut().as_reader();
    let mut text = String::new();
    let mut buffer = [0; 4096];
    let mut read_until = |what: &str| {
        while !text.contains(what) {
            let count = reader.read(&mut buffer).expect("it reads");
            assert!(count > 0, "the stream ended: {text}");
            text.push_str(std::str::from_utf8(&buffer[..count]).expect("text"));
        }
    };
    assert_eq!(place.say("ada", "news").0, 200);
    read_until("\"text\":\"news\"");
    let hint = json!({ "fact": "wake_hint_submitted", "reason": "from another process" });
    other.catch_up().expect("it reads");
    other.propose(&hint.to_string()).expect("it is recorded");
    read_until("from another process");
    place.stop();
    let mut rest = Vec::new();
    stream.body_mut().as_reader().read_to_end(&mut rest).expect("it ends");
}
