//! One call of another program: how it is started, what it printed, and how it failed.

use std::{
    cell::Cell,
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, IsTerminal, Read, Write},
    path::PathBuf,
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use crate::{paths::Paths, stage};

/// Why a stage failed: one line, and what the failing program printed if that was not shown
/// already.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong, in a line.
    pub what: String,
    /// All that the program printed; empty if it was seen already, or no program ran.
    pub printed: String,
}

impl Failure {
    /// A failure of which nothing was printed.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), printed: String::new() }
    }

    /// Prints what the program printed, then the line.
    pub fn show(&self) {
        if !self.printed.is_empty() {
            anstream::eprintln!("{}", self.printed.trim_end());
        }
        anstream::eprintln!("{}: {}", stage::red("error"), self.what);
    }
}

thread_local! {
    /// Whether this thread runs programs beside another thread, whose progress is shown.
    static IS_BESIDE: Cell<bool> = const { Cell::new(false) };
}

/// Does some work whose programs show no progress, because another thread's do; what they print is
/// shown if they fail.
pub(crate) fn without_progress<T>(work: impl FnOnce() -> T) -> T {
    let before = IS_BESIDE.replace(true);
    let done = work();
    IS_BESIDE.set(before);
    done
}

fn shows_progress() -> bool {
    !IS_BESIDE.get() && io::stderr().is_terminal()
}

/// A program with its arguments, to be started in the root of the tree unless another folder is
/// given.
pub struct Call {
    command: Command,
    /// The program and its arguments as a developer would type them.
    line: String,
    log: PathBuf,
}

impl Call {
    /// `log` is the name of the file in target/xtask that keeps what the program printed.
    pub fn new(paths: &Paths, log: &str, program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        let mut command = Command::new(program);
        command.current_dir(paths.root());
        // What cargo tells this package about itself is not meant for other packages, and build
        // scripts would run again for it.
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(|name| {
                name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
            }) {
                command.env_remove(name);
            }
        }
        let shown = PathBuf::from(program);
        let line = shown.file_name().unwrap_or(program).to_string_lossy().into_owned();
        Self { command, line, log: paths.log(log) }
    }

    /// Cargo with a subcommand; builds go to `target` whatever the environment says, because other
    /// programs look there.
    pub fn cargo(paths: &Paths, log: &str, subcommand: &str) -> Self {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut call = Self::new(paths, log, cargo).arg(subcommand);
        if subcommand != "fmt" {
            call.command.env("CARGO_TARGET_DIR", paths.target());
        }
        call
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.line.push(' ');
        self.line.push_str(&arg.as_ref().to_string_lossy());
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Starts it in another folder.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.command.current_dir(folder.into());
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Runs a build: its progress passes through on a terminal; elsewhere it is quiet, and shown
    /// when it fails.
    pub fn build(mut self) -> Result<(), Failure> {
        if !shows_progress() {
            return self.recorded().map(drop);
        }
        let status = self.through()?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::new(format!("`{}` failed ({status})", self.line)))
        }
    }

    /// Runs it with this program's own input and output, and says how it ended.
    pub fn pass_through(mut self) -> Result<ExitStatus, Failure> {
        self.through()
    }

    /// Runs it and gives all that it printed; a terminal sees it at once.
    ///
    /// The output goes through a file and not a pipe: a browser that a test left behind would hold
    /// a pipe open for ever.
    pub fn recorded(self) -> Result<String, Failure> {
        let line = self.line.clone();
        let (status, printed) = self.told()?;
        if status.success() {
            return Ok(printed);
        }
        let was_seen = shows_progress();
        Err(Failure {
            what: format!("`{line}` failed ({status})"),
            printed: if was_seen { String::new() } else { printed },
        })
    }

    /// Runs it like [`Call::recorded`], and says how it ended and all that it printed.
    pub fn told(mut self) -> Result<(ExitStatus, String), Failure> {
        let (to, again) = self
            .open_log()
            .map_err(|why| Failure::new(format!("cannot write {}: {why}", self.log.display())))?;
        self.command.stdin(Stdio::null()).stdout(to).stderr(again);
        let mut child = self.command.spawn().map_err(|why| self.not_started(&why))?;
        let echo = shows_progress();
        follow(&mut child, &self.log, echo)
            .map_err(|why| Failure::new(format!("lost sight of `{}`: {why}", self.line)))
    }

    /// Runs a short program, and gives what it printed to its standard output.
    pub fn answer(mut self) -> Result<String, Failure> {
        let output =
            self.command.stdin(Stdio::null()).output().map_err(|why| self.not_started(&why))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Failure { what: format!("`{}` failed ({})", self.line, output.status), printed })
    }

    /// Runs a program whose standard output is for this program; a terminal sees the rest, its
    /// progress, at once.
    pub fn answer_with_progress(mut self) -> Result<String, Failure> {
        if !io::stderr().is_terminal() {
            return self.answer();
        }
        self.command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = self.command.output().map_err(|why| self.not_started(&why))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(Failure::new(format!("`{}` failed ({})", self.line, output.status)))
    }

    /// Becomes the other program, so that whoever ends this one ends that one.
    #[cfg(unix)]
    pub fn become_it(mut self) -> Result<ExitCode, Failure> {
        // It comes back only when it failed.
        let why = std::os::unix::process::CommandExt::exec(&mut self.command);
        Err(self.not_started(&why))
    }

    /// Runs the other program to its end.
    #[cfg(not(unix))]
    pub fn become_it(self) -> Result<ExitCode, Failure> {
        self.pass_through().map(exit_code)
    }

    /// What a recorded call printed before it failed; for counts of a test runner that found
    /// failures.
    pub fn log(&self) -> PathBuf {
        self.log.clone()
    }

    fn through(&mut self) -> Result<ExitStatus, Failure> {
        self.command.status().map_err(|why| self.not_started(&why))
    }

    fn open_log(&self) -> io::Result<(File, File)> {
        if let Some(folder) = self.log.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create(&self.log)?;
        let again = file.try_clone()?;
        Ok((file, again))
    }

    fn not_started(&self, why: &io::Error) -> Failure {
        Failure::new(format!("cannot start `{}`: {why}", self.line))
    }
}

/// The exit code of a program as this program's own; without one a signal ended it, which is a
/// failure.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Waits for the child while reading what it writes to the log, and copies that to the error output
/// when `echo` is on.
fn follow(child: &mut Child, log: &PathBuf, echo: bool) -> io::Result<(ExitStatus, String)> {
    let mut file = File::open(log)?;
    let mut all = Vec::new();
    loop {
        // Asked before reading: what was written before the end is then read below.
        let ended = child.try_wait()?;
        let start = all.len();
        file.read_to_end(&mut all)?;
        if echo {
            io::stderr().write_all(&all[start..])?;
        }
        if let Some(status) = ended {
            return Ok((status, String::from_utf8_lossy(&all).into_owned()));
        }
        thread::sleep(Duration::from_millis(20));
    }
}
