//! Hooks: what receivers that nobody here wrote are told, also when they were down.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wakeful_serve::Scope;

use crate::place::{PATIENCE, Place, With, place, until};

/// A request as a receiver got it.
#[derive(Clone, Debug)]
struct Got {
    headers: HashMap<String, String>,
    body: String,
    at: Instant,
}

impl Got {
    fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    fn event(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

/// How a receiver answers: the status, by the number of the request from 0.
type Answers = dyn Fn(usize, &Got) -> u16 + Send + Sync;

/// A receiver of hooks. It is down until it is told to listen.
struct Desk {
    address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
    ends: Arc<AtomicBool>,
}

impl Desk {
    fn open(answers: impl Fn(usize, &Got) -> u16 + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("a port"), answers)
    }

    fn on(
        listener: TcpListener,
        answers: impl Fn(usize, &Got) -> u16 + Send + Sync + 'static,
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
                let (all, stop, answers) = (all.clone(), stop.clone(), answers.clone());
                thread::spawn(move || serve(stream.expect("a stream"), &all, &stop, &*answers));
            }
        });
        Self { address, got, ends }
    }

    fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().expect("no panic").clone()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        let _ = std::net::TcpStream::connect(self.address);
    }
}

fn serve(stream: std::net::TcpStream, all: &Mutex<Vec<Got>>, stop: &AtomicBool, answers: &Answers) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let mut stream = stream;
    loop {
        let mut headers = HashMap::new();
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || stop.load(Ordering::Acquire) {
            return;
        }
        assert!(line.starts_with("POST /hook HTTP/1.1"), "{line}");
        loop {
            line.clear();
            reader.read_line(&mut line).expect("a header");
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let mut body = vec![0; headers["content-length"].parse().expect("a number")];
        reader.read_exact(&mut body).expect("a body");
        let body = String::from_utf8(body).expect("text");
        let got = Got { headers, body, at: Instant::now() };
        let number = {
            let mut all = all.lock().expect("no panic");
            all.push(got.clone());
            all.len() - 1
        };
        let status = answers(number, &got);
        let more = match status {
            302 => "location: /elsewhere\r\n",
            429 => "retry-after: 1\r\n",
            _ => "",
        };
        let answer = format!("HTTP/1.1 {status} X\r\n{more}content-length: 0\r\n\r\n");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn hook(place: &Place, name: &str, body: &Value) -> Value {
    let path = format!("/v1/hooks/{name}");
    let (status, made) = place.send("PUT", &path, &place.operator, &body.to_string(), &[]);
    assert!(status == 200 || status == 201, "{made}");
    made
}

/// Runs a turn of an agent to its end.
fn turn(place: &Place, agent: &str, text: &str) {
    place.say(agent, text);
    let turn = place.open_turn(agent);
    place.report(
        agent,
        &json!({ "fact": "turn_terminal", "run_id": turn["run_id"], "kind": "completed",
            "last_assistant_message": text }),
    );
}

/// What the turns said that a receiver was told of, by agent, in the order of their arrival.
fn said(got: &[Got]) -> HashMap<String, Vec<String>> {
    let mut said = HashMap::<String, Vec<String>>::new();
    let mut seen = std::collections::HashSet::new();
    for got in got.iter().filter(|got| seen.insert(got.id().to_owned())) {
        let event = got.event();
        let text = event["data"]["record"]["last_assistant_message"].as_str().expect("text");
        let agent = event["subject"].as_str().expect("an agent");
        said.entry(agent.to_owned()).or_default().push(text.to_owned());
    }
    said
}

/// HMAC as RFC 2104 says, without the library that signs.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    assert!(key.len() <= 64);
    let pad = |with: u8| {
        let mut block = [with; 64];
        key.iter().zip(&mut block).for_each(|(key, byte)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}

#[test]
fn events_are_signed_and_say_what_happened() {
    let place = place();
    place.make("eva");
    let desk = Desk::open(|_, _| 204);
    let kinds = [
        "turn.completed",
        "turn.failed",
        "agent.waits_for_operator",
        "agent.parked",
        "work_item.parked",
        "agent.warning",
        "task.completed",
        "task.failed",
    ];
    turn(&place, "eva", "before the hook");
    let made = hook(&place, "desk", &json!({ "url": desk.url(), "events": kinds }));
    let secret = made["secret"].as_str().expect("it is shown once").to_owned();
    turn(&place, "eva", "It is green.");
    let task = |fact: &str, id: &str| {
        place.report(
            "eva",
            &json!({ "fact": fact, "task_id": id, "task_kind": "command_task",
            "summary": "run the tests" }),
        );
    };
    task("task_created", "t");
    task("task_failed", "t");
    place.report("eva", &json!({ "fact": "owner_breach_reported", "reason": "a panic" }));
    let has = |kind: &str| desk.got().into_iter().find(|got| got.event()["type"] == kind);
    until("the last event", || has("agent.parked").is_some());
    until("the failed task", || has("task.failed").is_some());
    let got = has("turn.completed").expect("an event");
    let event = got.event();
    let entry = event["data"]["entry"].as_u64().expect("a number");
    let line = &place.lines("eva")[usize::try_from(entry).expect("small") - 1];
    let stored: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(event["specversion"], "1.0");
    assert_eq!(event["id"], got.id());
    assert_eq!(event["source"], "/v1/agents");
    assert_eq!(event["subject"], "eva");
    assert_eq!(event["time"], stored["at"]);
    assert_eq!(event["datacontenttype"], "application/json");
    assert_eq!(event["data"]["agent_id"], "eva");
    assert_eq!(event["data"]["record"]["run_id"], stored["record"]["run_id"]);
    assert_eq!(event["data"]["record"]["last_assistant_message"], "It is green.");
    assert_eq!(event["data"]["sentence"], "turn 2 is complete");
    let kind = &got.headers["content-type"];
    assert_eq!(kind, "application/cloudevents+json; charset=utf-8");
    let failed = has("task.failed").expect("it").event();
    assert_eq!(failed["data"]["record"]["task_id"], "t");
    assert!(!desk.got().iter().any(|got| got.body.contains("before the hook")));
    // Each request, checked twice: here, and by a library that nobody here wrote.
    let key = STANDARD.decode(secret.strip_prefix("whsec_").expect("a secret")).expect("base64");
    assert_eq!(key.len(), 32);
    for got in desk.got() {
        let signed = format!("{}.{}.{}", got.id(), got.headers["webhook-timestamp"], got.body);
        let expected = format!("v1,{}", STANDARD.encode(hmac(&key, signed.as_bytes())));
        assert_eq!(got.headers["webhook-signature"], expected);
    }
    by_library(&secret, &desk.got());
    let listed = place.ask("/v1/hooks").1;
    assert_eq!(listed[0]["name"], "desk");
    assert!(listed[0].get("secret").is_none() && listed[0].get("failing").is_none(), "{listed}");
    assert!(!place.lines("eva").iter().any(|line| line.contains(&secret)));
}

/// Verifies requests with the library `standardwebhooks` of PyPI. If it cannot be had, the caller
/// has checked the signatures all the same.
fn by_library(secret: &str, got: &[Got]) {
    let Some(python) = python() else {
        eprintln!("NOT CHECKED: no Python with the package `standardwebhooks`");
        return;
    };
    let script = "import json, sys\n\
        from standardwebhooks.webhooks import Webhook, WebhookVerificationError\n\
        asked = json.load(sys.stdin)\n\
        hook = Webhook(asked['secret'])\n\
        for headers, body in asked['got']:\n\
        \x20   assert hook.verify(body, headers) == json.loads(body)\n\
        \x20   try:\n\
        \x20       hook.verify(body + ' ', headers)\n\
        \x20   except WebhookVerificationError:\n\
        \x20       continue\n\
        \x20   raise SystemExit('a changed body was taken')\n\
        print(len(asked['got']))\n";
    let asked = json!({
        "secret": secret,
        "got": got.iter().map(|got| (&got.headers, &got.body)).collect::<Vec<_>>(),
    });
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python");
    child.stdin.take().expect("a pipe").write_all(asked.to_string().as_bytes()).expect("it reads");
    let told = child.wait_with_output().expect("it ends");
    assert!(told.status.success());
    assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), got.len().to_string());
}

/// A Python that has the library, if one can be had.
fn python() -> Option<std::path::PathBuf> {
    let has = |python: &Path| {
        let mut asked = Command::new(python);
        asked.args(["-c", "import standardwebhooks"]).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    };
    let system = Path::new("python3").to_owned();
    if has(&system) {
        return Some(system);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("standardwebhooks");
    let own = folder.join("bin/python3");
    if !has(&own) {
        let run = |program: &Path, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let made = run(&system, &["-m", "venv", folder.to_str()?]);
        let package = ["-m", "pip", "install", "--timeout", "20", "standardwebhooks==1.1.0"];
        if !made || !run(&own, &package) {
            return None;
        }
    }
    has(&own).then_some(own)
}

#[test]
fn a_receiver_that_was_down_gets_everything_in_order_and_delays_nobody() {
    let mut place = place();
    for agent in ["eva", "kim"] {
        place.make(agent);
    }
    // A port on which nobody listens for a while.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address");
    drop(free);
    let events = json!(["turn.completed"]);
    hook(&place, "down", &json!({ "url": format!("http://{address}/hook"), "events": events }));
    let up = Desk::open(|_, _| 200);
    hook(&place, "up", &json!({ "url": up.url(), "events": events }));
    for number in 0..4 {
        for agent in ["eva", "kim"] {
            turn(&place, agent, &format!("{number}"));
        }
    }
    let all = vec!["0".to_owned(), "1".into(), "2".into(), "3".into()];
    until("the other hook is told all", || up.got().len() == 8);
    let expected = HashMap::from([("eva".to_owned(), all.clone()), ("kim".into(), all)]);
    assert_eq!(said(&up.got()), expected);
    until("the hook is shown as failing", || {
        let listed = place.ask("/v1/hooks").1;
        listed[0]["name"] == "down" && listed[0]["failing"].is_string()
    });
    // Also over a restart of the server.
    place.stop();
    place.start(With::default());
    let down = Desk::on(TcpListener::bind(address).expect("the port"), |_, _| 200);
    until("it is told all once it is back", || down.got().len() == 8);
    assert_eq!(said(&down.got()), expected);
    until("the hook is not failing", || place.ask("/v1/hooks").1[0].get("failing").is_none());
    // Nobody is told twice after a stop that was not a crash.
    place.stop();
    place.start(With::default());
    turn(&place, "eva", "4");
    until("both are told", || down.got().len() == 9 && up.got().len() == 9);
}

#[test]
fn an_event_has_the_same_id_each_time_and_a_redirect_is_not_followed() {
    let place = place();
    place.make("eva");
    let desk = Desk::open(|number, _| match number {
        0 => 500,
        1 => 302,
        _ => 200,
    });
    hook(&place, "desk", &json!({ "url": desk.url(), "events": ["turn.completed"] }));
    turn(&place, "eva", "Hi.");
    turn(&place, "eva", "Bye.");
    until("both are delivered", || desk.got().len() == 4);
    let got = desk.got();
    assert_eq!((got[0].id(), got[1].id()), (got[2].id(), got[2].id()));
    assert_eq!(got[0].body, got[2].body);
    assert_ne!(got[2].id(), got[3].id());
    let metrics =
        || place.get("/metrics", &place.operator).body_mut().read_to_string().expect("it");
    // They are counted when their answers have come.
    for line in [
        "wakeful_hook_deliveries_total{outcome=\"failed\"} 2",
        "wakeful_hook_deliveries_total{outcome=\"delivered\"} 2",
    ] {
        until(line, || metrics().contains(line));
    }
}

#[test]
fn a_server_that_dies_before_its_cursor_is_written_tells_again_under_the_same_id() {
    let mut place = place();
    place.make("eva");
    let (say, heard) = channel();
    let (go, wait): (_, Receiver<()>) = channel();
    let wait = Mutex::new(wait);
    let desk = Desk::open(move |number, _| {
        if number == 1 {
            say.send(()).expect("the test waits");
            let _ = wait.lock().expect("no panic").recv();
        }
        200
    });
    hook(&place, "desk", &json!({ "url": desk.url(), "events": ["turn.completed"] }));
    turn(&place, "eva", "first");
    until("the first is delivered", || desk.got().len() == 1);
    turn(&place, "eva", "second");
    heard.recv_timeout(PATIENCE).expect("the second is sent");
    // What a process leaves that is killed now: the receiver has the event, the cursor is old.
    place.dies();
    drop(go);
    place.start(With::default());
    until("it is sent again", || {
        desk.got().iter().filter(|got| got.id() == desk.got()[1].id()).count() == 2
    });
    turn(&place, "eva", "third");
    until("the third", || said(&desk.got())["eva"] == ["first", "second", "third"]);
}

#[test]
fn an_event_that_nobody_takes_is_given_up_and_the_next_one_is_told() {
    let mut with = With::default();
    with.hooks.give_up = Duration::from_millis(120);
    let place = Place::with(with);
    place.make("eva");
    let desk = Desk::open(|_, got| if got.body.contains("poison") { 400 } else { 200 });
    hook(&place, "desk", &json!({ "url": desk.url(), "events": ["turn.completed"] }));
    turn(&place, "eva", "poison");
    turn(&place, "eva", "well");
    until("the next one is told", || desk.got().iter().any(|got| got.body.contains("well")));
    assert!(desk.got().len() >= 3, "it was tried more than once");
    let metrics = place.get("/metrics", &place.operator).body_mut().read_to_string().expect("it");
    assert!(metrics.contains("wakeful_hook_deliveries_total{outcome=\"given_up\"} 1"), "{metrics}");
}

#[test]
fn a_receiver_says_when_to_come_again() {
    let place = place();
    place.make("eva");
    let desk = Desk::open(|number, _| if number == 0 { 429 } else { 200 });
    hook(&place, "desk", &json!({ "url": desk.url(), "events": ["turn.completed"] }));
    turn(&place, "eva", "Hi.");
    until("it is asked again", || desk.got().len() == 2);
    // Without its word, the second request comes after milliseconds.
    let waited = desk.got()[1].at - desk.got()[0].at;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
}

#[test]
fn a_receiver_that_is_gone_gets_nothing_until_its_hook_is_put_again() {
    let mut place = place();
    place.make("eva");
    let desk = Desk::open(|_, got| if got.body.contains("first") { 410 } else { 200 });
    let wanted = json!({ "url": desk.url(), "events": ["turn.completed"] });
    assert_eq!(hook(&place, "desk", &wanted)["is_off"], false);
    turn(&place, "eva", "first");
    until("the hook is off", || place.ask("/v1/hooks").1[0]["is_off"] == true);
    let failing = place.ask("/v1/hooks").1[0]["failing"].as_str().map(str::to_owned);
    assert!(failing.expect("it says why").contains("410"));
    place.stop();
    place.start(With::default());
    turn(&place, "eva", "second");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(desk.got().len(), 1, "also after a restart");
    let put = hook(&place, "desk", &wanted);
    assert!(put["is_off"] == false && put.get("failing").is_none(), "{put}");
    turn(&place, "eva", "third");
    until("the third", || desk.got().len() == 2);
    assert_eq!(said(&desk.got()[1..])["eva"], ["third"], "not what happened while it was off");
}

#[test]
fn a_hook_is_changed_tried_and_deleted() {
    let place = place();
    place.make("eva");
    place.make("kim");
    let (one, other) = (Desk::open(|_, _| 200), Desk::open(|_, _| 503));
    let made = hook(
        &place,
        "desk",
        &json!({ "url": one.url(), "events": ["turn.completed"], "agent_id": "eva" }),
    );
    assert!(made["secret"].is_string());
    turn(&place, "kim", "not for this hook");
    turn(&place, "eva", "for this hook");
    until("it is told", || one.got().len() == 1);
    assert_eq!(one.got()[0].event()["subject"], "eva");
    // Of the agents that it was not told of, it learns what happens from now on.
    let changed = hook(&place, "desk", &json!({ "url": one.url(), "events": ["turn.completed"] }));
    assert!(changed.get("secret").is_none());
    turn(&place, "kim", "for this hook now");
    until("it is told", || one.got().len() == 2);
    assert!(one.got()[1].body.contains("for this hook now"));
    let test = || place.post("/v1/hooks/desk/test", &place.operator, "");
    assert_eq!(test(), (200, json!({ "delivered": true })));
    assert_eq!(one.got()[2].event()["type"], "hook.test");
    hook(&place, "desk", &json!({ "url": other.url(), "events": ["turn.completed"] }));
    let failed = test().1;
    assert_eq!(failed["delivered"], false);
    assert!(failed["failure"].as_str().expect("why").contains("503"), "{failed}");
    turn(&place, "eva", "nobody takes this");
    until("it is sent", || other.got().len() >= 2);
    let end = || place.send("DELETE", "/v1/hooks/desk", &place.operator, "", &[]);
    assert_eq!(end().0, 204);
    let count = other.got().len();
    assert_eq!((end().0, place.ask("/v1/hooks").1), (404, json!([])));
    thread::sleep(Duration::from_millis(800));
    // One request may have been on its way.
    assert!(other.got().len() <= count + 1, "a deleted hook is told nothing");
    for kind in ["hook", "hook_positions", "hook_moved"] {
        assert_eq!(place.file().kept(kind).expect("it reads"), [], "{kind}");
    }
}

#[test]
fn a_hook_that_must_not_be_is_refused() {
    let place = place();
    let put = |name: &str, body: Value| {
        let path = format!("/v1/hooks/{name}");
        let (status, said) = place.send("PUT", &path, &place.operator, &body.to_string(), &[]);
        (status, said["code"].as_str().unwrap_or_default().to_owned())
    };
    let fine = json!({ "url": "https://desk.example/", "events": ["turn.failed"] });
    let with = |name: &str, value: Value| {
        let mut body = fine.clone();
        body[name] = value;
        body
    };
    for (name, body, status) in [
        ("desk", with("url", json!("http://desk.example/")), 422),
        ("desk", with("url", json!("https://169.254.169.254/latest")), 422),
        ("desk", with("url", json!("file:///etc/passwd")), 422),
        ("desk", with("events", json!([])), 400),
        ("desk", with("events", json!(["turn.dances"])), 400),
        ("desk", with("agent_id", json!("nobody")), 404),
        ("desk", with("colour", json!("red")), 400),
        ("de%20sk", fine.clone(), 422),
        ("de%00sk", fine.clone(), 422),
    ] {
        let (found, code) = put(name, body.clone());
        assert_eq!(found, status, "{name} {body}: {code}");
    }
    assert_eq!(place.ask("/v1/hooks").1, json!([]));
    let reader = place.token("reader", &[Scope::Read], None);
    let path = "/v1/hooks/desk";
    assert_eq!(place.send("PUT", path, &reader, &fine.to_string(), &[]).0, 403);
    assert_eq!(place.send("POST", "/v1/hooks/none/test", &place.operator, "", &[]).0, 404);
    for number in 0..32 {
        assert_eq!(put(&format!("hook-{number}"), fine.clone()).0, 201);
    }
    assert_eq!(put("one-more", fine.clone()), (409, "too_many".to_owned()));
}

#[cfg(unix)]
#[test]
fn a_program_gets_each_event_also_over_a_restart() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a folder");
    let (program, out) = (folder.path().join("program"), folder.path().join("out"));
    let text = format!("#!/bin/sh\nenv > {0}.env\ncat >> {0}\n", out.display());
    std::fs::write(&program, text).expect("a program");
    let all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, all).expect("a program");
    let with = || {
        let mut with = With::default();
        with.hooks.command = Some(program.clone());
        with
    };
    let mut place = Place::with(with());
    place.make("eva");
    let events = || -> Vec<Value> {
        let text = std::fs::read_to_string(&out).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let turns = || events().iter().filter(|event| event["type"] == "turn.completed").count();
    turn(&place, "eva", "one");
    until("it gets the first", || turns() == 1);
    place.stop();
    place.start(with());
    turn(&place, "eva", "two");
    until("it gets the second", || turns() == 2);
    let ids: std::collections::HashSet<_> = events().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids.len(), events().len(), "none came twice");
    let seen = std::fs::read_to_string(out.with_extension("env")).expect("its environment");
    assert!(seen.contains("PATH=") && !seen.contains("CARGO"), "{seen}");
    assert_eq!(place.ask("/v1/hooks").1, json!([]));
    let path = "/v1/hooks/(command)";
    assert_eq!(place.send("DELETE", path, &place.operator, "", &[]).0, 404);
}
