//! The world of the agent: it types, sends, stops, kills and restarts at random, moves the clock,
//! and reads the ledger all the time.

use std::{
    fs::{self, File},
    io::Write,
    path::PathBuf,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use wakeful_core::{
    fact::{Fact, outcome::Answer, waiting::condition::WaitConditionNamed},
    host::{LedgerError, Scheduler, SchedulerError},
    json,
    machine::Options,
    record::{chain::Head, queue::envelope::Priority, waiting::EndedBy},
    story::{Request, said},
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
    shared::{Mistake, REFUSED, Shared, prompt},
};

/// How long the agent may do nothing although something is there to be done.
const PATIENCE: Duration = Duration::from_secs(90);

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

    /// Proposes a fact as `wakeful send` does, beside the agent.
    fn propose(&mut self, fact: &str) -> Result<Answer, Broken> {
        self.observed.set(self.clock.now());
        loop {
            match self.observer.propose(fact) {
                Ok(receipt) => return Ok(receipt.answer),
                Err(SchedulerError::Ledger(LedgerError::Conflict { .. })) => {
                    let loaded = self.observer.catch_up();
                    loaded.map_err(|why| broken("the ledger cannot be read")(&why))?;
                }
                Err(why) => return Err(format!("a fact cannot be sent: {why}: {fact:.200}")),
            }
        }
    }

    fn marker(&mut self) -> String {
        self.markers += 1;
        format!("mark-{:07}", self.markers)
    }

    /// Sends a message with a marker; it must be accepted.
    fn send(&mut self, marker: String, id: String, fact: String) -> Result<(), Broken> {
        match self.propose(&fact)? {
            Answer::Accepted => self.sent.push(marker),
            other => return Err(format!("message {id} is not accepted: {other:?}")),
        }
        self.again = Some((id, fact));
        Ok(())
    }

    fn type_line(&mut self, line: &str) -> Result<(), Broken> {
        let Some((_, stdin)) = &mut self.agent else { return Ok(()) };
        writeln!(stdin, "{line}").map_err(|why| broken("the agent does not listen")(&why))
    }

    /// Does something that is drawn.
    fn act(&mut self) -> Result<(), Broken> {
        let marker = self.marker();
        let id = format!("sent-{}-{}", self.clock.now().as_nanos(), self.markers);
        match self.dice.below(1_000) {
            0..260 => {
                self.typed.push(marker.clone());
                self.type_line(&format!("Please go on, {marker}."))
            }
            260..500 => {
                let lane = match self.dice.below(5) {
                    0 => Some(Priority::Next),
                    1 => Some(Priority::Background),
                    _ => None,
                };
                self.send(
                    marker.clone(),
                    id.clone(),
                    prompt(&id, &format!("Do it, {marker}."), lane),
                )
            }
            500..600 => {
                let text = format!("Also this, {marker}.");
                self.send(marker, id.clone(), prompt(&id, &text, Some(Priority::Interject)))
            }
            600..790 => self.event(marker, id),
            790..850 => {
                let mut hint = said::hint(format!("look, {marker}"));
                hint.external_trigger_id = Some("trigger-1".into());
                // A hint may be ignored: a stopped agent is not woken.
                self.propose(&json::write(&Fact::WakeHintSubmitted(hint))).map(drop)
            }
            850..900 => self.repeat(),
            900..925 => {
                if self.dice.one_in(2) {
                    self.type_line("/stop")
                } else {
                    self.propose(&json::write(&Request::Stop.fact())).map(drop)
                }
            }
            925..950 => {
                let waits = &self.audit.state.waiting().conditions;
                let Some(wait) = waits.keys().next().cloned() else { return Ok(()) };
                let named = WaitConditionNamed {
                    wait_condition_id: wait,
                    ended_by: Some(EndedBy::Operator),
                };
                let fact = Fact::WaitConditionCancelled(named);
                self.propose(&json::write(&fact)).map(drop)
            }
            950..965 => {
                let text = format!("Read this {REFUSED}, {marker}.");
                self.send(marker, id.clone(), prompt(&id, &text, None))
            }
            965..970 => {
                let text = format!("Read all of this, {marker}. {}", "word ".repeat(14_000));
                self.send(marker, id.clone(), prompt(&id, &text, None))
            }
            970..980 => {
                let items = &self.audit.state.work().items;
                let Some(item) = items.keys().next().cloned() else { return Ok(()) };
                // The item may be completed before the line is read, so nothing is expected.
                self.type_line(&format!("/item {item} How far is it?"))
            }
            // A question reads the ledger into a state of its own, in another thread. The allocator
            // keeps that memory, which grows with the ledger. So the process that lives to the end
            // is not asked.
            980..985 if self.ends.is_empty() && self.wish.turns >= FEW => Ok(()),
            980..983 => self.type_line("/status"),
            983..985 => self.type_line("/why Sleep"),
            985..990 => self.send_by_a_process(marker, &id),
            _ => Ok(()),
        }
    }

    /// An event from outside: short, very long, or with a word that the server refuses.
    fn event(&mut self, marker: String, id: String) -> Result<(), Broken> {
        let text = match self.dice.below(20) {
            0..2 => {
                let words = self.dice.index(20_000);
                format!("A long event, {marker}. {}", "event ".repeat(words))
            }
            2 => format!("An event with {REFUSED}, {marker}."),
            _ => format!("An event, {marker}."),
        };
        let fact = match self.dice.below(3) {
            0 => {
                let trigger = format!("trigger-{}", self.dice.below(3));
                json::write(&said::delivery(id.as_str().into(), trigger.as_str().into(), text))
            }
            1 => json!({"fact": "message_queued", "message": {"id": id, "kind": "channel_event",
                "origin": {"kind": "channel", "channel_id": "c"}, "trust": "untrusted_external",
                "body": {"type": "text", "text": text}}})
            .to_string(),
            _ => json!({"fact": "message_queued", "message": {"id": id, "kind": "webhook_event",
                "origin": {"kind": "webhook", "source": "ci"}, "trust": "trusted_integration",
                "body": {"type": "text", "text": text}}})
            .to_string(),
        };
        self.send(marker, id, fact)
    }

    /// Sends a message once more, with the same or with another content. It must be ignored.
    fn repeat(&mut self) -> Result<(), Broken> {
        let Some((id, fact)) = self.again.clone() else { return Ok(()) };
        let fact = match self.dice.below(2) {
            0 => fact,
            _ => prompt(&id, "Something else.", None),
        };
        match self.propose(&fact)? {
            Answer::Ignored { .. } => Ok(()),
            Answer::Accepted => Err(format!("message {id} is accepted a second time")),
        }
    }

    /// Sends a prompt with the real command.
    fn send_by_a_process(&mut self, marker: String, id: &str) -> Result<(), Broken> {
        let output = self
            .wakeful()
            .arg("send")
            .arg("--ledger")
            .arg(self.path("agents.sqlite"))
            .args(["--agent", AGENT, "prompt", &format!("By a process, {marker}."), "--id", id])
            .output()
            .map_err(|why| broken("wakeful does not start")(&why))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`wakeful send` failed ({}): {said}", output.status));
        }
        self.sent.push(marker);
        Ok(())
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
                if state.waiting().conditions.is_empty() && state.work().items.is_empty() {
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

    fn report(
        &self,
        took: Duration,
        per_tombstone: u64,
    ) -> Result<(Vec<String>, Vec<String>), Broken> {
        let journal = fs::read_to_string(self.path("workspace").join("journal"));
        let journal = journal.map_err(|why| broken("no journal")(&why))?;
        let mut sent = self.sent.clone();
        if self.wish.mistake == Mistake::LosesAMessage {
            sent.push("mark-9999999".to_owned());
        }
        let unknown = self.shared.told_unknown();
        let mut wrong = self.audit.findings(&sent, &journal, &unknown);
        wrong.extend(self.shared.complaints());
        wrong.extend(self.doctor()?);
        let (messages, commands, tasks) = self.audit.counts();
        let drawn = self.shared.drawn();
        let mut lines = vec![
            format!(
                "soak: {} turns over {:.1} virtual days in {} s, engine {}, seed {}: {}; {} wrong",
                self.audit.turns,
                self.clock.ahead().as_secs_f64() / 86_400.0,
                took.as_secs(),
                self.wish.engine,
                self.wish.seed,
                self.audit.kinds(),
                wrong.len(),
            ),
            format!(
                "soak: {} entries, {messages} messages, {commands} commands and {tasks} of them \
                 tasks, {} processes of which {} were killed, {} runs interrupted, {} calls told \
                 as unknown, {} quirks drawn {} times",
                self.audit.entries,
                self.processes,
                self.kills,
                self.audit.interrupted,
                unknown.len(),
                drawn.len(),
                drawn.values().sum::<u64>(),
            ),
        ];
        match self.memory() {
            Some((early, late)) => {
                let limit = memory::limit(early, late, per_tombstone);
                let new = late.tombstones.saturating_sub(early.tombstones);
                lines.push(format!(
                    "soak: resident memory {} KiB at turn {}, {} KiB at turn {}, limit {} KiB: \
                     1.1 times the first, and {new} tombstones of {per_tombstone} bytes",
                    early.resident / 1024,
                    early.turns,
                    late.resident / 1024,
                    late.turns,
                    limit / 1024,
                ));
                if late.resident > limit {
                    wrong.push(format!("{} bytes are resident, more than {limit}", late.resident));
                }
            }
            None => lines.push(format!("soak: memory is compared from {FEW} turns on")),
        }
        Ok((lines, wrong))
    }

    /// The memory after a tenth of the turns, and at the end.
    fn memory(&self) -> Option<(Sample, Sample)> {
        let of = self.wish.turns;
        let near = |at: u64| {
            let from = at.saturating_sub(of / 100);
            memory::median(
                self.samples.iter().copied().filter(|it| (from..=at).contains(&it.turns)),
            )
        };
        (of >= FEW).then(|| Some((near(of / 10 + of / 100)?, near(of)?)))?
    }

    /// What `wakeful doctor` finds in the ledger. A thorough examination copies the state after each
    /// batch, which would take longer than a long soak.
    fn doctor(&self) -> Result<Option<String>, Broken> {
        let thorough = (self.wish.turns <= FEW).then_some("--thorough");
        let output = self
            .wakeful()
            .arg("doctor")
            .arg(self.path("agents.sqlite"))
            .args(thorough)
            .output()
            .map_err(|why| broken("wakeful does not start")(&why))?;
        let said = String::from_utf8_lossy(&output.stdout);
        Ok((!output.status.success()).then(|| format!("the doctor finds: {said}")))
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
/// so that one process lives through the rest, and its memory can be compared. The last one is early
/// enough for that process to have seen some hundreds of turns by then.
fn ends(dice: &mut Dice, turns: u64) -> Vec<(u64, End)> {
    let (until, count) = if turns < FEW { (turns * 2 / 3, 5) } else { (turns / 16, 24) };
    let kinds = [End::Kill, End::Quit, End::Kill, End::Shutdown, End::Kill, End::Interrupt];
    let mut ends: Vec<_> =
        (0..count).map(|at| (1 + dice.below(until), kinds[at % kinds.len()])).collect();
    ends.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    ends
}
