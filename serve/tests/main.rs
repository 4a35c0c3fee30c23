//! The server over a real store, asked by a client that is not ours.

use std::{io::Read, net::TcpListener};

use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::{Agent, Body, http::Response};
use wakeful_core::{
    Options as AgentOptions,
    host::Scheduler,
    record::{chain::Head, entry::EntryBytes},
};
use wakeful_host::{
    clock::SystemClock,
    ledger::{SqliteFile, SqliteLedger},
    provider::Elsewhere,
    token::Token,
};
use wakeful_serve::{Access, Options, Running, Scope, start};

type Driver = Scheduler<SqliteLedger, SystemClock, Elsewhere>;

/// A server over a store with the agent `ada`, which this process drives, and with `bob`.
struct Place {
    _folder: TempDir,
    file: SqliteFile,
    ada: Driver,
    server: Running,
    /// Tokens: of the operator, of a reader, and of somebody who may speak to `bob` only.
    tokens: [String; 3],
    client: Agent,
}

const BODY_BYTES: usize = 100_000;

fn place() -> Place {
    let folder = TempDir::new().expect("a folder");
    let file = SqliteFile::open(&folder.path().join("agents.sqlite")).expect("a store");
    let drive = |name: &str| {
        let ledger = file.ledger(&name.into());
        Driver::drive(AgentOptions::new(name.into()), ledger, SystemClock, Elsewhere)
            .expect("it opens")
    };
    let (ada, _) = (drive("ada"), drive("bob"));
    let mut access = Access::default();
    let all = [Scope::Read, Scope::Prompt, Scope::Operate];
    let tokens = [
        access.grant("operator", all, None),
        access.grant("reader", [Scope::Read], None),
        access.grant("visitor", [Scope::Prompt], Some("bob".into())),
    ]
    .map(|token| token.expect("bytes"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let options = Options { file: file.clone(), access, body_bytes: BODY_BYTES };
    let server = start(listener, options).expect("it starts");
    let config = Agent::config_builder().http_status_as_error(false).build();
    Place { _folder: folder, file, ada, server, tokens, client: config.into() }
}

impl Place {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address())
    }

    fn get(&self, path: &str, token: &str) -> Response<Body> {
        let asked = self.client.get(self.url(path));
        asked.header("authorization", format!("Bearer {token}")).call().expect("an answer")
    }

    fn post(&self, path: &str, token: &str, body: &str, headers: &[(&str, &str)]) -> Told {
        let mut asked = self.client.post(self.url(path));
        if !token.is_empty() {
            asked = asked.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            asked = asked.header(*name, *value);
        }
        told(asked.send(body).expect("an answer"))
    }

    fn operator(&self) -> &str {
        &self.tokens[0]
    }
}

/// A status and what came as JSON.
type Told = (u16, Value);

fn told(mut response: Response<Body>) -> Told {
    let text = response.body_mut().read_to_string().expect("text");
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    let status = response.status().as_u16();
    let kind = response.headers()["content-type"].to_str().expect("text").to_owned();
    let expected = if status < 400 { "application/json" } else { "application/problem+json" };
    assert_eq!(kind, expected, "{value}");
    if status >= 400 {
        assert_eq!(value["status"], status);
        assert!(value["detail"].as_str().is_some_and(|detail| detail.len() > 20), "{value}");
    }
    (status, value)
}

/// The events of a stream that ends: their numbers and their data.
fn events(mut response: Response<Body>) -> Vec<(u64, String)> {
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.body_mut().read_to_string().expect("text");
    let event = |event: &str| {
        let field = |name: &str| {
            event.lines().find_map(|line| line.strip_prefix(name)).expect(name).trim().to_owned()
        };
        (field("id:").parse().expect("a number"), field("data:"))
    };
    text.split("\n\n").filter(|event| event.contains("id:")).map(event).collect()
}

#[test]
fn a_request_needs_a_token_with_the_scope_for_the_agent() {
    let place = place();
    let [operator, reader, visitor] = &place.tokens;
    let none = told(place.client.get(place.url("/v1/agents")).call().expect("an answer"));
    assert_eq!((none.0, &none.1["code"]), (401, &json!("unauthorized")));
    assert_eq!(told(place.get("/v1/agents", "wks_0")).0, 401);
    assert_eq!(told(place.get("/v1/agents", operator)).0, 200);
    assert_eq!(told(place.get("/v1/agents/ada", reader)).0, 200);
    let message = r#"{"text":"hello"}"#;
    let refused = place.post("/v1/agents/ada/messages", reader, message, &[]);
    assert_eq!(refused.0, 403);
    let detail = refused.1["detail"].as_str().expect("a sentence");
    assert!(detail.contains("the scope `prompt`; this one has: read"), "{detail}");
    assert_eq!(place.post("/v1/agents/ada/messages", visitor, message, &[]).0, 403);
    assert_eq!(place.post("/v1/agents/bob/messages", visitor, message, &[]).0, 200);
    assert_eq!(told(place.get("/healthz", "")).0, 200);
}

#[test]
fn what_is_not_there_is_said_and_not_made() {
    let place = place();
    let operator = place.operator();
    for (path, status, code) in [
        ("/v1/agents/eve", 404, "no_such_agent"),
        ("/v1/agents/eve/explain", 404, "no_such_agent"),
        ("/v1/agents/eve/entries", 404, "no_such_agent"),
        ("/v1/nothing", 404, "no_such_path"),
        ("/v1/agents/ada/messages", 405, "wrong_method"),
        ("/v1/agents/ada/explain?at=9999", 404, "no_such_entry"),
        ("/v1/agents/ada/explain?at=x", 400, "malformed"),
        ("/v1/agents/ada/explain?boundary=noon", 400, "malformed"),
        ("/v1/agents/ada/why-not", 400, "malformed"),
        ("/v1/agents/ada/entries?until=noon", 400, "malformed"),
    ] {
        let (found, problem) = told(place.get(path, operator));
        assert_eq!((found, &problem["code"]), (status, &json!(code)), "{path}");
    }
    assert_eq!(place.post("/v1/agents/eve/messages", operator, r#"{"text":"x"}"#, &[]).0, 404);
    let agents = place.file.agents().expect("they are listed");
    assert_eq!(agents.iter().map(|agent| agent.as_str()).collect::<Vec<_>>(), ["ada", "bob"]);
}

#[test]
fn a_message_reaches_the_driver_and_counts_once_under_its_key() {
    let mut place = place();
    let operator = place.operator().to_owned();
    let say = |place: &Place, text: &str, token: &str| {
        let body = json!({ "text": text }).to_string();
        place.post("/v1/agents/ada/messages", token, &body, &[("idempotency-key", "k1")])
    };
    let first = say(&place, "look at the build", &operator);
    assert_eq!((first.0, &first.1["answer"]), (200, &json!("accepted")));
    let again = say(&place, "look at the build", &operator);
    assert_eq!((again.0, &again.1["answer"]), (200, &json!("ignored")));
    assert_eq!(again.1["reason"], "duplicate");
    let other = say(&place, "look at the tests", &operator);
    assert_eq!((other.0, &other.1["code"]), (422, &json!("conflicting_duplicate")));
    place.ada.catch_up().expect("it reads");
    let steps = place.ada.run_until_rest().expect("it decides");
    let decision = steps[0].decision.as_ref().expect("a decision").kind;
    assert_eq!(decision.to_string(), "StartModelTurn");
    let explained = told(place.get("/v1/agents/ada/explain", &operator)).1;
    assert!(explained["sentence"].as_str().expect("text").starts_with("Working:"), "{explained}");
    let listed = told(place.get("/v1/agents", &operator)).1;
    assert_eq!(listed.as_array().expect("a list").len(), 2);
}

#[test]
fn a_fact_is_reported_as_it_is_and_a_wrong_one_has_its_place() {
    let place = place();
    let operator = place.operator();
    let say = |fact: &str| place.post("/v1/agents/ada/facts", operator, fact, &[]);
    let timer = r#"{"fact":"timer_created","timer_id":"t","duration_ms":60000}"#;
    assert_eq!(say(timer).1["answer"], "accepted");
    let (status, problem) =
        say(r#"{"fact":"timer_created","timer_id":"u","duration_ms":1,"intervall_ms":5}"#);
    assert_eq!((status, &problem["code"]), (422, &json!("malformed")));
    assert_eq!(problem["place"]["path"], "intervall_ms");
    let detail = problem["detail"].as_str().expect("a sentence");
    assert!(detail.contains("did you mean `interval_ms`?"), "{detail}");
    assert_eq!(say("{").0, 422);
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(BODY_BYTES));
    assert_eq!(place.post("/v1/agents/ada/messages", operator, &long, &[]).0, 413);
    assert_eq!(place.post("/v1/agents/ada/messages", operator, r#"{"txt":"x"}"#, &[]).0, 400);
}

#[test]
fn the_stream_has_the_stored_bytes_and_goes_on_after_any_entry() {
    let place = place();
    let operator = place.operator();
    for number in 0..20 {
        let body = json!({ "text": format!("message {number}") }).to_string();
        assert_eq!(place.post("/v1/agents/ada/messages", operator, &body, &[]).0, 200);
    }
    let all = events(place.get("/v1/agents/ada/entries?until=head", operator));
    // A client that was never told anything else can prove that nothing is missing.
    let mut head = Head::START;
    for (number, line) in &all {
        let entry = EntryBytes::from_stored(line.clone()).open(&head).expect("the next entry");
        head = entry.head();
        assert_eq!(head.seq.0, *number);
    }
    assert_eq!(head, {
        let mut ledger = place.file.ledger(&"ada".into());
        ledger.head().expect("a head")
    });
    for after in [0, 1, 7, all.len() - 1, all.len()] {
        let asked = place.client.get(place.url("/v1/agents/ada/entries?until=head"));
        let asked = asked.header("authorization", format!("Bearer {operator}"));
        let rest = events(asked.header("last-event-id", after.to_string()).call().expect("it"));
        assert_eq!(rest, all[after..]);
        let path = format!("/v1/agents/ada/entries?until=head&after={after}");
        assert_eq!(events(place.get(&path, operator)), all[after..]);
    }
}

#[test]
fn an_open_stream_tells_what_is_new_and_ends_when_the_server_stops() {
    let place = place();
    let operator = place.operator();
    let mut stream = place.get("/v1/agents/ada/entries?after=2", operator);
    let mut reader = stream.body_mut().as_reader();
    let body = r#"{"text":"news"}"#;
    assert_eq!(place.post("/v1/agents/ada/messages", operator, body, &[]).0, 200);
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.contains("\"text\":\"news\"") {
        let count = reader.read(&mut buffer).expect("it reads");
        assert!(count > 0, "the stream ended: {text}");
        text.push_str(std::str::from_utf8(&buffer[..count]).expect("text"));
    }
    place.server.stop().expect("it stops although a stream is open");
    assert_eq!(reader.read_to_end(&mut Vec::new()).expect("it ends"), 0);
}

#[test]
fn what_is_delivered_to_an_address_reaches_its_trigger_once() {
    let mut place = place();
    let token = Token::random().expect("bytes");
    let created = json!({
        "fact": "external_trigger_created", "external_trigger_id": "build",
        "token_hash": token.hash(), "description": "the build",
        "delivery_mode": "enqueue_message", "trust": "trusted_integration",
    });
    place.ada.propose(&created.to_string()).expect("a trigger");
    let path = format!("/in/{}", token.as_str());
    let github = [("x-github-delivery", "d1"), ("content-type", "application/json")];
    for _ in 0..2 {
        let delivered = place.post(&path, "", r#"{"status":"green"}"#, &github);
        assert_eq!(delivered, (202, json!({ "accepted": true })));
    }
    assert_eq!(place.post("/in/wkt_0", "", "x", &[]).1["code"], "no_such_token");
    place.ada.catch_up().expect("it reads");
    let trigger = place.ada.summary().active_external_triggers.remove(0);
    assert_eq!(trigger.delivery_count, 1);
    let steps = place.ada.run_until_rest().expect("it decides");
    assert!(steps.iter().any(|step| {
        let decided = step.decision.as_ref().map(|decision| decision.kind.to_string());
        decided.as_deref() == Some("StartModelTurn")
    }));
    let lines = events(place.get("/v1/agents/ada/entries?until=head", place.operator()));
    assert!(lines.iter().all(|(_, line)| !line.contains(token.as_str())));
    assert!(lines.iter().any(|(_, line)| line.contains(r#""status":"green""#)));
}
