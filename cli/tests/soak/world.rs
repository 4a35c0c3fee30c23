//! The world of the agent: it types, sends, stops, kills and restarts at random, moves the clock,
//! and reads the ledger all the time.

mod deeds;
mod report;

use std::{
    fs::{self, File},
    io::Write,
    path::PathBuf,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use wakeful_core::{
    host::Scheduler,
    json,
    machine::Options,
    record::{chain::Head, turn::TurnTerminalKind},
    story::Request,
};
use wakeful_host::{
    clock::VirtualClock,
    driver,
    ledger::{SqliteFile, SqliteLedger},
    provider::Elsewhere,
};

use crate::{
    audit::Audit,
    clock::Clock,
    dice::Dice,
    memory::{self, Sample},
    model::Model,
    openai::server::Server,
    shared::{Mistake, Shared, prompt},
};

/// How long the agent may do nothing although something waits.
const PATIENCE: Duration = Duration::from_mins(10);

/// The virtual time of the whole soak.
const MONTH: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The turns below which the memory is not compared: the agent's history is not full before.
const FEW: u64 = 2_000;

/// The agent.
const AGENT: &str = "default";

/// What a soak is asked to do.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) turns: u64,
    pub(crate) seed: u64,
    pub(crate) engine: String,
    /// libfaketime, if the clock is to be moved.
    pub(crate) faketime: Option<PathBuf>,
    pub(crate) mistake: Mistake,
    /// Whether to say on standard error how far it is.
    pub(crate) is_told: bool,
}

/// How a process of the agent is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Kill,
    Quit,
    Shutdown,
    Interrupt,
}

pub(crate) struct World {
    wish: Wish,
    dice: Dice,
    folder: tempfile::TempDir,
    clock: Clock,
    pub(crate) shared: Arc<Shared>,
    model: Arc<Model>,
    server: Server,
    agent: Option<(Child, ChildStdin)>,
    observer: Scheduler<SqliteLedger, VirtualClock, Elsewhere>,
    observed: VirtualClock,
    reader: SqliteLedger,
    head: Head,
    pub(crate) audit: Audit,
    /// The markers of the messages that must be in the ledger.
    sent: Vec<String>,
    /// The markers of the messages that were typed, and are not in the ledger yet.
    typed: Vec<String>,
    markers: u64,
    /// A message that was accepted, to be sent again.
    again: Option<(String, String)>,
    /// The turns at which a process ends, the next one last.
    ends: Vec<(u64, End)>,
    /// The processes so far.
    processes: u64,
    kills: u64,
    samples: Vec<Sample>,
}

/// A failure of the soak itself, or something that the agent did wrong at once.
pub(crate) type Broken = String;

fn broken(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Broken + '_ {
    move |why| format!("{what}: {why}")
}

impl World {
    pub(crate) fn new(wish: Wish) -> Result<Self, Broken> {
        let folder = tempfile::tempdir().map_err(|why| broken("no folder")(&why))?;
        let made = fs::create_dir(folder.path().join("workspace"));
        made.map_err(|why| broken("no workspace")(&why))?;
        let clock = Clock::new(folder.path(), wish.faketime.clone());
        let clock = clock.map_err(|why| broken("no clock")(&why))?;
        let file = SqliteFile::open(&folder.path().join("agents.sqlite"));
        let file = file.map_err(|why| broken("no ledger")(&why))?;
        let observed = VirtualClock::at(clock.now());
        let observer = Scheduler::observe(
            Options::new(AGENT.into()),
            file.ledger(&AGENT.into()),
            observed.clone(),
            Elsewhere,
        );
        let observer = observer.map_err(|why| broken("the ledger cannot be observed")(&why))?;
        let shared = Arc::new(Shared::new(wish.mistake));
        let model = Model::new(wish.seed, &shared);
        let mut dice = Dice::of_seed(wish.seed);
        let ends = ends(&mut dice, wish.turns);
        Ok(Self {
            reader: file.ledger(&AGENT.into()),
            server: model.serve(),
            dice,
            folder,
            clock,
            shared,
            model,
            agent: None,
            observer,
            observed,
            head: Head::START,
            audit: Audit::default(),
            sent: Vec::new(),
            typed: Vec::new(),
            markers: 0,
            again: None,
            ends,
            processes: 0,
            kills: 0,
            samples: Vec::new(),
            wish,
        })
    }

    /// Runs the soak to its end. Returns what it did, line by line, and what is wrong.
    pub(crate) fn run(&mut self) -> Result<(Vec<String>, Vec<String>), Broken> {
        let begun = Instant::now();
        // Before anything else fills this process, because the measure is its memory.
        let per_tombstone = if self.wish.turns < FEW { 0 } else { memory::bytes_of_a_tombstone() };
        self.start()?;
        let mut moved = (0, Instant::now());
        let mut stopped = 0;
        while self.audit.turns < self.wish.turns {
            self.look()?;
            if self.audit.turns > moved.0 {
                moved = (self.audit.turns, Instant::now());
                self.passed()?;
            }
            if moved.1.elapsed() > PATIENCE {
                return Err(self.stuck());
            }
            self.end_if_due()?;
            // By the state, because a line that is typed may be read much later.
            stopped = if self.is_stopped() { stopped + 1 } else { 0 };
            if stopped > 6 {
                self.start_again()?;
            }
            let waiting = self.audit.state.queue().len() + self.typed.len();
            if waiting < 3 && self.dice.below(10) < 7 {
                self.act()?;
            }
            thread::sleep(Duration::from_millis(4));
        }
        self.finish()?;
        self.report(begun.elapsed(), per_tombstone)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wakeful(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wakeful"));
        command.env_remove("WAKEFUL_GUEST").stdin(Stdio::null());
        self.clock.lend(&mut command);
        command
    }

    /// The agent's process, with more options.
    fn live(&self, options: &[&str]) -> Result<Command, Broken> {
        let log = |name: &str| {
            let file = File::options().create(true).append(true).open(self.path(name));
            file.map_err(|why| broken("no log")(&why))
        };
        let mut command = self.wakeful();
        command
            .args(["run", "--provider", "openai", "--model", "test", "--context-tokens", "16000"])
            .args(["--rounds", "6", "--engine", &self.wish.engine, "--base-url"])
            .arg(self.server.url())
            .arg("--ledger")
            .arg(self.path("agents.sqlite"))
            .arg("--workspace")
            .arg(self.path("workspace"))
            .args(options)
            .env("WAKEFUL_API_KEY", "sk-soak-0b77a9d24e6b")
            .stdout(log("out")?)
            .stderr(log("err")?);
        Ok(command)
    }

    fn start(&mut self) -> Result<(), Broken> {
        self.model.begin_life(self.ends.is_empty());
        let mut child = self
            .live(&[])?
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|why| broken("wakeful does not start")(&why))?;
        let stdin = child.stdin.take().ok_or("the agent has no input")?;
        self.agent = Some((child, stdin));
        self.processes += 1;
        // A shutdown that is asked for before the process takes over is one of the time before it.
        let before = self.audit.takeovers;
        let until = Instant::now() + PATIENCE;
        while self.audit.takeovers == before {
            self.look()?;
            if Instant::now() > until {
                return Err(self.stuck());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Reads what is new in the ledger.
    fn look(&mut self) -> Result<(), Broken> {
        let audit = &mut self.audit;
        let read = driver::read(&mut self.reader, self.head, |entry, _| audit.read(entry));
        self.head = read.map_err(|why| broken("the ledger cannot be read")(&why))?.0;
        let (seen, typed) =
            std::mem::take(&mut self.typed).into_iter().partition(|it| self.audit.has(it));
        self.typed = typed;
        let seen: Vec<String> = seen;
        self.sent.extend(seen);
        let state = &self.audit.state;
        let mut known = self.shared.known();
        known.items = state.work().items.keys().map(ToString::to_string).collect();
        known.waits = state.waiting().conditions.keys().map(ToString::to_string).collect();
        known.tasks = state.tasks().active.keys().map(ToString::to_string).collect();
        drop(known);
        if let Some((child, _)) = &mut self.agent {
            let ended = child.try_wait().map_err(|why| broken("the agent is lost")(&why))?;
            if let Some(status) = ended {
                return Err(format!("the agent ended by itself ({status}): {}", self.said()));
            }
        }
        Ok(())
    }

    /// A turn has passed: the clock moves on, and the memory is looked at.
    fn passed(&mut self) -> Result<(), Broken> {
        let (done, of) = (self.audit.turns, self.wish.turns.max(1));
        let ahead = MONTH.mul_f64(done as f64 / of as f64);
        self.clock.move_to(ahead).map_err(|why| broken("the clock does not move")(&why))?;
        if let Some((child, _)) = &self.agent
            && let Some(resident) = memory::resident(child.id())
        {
            let tombstones = self.audit.tombstones();
            self.samples.push(Sample { turns: done, resident, tombstones });
        }
        // The requests are not needed again, and would fill this process.
        self.server.forget();
        if self.wish.is_told && (done % 250 == 0 || done == of) {
            let resident = self.samples.last().map_or(0, |sample| sample.resident / 1024);
            eprintln!("{done} of {of} turns, {resident} KiB");
        }
        Ok(())
    }

    /// Ends the process and starts another one, if its turn has come.
    fn end_if_due(&mut self) -> Result<(), Broken> {
        let is_calling =
            self.audit.state.turns().run.as_ref().is_some_and(|run| !run.pending.is_empty());
        let is_due = |(at, end): &mut (u64, End)| {
            // Most kills wait until a call is being executed, for some turns at most.
            let is_now = is_calling || *at % 4 == 0 || *at + 12 < self.audit.turns;
            *at <= self.audit.turns && (*end != End::Kill || is_now)
        };
        let Some((_, end)) = self.ends.pop_if(is_due) else {
            return Ok(());
        };
        match end {
            End::Kill => {
                let Some((mut child, _)) = self.agent.take() else { return Ok(()) };
                self.kills += 1;
                child.kill().map_err(|why| broken("it cannot be killed")(&why))?;
                child.wait().map_err(|why| broken("it does not end")(&why))?;
            }
            end => self.shut_down(end)?,
        }
        // The lines that it has not read are lost with it, as they are at a terminal.
        self.look()?;
        self.typed.clear();
        self.start()
    }

    /// Asks the agent to shut down, which must succeed.
    fn shut_down(&mut self, end: End) -> Result<(), Broken> {
        let Some((mut child, mut stdin)) = self.agent.take() else { return Ok(()) };
        match end {
            End::Quit => {
                writeln!(stdin, "/quit").map_err(|why| broken("it does not listen")(&why))?;
            }
            End::Interrupt => {
                let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
                sent.map_err(|why| broken("no signal is sent")(&why))?;
            }
            End::Shutdown | End::Kill => {
                self.propose(&json::write(&Request::Shutdown.fact()))?;
            }
        }
        let status = self.wait(&mut child)?;
        match status.code() {
            Some(0) => Ok(()),
            _ => Err(format!("a shutdown by {end:?} ended with {status}: {}", self.said())),
        }
    }

    fn wait(&mut self, child: &mut Child) -> Result<ExitStatus, Broken> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = child.try_wait().map_err(|why| broken("it is lost")(&why))? {
                return Ok(status);
            }
            self.look()?;
            thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        Err(format!("the agent does not end in time: {}", self.said()))
    }

    fn is_stopped(&self) -> bool {
        self.audit.state.control().stopped.is_some()
    }

    fn start_again(&mut self) -> Result<(), Broken> {
        self.propose(&json::write(&Request::Start.fact())).map(drop)
    }

    /// Lets the agent finish what is open, shuts it down, and lets it rest.
    fn finish(&mut self) -> Result<(), Broken> {
        self.shared.calm_down();
        let until = Instant::now() + PATIENCE;
        loop {
            self.look()?;
            if self.is_stopped() {
                self.start_again()?;
            }
            if self.typed.is_empty() && self.audit.is_at_rest(self.clock.now()) {
                let state = &self.audit.state;
                // A rest after a failure, such as a refused prompt, would end with code 5.
                let last = state.turns().last_terminal.as_ref();
                if last.is_some_and(|last| last.kind == TurnTerminalKind::Completed)
                    && state.waiting().conditions.is_empty()
                    && state.work().items.is_empty()
                {
                    break;
                }
                let marker = self.marker();
                let fact = prompt(&marker, &format!("Finish what is open, {marker}."), None);
                self.send(marker.clone(), marker, fact)?;
            }
            if Instant::now() > until {
                return Err(self.stuck());
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.shut_down(End::Quit)?;
        if self.clock.can_move() {
            // The timers and retries of the next days become due one after the other.
            let mut child = self
                .live(&["--until-rest"])?
                .spawn()
                .map_err(|why| broken("wakeful does not start")(&why))?;
            let until = Instant::now() + 2 * PATIENCE;
            let status = loop {
                let ended = child.try_wait().map_err(|why| broken("it is lost")(&why))?;
                if let Some(status) = ended {
                    break status;
                }
                if Instant::now() > until {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(self.stuck());
                }
                let ahead = self.clock.ahead() + Duration::from_secs(600);
                self.clock.move_to(ahead).map_err(|why| broken("no clock")(&why))?;
                self.look()?;
                thread::sleep(Duration::from_millis(60));
            };
            if status.code() != Some(0) {
                return Err(format!("the agent rests with {status}: {}", self.said()));
            }
        }
        self.look()
    }

    fn stuck(&self) -> Broken {
        let state = &self.audit.state;
        format!(
            "the agent does not go on after turn {} at {}: run {:?}, {} messages, {} tasks, owed \
             {:?}: {}",
            self.audit.turns,
            self.clock.now(),
            state.turns().run.as_ref().map(|run| run.run_id.clone()),
            state.queue().len(),
            state.tasks().active.len(),
            wakeful_core::ladder::owed::all(state).first(),
            self.said(),
        )
    }

    /// The end of what the agent printed.
    fn said(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.path(name)).unwrap_or_default();
        let (out, err) = (read("out"), read("err"));
        let end = |text: &str| {
            text[text.floor_char_boundary(text.len().saturating_sub(1_500))..].to_owned()
        };
        format!("{}\n{}", end(&out), end(&err))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.agent.take() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The turns at which processes end, the first one last. All are in the first tenth of a long soak,
/// so that one process lives through the rest, and its memory can be compared. It has seen some
/// hundreds of turns by then.
fn ends(dice: &mut Dice, turns: u64) -> Vec<(u64, End)> {
    let (until, count) = if turns < FEW { (turns * 2 / 3, 5) } else { (turns / 16, 24) };
    let kinds = [End::Kill, End::Quit, End::Kill, End::Shutdown, End::Kill, End::Interrupt];
    let mut ends: Vec<_> =
        (0..count).map(|at| (1 + dice.below(until), kinds[at % kinds.len()])).collect();
    ends.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    ends
}
