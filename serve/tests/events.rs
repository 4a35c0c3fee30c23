//! The stream of all agents: whole, in order for each agent, and resumable after any event.

use std::{collections::BTreeMap, io::Read};

use serde_json::{Value, json};
use wakeful_core::{Options, host::Scheduler};
use wakeful_host::{clock::SystemClock, provider::Elsewhere};
use wakeful_serve::Scope;

use crate::place::{Place, With, place};

/// An event: its cursor, its agent, and the text of its entry.
#[derive(Clone, Debug, PartialEq)]
struct Event {
    id: String,
    agent: String,
    seq: u64,
    entry: String,
}

fn event(text: &str) -> Event {
    let field = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name));
        found.unwrap_or_else(|| panic!("no {name} in {text}")).trim().to_owned()
    };
    assert_eq!(field("event:"), "entry");
    let data = field("data:");
    let value: Value = serde_json::from_str(&data).expect("JSON");
    // The entry is the last field, with its bytes as they are stored.
    let (_, entry) = data.split_once(",\"entry\":").expect("an entry");
    Event {
        id: field("id:"),
        agent: value["agent_id"].as_str().expect("an agent").to_owned(),
        seq: value["seq"].as_u64().expect("a number"),
        entry: entry.strip_suffix('}').expect("the end").to_owned(),
    }
}

fn parsed(text: &str) -> Vec<Event> {
    text.split("\n\n").filter(|text| text.contains("data:")).map(event).collect()
}

/// What comes after a cursor until the newest entries.
fn rest(place: &Place, after: &str) -> Vec<Event> {
    let asked = place.client.get(place.url("/v1/events?until=head"));
    let asked = asked.header("authorization", format!("Bearer {}", place.operator));
    let mut answer = asked.header("last-event-id", after).call().expect("an answer");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    parsed(&answer.body_mut().read_to_string().expect("text"))
}

/// The entries by agent, after a check that each is there once and in order.
fn by_agent(events: &[Event]) -> BTreeMap<String, Vec<String>> {
    let mut agents = BTreeMap::<String, Vec<String>>::new();
    for event in events {
        let lines = agents.entry(event.agent.clone()).or_default();
        lines.push(event.entry.clone());
        assert_eq!(event.seq, lines.len() as u64, "{event:?}");
    }
    agents
}

/// Makes agents that nobody drives.
fn many(place: &Place, count: usize) {
    let file = place.file();
    for number in 0..count {
        let agent = format!("agent-{number}");
        let ledger = file.ledger(&agent.as_str().into());
        let options = Options::new(agent.as_str().into());
        Scheduler::observe(options, ledger, SystemClock, Elsewhere).expect("an agent");
    }
}

#[test]
fn the_stream_has_all_entries_and_goes_on_after_any_event() {
    let mut place = place();
    for number in 0..6 {
        for agent in ["ada", "bob"] {
            place.say(agent, &format!("message {number} for \u{e4} \\n"));
        }
    }
    let all = rest(&place, "");
    let whole = by_agent(&all);
    assert_eq!(whole.keys().collect::<Vec<_>>(), ["ada", "bob"]);
    for (agent, lines) in &whole {
        assert_eq!(*lines, place.lines(agent), "the stored bytes of {agent}");
    }
    let check = |place: &Place| {
        for (place_of, event) in all.iter().enumerate() {
            let rest = rest(place, &event.id);
            let joined: Vec<_> = all[..=place_of].iter().chain(&rest).cloned().collect();
            assert_eq!(by_agent(&joined), whole);
        }
        let path = format!("/v1/events?until=head&after={}", all[3].id);
        let text = place.get(&path, &place.operator).body_mut().read_to_string().expect("text");
        assert_eq!(parsed(&text), rest(place, &all[3].id));
    };
    check(&place);
    place.stop();
    place.start(With::default());
    check(&place);
}

#[test]
fn a_stream_from_now_tells_what_is_new_of_all_agents_until_the_server_stops() {
    let mut place = place();
    let mut other = place.driver("bob");
    let mut stream = place.get("/v1/events?from=now", &place.operator);
    let mut reader = stream.body_mut().as_reader();
    let mut text = String::new();
    let mut read_until = |what: &str| {
        let mut buffer = [0; 4096];
        while !(text.contains(what) && text.ends_with("\n\n")) {
            let count = reader.read(&mut buffer).expect("it reads");
            assert!(count > 0, "the stream ended: {text}");
            text.push_str(std::str::from_utf8(&buffer[..count]).expect("text"));
        }
        text.clone()
    };
    place.say("ada", "news of ada");
    read_until("news of ada");
    let hint = json!({ "fact": "wake_hint_submitted", "reason": "from another process" });
    other.catch_up().expect("it reads");
    other.propose(&hint.to_string()).expect("it is recorded");
    read_until("from another process");
    place.make("eva");
    place.say("eva", "news of a new agent");
    let seen = parsed(&read_until("news of a new agent"));
    let first: BTreeMap<_, _> = seen.iter().rev().map(|it| (it.agent.as_str(), it.seq)).collect();
    assert_eq!(first["eva"], 1, "a new agent from its first entry");
    assert!(first["ada"] > 1 && first["bob"] > 1, "the others after the newest: {first:?}");
    let last = seen.last().expect("an event").id.clone();
    // Nothing is lost between two connections, and nothing comes twice.
    drop(stream);
    place.say("bob", "while nobody listened");
    let mut rest = rest(&place, &last);
    rest.retain(|event| !seen.contains(event));
    assert!(rest.iter().any(|event| event.entry.contains("while nobody listened")));
    assert!(rest.iter().all(|event| !seen.iter().any(|it| it.entry == event.entry)));
    let mut stream = place.get("/v1/events?from=now", &place.operator);
    place.stop();
    let mut end = Vec::new();
    stream.body_mut().as_reader().read_to_end(&mut end).expect("it ends");
}

#[test]
fn a_cursor_over_many_agents_is_short_and_outlives_the_server() {
    let mut place = place();
    place.stop();
    many(&place, 400);
    place.start(With::default());
    let all = rest(&place, "");
    let whole = by_agent(&all);
    assert_eq!(whole.len(), 402);
    let longest = all.iter().map(|event| event.id.len()).max().expect("events");
    assert!(longest < 4_000, "a cursor of {longest} bytes fits into a header");
    place.stop();
    place.start(With::default());
    for place_of in [0, 1, all.len() / 3, all.len() / 2, all.len() - 2, all.len() - 1] {
        let rest = rest(&place, &all[place_of].id);
        let joined: Vec<_> = all[..=place_of].iter().chain(&rest).cloned().collect();
        assert_eq!(by_agent(&joined), whole, "after {place_of}");
    }
    // Streams that are near the newest entries share what is kept.
    let kept = |place: &Place| place.file().kept("cursor_base").expect("it reads").len();
    let before = kept(&place);
    let asked: Vec<_> = (0..8).map(|_| place.get("/v1/events?from=now", &place.operator)).collect();
    place.say("ada", "news");
    for mut stream in asked {
        let mut buffer = [0; 4096];
        let count = stream.body_mut().as_reader().read(&mut buffer).expect("it reads");
        assert!(count > 0);
    }
    assert!(kept(&place) <= before + 1, "before {before}, now {}", kept(&place));
    assert!(before > 0);
}

#[test]
fn a_cursor_that_cannot_be_used_is_refused() {
    let mut place = place();
    let last = rest(&place, "").last().expect("an event").id.clone();
    let ask = |place: &Place, query: &str| {
        let (status, problem) = place.ask(&format!("/v1/events?{query}"));
        (status, problem["code"].as_str().expect("a code").to_owned())
    };
    for (query, status) in [
        ("after=7", 422),
        ("after=0.x", 422),
        ("from=then", 400),
        ("until=noon", 400),
        ("to=head", 400),
    ] {
        assert_eq!(ask(&place, query), (status, "malformed".to_owned()), "{query}");
    }
    // A base that is not kept, an agent that is not there, and an entry that is not there.
    for cursor in ["0a1b.e30", "0.eyJldmEiOjF9", "0.eyJhZGEiOjk5OX0"] {
        let found = ask(&place, &format!("after={cursor}"));
        assert_eq!(found, (410, "no_such_cursor".to_owned()), "{cursor}");
    }
    let visitor = place.token("visitor", &[Scope::Read], Some("ada"));
    assert_eq!(place.get("/v1/events", &visitor).status(), 403);
    // The file was replaced by an earlier copy, or by another one.
    place.stop();
    for name in ["agents.sqlite", "agents.sqlite-wal", "agents.sqlite-shm"] {
        let _ = std::fs::remove_file(place.path().with_file_name(name));
    }
    place.operator =
        wakeful_serve::grant(&place.file().into(), "operator", Scope::ALL, None).expect("it");
    many(&place, 1);
    place.start(With::default());
    assert_eq!(ask(&place, &format!("after={last}")), (410, "no_such_cursor".to_owned()));
}
