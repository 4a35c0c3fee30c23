//! The real host: `wakeful run` with a model that makes the calls of an attack. Without a wall, a
//! shell runs the same commands.

use std::{
    fs,
    io::Read,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use wakeful_agent::openai::ChatMessage;

use crate::{
    openai::{answer::Answer, server::Server},
    row::Outcome,
    scene::{Ran, SECRET, Scene},
    users,
};

/// Longer than any attack takes.
const PATIENCE: Duration = Duration::from_mins(10);

/// A call of a tool: its name and arguments.
pub(crate) type Call = (&'static str, Value);

/// A command that the model runs. It waits for the end.
pub(crate) fn exec(line: &str) -> Call {
    ("ExecCommand", json!({ "cmd": line, "yield_time_ms": 600_000 }))
}

/// A child agent in a worktree.
pub(crate) fn spawn() -> Call {
    ("SpawnAgent", json!({ "initial_message": "go", "workspace_mode": "worktree" }))
}

/// A host that is about to run commands.
pub(crate) struct Host<'a> {
    scene: &'a Scene,
    /// The rounds of the model, and of its child.
    rounds: [Vec<Vec<Call>>; 2],
    /// What the operator's shell does before it starts the host.
    before: String,
    /// The shell lines without a wall.
    bare: String,
    program: PathBuf,
    ledger: PathBuf,
}

/// What a host did.
pub(crate) struct HostRan {
    pub(crate) ran: Ran,
    /// All that the model was told.
    pub(crate) told: String,
}

impl HostRan {
    /// What happened, for a message.
    pub(crate) fn last(&self) -> String {
        let results: Vec<_> =
            self.told.match_indices("\\\"status\\\":").map(|(at, _)| at).collect();
        let result = results.last().map_or("", |at| {
            let mut end = (*at + 600).min(self.told.len());
            while !self.told.is_char_boundary(end) {
                end -= 1;
            }
            &self.told[*at..end]
        });
        format!("{}; {result}", self.ran.last())
    }

    pub(crate) fn if_so(&self, is_so: bool, what: &str) -> Outcome {
        if is_so { Ok(what.to_owned()) } else { Err(self.last()) }
    }
}

impl<'a> Host<'a> {
    /// A host whose model runs these commands, in rounds.
    pub(crate) fn new(scene: &'a Scene, rounds: &[&[&str]]) -> Self {
        let bare = rounds.concat().join("\n");
        let rounds = rounds.iter().map(|round| round.iter().map(|line| exec(line)).collect());
        Self::calling(scene, [rounds.collect(), Vec::new()], &bare)
    }

    /// A host whose model and its child make these calls; the lines are what happens without one.
    pub(crate) fn calling(scene: &'a Scene, rounds: [Vec<Vec<Call>>; 2], bare: &str) -> Self {
        let (program, ledger) = (users::program(), scene.path("ledger.sqlite"));
        Self { scene, rounds, before: String::new(), bare: bare.to_owned(), program, ledger }
    }

    /// Lets the operator's shell do something first.
    pub(crate) fn started_by(mut self, line: &str) -> Self {
        self.before = line.to_owned();
        self
    }

    /// Starts another program.
    pub(crate) fn with_program(self, program: PathBuf) -> Self {
        Self { program, ..self }
    }

    /// Keeps its ledger elsewhere.
    pub(crate) fn with_ledger(self, ledger: PathBuf) -> Self {
        Self { ledger, ..self }
    }

    /// Runs it, and returns whether it refused to start.
    pub(crate) fn is_refused(&self) -> bool {
        let server = self.server();
        let mut started = self.start(&server, true);
        let code = started.ends_within(PATIENCE);
        assert!(code.is_some(), "the host does not end: {:?}", started.said());
        let is_told = started.said().err.contains("could change");
        code == Some(2) && is_told && server.received().is_empty()
    }

    fn server(&self) -> Server {
        let rounds = self.rounds.clone();
        let at = [AtomicUsize::new(0), AtomicUsize::new(0)];
        Server::scripted(move |request| {
            let system = match request.messages().first() {
                Some(ChatMessage::System { content }) => content.clone(),
                _ => String::new(),
            };
            let who = usize::from(system.contains("You are a child agent"));
            match rounds[who].get(at[who].fetch_add(1, Ordering::SeqCst)) {
                Some(calls) => Answer::calls(calls),
                None => Answer::says("Done."),
            }
        })
    }

    /// The lines of the operator's shell.
    fn line(&self, server: &Server, ends_by_itself: bool) -> String {
        let (before, scene) = (&self.before, self.scene);
        if scene.wall.is_none() {
            // The last word keeps the shell: it would become the last command otherwise.
            return format!("{before}\ncd '{}'\n{}\ntrue", scene.text("work"), self.bare);
        }
        let end = if ends_by_itself { "--until-rest" } else { "" };
        format!(
            "{before}\nexec '{}' run --provider openai --model test --base-url {} --ledger '{}' \
             --workspace '{}' --prompt go {end}",
            self.program.display(),
            server.url(),
            self.ledger.display(),
            scene.text("work"),
        )
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/bash");
        command.args(["-c", line]).env_clear().envs(self.scene.environment());
        // The operator's own shell has read it already.
        command.env_remove("BASH_ENV").stdin(Stdio::null()).process_group(0);
        command.current_dir(self.scene.path("outside"));
        command
    }

    fn start(&self, server: &Server, ends_by_itself: bool) -> Started {
        let [out, err] = ["host-out", "host-err"].map(|name| self.scene.path(name));
        let child = self
            .command(&self.line(server, ends_by_itself))
            .stdout(fs::File::create(&out).expect("a file"))
            .stderr(fs::File::create(&err).expect("a file"))
            .spawn()
            .expect("bash starts");
        Started { child, out, err }
    }

    /// Runs until the agent rests.
    pub(crate) fn run(&self) -> HostRan {
        for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
            let _missing = fs::remove_file(self.scene.path(name));
        }
        let _missing = fs::remove_dir_all(self.scene.path("ledger.sqlite.home"));
        let server = self.server();
        let mut started = self.start(&server, true);
        let code = started.ends_within(PATIENCE);
        let ran = Ran { code, ..started.said() };
        assert!(code.is_some(), "the host does not end: {ran:?}");
        let is_asked = self.scene.wall.is_none() || !server.received().is_empty();
        assert!(is_asked, "the host did not ask its model: {ran:?}");
        let told = server.received().iter().map(|one| one.body.to_string() + "\n").collect();
        HostRan { ran, told }
    }

    /// Runs until the agent rests. Succeeds if a secret is told to the model or in the workspace.
    pub(crate) fn leaks(&self) -> Outcome {
        let host = self.run();
        if host.told.contains(SECRET) {
            return Ok("the model is told the secret".to_owned());
        }
        self.scene.leaked(&host.ran).map_err(|_| host.last())
    }

    /// Runs until something is so, and kills the host.
    pub(crate) fn killed_when(&self, mut is_so: impl FnMut() -> bool) {
        let server = self.server();
        let mut started = self.start(&server, false);
        let until = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < until, "the attack does not begin: {:?}", started.said());
            thread::sleep(Duration::from_millis(10));
        }
        // Only the host, as `kill -9` does.
        started.child.kill().expect("it lives");
        let _ended = started.child.wait();
    }

    /// Whether the host ends soon after it is told to, although a call may not have returned.
    pub(crate) fn stops(&self, begins: impl Fn() -> bool, within: Duration) -> bool {
        let server = self.server();
        let mut started = self.start(&server, false);
        let until = Instant::now() + PATIENCE;
        let is_begun = |server: &Server| self.scene.wall.is_none() || server.received().len() > 1;
        while !(is_begun(&server) && begins()) {
            assert!(Instant::now() < until, "the attack does not begin: {:?}", started.said());
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(500));
        let group = Pid::from_child(&started.child);
        let _gone = rustix::process::kill_process(group, Signal::INT);
        let has_ended = started.ends_within(within).is_some();
        let _gone = kill_process_group(group, Signal::KILL);
        let _ended = started.child.wait();
        has_ended
    }

    /// Runs on a terminal of the operator. Returns all bytes that the terminal got, and whether
    /// another group had its keyboard.
    pub(crate) fn on_terminal(&self) -> Screen {
        let server = self.server();
        let (pty, pts) = pty_process::blocking::open().expect("a terminal");
        pty.resize(pty_process::Size::new(40, 120)).expect("a size");
        let line =
            format!("tty > '{}'\n{}", self.scene.text("work/terminal"), self.line(&server, true));
        let mut command = Command::new("/bin/bash");
        command.args(["-c", &line]).env_clear().envs(self.scene.environment());
        command.env_remove("BASH_ENV").env("TERM", "xterm").current_dir(self.scene.path("outside"));
        let mut child =
            pty_process::blocking::Command::from(command).spawn(pts).expect("bash starts");
        let pty = Arc::new(pty);
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (from, into) = (Arc::clone(&pty), Arc::clone(&bytes));
        let reader = thread::spawn(move || {
            let mut some = [0; 4096];
            // The terminal closes with its last process.
            while let Ok(count) = (&*from).read(&mut some) {
                into.lock().expect("no thread panics with this lock").extend(&some[..count]);
            }
        });
        let own = Pid::from_child(&child);
        let mut is_taken = false;
        let until = Instant::now() + PATIENCE;
        while child.try_wait().expect("it can be asked").is_none() {
            is_taken |= rustix::termios::tcgetpgrp(&*pty).is_ok_and(|group| group != own);
            if is_taken || Instant::now() > until {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(300));
        let _gone = kill_process_group(own, Signal::KILL);
        let _gone = child.kill();
        let _ended = child.wait();
        // What a command left running may hold it open.
        let until = Instant::now() + Duration::from_secs(10);
        while !reader.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        let bytes = bytes.lock().expect("no thread panics with this lock");
        let is_asked = self.scene.wall.is_none() || !server.received().is_empty();
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        assert!(is_asked, "the host did not ask its model: {shown}");
        Screen { shown, is_taken }
    }
}

/// What the operator's terminal saw.
pub(crate) struct Screen {
    pub(crate) shown: String,
    pub(crate) is_taken: bool,
}

impl Screen {
    pub(crate) fn if_so(&self, is_so: bool, what: &str) -> Outcome {
        let end = self.shown.chars().rev().take(200).collect::<Vec<_>>();
        let end: String = end.into_iter().rev().collect();
        if is_so { Ok(what.to_owned()) } else { Err(format!("the terminal ends with {end:?}")) }
    }
}

struct Started {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Started {
    /// The exit code, if it ends in time. A host that does not is killed.
    fn ends_within(&mut self, patience: Duration) -> Option<i32> {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("it can be asked") {
                return Some(status.code().unwrap_or(-1));
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _gone = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ended = self.child.wait();
        None
    }

    fn said(&self) -> Ran {
        let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        Ran { code: None, out: text(&self.out), err: text(&self.err) }
    }
}
