//! Calls of other programs: how they start, what they print, and how they fail.

use std::{
    cell::Cell,
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, IsTerminal, Read, Write},
    ops::Range,
    path::PathBuf,
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{paths::Paths, stage};

/// Why a stage failed: one line, and the output of the program if it was not shown yet.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong, in a line.
    pub what: String,
    /// The output of the program. Empty if it was shown already, or if no program ran.
    pub printed: String,
}

impl Failure {
    /// A failure without output.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), printed: String::new() }
    }

    /// Prints the output of the program, then the line.
    pub fn show(&self) {
        if !self.printed.is_empty() {
            anstream::eprintln!("{}", self.printed.trim_end());
        }
        anstream::eprintln!("{}: {}", stage::red("error"), self.what);
    }
}

thread_local! {
    /// Whether another thread shows its progress, so that this one must be quiet.
    static IS_BESIDE: Cell<bool> = const { Cell::new(false) };
    /// When the programs that this thread calls must have ended.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The processor time of the programs that this thread called.
    static SPENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The processor time of this thread and of the programs that it called, with what they waited
/// for. Zero on systems without `/proc`.
pub(crate) fn spent() -> Duration {
    // Without children: those of a thread are all that this process waited for, of any thread.
    let own = processor_time("/proc/thread-self/stat", 11..13);
    SPENT.get() + own.map_or(Duration::ZERO, |(_, time)| time)
}

/// The state of a process, and the sum of these fields of its file: 11 and 12 are its processor
/// time, 13 and 14 that of the children that it waited for. They count hundredths of a second on
/// every architecture.
fn processor_time(stat: &str, fields: Range<usize>) -> Option<(String, Duration)> {
    let stat = fs::read_to_string(stat).ok()?;
    // The name of the program stands before, in parentheses, and may contain anything.
    let all: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let times = all.get(fields)?.iter().map(|time| time.parse::<u64>().ok());
    let hundredths: u64 = times.sum::<Option<u64>>()?;
    Some(((*all.first()?).to_owned(), Duration::from_millis(10 * hundredths)))
}

/// Whether a program has ended, and how. Its processor time can be read only before that.
fn look(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    // A process that has ended and was not waited for is a zombie.
    let ended = processor_time(&format!("/proc/{}/stat", child.id()), 11..15);
    let ended = ended.filter(|(state, _)| state == "Z").map(|(_, time)| time);
    let status = child.try_wait()?;
    if status.is_some() {
        SPENT.set(SPENT.get() + ended.unwrap_or_default());
    }
    Ok(status)
}

/// How often a program is looked at that runs.
const LOOK: Duration = Duration::from_millis(20);

/// Does some work whose programs must end within this time. A program that does not is ended with
/// all that it started, and its call fails: a test that hangs must not take the others with it.
pub(crate) fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    let before = DEADLINE.replace(Some(Instant::now() + limit));
    let done = work();
    DEADLINE.set(before);
    done
}

/// Does some work whose programs show no progress, because another thread shows its own. Their
/// output is shown if they fail.
pub(crate) fn without_progress<T>(work: impl FnOnce() -> T) -> T {
    // The value before may be `true` already, if the work is nested.
    let before = IS_BESIDE.replace(true);
    let done = work();
    IS_BESIDE.set(before);
    done
}

fn shows_progress() -> bool {
    !IS_BESIDE.get() && io::stderr().is_terminal()
}

/// A program with its arguments. It starts in the root of the tree, unless another folder is given.
pub struct Call {
    command: Command,
    /// The program and its arguments as a developer would type them.
    line: String,
    log: PathBuf,
}

impl Call {
    /// `log` is the name of the file in target/xtask that gets the output of the program.
    pub fn new(paths: &Paths, log: &str, program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        let mut command = Command::new(program);
        command.current_dir(paths.root());
        // Cargo's variables about this package must not reach other packages: their build scripts
        // would run again.
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

    /// Cargo with a subcommand. Builds go to `target`, even if the environment names another
    /// folder, because other programs look there.
    pub fn cargo(paths: &Paths, log: &str, subcommand: &str) -> Self {
        // Cargo names itself in this variable, so that its calls use the same toolchain.
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

    /// Runs a build. On a terminal its progress is shown; elsewhere its output is shown only if it
    /// fails.
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

    /// Runs a build whose output is not for people. It is kept, and shown only if it fails.
    pub(crate) fn quietly(self) -> Result<(), Failure> {
        without_progress(|| self.recorded()).map(drop).map_err(|failure| {
            let lines = failure.printed.lines().filter(|line| !line.starts_with('{'));
            Failure { printed: lines.collect::<Vec<_>>().join("\n"), ..failure }
        })
    }

    /// Runs it with the input and output of this process. Returns how it ended.
    pub fn pass_through(mut self) -> Result<ExitStatus, Failure> {
        self.through()
    }

    /// Runs it and returns its output. A terminal shows the output at once.
    ///
    /// The output goes through a file instead of a pipe, because a browser that a test left behind
    /// would hold a pipe open forever.
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

    /// Runs it like [`Call::recorded`]. Returns how it ended and its output.
    pub fn told(mut self) -> Result<(ExitStatus, String), Failure> {
        let (to, again) = self
            .open_log()
            .map_err(|why| Failure::new(format!("cannot write {}: {why}", self.log.display())))?;
        // Without input, a program that asks a question fails instead of waiting unseen.
        self.command.stdin(Stdio::null()).stdout(to).stderr(again);
        let mut child = self.command.spawn().map_err(|why| self.not_started(&why))?;
        let echo = shows_progress();
        let (ended, printed) =
            follow(&mut child, &self.log, echo).map_err(|why| self.out_of_sight(&why))?;
        match ended {
            Some(status) => Ok((status, printed)),
            None => Err(Failure {
                what: self.too_late(),
                printed: if echo { String::new() } else { printed },
            }),
        }
    }

    /// Runs a program whose output is short. Returns its standard output.
    pub fn answer(mut self) -> Result<String, Failure> {
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(|why| self.not_started(&why))?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        // Two threads, because a pipe that nobody empties stops the program.
        let err = thread::spawn(move || text_of(err));
        let out = text_of(out);
        let printed = err.join().unwrap_or_default();
        let status = loop {
            match look(&mut child).map_err(|why| self.out_of_sight(&why))? {
                Some(status) => break status,
                None => thread::sleep(LOOK),
            }
        };
        if status.success() {
            return Ok(out);
        }
        Err(Failure { what: format!("`{}` failed ({status})", self.line), printed })
    }

    /// Replaces this process with the other program, so that a signal to this process reaches that
    /// program.
    #[cfg(unix)]
    pub fn become_it(mut self) -> Result<ExitCode, Failure> {
        // It returns only if it failed.
        let why = std::os::unix::process::CommandExt::exec(&mut self.command);
        Err(self.not_started(&why))
    }

    /// Runs the other program until it ends.
    #[cfg(not(unix))]
    pub fn become_it(self) -> Result<ExitCode, Failure> {
        self.pass_through().map(exit_code)
    }

    /// The output of a recorded call that failed. It has the counts of a test runner that found
    /// failures.
    pub fn log(&self) -> PathBuf {
        self.log.clone()
    }

    fn through(&mut self) -> Result<ExitStatus, Failure> {
        let mut child = self.command.spawn().map_err(|why| self.not_started(&why))?;
        loop {
            if let Some(status) = look(&mut child).map_err(|why| self.out_of_sight(&why))? {
                return Ok(status);
            }
            if is_late() {
                end(&mut child).map_err(|why| self.out_of_sight(&why))?;
                return Err(Failure::new(self.too_late()));
            }
            thread::sleep(LOOK);
        }
    }

    fn open_log(&self) -> io::Result<(File, File)> {
        if let Some(folder) = self.log.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create(&self.log)?;
        // A clone shares the position in the file, so both streams keep the order of their lines.
        let again = file.try_clone()?;
        Ok((file, again))
    }

    fn not_started(&self, why: &io::Error) -> Failure {
        Failure::new(format!("cannot start `{}`: {why}", self.line))
    }

    fn out_of_sight(&self, why: &io::Error) -> Failure {
        Failure::new(format!("lost sight of `{}`: {why}", self.line))
    }

    fn too_late(&self) -> String {
        format!("`{}` did not end in the time of its stage, and was ended", self.line)
    }
}

/// What a program writes to a pipe until it ends.
fn text_of(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What was read before an error is still worth showing.
    let _broken = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The exit code of a program as our own. A program without one was ended by a signal, which is a
/// failure.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Waits for the child, reads what it writes to the log, and copies that to standard error if
/// `echo` is on. Returns how it ended; `None` if it was too late.
fn follow(
    child: &mut Child,
    log: &PathBuf,
    echo: bool,
) -> io::Result<(Option<ExitStatus>, String)> {
    let mut file = File::open(log)?;
    let mut all = Vec::new();
    let mut is_ended = false;
    loop {
        // Ask before reading, so that the read below gets everything that was written before the
        // end.
        let ended = look(child)?;
        let start = all.len();
        file.read_to_end(&mut all)?;
        if echo {
            io::stderr().write_all(&all[start..])?;
        }
        if ended.is_some() || is_ended {
            let status = ended.filter(|_| !is_ended);
            return Ok((status, String::from_utf8_lossy(&all).into_owned()));
        }
        if is_late() {
            end(child)?;
            // Once more, for its last words.
            is_ended = true;
        }
        thread::sleep(LOOK);
    }
}

fn is_late() -> bool {
    DEADLINE.get().is_some_and(|deadline| deadline <= Instant::now())
}

/// Ends a program and all that it started: Cargo alone would leave its tests behind. On a system
/// without `ps` it ends the program alone.
fn end(child: &mut Child) -> io::Result<()> {
    if let Ok(all) = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output() {
        let pairs: Vec<(u32, u32)> = String::from_utf8_lossy(&all.stdout)
            .lines()
            .filter_map(|line| {
                let (pid, parent) = line.trim().split_once(char::is_whitespace)?;
                Some((pid.parse().ok()?, parent.trim().parse().ok()?))
            })
            .collect();
        let family = family(child.id(), &pairs).into_iter().map(|pid| pid.to_string());
        // One that has ended meanwhile is not a failure.
        let _ = Command::new("kill").arg("-KILL").args(family).stderr(Stdio::null()).status();
    }
    child.kill()?;
    child.wait().map(drop)
}

/// A process and its descendants, from pairs of a process and its parent.
fn family(of: u32, pairs: &[(u32, u32)]) -> Vec<u32> {
    let mut family = vec![of];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        let children = pairs.iter().filter(|(pid, of)| *of == parent && *pid != parent);
        family.extend(children.map(|(pid, _)| pid));
        at += 1;
    }
    family
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_program_and_its_children_is_counted() {
        let paths = Paths::find().expect("the tree");
        let before = spent();
        // A loop of this length takes more than a hundredth of a second on any machine.
        let works = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; echo done";
        Call::new(&paths, "works", "sh").args(["-c", works]).recorded().expect("it ends");
        let is_linux = cfg!(target_os = "linux");
        assert_eq!(spent() > before, is_linux);
        let before = spent();
        let told = Call::new(&paths, "works", "sh").args(["-c", works]).answer();
        assert_eq!(told.expect("it ends"), "done\n");
        assert_eq!(spent() > before, is_linux);
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_what_it_started() {
        let paths = Paths::find().expect("the tree");
        let call = || {
            // The inner shell prints its number and lives on in the background.
            let hangs = "echo begun; sh -c 'echo $$; sleep 600; true' & wait";
            Call::new(&paths, "hangs", "sh").args(["-c", hangs])
        };
        let failure = within(Duration::from_millis(500), || call().recorded()).expect_err("late");
        assert!(failure.what.contains("did not end in the time of its stage"), "{}", failure.what);
        let pid = failure.printed.lines().nth(1).expect("the number of the inner shell");
        // One that nobody has waited for stays in the list as a zombie.
        let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().expect("it runs");
        let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
        assert!(state.is_empty() || state.starts_with('Z'), "{pid} lives: {state}");
        let quick = || Call::new(&paths, "quick", "sh").args(["-c", "echo well"]).recorded();
        assert_eq!(within(Duration::from_secs(60), quick).expect("it ends"), "well\n");
    }
}
