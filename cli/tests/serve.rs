//! `wakeful serve` as a process: its first start, its tokens, its sockets, and its end.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use ureq::{Agent, Body, http::Response};

use crate::program::{arg, source, wakeful};

/// A limit only for tests that hang: none depends on how fast the machine is.
const PATIENCE: Duration = Duration::from_mins(10);

/// A folder with a store, and a server over it.
pub(crate) struct Served {
    pub(crate) folder: tempfile::TempDir,
    process: Option<Child>,
    printed: Arc<Mutex<String>>,
    pub(crate) url: String,
    /// A token with all scopes.
    pub(crate) token: String,
    client: Agent,
}

impl Served {
    pub(crate) fn new(args: &[&str]) -> Self {
        let config = Agent::config_builder().http_status_as_error(false);
        let config = config.timeout_global(Some(PATIENCE)).build();
        let mut served = Self {
            folder: tempfile::tempdir().expect("a folder"),
            process: None,
            printed: Arc::default(),
            url: String::new(),
            token: String::new(),
            client: config.into(),
        };
        served.start(args);
        served
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("agents.sqlite")
    }

    /// Starts the server at a free port, and waits until it has said where it listens.
    pub(crate) fn start(&mut self, args: &[&str]) {
        self.start_with(args, &[]);
    }

    fn start_with(&mut self, args: &[&str], variables: &[(&str, &str)]) {
        let mut process = Command::new(env!("CARGO_BIN_EXE_wakeful"))
            .args(["serve", "--listen", "127.0.0.1:0", "--ledger"])
            .arg(self.ledger())
            .args(args)
            .env_remove("WAKEFUL_GUEST")
            .env("WAKEFUL_API_KEY", "sk-test-4c1f0b77a9d24e6b")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("wakeful starts");
        self.printed.lock().expect("no panic").clear();
        let out = process.stdout.take().expect("a pipe");
        let err = process.stderr.take().expect("a pipe");
        self.process = Some(process);
        self.keep(out);
        self.keep(err);
        self.until("it says what it serves", |served| {
            let printed = served.printed();
            printed.contains("/turn") || printed.contains("wakeful token list")
        });
        let printed = self.printed();
        let word = |begins: &str| {
            let found = printed.split_whitespace().find(|word| word.starts_with(begins));
            found.map(str::to_owned)
        };
        self.url = word("http").expect("an address");
        if let Some(token) = word("wks_") {
            self.token = token;
        }
        self.until("it is ready", |served| served.get("/readyz").0 == 200);
    }

    fn keep(&self, from: impl std::io::Read + Send + 'static) {
        let printed = Arc::clone(&self.printed);
        thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                let mut printed = printed.lock().expect("no panic");
                printed.push_str(&line);
                printed.push('\n');
            }
        });
    }

    /// What the server has printed.
    pub(crate) fn printed(&self) -> String {
        self.printed.lock().expect("no panic").clone()
    }

    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "not: {what}\n{}", self.printed());
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let asked = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token))
            .body(if body.is_null() { String::new() } else { body.to_string() })
            .expect("a request");
        match self.client.run(asked) {
            Ok(answered) => told(answered),
            Err(why) => (0, json!(why.to_string())),
        }
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.request("GET", path, &Value::Null)
    }

    fn id(&self) -> u32 {
        self.process.as_ref().expect("it runs").id()
    }

    /// Ends the server with a signal, and returns its exit code if it has one.
    #[cfg(unix)]
    pub(crate) fn signal(&mut self, signal: rustix::process::Signal) -> Option<i32> {
        let id = i32::try_from(self.id()).expect("a process id");
        let pid = rustix::process::Pid::from_raw(id).expect("a process id");
        rustix::process::kill_process(pid, signal).expect("it lives");
        self.process.take().expect("it runs").wait().expect("it ends").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it can be killed");
            process.wait().expect("it ends");
        }
    }
}

fn told(mut answered: Response<Body>) -> (u16, Value) {
    let status = answered.status().as_u16();
    let text = answered.body_mut().read_to_string().expect("text");
    (status, serde_json::from_str(&text).unwrap_or(json!(text)))
}

#[cfg(unix)]
#[test]
fn the_first_start_makes_a_token_and_its_commands_work() {
    let mut served = Served::new(&[]);
    let printed = served.printed();
    let commands: Vec<_> = printed.lines().filter(|line| line.contains("curl ")).collect();
    assert_eq!(commands.len(), 3, "{printed}");
    let mut said = String::new();
    for command in &commands {
        let ran = Command::new("sh")
            .arg("-c")
            .arg(format!("export TOKEN={}; {command}", served.token))
            .output()
            .expect("a shell");
        assert!(ran.status.success(), "{command}");
        said = String::from_utf8(ran.stdout).expect("text");
    }
    assert!(said.contains(r#""text":"hello""#), "the turn is about what was said: {said}");
    assert_eq!(served.signal(rustix::process::Signal::INT), Some(0));
    let left: Vec<_> = std::fs::read_dir(served.folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    assert_eq!(left, ["agents.sqlite"], "it tidies up");
    served.start(&[]);
    assert!(!served.printed().contains("wks_"), "it is shown once: {}", served.printed());
    assert_eq!(served.get("/v1/agents/ada").0, 200, "the token of the first start is good");
}

#[cfg(unix)]
#[test]
fn a_server_lives_on_when_nobody_reads_what_it_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("agents.sqlite.sock");
    let mut process = Command::new(env!("CARGO_BIN_EXE_wakeful"))
        .args(["serve", "--listen", "127.0.0.1:0", "--ledger"])
        .arg(folder.path().join("agents.sqlite"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wakeful starts");
    drop(process.stdout.take());
    let mut lines = BufReader::new(process.stderr.take().expect("a pipe")).lines();
    let told = lines.next().expect("a line").expect("text");
    assert!(told.contains("cannot write to standard output"), "{told}");
    let ran = Command::new("curl")
        .args(["-s", "--max-time", "600", "--unix-socket", &arg(&socket)])
        .arg("http://localhost/v1/agents")
        .output()
        .expect("curl starts");
    process.kill().expect("it lives");
    process.wait().expect("it ends");
    let listed: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(listed["agents"], json!([]));
}

#[test]
fn tokens_are_made_listed_and_ended_while_the_server_runs() {
    let served = Served::new(&[]);
    let ledger = arg(&served.ledger());
    let token = |args: &[&str]| wakeful([&["token"], args, &["--ledger", &ledger]].concat());
    let made = token(&["create", "dash", "--scope", "read", "--json"]);
    let made: Value = serde_json::from_str(&made.out).expect("JSON");
    let secret = made["token"].as_str().expect("a token");
    let ask = |path: &str| {
        let asked = served.client.get(format!("{}{path}", served.url));
        let asked = asked.header("authorization", format!("Bearer {secret}"));
        told(asked.call().expect("an answer")).0
    };
    assert_eq!(ask("/v1/agents"), 200);
    assert_eq!(ask("/v1/turns"), 403);
    let listed = token(&["list"]).out;
    assert!(listed.contains("dash: read, all agents"), "{listed}");
    assert!(!listed.contains(secret));
    assert_eq!(token(&["create", "dash", "--scope", "read"]).code, 2, "the name is taken");
    assert_eq!(token(&["create", "x", "--scope", "reed"]).code, 2);
    assert_eq!(token(&["revoke", "dash"]).code, 0);
    served.until("the token has ended", |_| ask("/v1/agents") == 401);
    assert_eq!(token(&["revoke", "dash"]).code, 1);
    let bytes = std::fs::read(served.ledger()).expect("a file");
    assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
}

#[test]
fn a_server_that_cannot_start_says_why_and_what_to_do() {
    let served = Served::new(&[]);
    let other = served.folder.path().join("other.sqlite");
    let address = served.url.trim_start_matches("http://");
    let serve = |ledger: &Path, args: &[&str]| {
        let ran = wakeful([&["serve", "--ledger", &arg(ledger)], args].concat());
        assert_eq!(ran.code, 2, "{}", ran.err);
        ran.err
    };
    let taken = serve(&other, &["--listen", address]);
    assert!(taken.contains("name another address with --listen"), "{taken}");
    let open = serve(&other, &["--listen", "0.0.0.0:0"]);
    assert!(open.contains("say --behind-proxy if a proxy"), "{open}");
    #[cfg(unix)]
    {
        let twice = serve(&served.ledger(), &["--listen", "127.0.0.1:0"]);
        assert!(twice.contains("another server listens on"), "{twice}");
    }
    let wrong = serve(&other, &["--listen", "127.0.0.1:0", "--allow-origin", "desk"]);
    assert!(wrong.contains("`desk` is not an origin"), "{wrong}");
    let tls = ["--listen", "0.0.0.0:0", "--tls-cert", "none.pem", "--tls-key", "none.pem"];
    let missing = serve(&other, &tls);
    assert!(missing.contains("cannot read `none.pem`"), "{missing}");
    let nowhere = serve(&other, &["--otlp-endpoint", "localhost:4318"]);
    assert!(nowhere.contains("write it as http://localhost:4318"), "{nowhere}");
}

#[cfg(unix)]
#[test]
fn the_variables_of_opentelemetry_say_where_traces_go() {
    let collector = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", collector.local_addr().expect("an address"));
    let mut served = Served::new(&[]);
    assert_eq!(served.signal(rustix::process::Signal::INT), Some(0));
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"),
        ("OTEL_SERVICE_NAME", "the-desk"),
    ];
    served.start_with(&[], &variables);
    let body = json!({ "turns": "elsewhere" });
    assert_eq!(served.request("PUT", "/v1/agents/ada", &body).0, 201);
    let said = json!({ "text": "hello" });
    assert_eq!(served.request("POST", "/v1/agents/ada/messages", &said).0, 200);
    served.until("a turn is open", |served| served.get("/v1/agents/ada/turn").0 == 200);
    let run = served.get("/v1/agents/ada/turn").1["run_id"].clone();
    let ended = json!({ "fact": "turn_terminal", "run_id": run, "kind": "completed" });
    assert_eq!(served.request("POST", "/v1/agents/ada/facts", &ended).0, 200);
    let (stream, _) = collector.accept().expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("a header") > 0, "{head}");
    }
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("x-key: a b\r\n"), "{head}");
    let mut body = Vec::new();
    while !contains(&body, "invoke_agent ada") || !contains(&body, "the-desk") {
        let more = reader.fill_buf().expect("a body").to_vec();
        assert!(!more.is_empty(), "the body ended");
        reader.consume(more.len());
        body.extend(more);
    }
    // Nobody answers it, and the server ends all the same.
    assert_eq!(served.signal(rustix::process::Signal::INT), Some(0));
    // An empty variable is as good as none, and a wrong header is told without its value.
    served.start_with(&[], &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]);
    let wrong = Command::new(env!("CARGO_BIN_EXE_wakeful"))
        .args(["serve", "--listen", "127.0.0.1:0", "--ledger", "none.sqlite"])
        .current_dir(served.folder.path())
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)
        .env("OTEL_EXPORTER_OTLP_HEADERS", "a=b,hunter2")
        .output()
        .expect("wakeful starts");
    let told = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{told}");
    assert!(told.contains("header 2 for the collector"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
}

#[cfg(unix)]
fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[cfg(unix)]
#[test]
fn two_servers_on_one_store_stay_correct() {
    let served = Served::new(&[]);
    let body = json!({ "turns": "elsewhere" });
    assert_eq!(served.request("PUT", "/v1/agents/ada", &body).0, 201);
    let mut second = Served {
        folder: tempfile::tempdir().expect("a folder"),
        process: None,
        printed: Arc::default(),
        url: String::new(),
        token: served.token.clone(),
        client: served.client.clone(),
    };
    std::os::unix::fs::symlink(served.ledger(), second.ledger()).expect("a link");
    second.start(&[]);
    // The second one takes what is said, and the first one decides.
    let said = json!({ "text": "who hears this?" });
    assert_eq!(second.request("POST", "/v1/agents/ada/messages", &said).0, 200);
    served.until("the first has a turn", |first| first.get("/v1/agents/ada/turn").0 == 200);
    let lines = served.get("/v1/agents/ada/entries?until=head").1;
    let lines = lines.as_str().expect("text");
    assert_eq!(lines.matches(r#""runtime_restarted""#).count(), 1, "{lines}");
}

#[cfg(unix)]
#[test]
fn a_process_of_the_same_user_needs_no_token_over_the_socket() {
    let served = Served::new(&[]);
    let socket = served.folder.path().join("agents.sqlite.sock");
    let ran = Command::new("curl")
        .args(["-s", "--max-time", "600", "--unix-socket", &arg(&socket)])
        .arg("http://localhost/v1/agents")
        .output()
        .expect("curl starts");
    let listed: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(listed["agents"], json!([]));
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&socket).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[cfg(unix)]
#[test]
fn what_was_acknowledged_survives_a_kill() {
    let mut served = Served::new(&[]);
    served.request("PUT", "/v1/agents/ada", &json!({ "turns": "elsewhere" }));
    for round in 0..3 {
        let said = json!({ "text": format!("before kill {round}") });
        assert_eq!(served.request("POST", "/v1/agents/ada/messages", &said).0, 200);
        served.signal(rustix::process::Signal::KILL);
        served.start(&[]);
        let lines = served.get("/v1/agents/ada/entries?until=head").1;
        assert!(lines.as_str().expect("text").contains(&format!("before kill {round}")));
    }
    // The run that a host elsewhere executes was not interrupted by any of it.
    let turn = served.get("/v1/agents/ada/turn").1;
    assert_eq!(turn["turn_index"], 1);
    let end = json!({ "fact": "turn_terminal", "run_id": turn["run_id"], "kind": "completed" });
    assert_eq!(served.request("POST", "/v1/agents/ada/facts", &end).1["answer"], "accepted");
}

#[test]
#[cfg(unix)]
fn a_server_says_how_many_agents_it_only_observes() {
    let mut served = Served::new(&[]);
    assert!(!served.printed().contains("only observed"), "{}", served.printed());
    assert_eq!(served.request("PUT", "/v1/agents/ada", &json!(null)).0, 201);
    let (ledger, story) = (arg(&served.ledger()), arg(&source("docs/stories/nightly.toml")));
    let run = ["run", "--ledger", &ledger, "--agent", "night", "--story", &story, "--virtual"];
    assert_eq!(wakeful([&run[..], &["--until-rest"]].concat()).code, 0);
    assert_eq!(served.signal(rustix::process::Signal::TERM), Some(0));
    served.start(&[]);
    let printed = served.printed();
    assert!(printed.contains(": 2 agents") && printed.contains("of these, 1 only"), "{printed}");
}

#[cfg(target_os = "linux")]
mod models {
    use serde_json::json;

    use super::Served;
    use crate::openai::{answer::Answer, server::Server};

    #[test]
    fn agents_with_a_model_live_in_one_process_and_rest_without_a_thread() {
        let model = Server::scripted(|request| {
            let said = request.body.to_string();
            if said.contains("wait for it") && !said.contains("has come") {
                return Answer::calls(&[(
                    "WaitFor",
                    json!({ "reason": "the build", "wake": "external", "resource": "build" }),
                )]);
            }
            Answer::says("Done.")
        });
        let work = tempfile::tempdir().expect("a folder");
        let url = model.url();
        let folder = work.path().to_str().expect("text");
        let args =
            ["--provider", "openai", "--model", "test", "--base-url", &url, "--workspaces", folder];
        let mut served = Served::new(&args);
        for agent in ["ada", "bob"] {
            assert_eq!(served.request("PUT", &format!("/v1/agents/{agent}"), &json!(null)).0, 201);
            let said = json!({ "text": "hello" });
            assert_eq!(
                served.request("POST", &format!("/v1/agents/{agent}/messages"), &said).0,
                200
            );
        }
        let ended = |served: &Served, agent: &str, turns: u64| {
            let summary = served.get(&format!("/v1/agents/{agent}")).1;
            summary["turn_index"] == turns && summary["last_turn_terminal"] == "completed"
        };
        served.until("both have answered", |it| ended(it, "ada", 1) && ended(it, "bob", 1));
        assert!(work.path().join("ada").is_dir() && work.path().join("bob").is_dir());
        let threads = |served: &Served| {
            let path = format!("/proc/{}/task", served.id());
            let names = std::fs::read_dir(path)
                .expect("threads")
                .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.filter(|name| name.starts_with("agent ")).count()
        };
        served.until("no agent has a thread", |it| threads(it) == 0);
        // It goes on without a restart, and waits for something outside.
        let said = json!({ "text": "wait for it" });
        served.request("POST", "/v1/agents/ada/messages", &said);
        served.until("it waits", |it| {
            it.get("/v1/agents/ada/triggers").1.as_array().is_some_and(|all| !all.is_empty())
                && ended(it, "ada", 2)
        });
        let lines = served.get("/v1/agents/ada/entries?until=head").1.to_string();
        assert_eq!(lines.matches("runtime_restarted").count(), 1, "{lines}");
        assert!(!served.printed().contains("wkt_"), "{}", served.printed());
        // After a restart of the server its wait still stands, and its address works.
        assert_eq!(served.signal(rustix::process::Signal::TERM), Some(0));
        served.start(&args);
        let trigger = served.get("/v1/agents/ada/triggers").1[0]["external_trigger_id"].clone();
        let trigger = trigger.as_str().expect("an id");
        let rotate = format!("/v1/agents/ada/triggers/{trigger}/rotate");
        let rotated = served.request("POST", &rotate, &json!(null)).1;
        let path = rotated["path"].as_str().expect("a path");
        assert_eq!(served.request("POST", path, &json!("it has come")).0, 202);
        served.until("it went on", |it| ended(it, "ada", 3));
    }
}
