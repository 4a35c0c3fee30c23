//! Servers of one store, as processes of their own.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Seek},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use wakeful_host::ledger::PostgresStore;

use crate::{
    openai::{answer::Answer, server::Server as Model},
    postgres::Server,
    program::{Ran, arg, command, source, wakeful},
};
/// Makes a token for all that these tests ask.
fn operator(store: &str) -> String {
    let scopes = ["read", "prompt", "operate", "ingress"].map(|it| ["--scope", it]).concat();
    let create = ["token", "create", "operator", "--store", store];
    wakeful(create.into_iter().chain(scopes)).out.trim().to_owned()
}

/// A server of the store, as a process of its own.
struct Worker {
    process: Child,
    url: String,
    token: String,
    /// What it writes on standard error.
    log: fs::File,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Worker {
    /// Starts one. Its lease ends in no test, also on a slow machine. It takes none for dead
    /// either: only one that has renewed its lease for as long as a lease does that.
    fn start(store: &str, token: &str) -> Self {
        Self::of(store, token, "36000", &[])
    }

    /// Starts one with a lease of these seconds, and with more arguments.
    fn of(store: &str, token: &str, lease: &str, more: &[&str]) -> Self {
        // The others must know its address before it listens.
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let address = port.expect("a port").to_string();
        let url = format!("http://{address}");
        let log = tempfile::tempfile().expect("a file");
        let mut process = Command::new(env!("CARGO_BIN_EXE_wakeful"))
            .args(["serve", "--listen", &address, "--public-url", &url, "--store", store])
            .args(["--lease", lease, "--resident-idle", "2"])
            .args(more)
            .env("WAKEFUL_API_KEY", "sk-test-4c1f0b77a9d24e6b")
            .stdout(Stdio::piped())
            .stderr(log.try_clone().expect("the same file"))
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let listens = lines.by_ref().map_while(Result::ok).any(|it| it.contains("listening on"));
        let worker = Self { process, url, token: token.to_owned(), log };
        assert!(listens, "it does not say where it listens: {}", worker.said());
        // It says more, and ends if nobody reads that.
        thread::spawn(move || lines.for_each(drop));
        until("the server is ready", || worker.ask("GET", "/readyz", "").0 == 200);
        worker
    }

    /// The status and the JSON of an answer; 0 if there is none.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        let asked = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token))
            .body(body.to_owned());
        let Ok(mut answer) = config.new_agent().run(asked.expect("a request")) else {
            return (0, Value::Null);
        };
        let text = answer.body_mut().read_to_string().unwrap_or_default();
        (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or_default())
    }

    /// The text of an answer.
    fn text(&self, path: &str) -> String {
        let asked = ureq::get(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token))
            .call();
        asked.and_then(|mut answer| answer.body_mut().read_to_string()).expect("an answer")
    }

    /// What it wrote on standard error until now.
    fn said(&self) -> String {
        let mut said = String::new();
        let mut log = &self.log;
        log.rewind().and_then(|()| log.read_to_string(&mut said)).expect("it reads");
        said
    }

    /// The open turn of an agent, once there is one.
    fn turn(&self, agent: &str) -> String {
        let mut run = Value::Null;
        until("a turn is open", || {
            let (status, turn) = self.ask("GET", &format!("/v1/agents/{agent}/turn"), "");
            run = turn["run_id"].clone();
            status == 200
        });
        run.as_str().expect("an id").to_owned()
    }

    /// Reports the end of a turn.
    fn ends(&self, agent: &str, run: &str) -> (u16, Value) {
        let end = json!({ "fact": "turn_terminal", "run_id": run, "kind": "completed" });
        self.ask("POST", &format!("/v1/agents/{agent}/facts"), &end.to_string())
    }

    /// The address of the server that drives the agent of a store with one agent.
    fn driver(&self) -> Option<String> {
        let (_, list) = self.ask("GET", "/v1/agents", "");
        list["driven"][0]["address"].as_str().map(str::to_owned)
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_mins(10), "not: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The lease of a server that takes others for dead. It must not be late itself.
const HEIR: &str = "20";

/// Ends the leases of servers that were killed.
fn end_leases(database: &Server, address: &str) {
    let end = format!(
        "UPDATE wakeful.workers SET lease_ends = now() - interval '1 s' WHERE address = '{address}'"
    );
    database.execute(&end).expect("it ends them");
}

#[test]
fn an_agent_lives_on_any_of_the_servers_of_a_store() {
    let database = Server::start().expect("a server");
    let store = database.address("wakeful").shown().to_owned();
    let token = operator(&store);
    let [one, other] = ["36000", HEIR].map(|lease| Worker::of(&store, &token, lease, &[]));
    // Its owner is the server that makes it, and each server reads it and takes messages for it.
    let made = one.ask("PUT", "/v1/agents/ada", r#"{"turns":"elsewhere"}"#);
    assert_eq!(made.0, 201, "{made:?}");
    assert_eq!(other.driver(), Some(one.url.clone()));
    let said = other.ask("POST", "/v1/agents/ada/messages", r#"{"text":"hello"}"#);
    assert_eq!(said.0, 202, "it waits in the store: {said:?}");
    let run = other.turn("ada");
    // What only the owner can record is passed on to it.
    let ended = other.ends("ada", &run);
    assert_eq!((ended.0, &ended.1["answer"]), (200, &"accepted".into()), "{ended:?}");
    let trigger = r#"{"external_trigger_id":"in","delivery_mode":"enqueue_message"}"#;
    let (status, made) = other.ask("POST", "/v1/agents/ada/triggers", trigger);
    assert_eq!(status, 201, "{made}");
    let path = made["path"].as_str().expect("a path");
    // A delivery through the other server, while the owner dies.
    let address = one.url.clone();
    drop(one);
    let delivered = other.ask("POST", path, "the build is green");
    assert_eq!(delivered.0, 202, "{delivered:?}");
    end_leases(&database, &address);
    let run = other.turn("ada");
    assert_eq!(other.driver(), Some(other.url.clone()));
    assert_eq!(other.ends("ada", &run).0, 200);
    // At rest it is nobody's, and a third server finds its trigger.
    until("it is given back", || other.driver().is_none());
    let third = Worker::start(&store, &token);
    assert_eq!(third.ask("POST", path, "and again").0, 202);
    let run = third.turn("ada");
    // A server that ends in order gives its agents to the others at once.
    let owner = if third.driver() == Some(third.url.clone()) { third } else { other };
    let spare = Worker::start(&store, &token);
    let pid = owner.process.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().expect("it runs").success());
    // Its host goes on with the turn through any of the others, which take none for dead.
    until("another one takes the end of the turn", || spare.ends("ada", &run).0 == 200);
}

/// What an operator does after a restore: nothing of it may come too late.
#[test]
fn what_was_sent_while_no_server_lived_comes_before_the_open_turn() {
    let database = Server::start().expect("a server");
    let store = database.address("wakeful").shown().to_owned();
    let token = operator(&store);
    let one = Worker::start(&store, &token);
    assert_eq!(one.ask("PUT", "/v1/agents/ada", r#"{"turns":"elsewhere"}"#).0, 201);
    assert_eq!(one.ask("POST", "/v1/agents/ada/messages", r#"{"text":"order"}"#).0, 200);
    one.turn("ada");
    let address = one.url.clone();
    drop(one);
    let stop = wakeful(["send", "--store", &store, "--agent", "ada", "stop"]);
    assert!(stop.code == 0 && stop.out.contains("stored"), "{} {}", stop.out, stop.err);
    // A backup is older than the leases in it.
    end_leases(&database, &address);
    let other = Worker::of(&store, &token, HEIR, &[]);
    let log = || wakeful(["log", &store, "--agent", "ada", "--json"]).out;
    until("the stop is recorded", || {
        let (status, turn) = other.ask("GET", "/v1/agents/ada/turn", "");
        assert_eq!(status, 204, "{turn}");
        assert_eq!(other.ask("GET", "/v1/turns", "").1, json!([]));
        log().contains("agent_stopped")
    });
    assert_eq!(other.ask("GET", "/v1/agents/ada/turn", "").0, 204);
}

#[test]
fn each_server_tells_of_its_own_agents_and_none_of_one_that_was_moved_out() {
    let database = Server::start().expect("a server");
    let store = database.address("wakeful").shown().to_owned();
    let token = operator(&store);
    let [one, other] = [0, 1].map(|_| Worker::start(&store, &token));
    assert_eq!(one.ask("PUT", "/v1/agents/ada", r#"{"turns":"elsewhere"}"#).0, 201);
    assert_eq!(one.ask("POST", "/v1/agents/ada/messages", r#"{"text":"hello"}"#).0, 200);
    // Any of them is asked for one agent, and each for its own.
    let run = other.turn("ada");
    assert_eq!(one.ask("GET", "/v1/turns", "").1, json!([{ "agent_id": "ada" }]));
    assert_eq!(other.ask("GET", "/v1/turns", "").1, json!([]));
    let counts = |worker: &Worker| {
        let metrics = worker.text("/metrics");
        let has = |line: &str| metrics.lines().any(|it| it == line);
        (has("wakeful_agents{posture=\"active_turn\"} 1"), metrics.contains("wakeful_turns_total{"))
    };
    assert_eq!((counts(&one), counts(&other)), ((true, false), (false, false)));
    assert_eq!(other.ends("ada", &run).0, 200);
    until("its server counts the turn", || counts(&one) == (false, true));
    assert_eq!(other.ask("GET", "/v1/agents/ada", "").0, 200);
    assert_eq!(counts(&other), (false, false));

    assert!(wakeful(["agents", &store]).out.contains(&format!("{}, since 20", one.url)));
    let folder = tempfile::tempdir().expect("a folder");
    let file = arg(&folder.path().join("a.sqlite"));
    let moved = wakeful(["migrate", &store, &file, "--wait", "600"]);
    assert_eq!(moved.code, 0, "{} {}", moved.out, moved.err);
    for worker in [&one, &other] {
        let message = r#"{"text":"and again"}"#;
        for (method, path, body) in [
            ("GET", "/v1/agents/ada", ""),
            ("GET", "/v1/agents/ada/turn", ""),
            ("POST", "/v1/agents/ada/messages", message),
        ] {
            let (status, told) = worker.ask(method, path, body);
            assert_eq!((status, &told["code"]), (404, &"agent_moved".into()), "{path}: {told}");
        }
        assert_eq!(worker.ask("GET", "/v1/agents", "").1["agents"], json!([]));
    }
    for words in ["agents", "list heads"] {
        let told = command(words, &[&store]).out;
        assert!(told.contains(&format!("goes on in `{file}`")), "{words}: {told}");
    }
}

#[test]
fn a_server_that_was_stopped_says_nothing_of_an_agent_that_is_another_s_by_now() {
    // The first answer comes when the turn that asked for it is another server's.
    let goes_on = Arc::new(AtomicBool::new(false));
    let is_taken = Arc::clone(&goes_on);
    let model = Model::scripted(move |request| {
        if !request.body.to_string().contains("runtime_restarted") {
            until("it is another server's", || is_taken.load(Ordering::Acquire));
        }
        Answer::says("Done.")
    });
    let database = Server::start().expect("a server");
    let store = database.address("wakeful").shown().to_owned();
    let token = operator(&store);
    let work = tempfile::tempdir().expect("a folder");
    let url = model.url();
    let [one, other] = ["one", "other"].map(|name| {
        let own = ["home", "work"].map(|part| work.path().join(format!("{name}-{part}")));
        fs::create_dir(&own[1]).expect("a folder");
        let [home, folder] = own.each_ref().map(|path| arg(path));
        let places = ["--home", &home, "--workspaces", &folder];
        let model = ["--provider", "openai", "--model", "test", "--base-url", &url];
        Worker::of(&store, &token, HEIR, &[&model[..], &places].concat())
    });
    assert_eq!(one.ask("PUT", "/v1/agents/ada", "").0, 201);
    let said = one.ask("POST", "/v1/agents/ada/messages", r#"{"text":"hello"}"#);
    assert!(matches!(said.0, 200 | 202), "{said:?}");
    until("the model was asked", || model.received().len() == 1);
    let is_one = one.driver() == Some(one.url.clone());
    let (stopped, other) = if is_one { (one, other) } else { (other, one) };
    let signal = |name: &str| {
        let pid = stopped.process.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().expect("it runs").success());
    };
    signal("-STOP");
    until("the other one drives it", || other.driver() == Some(other.url.clone()));
    signal("-CONT");
    goes_on.store(true, Ordering::Release);
    until("the agent has answered", || {
        let (_, summary) = other.ask("GET", "/v1/agents/ada", "");
        summary["last_turn_terminal"] == "completed"
    });
    // Time for the one that was stopped to lose it, and to try it again.
    thread::sleep(Duration::from_secs(3));
    for server in [&stopped, &other] {
        let said = server.said();
        assert!(!said.contains("driv"), "{said}");
    }
}

#[test]
fn a_server_whose_store_is_away_is_not_ready() {
    let mut database = Server::start().expect("a server");
    let store = database.address("wakeful").shown().to_owned();
    let worker = Worker::of(&store, &operator(&store), "2", &[]);
    let patient = PostgresStore::open(&database.address("wakeful")).expect("a store");
    database.kill();
    let call = thread::spawn(move || patient.heads());
    until("it is not ready", || worker.ask("GET", "/readyz", "").0 == 503);
    assert!(!call.is_finished(), "it does not wait for a call to the store");
    let lease = ["lease of this server was not renewed for", "lease of this server is renewed"];
    until("it says so", || worker.said().contains(lease[0]));
    database.crash_and_start().expect("it starts");
    until("it is ready again", || worker.ask("GET", "/readyz", "").0 == 200);
    until("it says that too", || worker.said().contains(lease[1]));
}

/// Two fleets of one store each, as behind a router that knows where each agent lives.
#[test]
fn an_agent_moves_from_one_cell_to_another_and_back_while_their_servers_run() {
    let database = Server::start().expect("a server");
    let stores = ["one", "two"].map(|schema| database.address(schema).shown().to_owned());
    let cells = stores.each_ref().map(|store| Worker::start(store, &operator(store)));
    let agent = "/v1/agents/ada";
    assert_eq!(cells[0].ask("PUT", agent, r#"{"turns":"elsewhere"}"#).0, 201);
    let trigger = r#"{"external_trigger_id":"in","delivery_mode":"enqueue_message"}"#;
    let (status, made) = cells[0].ask("POST", &format!("{agent}/triggers"), trigger);
    assert_eq!(status, 201, "{made}");
    let path = made["path"].as_str().expect("a path");
    assert_eq!(cells[1].ask("GET", agent, "").1["code"], "no_such_agent");
    // Each has its state in memory when it comes back.
    for (from, to) in [(0, 1), (1, 0), (0, 1)] {
        let message = json!({ "text": format!("from {from} to {to}") }).to_string();
        let said = cells[from].ask("POST", &format!("{agent}/messages"), &message);
        assert!(matches!(said.0, 200 | 202), "{said:?}");
        let run = cells[from].turn("ada");
        let arguments = ["migrate", &stores[from], &stores[to], "--agent", "ada", "--json"];
        let driven = wakeful(arguments);
        assert!(driven.code == 2 && driven.err.contains("--wait"), "{} {}", driven.out, driven.err);
        assert_eq!(cells[from].ends("ada", &run).0, 200);
        let moved = wakeful([&arguments[..], &["--wait", "600"]].concat());
        assert_eq!(moved.code, 0, "{} {}", moved.out, moved.err);
        // The old cell says that it has moved, and its operator learns where to.
        for (method, path, body) in [
            ("GET", agent, ""),
            ("GET", "/v1/agents/ada/turn", ""),
            ("POST", "/v1/agents/ada/messages", r#"{"text":"too late"}"#),
            ("POST", path, "too late"),
        ] {
            let (status, told) = cells[from].ask(method, path, body);
            assert_eq!((status, &told["code"]), (404, &"agent_moved".into()), "{path}: {told}");
        }
        for words in ["agents", "list heads"] {
            let told = command(words, &[&stores[from]]).out;
            assert!(told.contains(&format!("goes on in `{}`", stores[to])), "{words}: {told}");
        }
        assert_eq!(cells[from].ask("GET", "/v1/agents", "").1["agents"], json!([]));
        // The new one lists it, and takes what is said and delivered to it.
        let (status, told) = cells[to].ask("GET", agent, "");
        assert_eq!((status, &told["last_turn_terminal"]), (200, &"completed".into()), "{told}");
        let listed = cells[to].ask("GET", "/v1/agents", "").1;
        assert_eq!(listed["agents"][0]["agent_id"], "ada", "{listed}");
        until("its trigger is known", || cells[to].ask("POST", path, "hello").0 == 202);
        let run = cells[to].turn("ada");
        assert_eq!(cells[to].ends("ada", &run).0, 200);
    }
    let examined = wakeful(["doctor", &stores[1]]);
    assert_eq!(examined.code, 0, "{}", examined.out);
}

#[test]
fn a_server_has_one_store() {
    let place = "postgres://me@127.0.0.1:1/fleet";
    let ran = wakeful(["serve", "--store", place, "--store", place]);
    assert!(ran.code == 2 && ran.err.contains("cannot be used multiple times"), "{}", ran.err);
}

/// The example of docs/tour.md. The tests of the pages play its story; these are its refusals.
struct Example {
    root: tempfile::TempDir,
}

impl Drop for Example {
    fn drop(&mut self) {
        self.play("down.sh", &[]);
    }
}

impl Example {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        // If this is root, PostgreSQL runs as another user, who must get in.
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
        Self { root }
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("a fleet")
    }

    /// Runs one of its scripts.
    fn play(&self, script: &str, variables: &[(&str, &str)]) -> Ran {
        let output = Command::new(source("examples/fleet").join(script))
            .arg(self.folder())
            .env("WAKEFUL", env!("CARGO_BIN_EXE_wakeful"))
            .envs(variables.iter().copied())
            .output()
            .expect("bash starts");
        Ran {
            code: output.status.code().expect("an exit code"),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// What the example noted about a server, such as its address.
    fn noted(&self, server: usize, what: &str) -> String {
        let file = self.folder().join(format!("server-{server}.{what}"));
        fs::read_to_string(file).expect("a file").trim().to_owned()
    }

    /// How many of its servers are ready.
    fn ready(&self) -> usize {
        let is_ready = |server: &usize| {
            ureq::get(format!("{}/readyz", self.noted(*server, "url"))).call().is_ok()
        };
        (1..=3).filter(is_ready).count()
    }
}

#[test]
fn the_example_of_a_fleet_harms_nothing_that_runs_and_ends_all_that_it_started() {
    let example = Example::new();
    let missing = example.play("up.sh", &[("PG_BIN", "/nowhere")]);
    assert_eq!(missing.code, 3, "{}", missing.err);
    assert!(missing.err.contains("apt-get install postgresql"), "{}", missing.err);
    assert!(!example.folder().exists(), "it has made nothing");
    let up = example.play("up.sh", &[]);
    assert_eq!((up.code, up.err.as_str()), (0, ""), "{}", up.out);
    for server in 1..=3 {
        let line = format!("server {server}  {}", example.noted(server, "url"));
        assert!(up.out.lines().any(|it| it == line), "{line}: {}", up.out);
    }
    let again = example.play("up.sh", &[]);
    assert!(again.code == 1 && again.err.contains("run already"), "{}", again.err);
    assert_eq!(example.ready(), 3, "the second start has ended none");
    // An agent cannot outlive its server if that is the last one.
    for server in [1, 3] {
        let pid = example.noted(server, "pid");
        assert!(Command::new("kill").args(["-KILL", &pid]).status().expect("it runs").success());
    }
    until("two servers are gone", || example.ready() == 1);
    let woken = example.play("wake.sh", &[]);
    assert!(woken.code == 1 && woken.err.contains("this needs two servers"), "{}", woken.err);
    assert_eq!((example.ready(), woken.out.as_str()), (1, ""), "it has killed none");
    let down = example.play("down.sh", &[]);
    assert!(down.code == 0, "{}", down.err);
    assert!(down.out.starts_with("server 2 ended\nPostgreSQL ended\n"), "{}", down.out);
    assert_eq!(example.ready(), 0);
    let down = example.play("down.sh", &[]);
    assert!(down.code == 0 && !down.out.contains("ended"), "nothing runs: {}", down.out);
}
