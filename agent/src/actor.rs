//! The actor: what the one thread that owns an agent has at hand. Others send it requests (see
//! `handle`); between them it lets the scheduler decide, and carries out what that asks for.

use std::{
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use wakeful_core::{
    fact::{Fact, outcome::Answer, turn::TurnAborted},
    host::opening,
    host::{Clock, Ledger},
    id::{RunId, Seq},
    json,
    machine::Options,
    record::{
        Record,
        chain::Head,
        decision::Boundary,
        effect::{Effect, TurnRequest},
        entry::{Entry, EntryBytes},
        queue::message::MessageRecord,
        task::TaskStatus,
        turn::{AbortReason, TurnRecord},
    },
    state::State,
    time::Timestamp,
};
use wakeful_host::{
    clock::SystemClock,
    driver::{self, DriveError, Driver, Watcher},
    engine::EngineError,
    ledger::SqliteLedger,
};

use crate::{
    child,
    context::Context,
    effects::Noted,
    handle::{Handle, Request},
    history::History,
    jobs::Jobs,
    prompt,
    turn::Execution,
};

/// Reads along for the model, and tells the audience.
struct Observer {
    context: Arc<Context>,
    history: History,
}

impl Watcher for Observer {
    fn entry(&mut self, entry: &Entry, bytes: &EntryBytes) {
        self.history.read(entry);
        self.context.audience.entry(&self.context.agent_id, entry, bytes);
    }

    fn goes_on(&mut self, why: &EngineError) -> bool {
        self.context.audience.notice(
            &self.context.agent_id,
            &format!("the scheduler goes on in a new instance: {why}"),
        );
        true
    }
}

/// How many of the newest entries are read for what was said: more than the turns that are kept
/// have.
const READ_BACK: u64 = 4096;

/// How often it is looked whether a turn that was broken off has ended.
const LOOK: Duration = Duration::from_millis(20);

/// What was said before this head.
fn recalled(ledger: &mut SqliteLedger, head: &Head) -> Result<History, DriveError> {
    let mut history = History::default();
    let from = driver::head_at(ledger, Seq(head.seq.0.saturating_sub(READ_BACK)))?;
    driver::read(ledger, from, |entry, _| {
        if entry.seq <= head.seq {
            history.read(entry);
        }
    })?;
    Ok(history)
}

/// What the owner of an agent has at hand.
pub(crate) struct Actor {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: Handle,
    pub(crate) jobs: Jobs,
    driver: Driver<SqliteLedger, Observer>,
    ledger: SqliteLedger,
    effects: Noted,
    turn: Option<Execution>,
    /// Turns that were broken off, and may still wait for a command to end.
    broken_off: Vec<Execution>,
    /// What was put into the open run since the turn last asked.
    inserted: Vec<MessageRecord>,
    /// How many commands were started in this life.
    commands: u64,
    /// Why the ledger cannot be driven any further.
    broken: Option<DriveError>,
}

impl Actor {
    /// Takes the agent's ledger over.
    pub(crate) fn open(context: Arc<Context>, handle: Handle) -> Result<Self, DriveError> {
        let mut ledger = context.file.ledger(&context.agent_id);
        let options = Options::new(context.agent_id.clone());
        let (machine, _) = opening::open(&options, &mut ledger)
            .map_err(|why| EngineError::Refused(why.report()))?;
        let state = machine.state().clone();
        let observer = Observer {
            context: Arc::clone(&context),
            history: recalled(&mut ledger, &state.head())?,
        };
        let jobs = Jobs::new(&context, &state);
        let effects = Noted::new(jobs.alive());
        let lent = (ledger.clone(), SystemClock, effects.clone());
        let driver = Driver::open(&options, &context.engines, lent, state, observer)?;
        let (broken_off, inserted) = (Vec::new(), Vec::new());
        let mut actor = Self {
            context,
            handle,
            jobs,
            driver,
            ledger,
            effects,
            turn: None,
            broken_off,
            inserted,
            commands: 0,
            broken: None,
        };
        Jobs::resume(&mut actor);
        Ok(actor)
    }

    /// The state after the newest entry.
    pub(crate) fn state(&self) -> &State {
        self.driver.state()
    }

    /// How the agent stands, as JSON; or in words why that cannot be told.
    pub(crate) fn summary(&mut self) -> Result<String, String> {
        let asked = self.driver.ask(|engine| engine.summary());
        self.told(asked)
    }

    /// Now.
    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now().max(self.state().at())
    }

    /// The newest turn that ended.
    pub(crate) fn last_turn(&self) -> Option<&TurnRecord> {
        self.driver.watcher().history.exchanges().next_back().map(|exchange| &exchange.turn)
    }

    /// A record of the ledger. It is checked against the entry before it, not against the history:
    /// that was done when it was read first.
    pub(crate) fn record(&mut self, seq: Seq) -> Option<Record> {
        let before = driver::head_at(&mut self.ledger, Seq(seq.0.checked_sub(1)?)).ok()?;
        Some(self.ledger.read(before.seq, 1).ok()?.first()?.open(&before).ok()?.record)
    }

    /// Says a fact; what became of it, or in words why it cannot be taken. No secret passes here.
    pub(crate) fn propose(&mut self, fact: &Fact) -> Result<Answer, String> {
        let text = json::write(fact);
        let proposed = self.driver.propose(&self.context.redactor.redact(&text));
        self.told(proposed)?.map_err(|report| {
            self.context
                .audience
                .notice(&self.context.agent_id, &format!("not taken: {}", report.message));
            report.message
        })
    }

    /// The end of a turn: where the scheduler does not take it as it is, the run is aborted for
    /// that reason, so that it ends in any case.
    pub(crate) fn end_turn(&mut self, run_id: &RunId, end: &Fact) {
        if let Err(why) = self.propose(end) {
            // Where that is not taken either, the ledger is broken, and the agent ends.
            drop(self.propose(&Fact::failure(Some(run_id.clone()), why)));
        }
    }

    /// What the driver answered. Where it cannot go on, the agent ends when this request is done;
    /// the words are for whoever asked.
    fn told<T>(&mut self, answer: Result<T, DriveError>) -> Result<T, String> {
        answer.map_err(|why| {
            let said = why.to_string();
            self.broken = Some(why);
            said
        })
    }

    /// Whether this run is open.
    pub(crate) fn is_open(&self, run: &RunId) -> bool {
        self.state().turns().run.as_ref().is_some_and(|open| open.run_id == *run)
    }

    /// Puts what the operator says meanwhile into a run that stands at this safe point; what that
    /// is.
    pub(crate) fn interject(&mut self, run: &RunId, safe_point: Boundary) -> Vec<MessageRecord> {
        while self.is_open(run) {
            let interjected = self.driver.interject_one(safe_point);
            let Ok(Some(message)) = self.told(interjected) else { break };
            self.inserted.push(message);
            self.carry_out();
        }
        std::mem::take(&mut self.inserted)
    }

    /// The number of the next command.
    pub(crate) fn count_command(&mut self) -> u64 {
        self.commands += 1;
        self.commands
    }

    /// Reads what other processes have said.
    pub(crate) fn catch_up(&mut self) -> Result<(), DriveError> {
        self.driver.catch_up()
    }

    /// When there will be something to do.
    pub(crate) fn next_wake(&mut self) -> Result<Option<Timestamp>, DriveError> {
        self.driver.next_wake()
    }

    /// Lets the scheduler decide, and does what it asks for, until there is nothing more to do now.
    pub(crate) fn go_on(&mut self) -> Result<(), DriveError> {
        loop {
            self.carry_out();
            self.reconcile();
            if let Some(why) = self.broken.take() {
                return Err(why);
            }
            if !self.driver.decide()? {
                return Ok(());
            }
        }
    }

    /// Does what the scheduler asks for.
    fn carry_out(&mut self) {
        while let Some(effect) = self.effects.take() {
            match effect {
                Effect::StartTurn(request) => self.start_turn(&request),
                Effect::YieldTurn { run_id } => {
                    if let Some(turn) = self.turn.as_ref().filter(|turn| *turn.run() == run_id) {
                        turn.yield_now();
                    }
                }
                // The message is handed to the turn by whoever asked; a run is broken off, and what
                // was stopped ended, by how the state then stands, whoever said so.
                Effect::Interject { .. } | Effect::AbortTurn { .. } | Effect::Release => {}
            }
        }
    }

    fn start_turn(&mut self, request: &TurnRequest) {
        self.break_off();
        if !self.is_open(&request.run_id) {
            // The instance that asked for it broke down, and the run was interrupted.
            return;
        }
        child::heeds(self, &request.message);
        let baseline = prompt::baseline(
            &self.context,
            self.driver.state(),
            &self.driver.watcher().history,
            request,
            self.now(),
        );
        match Execution::start(&self.context, &self.handle, request, baseline) {
            Ok(turn) => self.turn = Some(turn),
            Err(why) => {
                // Said with what the scheduler decides next.
                drop(self.propose(&Fact::failure(
                    Some(request.run_id.clone()),
                    format!("a thread for the turn: {why}"),
                )));
            }
        }
    }

    /// Breaks off the turn that is executed, if there is one; where it has come to its end, nothing
    /// happens to it.
    fn break_off(&mut self) {
        self.broken_off.retain(|turn| !turn.has_ended());
        if let Some(turn) = self.turn.take() {
            turn.cancel();
            self.broken_off.push(turn);
        }
    }

    /// The agent ends: nothing that runs for it outlives it. Nobody reads its mailbox any more; who
    /// asks is told so.
    pub(crate) fn close(&mut self, mailbox: &Receiver<Request>) {
        self.break_off();
        self.jobs.stop();
        while self.broken_off.iter().any(|turn| !turn.has_ended()) {
            // What is dropped unread tells whoever waits that the agent has ended.
            drop(mailbox.recv_timeout(LOOK));
        }
        self.jobs.join();
    }

    /// Ends what goes on and should not, whoever decided so: another process may have.
    fn reconcile(&mut self) {
        let state = self.driver.state();
        let open = state.turns().run.as_ref().map(|run| run.run_id.clone());
        let reason = match (&state.control().closing, &state.control().stopped) {
            (Some(_), _) => Some(AbortReason::DaemonShutdown),
            (None, Some(_)) => Some(AbortReason::AgentStopped),
            (None, None) => None,
        };
        if self
            .turn
            .as_ref()
            .is_some_and(|turn| reason.is_some() || open.as_ref() != Some(turn.run()))
        {
            self.break_off();
        }
        let state = self.driver.state();
        self.jobs.reconcile(|task| {
            state.tasks().active.get(task).map(|task| task.record.status == TaskStatus::Cancelling)
        });
        if let (Some(reason), Some(run_id)) = (reason, open) {
            drop(self.propose(&Fact::TurnAborted(TurnAborted { run_id, reason, error: None })));
        }
    }
}
