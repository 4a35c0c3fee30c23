//! The surroundings of a test's agent: a folder with a workspace and a ledger, a model server, and
//! the program that drives the agent. The workspace is a git repository.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use wakeful_core::record::{chain::Head, entry::Entry};
use wakeful_host::{driver, ledger::SqliteFile};

use super::model::Asked;
use crate::{
    openai::{answer::Answer, server::Server, strict},
    program::{Ran, arg, wakeful},
};

/// A limit only for tests that hang: none depends on how fast the machine is.
const PATIENCE: Duration = Duration::from_mins(10);

/// The file for the output of an agent that runs beside the test.
const SHOWN: &str = "shown.txt";

/// The key that must not reach a ledger.
pub(super) const KEY: &str = "sk-test-4c1f0b77a9d24e6b";

pub(super) struct Place {
    folder: tempfile::TempDir,
    server: Server,
}

/// A running agent in its own process.
pub(super) struct Live(Child);

impl Place {
    pub(super) fn with(server: Server) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Self { folder, server };
        fs::create_dir(place.workspace()).expect("a workspace");
        fs::write(place.workspace().join("README.md"), "A parser.\n").expect("a file");
        for args in
            [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "begin"]]
        {
            assert!(place.git(args).success(), "git {args:?}");
        }
        place
    }

    /// With a model that answers each chat by its state, behind a server as strict as there is.
    pub(super) fn scripted(model: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::with(Server::scripted(move |request| match strict::complaint(&request.body) {
            Some(why) => Answer::error(400, &why, "invalid_request_error", Value::Null),
            None => model(&Asked::from_request(request)),
        }))
    }

    /// Runs the agent until it rests, which must succeed. Returns what it printed.
    pub(super) fn rest(&self, extra: &[&str]) -> String {
        let ran = self.run(&[&["--until-rest"], extra].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        ran.out
    }

    /// All requests to the model so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.server.received().iter().map(|request| request.body.to_string()).collect()
    }

    /// Sends something to the agent from outside, which must be accepted.
    pub(super) fn tell(&self, what: &[&str]) {
        let sent = self.send(what);
        assert_eq!(sent.code, 0, "{}{}", sent.out, sent.err);
    }

    /// The URL of the model's server.
    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.path().join("parser")
    }

    pub(super) fn ledger(&self) -> PathBuf {
        self.folder.path().join("agents.sqlite")
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn git(&self, args: &[&str]) -> std::process::ExitStatus {
        let who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
        Command::new("git")
            .current_dir(self.workspace())
            .args(who)
            .args(args)
            .status()
            .expect("git starts")
    }

    /// The path of the program, and its arguments.
    pub(super) fn words(&self, extra: &[&str]) -> (&'static str, Vec<String>) {
        let (url, ledger, workspace) =
            (self.server.url(), arg(&self.ledger()), arg(&self.workspace()));
        let own = [
            "run",
            "--provider",
            "openai",
            "--model",
            "test",
            "--base-url",
            &url,
            "--ledger",
            &ledger,
            "--workspace",
            &workspace,
        ];
        (
            env!("CARGO_BIN_EXE_wakeful"),
            own.iter().chain(extra).map(|word| (*word).to_owned()).collect(),
        )
    }

    fn command(&self, extra: &[&str]) -> Command {
        let (program, args) = self.words(extra);
        let mut command = Command::new(program);
        command.args(args);
        command.env("WAKEFUL_API_KEY", KEY).env_remove("WAKEFUL_GUEST").stdin(Stdio::null());
        command
    }

    /// Runs the agent until it ends on its own.
    pub(super) fn run(&self, extra: &[&str]) -> Ran {
        self.run_in(extra, &[])
    }

    /// Runs a shell line in a container of bubblewrap with the workspace as its folder. It has
    /// processes of its own and all files of the machine. `"$@"` is the agent.
    pub(super) fn in_container(&self, line: &str, extra: &[&str]) -> Ran {
        let (program, words) = self.words(extra);
        let output = Command::new("/usr/bin/bwrap")
            .args(["--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/"])
            .args(["--proc", "/proc", "--", "/bin/sh", "-c", line, "sh", program])
            .args(words)
            .current_dir(self.workspace())
            .env("WAKEFUL_API_KEY", KEY)
            .env_remove("WAKEFUL_GUEST")
            .stdin(Stdio::null())
            .output();
        ran(output.expect("bubblewrap starts"))
    }

    /// Runs the agent with more variables in its environment.
    pub(super) fn run_in(&self, extra: &[&str], environment: &[(&str, &str)]) -> Ran {
        let output = self.command(extra).envs(environment.iter().copied()).output();
        ran(output.expect("wakeful starts"))
    }

    /// Runs the agent until it ends on its own. These bytes are its standard input.
    pub(super) fn run_with_input(&self, extra: &[&str], input: &[u8]) -> Ran {
        let path = self.folder.path().join("input");
        fs::write(&path, input).expect("a file");
        let input = fs::File::open(&path).expect("a file");
        ran(self.command(extra).stdin(input).output().expect("wakeful starts"))
    }

    /// Starts the agent, which runs beside the test.
    pub(super) fn start(&self, extra: &[&str]) -> Live {
        let out = fs::File::create(self.folder.path().join(SHOWN)).expect("a file");
        Live(self.command(extra).stdout(out).spawn().expect("wakeful starts"))
    }

    /// The output so far of the newest agent that was started beside the test.
    pub(super) fn shown(&self) -> String {
        fs::read_to_string(self.folder.path().join(SHOWN)).expect("it was started")
    }

    /// Sends something to the agent from outside.
    pub(super) fn send(&self, what: &[&str]) -> Ran {
        let own = [
            "send".to_owned(),
            "--ledger".to_owned(),
            arg(&self.ledger()),
            "--agent".to_owned(),
            "default".to_owned(),
        ];
        wakeful(own.into_iter().chain(what.iter().map(|text| (*text).to_owned())))
    }

    /// The entries of an agent; none if there is no ledger yet.
    pub(super) fn entries(&self, agent: &str) -> Vec<Entry> {
        let Ok(file) = SqliteFile::open_read_only(&self.ledger()) else { return Vec::new() };
        let mut entries = Vec::new();
        driver::read(&mut file.ledger(&agent.into()), Head::START, |entry, _| {
            entries.push(entry.clone())
        })
        .expect("the entries");
        entries
    }

    /// Waits until the ledger of an agent has an entry for which `like` returns something, and
    /// returns that.
    pub(super) fn wait_for<T>(
        &self,
        agent: &str,
        what: &str,
        like: impl Fn(&Entry) -> Option<T>,
    ) -> T {
        let mut found = None;
        eventually(&format!("there is a {what}"), || {
            found = self.entries(agent).iter().find_map(&like);
            found.is_some()
        });
        found.expect("it was found")
    }
}

impl Live {
    /// Kills it, as `kill -9` does.
    pub(super) fn kill(mut self) {
        self.0.kill().expect("it lives");
        self.0.wait().expect("it ends");
    }

    /// Waits until it ends on its own. Returns the exit code.
    pub(super) fn end(mut self) -> i32 {
        let mut ended = None;
        eventually("it ends", || {
            ended = self.0.try_wait().expect("it can be asked");
            ended.is_some()
        });
        ended.and_then(|status| status.code()).expect("it ends with an exit code")
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something holds.
pub(super) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "not in time: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process with this word in its command line is alive. Its id does not do: a command
/// has other ids in its own namespace.
pub(super) fn lives(word: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|one| fs::read(one.path().join("cmdline")).ok());
    let words = |line: Vec<u8>| String::from_utf8_lossy(&line).into_owned();
    lines.map(words).any(|line| line.split('\0').any(|one| one == word.trim()))
}

/// The result of a run of the program.
fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        code: output.status.code().expect("wakeful ends with an exit code"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
