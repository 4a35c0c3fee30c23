//! Traces: what a collector gets of turns, decoded by the messages of OTLP, also if it was away.

use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    },
    common::v1::{AnyValue, KeyValue, any_value::Value as Said},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message;
use serde_json::{Value, json};
use wakeful_core::{
    host::Ledger,
    record::{
        Class, Record,
        chain::Head,
        entry::{Entry, EntryBytes},
        event::{EventKind, EventRecord},
    },
    time::Timestamp,
};
use wakeful_serve::{CONVENTIONS, TraceOptions};

use crate::place::{Place, With, place, until};

/// After all that the server records.
const LATE: Timestamp = Timestamp::from_nanos(2_000_000_000_000_000_000);

/// An answer: the status, further headers, and the body.
type Answer = (u16, &'static str, Vec<u8>);

/// How a collector answers, by the number of the request from 0.
type Answers = dyn Fn(usize) -> Answer + Send + Sync;

/// A request as a collector got it.
#[derive(Clone)]
struct Got {
    headers: HashMap<String, String>,
    request: ExportTraceServiceRequest,
}

/// A collector of traces.
struct Collector {
    address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
    ends: Arc<AtomicBool>,
}

impl Collector {
    fn open() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("a port"), |_| taken())
    }

    fn on(
        listener: TcpListener,
        answers: impl Fn(usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("an address");
        let got = Arc::<Mutex<Vec<Got>>>::default();
        let ends = Arc::new(AtomicBool::new(false));
        let (all, stop, answers) = (Arc::clone(&got), Arc::clone(&ends), Arc::new(answers));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Acquire) {
                    return;
                }
                let (all, answers) = (Arc::clone(&all), Arc::clone(&answers));
                thread::spawn(move || serve(stream.expect("a stream"), &all, &*answers));
            }
        });
        Self { address, got, ends }
    }

    fn options(&self) -> TraceOptions {
        options(self.address)
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().expect("no panic").clone()
    }

    /// All spans, in the order of their arrival.
    fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for got in self.got() {
            for scope in got.request.resource_spans.into_iter().flat_map(|it| it.scope_spans) {
                spans.extend(scope.spans);
            }
        }
        spans
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
    }
}

fn options(address: SocketAddr) -> TraceOptions {
    let (url, headers) = (format!("http://{address}"), "authorization=Bearer%20k");
    let mut options = TraceOptions::new(&url, headers, "desk").expect("an address");
    options.first_wait = Duration::from_millis(50);
    options.longest_wait = Duration::from_millis(200);
    options
}

fn serve(mut stream: TcpStream, all: &Mutex<Vec<Got>>, answers: &Answers) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    loop {
        let mut headers = HashMap::new();
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        assert_eq!(line.trim(), "POST /v1/traces HTTP/1.1");
        loop {
            line.clear();
            reader.read_line(&mut line).expect("a header");
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let mut body = vec![0; headers["content-length"].parse().expect("a number")];
        reader.read_exact(&mut body).expect("a body");
        let request = ExportTraceServiceRequest::decode(&body[..]).expect("protobuf");
        let number = {
            let mut all = all.lock().expect("no panic");
            all.push(Got { headers, request });
            all.len() - 1
        };
        let (status, more, body) = answers(number);
        let head = format!("HTTP/1.1 {status} X\r\n{more}content-length: {}\r\n\r\n", body.len());
        if stream.write_all(&[head.as_bytes(), &body].concat()).is_err() {
            return;
        }
    }
}

fn taken() -> Answer {
    (200, "", ExportTraceServiceResponse::default().encode_to_vec())
}

/// What something is called, as JSON.
fn named(attributes: &[KeyValue]) -> BTreeMap<String, Value> {
    fn json(value: &AnyValue) -> Value {
        match value.value.as_ref().expect("a value") {
            Said::StringValue(text) => json!(text),
            Said::IntValue(number) => json!(number),
            Said::ArrayValue(array) => array.values.iter().map(json).collect(),
            other => panic!("{other:?}"),
        }
    }
    let pair = |it: &KeyValue| (it.key.clone(), json(it.value.as_ref().expect("a value")));
    let named: BTreeMap<_, _> = attributes.iter().map(pair).collect();
    assert_eq!(named.len(), attributes.len(), "each key once");
    named
}

fn has(span: &Span, expected: &Value) {
    let found = named(&span.attributes);
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(found.get(key), Some(value), "{key} of {}: {found:#?}", span.name);
    }
}

fn code(span: &Span) -> StatusCode {
    span.status.as_ref().map_or(StatusCode::Unset, |status| status.code())
}

fn open_turn(place: &Place, agent: &str) -> Value {
    place.open_turn(agent)["run_id"].clone()
}

fn report(place: &Place, agent: &str, fact: &Value) {
    let said = place.report(agent, fact);
    assert_eq!(said["answer"], "accepted", "{said}");
}

fn round(place: &Place, agent: &str, run: &Value, number: u64) {
    report(
        place,
        agent,
        &json!({ "fact": "provider_round_completed", "run_id": run, "round": number,
            "input_tokens": 1_000 * number, "output_tokens": 10 * number,
            "diagnostics": { "model": "qwen3-8b", "response_id": "r1", "finish_reason": "stop",
                "secret": "the diagnostics of a host" } }),
    );
}

fn tool(place: &Place, agent: &str, run: &Value, id: &str, status: &str) {
    report(
        place,
        agent,
        &json!({ "fact": "tool_execution_recorded", "run_id": run, "tool_execution_id": id,
            "tool_name": "read_file", "status": status, "input": { "path": "secret.txt" },
            "output": "the secret output", "summary": "a secret summary", "call_id": "c1" }),
    );
}

fn ends(place: &Place, agent: &str, run: &Value) {
    report(
        place,
        agent,
        &json!({ "fact": "turn_terminal", "run_id": run, "kind": "completed",
            "last_assistant_message": "a secret answer" }),
    );
}

/// Runs a turn of an agent to its end.
fn turn(place: &Place, agent: &str) -> Value {
    place.say(agent, "a secret prompt");
    let run = open_turn(place, agent);
    round(place, agent, &run, 1);
    ends(place, agent, &run);
    run
}

/// The entries of an agent, as they were stored.
fn entries(place: &Place, agent: &str) -> Vec<Entry> {
    let mut head = Head::START;
    let lines = place.lines(agent).into_iter().map(EntryBytes::from_stored);
    lines
        .map(|line| {
            let entry = line.open(&head).expect("an entry");
            head = entry.head();
            entry
        })
        .collect()
}

fn with(traces: TraceOptions) -> With {
    With { traces: Some(traces), ..With::default() }
}

fn dropped(place: &Place) -> Option<f64> {
    let mut answer = place.get("/metrics", &place.operator);
    let text = answer.body_mut().read_to_string().expect("text");
    let line = text.lines().find_map(|line| line.strip_prefix("wakeful_spans_dropped_total "));
    line.map(|count| count.parse().expect("a number"))
}

#[test]
fn a_turn_with_rounds_a_tool_a_failure_and_a_retry_is_traced() {
    let collector = Collector::open();
    let place = Place::with(with(collector.options()));
    place.make("eva");
    report(
        &place,
        "eva",
        &json!({ "fact": "policy_set", "policy": { "failed_turn_backoff_ms": [500] } }),
    );
    report(
        &place,
        "eva",
        &json!({ "fact": "work_item_created", "work_item_id": "w", "objective": "a secret aim" }),
    );
    let run = open_turn(&place, "eva");
    place.say("eva", "a secret prompt");
    round(&place, "eva", &run, 1);
    thread::sleep(Duration::from_millis(20));
    tool(&place, "eva", &run, "x1", "success");
    tool(&place, "eva", &run, "x2", "error");
    report(&place, "eva", &json!({ "fact": "tool_round_completed", "run_id": run, "round": 1 }));
    round(&place, "eva", &run, 2);
    report(
        &place,
        "eva",
        &json!({ "fact": "turn_terminal", "run_id": run,
            "kind": "provider_failed_needs_recovery", "reason": "the connection was lost" }),
    );
    // Something else comes between the failure and its retry.
    let other = open_turn(&place, "eva");
    ends(&place, "eva", &other);
    let retry = open_turn(&place, "eva");
    round(&place, "eva", &retry, 1);
    ends(&place, "eva", &retry);
    until("all turns came", || collector.spans().len() >= 8);
    let spans = collector.spans();
    let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    let expected = [
        "invoke_agent eva",
        "chat qwen3-8b",
        "execute_tool read_file",
        "execute_tool read_file",
        "chat qwen3-8b",
        "invoke_agent eva",
        "invoke_agent eva",
        "chat qwen3-8b",
    ];
    assert_eq!(names, expected);

    // What each is made of.
    let entries = entries(&place, "eva");
    let begins = |run: &Value| {
        let of = |record: &Record| match record {
            Record::Turn(turn) => json!(turn.run_id),
            _ => Value::Null,
        };
        let found: Vec<_> = entries.iter().filter(|entry| of(&entry.record) == *run).collect();
        assert_eq!(found.len(), 2, "a beginning and an end");
        (found[0], found[1])
    };
    let (first, last) = begins(&run);
    let (again, done) = begins(&retry);
    let root = &spans[0];
    assert_eq!(root.trace_id, first.chain.as_bytes()[..16]);
    assert_eq!(root.span_id, first.chain.as_bytes()[..8]);
    assert!(root.parent_span_id.is_empty());
    assert_eq!(root.kind, i32::from(SpanKind::Internal));
    let nanos = |at: Timestamp| u64::try_from(at.as_nanos()).expect("after 1970");
    assert_eq!(root.start_time_unix_nano, nanos(first.at));
    assert_eq!(root.end_time_unix_nano, nanos(last.at));
    let Record::Turn(record) = &first.record else { unreachable!("it begins the turn") };
    has(
        root,
        &json!({
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": "eva",
            "gen_ai.agent.name": "eva", "gen_ai.provider.name": "_OTHER", "wakeful.run_id": run,
            "wakeful.turn_index": 1, "wakeful.message_id": record.message_id,
            "wakeful.work_item_id": "w", "wakeful.entry.first": first.seq,
            "wakeful.entry.last": last.seq, "wakeful.turn.end": "provider_failed_needs_recovery",
            "error.type": "provider_failed_needs_recovery",
        }),
    );
    assert_eq!(code(root), StatusCode::Error);
    assert_eq!(root.status.as_ref().map(|it| &*it.message), Some("the connection was lost"));
    assert!(root.links.is_empty());

    // The decision that began it, and those during it.
    let in_turn = |entry: &&Entry| {
        let is_decision = |event: &EventRecord| event.kind == "scheduler_decision";
        (first.seq..=last.seq).contains(&entry.seq)
            && matches!(&entry.record, Record::Event(event) if is_decision(event))
    };
    assert_eq!(root.events.len(), 1 + entries.iter().filter(in_turn).count());
    let event = &root.events[0];
    assert_eq!(event.name, "wakeful.decision");
    let decision = named(&event.attributes);
    assert_eq!(decision["wakeful.decision.kind"], "StartModelTurn");
    let seq = decision["wakeful.entry"].as_u64().expect("a number");
    let decided = &entries[usize::try_from(seq).expect("small") - 1];
    let Record::Event(record) = &decided.record else { panic!("{decided:?}") };
    assert_eq!(record.kind, "scheduler_decision");
    assert_eq!(decision["wakeful.decision.rule"], json!(record.particular::<String>("rule")));
    assert_eq!(decision["wakeful.decision.reason"], json!(record.particular::<String>("reason")));
    assert_eq!(event.time_unix_nano, nanos(decided.at));

    // Its rounds and tools, one after the other.
    let mut began = root.start_time_unix_nano;
    for span in &spans[1..5] {
        let seq = named(&span.attributes)["wakeful.entry"].as_u64().expect("a number");
        let entry = &entries[usize::try_from(seq).expect("small") - 1];
        assert_eq!((&span.trace_id, &span.parent_span_id), (&root.trace_id, &root.span_id));
        assert_eq!(span.span_id, entry.chain.as_bytes()[..8]);
        assert_eq!(span.end_time_unix_nano, nanos(entry.at));
        assert!(span.start_time_unix_nano >= began, "{span:#?}");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        began = span.end_time_unix_nano;
    }
    has(
        &spans[1],
        &json!({ "gen_ai.operation.name": "chat", "gen_ai.provider.name": "_OTHER",
            "gen_ai.response.model": "qwen3-8b", "gen_ai.response.id": "r1",
            "gen_ai.response.finish_reasons": ["stop"], "gen_ai.usage.input_tokens": 1_000,
            "gen_ai.usage.output_tokens": 10, "wakeful.round": 1 }),
    );
    assert_eq!(spans[1].kind, i32::from(SpanKind::Client));
    assert_eq!(spans[1].start_time_unix_nano, root.start_time_unix_nano);
    has(
        &spans[2],
        &json!({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file",
            "gen_ai.tool.type": "function", "gen_ai.tool.call.id": "c1",
            "wakeful.tool_execution_id": "x1", "wakeful.tool.input_bytes": 21,
            "wakeful.tool.output_bytes": 19 }),
    );
    assert_eq!(spans[2].start_time_unix_nano, spans[1].end_time_unix_nano);
    let took = spans[2].end_time_unix_nano - spans[2].start_time_unix_nano;
    assert!(took >= 20_000_000, "the tool took {took} ns");
    assert_eq!(code(&spans[2]), StatusCode::Unset);
    has(&spans[3], &json!({ "error.type": "tool_error" }));
    assert_eq!(code(&spans[3]), StatusCode::Error);

    // The retry has a trace of its own, which leads to the one before.
    assert!(spans[5].links.is_empty(), "the turn between is another story");
    let retried = &spans[6];
    assert_eq!(retried.trace_id, again.chain.as_bytes()[..16]);
    assert_eq!(retried.end_time_unix_nano, nanos(done.at));
    assert_eq!(code(retried), StatusCode::Unset);
    let retry_of = named(&root.attributes)["wakeful.message_id"].clone();
    has(
        retried,
        &json!({ "wakeful.turn.end": "completed", "wakeful.retry_of": retry_of,
            "wakeful.attempt": 1, "wakeful.turn_index": 3 }),
    );
    let [link] = &retried.links[..] else { panic!("{:#?}", retried.links) };
    assert_eq!((&link.trace_id, &link.span_id), (&root.trace_id, &root.span_id));
    assert_eq!(named(&link.attributes)["wakeful.run_id"], run);

    // Who says it, and how.
    let got = &collector.got()[0];
    assert_eq!(got.headers["content-type"], "application/x-protobuf");
    assert_eq!(got.headers["authorization"], "Bearer k");
    let resource = &got.request.resource_spans[0];
    let schema = format!("https://opentelemetry.io/schemas/{CONVENTIONS}");
    assert_eq!((&resource.schema_url, &resource.scope_spans[0].schema_url), (&schema, &schema));
    let service = named(&resource.resource.as_ref().expect("a resource").attributes);
    assert_eq!(service["service.name"], "desk");
    let said = format!("{:?}", collector.spans());
    assert!(!said.contains("secret"), "no content leaves the ledger: {said}");
    assert_eq!(dropped(&place), Some(0.0));
}

#[test]
fn a_run_that_a_restart_interrupts_is_traced_and_its_replay_leads_to_it() {
    let collector = Collector::open();
    let place = Place::with(with(collector.options()));
    place.make("eva");
    place.say("eva", "hello");
    let run = open_turn(&place, "eva");
    round(&place, "eva", &run, 1);
    let body = r#"{"action":"restart"}"#;
    assert_eq!(place.post("/v1/agents/eva/control", &place.operator, body).0, 200);
    let replay = open_turn(&place, "eva");
    assert_ne!(run, replay);
    ends(&place, "eva", &replay);
    until("both runs came", || collector.spans().len() >= 3);
    let spans = collector.spans();
    has(&spans[0], &json!({ "wakeful.run_id": run, "error.type": "interrupted" }));
    assert_eq!(code(&spans[0]), StatusCode::Error);
    assert_eq!(spans[1].name, "chat qwen3-8b");
    has(&spans[2], &json!({ "wakeful.run_id": replay, "wakeful.turn.end": "completed" }));
    assert_eq!(spans[2].links[0].trace_id, spans[0].trace_id);
    // Another message is another story.
    turn(&place, "eva");
    until("it came", || collector.spans().len() >= 5);
    assert!(collector.spans()[3].links.is_empty());
}

#[test]
fn a_turn_that_began_before_the_server_is_whole_and_has_the_same_ids_from_another_server() {
    let mut place = place();
    place.make("eva");
    place.say("eva", "take your time");
    let run = open_turn(&place, "eva");
    round(&place, "eva", &run, 1);
    // More than are read at once.
    for number in 0..300 {
        tool(&place, "eva", &run, &format!("x{number}"), "success");
    }
    place.stop();
    let (collector, other) = (Collector::open(), Collector::open());
    place.start(with(collector.options()));
    // A second server over the same store sees the turn end too.
    let second = place.second(with(other.options()));
    round(&place, "eva", &run, 2);
    ends(&place, "eva", &run);
    let all = 303;
    for collector in [&collector, &other] {
        until("the turn is whole", || collector.spans().len() >= all);
    }
    let (mut spans, others) = (collector.spans(), other.spans());
    assert_eq!(spans.len(), all);
    assert_eq!(spans, others);
    assert_eq!(spans[0].name, "invoke_agent eva");
    let mut ids: Vec<_> = spans.drain(..).map(|span| span.span_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "each has an id of its own");
    second.stop().expect("it stops");
}

#[test]
fn a_collector_that_was_away_gets_what_waited_and_delays_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let place = Place::with(with(options(address)));
    place.make("eva");
    let began = Instant::now();
    let runs: Vec<_> = (0..5).map(|_| turn(&place, "eva")).collect();
    assert!(began.elapsed() < Duration::from_mins(1), "nobody waits for the collector");
    thread::sleep(Duration::from_millis(1_500));
    let listener = TcpListener::bind(address).expect("the same port");
    let collector = Collector::on(listener, |number| match number {
        // It says when it wants to be asked again.
        0 => (503, "retry-after: 1\r\n", Vec::new()),
        1 => (429, "", Vec::new()),
        _ => taken(),
    });
    let roots = || {
        let roots = collector.spans().into_iter().filter(|span| span.parent_span_id.is_empty());
        roots.map(|span| named(&span.attributes)["wakeful.run_id"].clone()).collect::<Vec<_>>()
    };
    until("it gets them", || collector.got().len() >= 3 && roots().ends_with(&runs[4..]));
    let all = collector.got();
    assert!(all[0].request == all[1].request && all[1].request == all[2].request, "they again");
    assert!(roots().ends_with(&runs), "each is taken once, in order: {:?}", roots());
    assert_eq!(dropped(&place), Some(0.0));
}

#[test]
fn what_a_collector_refuses_is_counted_and_not_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let collector = Collector::on(listener, |number| match number {
        0 => (400, "", Vec::new()),
        1 => {
            let partial_success = Some(ExportTracePartialSuccess {
                rejected_spans: 1,
                error_message: "too old".to_owned(),
            });
            (200, "", ExportTraceServiceResponse { partial_success }.encode_to_vec())
        }
        _ => taken(),
    });
    let place = Place::with(with(collector.options()));
    place.make("eva");
    for (number, count) in [(1, 2.0), (2, 3.0), (3, 3.0)] {
        turn(&place, "eva");
        until("it came", || collector.got().len() == number && dropped(&place) == Some(count));
    }
    let ids: Vec<_> = collector.spans().into_iter().map(|span| span.span_id).collect();
    let once: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), once.len()), (6, 6), "{ids:?}");
}

#[test]
fn what_happened_last_is_sent_before_the_server_ends() {
    let collector = Collector::open();
    let mut place = Place::with(with(collector.options()));
    place.make("eva");
    turn(&place, "eva");
    place.stop();
    assert_eq!(collector.spans().len(), 2);
    // One that never answers holds the end up for a moment only.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    place.start(with(options(silent.local_addr().expect("an address"))));
    turn(&place, "eva");
    let began = Instant::now();
    place.stop();
    assert!(began.elapsed() < Duration::from_mins(1), "it took {:?}", began.elapsed());
}

#[test]
fn without_a_collector_nothing_is_counted() {
    let place = place();
    assert_eq!(dropped(&place), None);
}

/// Appends a turn with these records at once, without a process of its own.
fn append(place: &Place, records: impl IntoIterator<Item = Record>) {
    let mut ledger = place.file().ledger(&"ada".into());
    let head = ledger.head().expect("a head");
    let turn = |status: &str| {
        let text = json!({ "run_id": "ada:run-1", "agent_id": "ada", "turn_index": 1,
            "message_id": "m", "status": status, "started_at": LATE });
        Record::decode(Class::Turns, &text.to_string()).expect("a record")
    };
    let records = [turn("started")].into_iter().chain(records).chain([turn("interrupted")]);
    let (_, lines) = wakeful_core::record::entry::seal_all(head, LATE, records.collect());
    ledger.append(&head, &lines).expect("it appends");
}

#[test]
fn long_entries_are_read_to_the_last_without_a_new_one() {
    let collector = Collector::open();
    let place = Place::with(with(collector.options()));
    // A page of the store holds only some of these entries.
    let long = json!("x".repeat(1 << 20));
    let event = || Record::Event(EventRecord::new(EventKind::CheckpointRecorded, LATE, &long));
    append(&place, (0..12).map(|_| event()));
    until("the turn at the end is found", || collector.spans().len() == 1);
    has(&collector.spans()[0], &json!({ "wakeful.run_id": "ada:run-1" }));
}

#[test]
fn what_finds_no_room_while_the_collector_is_away_is_counted() {
    let away = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let place = Place::with(with(options(away)));
    let tool = json!({ "id": "x", "agent_id": "ada", "tool_name": "t", "created_at": LATE,
        "trust": "trusted_operator", "status": "success", "input": 0, "output": 0, "summary": "" });
    let tool = Record::decode(Class::Tools, &tool.to_string()).expect("a record");
    append(&place, vec![tool; 9_000]);
    until("8,192 wait", || dropped(&place) == Some(9_001.0 - 8_192.0));
}
