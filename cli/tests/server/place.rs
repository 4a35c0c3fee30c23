//! A server of the program over a store, as a process of its own.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use wakeful_core::{Options, Scheduler};
use wakeful_host::{
    clock::SystemClock,
    ledger::{SqliteFile, SqliteLedger},
    provider::Elsewhere,
};

use crate::program::{Ran, arg, wakeful};

/// A scheduler of this process, as another program would have it.
pub(super) type Driver = Scheduler<SqliteLedger, SystemClock, Elsewhere>;

/// A store and a server over it.
pub(super) struct Place {
    pub(super) folder: TempDir,
    server: Option<Child>,
    /// Options of the server.
    options: Vec<String>,
    /// The file with the certificates that its clients trust, if not those of the system.
    trusts: Option<String>,
    pub(super) url: String,
    /// A token with all scopes.
    pub(super) token: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// The program, without what the environment of the test says of servers.
pub(super) fn program<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wakeful"));
    command.args(args).env_remove("WAKEFUL_GUEST");
    for name in ["WAKEFUL_SERVER", "WAKEFUL_SERVER_TOKEN", "WAKEFUL_TOKEN", "HTTPS_PROXY"] {
        command.env_remove(name);
    }
    command
}

pub(super) fn ran(command: &mut Command) -> Ran {
    let output = command.output().expect("wakeful starts");
    Ran {
        code: output.status.code().expect("wakeful ends with an exit code"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Drives an agent in a file, as another program does.
pub(super) fn driver(file: &Path, name: &str) -> Driver {
    let ledger = SqliteFile::open(file).expect("a store").ledger(&name.into());
    Driver::drive(Options::new(name.into()), ledger, SystemClock, Elsewhere).expect("it opens")
}

impl Place {
    /// A server over a store that `fill` makes.
    pub(super) fn over(fill: impl FnOnce(&Path)) -> Self {
        Self::with(fill, &[], None)
    }

    /// A server over a store with the agents `ada` and `bob`, which other programs have driven.
    pub(super) fn new() -> Self {
        Self::over(|folder| {
            for name in ["ada", "bob"] {
                driver(&folder.join("agents.sqlite"), name);
            }
        })
    }

    /// A server with these options, whose clients trust this certificate.
    pub(super) fn trusting(fill: impl FnOnce(&Path), options: &[&str], certificate: &str) -> Self {
        Self::with(fill, options, Some(certificate.to_owned()))
    }

    fn with(fill: impl FnOnce(&Path), options: &[&str], trusts: Option<String>) -> Self {
        let folder = TempDir::new().expect("a folder");
        fill(folder.path());
        let mut place = Self {
            folder,
            server: None,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            trusts,
            url: "http://127.0.0.1:0".to_owned(),
            token: String::new(),
        };
        place.token = place.grant("operator", &["read", "prompt", "operate", "ingress"], None);
        place.start();
        place
    }

    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("agents.sqlite")
    }

    /// Starts the server, at the address that it had before, and waits until it is ready.
    pub(super) fn start(&mut self) {
        let file = arg(&self.file());
        let (_, address) = self.url.split_once("://").expect("a URL");
        let listen = ["serve", "--ledger", &file, "--listen", address];
        let mut server = program(listen)
            .args(&self.options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines();
        let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.strip_prefix("listening on ").filter(|it| it.contains("://")).map(str::to_owned)
        });
        // It says more, and ends if nobody reads that.
        thread::spawn(move || lines.for_each(drop));
        self.url = url.expect("it says where it listens");
        self.server = Some(server);
        // A store may have no agents yet, or odd ones.
        until("the server is ready", || {
            let told = self.at(["agents"]);
            told.code != 2 || told.err.contains("holds no agent yet")
        });
    }

    /// Ends the server, by a signal or at once.
    pub(super) fn stop(&mut self, signal: &str) {
        let mut server = self.server.take().expect("it runs");
        kill(&server, signal);
        server.wait().expect("it ends");
    }

    /// Makes a token.
    pub(super) fn grant(&self, name: &str, scopes: &[&str], agent: Option<&str>) -> String {
        let file = arg(&self.file());
        let mut args = vec!["token", "create", name, "--ledger", &file];
        args.extend(scopes.iter().flat_map(|scope| ["--scope", scope]));
        args.extend(agent.iter().flat_map(|agent| ["--agent", agent]));
        let made = wakeful(args);
        assert_eq!(made.code, 0, "{}", made.err);
        made.out.trim().to_owned()
    }

    /// Runs a command at the server, with the token of the operator.
    pub(super) fn at<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Ran {
        self.as_token(&self.token, args)
    }

    /// Runs a command at the server. The server comes last.
    pub(super) fn as_token<'a>(&self, token: &str, args: impl IntoIterator<Item = &'a str>) -> Ran {
        ran(self.command(args).env("WAKEFUL_SERVER_TOKEN", token))
    }

    pub(super) fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = program(args);
        command.args(["--server", self.url.as_str()]);
        command.envs(self.trusts.iter().map(|file| ("SSL_CERT_FILE", file)));
        command
    }

    /// The number of open streams, as the server counts them.
    pub(super) fn streams(&self) -> usize {
        let asked = ureq::get(format!("{}/metrics", self.url))
            .header("authorization", format!("Bearer {}", self.token));
        let text = asked.call().expect("an answer").body_mut().read_to_string().expect("text");
        let count = text.lines().find_map(|line| line.strip_prefix("wakeful_streams "));
        count.expect("it counts them").parse().expect("a number")
    }

    /// The stored lines of an agent, read from the file.
    pub(super) fn lines(&self, agent: &str) -> Vec<String> {
        let file = arg(&self.file());
        let log = wakeful(["log", &file, "--agent", agent, "--json"]);
        assert_eq!(log.code, 0, "{}", log.err);
        log.out.lines().map(str::to_owned).collect()
    }

    /// Says something to an agent, as another process that writes to the file.
    pub(super) fn say(&self, agent: &str, text: &str) {
        let file = arg(&self.file());
        let said = wakeful(["send", "--ledger", &file, "--agent", agent, "prompt", text]);
        assert_eq!(said.code, 0, "{}", said.err);
    }
}

pub(super) fn kill(process: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &process.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

/// Waits until something is so.
pub(super) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_mins(10), "not: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// A fact that fills a ledger.
pub(super) fn hint(number: usize) -> String {
    json!({ "fact": "wake_hint_submitted", "reason": format!("hint {number}") }).to_string()
}
