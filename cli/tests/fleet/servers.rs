//! Servers of one store, or of several, as processes of their own.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Seek},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use wakeful_host::ledger::PostgresStore;

use crate::{
    openai::{answer::Answer, server::Server as Model},
    postgres::Server,
    program::{Ran, arg, source, wakeful},
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
    /// Starts one. Its leases are short, so that a test can wait for their end.
    fn start(store: &str, token: &str) -> Self {
        Self::of(&[store], token, &[])
    }

    /// Starts one of these stores, with more arguments.
    fn of(stores: &[&str], token: &str, more: &[&str]) -> Self {
        // The others must know its address before it listens.
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let address = port.expect("a port").to_string();
        let url = format!("http://{address}");
        let log = tempfile::tempfile().expect("a file");
        let mut process = Command::new(env!("CARGO_BIN_EXE_wakeful"))
            .args(["serve", "--listen", &address, "--public-url", &url])
            .args(stores.iter().flat_map(|store| ["--store", store]))
            .args(["--lease", "2", "--resident-idle", "2"])
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
        assert!(began.elapsed() < Duration::from_secs(30), "not: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_agent_lives_on_any_of_the_servers_of_a_store() {
    let database = Server::start().expect("a server");
    let store = database.address("wakeful").shown().to_owned();
    let token = operator(&store);
    let [one, other] = [0, 1].map(|_| Worker::start(&store, &token));
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
    drop(one);
    let began = Instant::now();
    let delivered = other.ask("POST", path, "the build is green");
    assert_eq!(delivered.0, 202, "{delivered:?}");
    let run = other.turn("ada");
    assert!(began.elapsed() < Duration::from_secs(4), "the lease and two seconds");
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
    // Its host goes on with the turn through any of the others.
    let began = Instant::now();
    until("another one takes the end of the turn", || spare.ends("ada", &run).0 == 200);
    assert!(began.elapsed() < Duration::from_secs(2), "without a wait for the lease");
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
    drop(one);
    let stop = wakeful(["send", "--store", &store, "--agent", "ada", "stop"]);
    assert!(stop.code == 0 && stop.out.contains("stored"), "{} {}", stop.out, stop.err);
    // A backup is older than the leases in it.
    thread::sleep(Duration::from_secs(2));
    let other = Worker::start(&store, &token);
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
    until("it rests and is moved", || wakeful(["migrate", &store, &file]).code == 0);
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
    for command in ["agents", "heads"] {
        let told = wakeful([command, &store]).out;
        assert!(told.contains(&format!("goes on in `{file}`")), "{command}: {told}");
    }
}

#[test]
fn a_server_that_was_stopped_says_nothing_of_an_agent_that_is_another_s_by_now() {
    // The first answer comes when the turn that asked for it is another server's.
    let model = Model::scripted(|request| {
        if !request.body.to_string().contains("runtime_restarted") {
            thread::sleep(Duration::from_secs(8));
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
        Worker::of(&[&store], &token, &[&model[..], &places].concat())
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
    until("the agent has answered", || {
        let (_, summary) = other.ask("GET", "/v1/agents/ada", "");
        summary["last_turn_terminal"] == "completed"
    });
    // Long enough for the one that was stopped to lose it, and to try it again.
    thread::sleep(Duration::from_secs(3));
    for server in [&stopped, &other] {
        let said = server.said();
        assert!(!said.contains("driv"), "{said}");
    }
    let said = stopped.said();
    let lease = ["lease of this server was not renewed for", "lease of this server is renewed"];
    assert!(lease.iter().all(|it| said.matches(it).count() == 1), "{said}");
}

#[test]
fn a_server_whose_store_is_away_is_not_ready() {
    let mut database = Server::start().expect("a server");
    let store = database.address("wakeful").shown().to_owned();
    let worker = Worker::start(&store, &operator(&store));
    database.kill();
    let began = Instant::now();
    until("it is not ready", || worker.ask("GET", "/readyz", "").0 == 503);
    assert!(began.elapsed() < Duration::from_secs(5), "a call to the store takes half a minute");
    database.crash_and_start().expect("it starts");
    until("it is ready again", || worker.ask("GET", "/readyz", "").0 == 200);
}

#[test]
fn each_of_several_stores_has_its_share_of_the_agents() {
    let database = Server::start().expect("a server");
    let addresses = ["one", "two"].map(|schema| database.address(schema).shown().to_owned());
    let stores = addresses.each_ref().map(String::as_str);
    // What belongs to no agent is in the first one.
    let token = operator(stores[0]);
    let [one, other] = [0, 1].map(|_| Worker::of(&stores, &token, &[]));
    let names: Vec<_> = (10..30).map(|number| format!("agent-{number}")).collect();
    let mut paths = Vec::new();
    for name in &names {
        let agent = format!("/v1/agents/{name}");
        assert_eq!(one.ask("PUT", &agent, r#"{"turns":"elsewhere"}"#).0, 201);
        let trigger = r#"{"external_trigger_id":"in","delivery_mode":"enqueue_message"}"#;
        let (status, made) = one.ask("POST", &format!("{agent}/triggers"), trigger);
        assert_eq!(status, 201, "{made}");
        paths.push(made["path"].as_str().expect("a path").to_owned());
    }
    let open = |schema: &str| PostgresStore::open(&database.address(schema)).expect("a store");
    let pair = ["one", "two"].map(open);
    let counts = pair.each_ref().map(|store| store.agents().expect("they").len());
    assert!(counts[0] > 3 && counts[1] > 3 && counts[0] + counts[1] == 20, "{counts:?}");
    // Any server lists all, and takes what is delivered to any.
    let (_, list) = other.ask("GET", "/v1/agents", "");
    let listed: Vec<_> = list["agents"].as_array().expect("a list").iter().collect();
    assert!(listed.iter().map(|it| it["agent_id"].as_str()).eq(names.iter().map(|it| Some(&**it))));
    for (name, path) in names.iter().zip(&paths) {
        assert_eq!(other.ask("POST", path, "hello").0, 202);
        let run = other.turn(name);
        assert_eq!(other.ends(name, &run).0, 200, "{name}");
    }
    // One that was moved is found by all, also while they run.
    let agent = &names[0];
    let is_there = |store: &PostgresStore| {
        let id = [agent.as_str().into()];
        !store.living_heads_of(&id).expect("it reads").is_empty()
    };
    let from = pair.iter().position(is_there).expect("it lives");
    let places = ["--store", stores[0], "--store", stores[1]];
    let moves = [&["move", agent, "--to", stores[1 - from]][..], &places].concat();
    let moved = wakeful(&moves);
    assert_eq!(moved.code, 0, "{} {}", moved.out, moved.err);
    assert!(moved.out.contains("moved"), "{}", moved.out);
    assert!(!is_there(&pair[from]) && is_there(&pair[1 - from]));
    assert!(wakeful(&moves).out.contains("already"));
    // Those who knew it in its old store find it at once.
    for server in [&one, &other] {
        let (status, told) = server.ask("GET", &format!("/v1/agents/{agent}"), "");
        assert_eq!(status, 200, "{told}");
    }
    for (server, text) in [(&one, "again"), (&other, "and again")] {
        until("it is found", || server.ask("POST", &paths[0], text).0 == 202);
        let run = server.turn(agent);
        until("its turn ends", || server.ends(agent, &run).0 == 200);
    }
    // It goes home, and the others are there already.
    let home = wakeful([&["move", "--all", "--json"][..], &places].concat());
    assert_eq!((home.code, home.out.lines().count()), (0, 1), "{} {}", home.out, home.err);
    assert!(is_there(&pair[from]));
    // A server with another list would make agents twice.
    let mut alone = Command::new(env!("CARGO_BIN_EXE_wakeful"));
    let refused = alone.args(["serve", "--store", stores[1], "--listen", "127.0.0.1:0"]).output();
    let refused = refused.expect("it ends");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("2 in all"), "{said}");
    for (command, why) in [
        (vec!["move", "nobody", "--store", stores[0]], "no store of these"),
        (vec!["move", agent, "--store", "a.sqlite"], "not the address of a store"),
        (vec!["move", agent, "--store", stores[0], "--to", stores[1]], "not one of these"),
    ] {
        let ran = wakeful(&command);
        assert!(ran.code == 2 && ran.err.contains(why), "{command:?}: {}", ran.err);
    }
}

#[test]
fn the_agents_of_one_store_go_on_while_another_one_is_away() {
    let mut databases = [(); 2].map(|()| Server::start().expect("a server"));
    let stores = databases.each_ref().map(|it| it.address("wakeful").shown().to_owned());
    let token = operator(&stores[0]);
    let server = Worker::of(&[&stores[0], &stores[1]], &token, &[]);
    let kept = PostgresStore::open(&databases[0].address("wakeful")).expect("a store");
    let mut agents = [None, None];
    for number in 0.. {
        let agent = format!("agent-{number}");
        let path = format!("/v1/agents/{agent}");
        assert_eq!(server.ask("PUT", &path, r#"{"turns":"elsewhere"}"#).0, 201);
        let is_first = !kept.living_heads_of(&[agent.as_str().into()]).expect("it").is_empty();
        agents[usize::from(!is_first)].get_or_insert(agent);
        if agents.iter().all(Option::is_some) {
            break;
        }
    }
    let [here, there] = agents.map(|agent| agent.expect("one in each"));
    // Longer than a lease.
    databases[1].kill();
    let until_lost = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until_lost {
        let said = format!("/v1/agents/{here}/messages");
        let said = server.ask("POST", &said, r#"{"text":"hello"}"#);
        assert!(matches!(said.0, 200 | 202), "{said:?}");
        let run = server.turn(&here);
        assert_eq!(server.ends(&here, &run).0, 200);
    }
    assert_eq!(server.ask("GET", "/readyz", "").0, 200);
    databases[1].crash_and_start().expect("it starts again");
    let said = format!("/v1/agents/{there}/messages");
    until("the other one goes on too", || {
        matches!(server.ask("POST", &said, r#"{"text":"hello"}"#).0, 200 | 202)
    });
    let run = server.turn(&there);
    until("its turn ends", || server.ends(&there, &run).0 == 200);
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
