//! A server over a real store, and a client that is not ours.

use std::{
    collections::BTreeSet,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::{Agent, Body, http::Response};
use wakeful_core::{Options as AgentOptions, host::Scheduler};
use wakeful_host::{
    clock::SystemClock,
    ledger::{SqliteFile, SqliteLedger},
    provider::Elsewhere,
};
use wakeful_serve::{
    HookOptions, Limits, Options, Page, Running, Scope, Socket, Tls, TraceOptions, grant, start,
};

/// A scheduler of this process, as another program would have it.
pub(crate) type Driver = Scheduler<SqliteLedger, SystemClock, Elsewhere>;

/// The most bytes of a body.
pub(crate) const BODY_BYTES: usize = 100_000;

/// A server over a store with the agents `ada` and `bob`, which another program drives.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) server: Option<Running>,
    pub(crate) address: SocketAddr,
    /// A token with all scopes.
    pub(crate) operator: String,
    pub(crate) client: Agent,
}

/// What a test starts a server with.
pub(crate) struct With {
    pub(crate) limits: Limits,
    pub(crate) host_names: BTreeSet<String>,
    pub(crate) origins: BTreeSet<String>,
    pub(crate) tls: Option<Tls>,
    pub(crate) page: Page,
    pub(crate) hooks: HookOptions,
    pub(crate) traces: Option<TraceOptions>,
}

impl Default for With {
    fn default() -> Self {
        let limits =
            Limits { body_bytes: BODY_BYTES, drain: Duration::from_secs(5), ..Limits::default() };
        let hooks = HookOptions { first_wait: Duration::from_millis(50), ..HookOptions::default() };
        Self {
            limits,
            host_names: BTreeSet::new(),
            origins: BTreeSet::new(),
            tls: None,
            page: Page::default(),
            hooks,
            traces: None,
        }
    }
}

pub(crate) fn place() -> Place {
    Place::with(With::default())
}

impl Place {
    pub(crate) fn with(with: With) -> Self {
        let folder = TempDir::new().expect("a folder");
        let file = SqliteFile::open(&folder.path().join("agents.sqlite")).expect("a store");
        let operator = grant(&file.clone().into(), "operator", Scope::ALL, None).expect("a token");
        for name in ["ada", "bob"] {
            driver(&file, name);
        }
        drop(file);
        let config = Agent::config_builder().http_status_as_error(false).build();
        let mut place = Self {
            folder,
            server: None,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            operator,
            client: config.into(),
        };
        place.start(with);
        place
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("agents.sqlite")
    }

    /// The store as another process would open it.
    pub(crate) fn file(&self) -> SqliteFile {
        SqliteFile::open(&self.path()).expect("a store")
    }

    /// The scheduler of an agent, as another process would open it.
    pub(crate) fn driver(&self, name: &str) -> Driver {
        driver(&self.file(), name)
    }

    /// The same for an agent that the server drives.
    pub(crate) fn observer(&self, name: &str) -> Driver {
        let ledger = self.file().ledger(&name.into());
        let options = AgentOptions::new(name.into());
        Driver::observe(options, ledger, SystemClock, Elsewhere).expect("it opens")
    }

    /// Starts the server, and waits until it is ready.
    pub(crate) fn start(&mut self, with: With) {
        let server = self.second(with);
        self.address = server.addresses()[0];
        self.server = Some(server);
    }

    /// Starts another server over the same store, and waits until it is ready.
    pub(crate) fn second(&self, with: With) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let options = Options {
            store: self.file().into(),
            runner: None,
            limits: with.limits,
            sockets: vec![match with.tls {
                Some(tls) => Socket::Tls(listener, tls),
                None => Socket::Tcp(listener),
            }],
            host_names: with.host_names,
            origins: with.origins,
            hooks: with.hooks,
            page: with.page,
            traces: with.traces,
            notice: Arc::new(|notice| println!("{notice}")),
        };
        let server = start(options).expect("it starts");
        until("the server is ready", || server.is_ready());
        server
    }

    pub(crate) fn stop(&mut self) {
        self.server.take().expect("it runs").stop().expect("it stops");
    }

    /// From here on, the place is what a process leaves that is killed now. The server itself goes
    /// on with another file.
    pub(crate) fn dies(&mut self) {
        let left = TempDir::new().expect("a folder");
        for name in ["agents.sqlite", "agents.sqlite-wal"] {
            let from = self.folder.path().join(name);
            std::fs::copy(from, left.path().join(name)).expect("a copy");
        }
        let running = self.server.take().expect("it runs");
        let before = std::mem::replace(&mut self.folder, left);
        thread::spawn(move || {
            running.stop().expect("it stops");
            drop(before);
        });
    }

    pub(crate) fn token(&self, name: &str, scopes: &[Scope], agent: Option<&str>) -> String {
        let token = grant(&self.file().into(), name, scopes.iter().copied(), agent.map(Into::into));
        token.expect("a token")
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> Response<Body> {
        let asked = self.client.get(self.url(path));
        asked.header("authorization", format!("Bearer {token}")).call().expect("an answer")
    }

    /// Asks as the operator.
    pub(crate) fn ask(&self, path: &str) -> Told {
        told(self.get(path, &self.operator))
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> Told {
        let mut asked = ureq::http::Request::builder().method(method).uri(self.url(path));
        if !token.is_empty() {
            asked = asked.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            asked = asked.header(*name, *value);
        }
        let asked = asked.body(body.to_owned()).expect("a request");
        told(self.client.run(asked).expect("an answer"))
    }

    pub(crate) fn post(&self, path: &str, token: &str, body: &str) -> Told {
        self.send("POST", path, token, body, &[])
    }

    /// Says something as the operator.
    pub(crate) fn say(&self, agent: &str, text: &str) -> Told {
        let body = json!({ "text": text }).to_string();
        self.post(&format!("/v1/agents/{agent}/messages"), &self.operator, &body)
    }

    /// Reports a fact as the operator, and gives what came of it.
    pub(crate) fn report(&self, agent: &str, fact: &Value) -> Value {
        let path = format!("/v1/agents/{agent}/facts");
        let (status, said) = self.post(&path, &self.operator, &fact.to_string());
        assert_eq!(status, 200, "{said}");
        said
    }

    /// Makes an agent whose turns are run elsewhere.
    pub(crate) fn make(&self, agent: &str) -> Value {
        let path = format!("/v1/agents/{agent}");
        let body = r#"{"turns":"elsewhere"}"#;
        let (status, summary) = self.send("PUT", &path, &self.operator, body, &[]);
        assert_eq!(status, 201, "{summary}");
        summary
    }

    /// The turn of an agent that its host runs, once there is one.
    pub(crate) fn open_turn(&self, agent: &str) -> Value {
        let path = format!("/v1/agents/{agent}/turn");
        let mut turn = Value::Null;
        until("a turn is open", || {
            let wait = [("prefer", "wait=60")];
            let (status, found) = self.send("GET", &path, &self.operator, "", &wait);
            assert!(status == 200 || status == 204, "{found}");
            turn = found;
            status == 200
        });
        turn
    }

    /// The stored lines of an agent.
    pub(crate) fn lines(&self, agent: &str) -> Vec<String> {
        let path = format!("/v1/agents/{agent}/entries?until=head");
        events(self.get(&path, &self.operator)).into_iter().map(|(_, line)| line).collect()
    }
}

fn driver(file: &SqliteFile, name: &str) -> Driver {
    let ledger = file.ledger(&name.into());
    Driver::drive(AgentOptions::new(name.into()), ledger, SystemClock, Elsewhere).expect("it opens")
}

/// A limit only for tests that hang: none depends on how fast the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "not: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A status and what came as JSON; null if nothing came.
pub(crate) type Told = (u16, Value);

pub(crate) fn told(mut response: Response<Body>) -> Told {
    let status = response.status().as_u16();
    let text = response.body_mut().read_to_string().expect("text");
    if status == 204 {
        assert_eq!(text, "");
        return (status, Value::Null);
    }
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
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
pub(crate) fn events(mut response: Response<Body>) -> Vec<(u64, String)> {
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
