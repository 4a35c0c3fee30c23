//! The actor: the state of the one thread that owns an agent. Others send it requests (see
//! `handle`). Between requests it lets the scheduler decide, and carries out the effects.

use std::{
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use serde::Deserialize;
use wakeful_core::{
    fact::{Fact, outcome::Answer, turn::TurnAborted},
    host::{Clock, ErrorReport, Remedy, opening},
    id::{MessageId, RunId, Seq},
    json::{self, RawJson},
    machine::Options,
    record::{
        Record,
        chain::Head,
        decision::Boundary,
        effect::{Effect, TurnRequest, UnknownCall},
        entry::{Entry, EntryBytes},
        queue::message::MessageRecord,
        task::TaskStatus,
        turn::{AbortReason, TurnRecord},
    },
    state::State,
    time::Timestamp,
};
use wakeful_host::{
    clock::SteadyClock,
    driver::{self, DriveError, Driver, Takeover, Watcher},
    engine::EngineError,
    ledger::{Claim, StoreLedger},
};

use crate::{
    child,
    context::Context,
    effects::Noted,
    handle::{Ended, Handle, Request},
    history::History,
    jobs::Jobs,
    openai::ToolCall,
    prompt::{Baseline, Unknown, body},
    turn::Execution,
};

/// Folds each entry into the history for the prompt, and passes it to the audience.
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
            &format!("the scheduler continues in a new instance: {why}"),
        );
        // A live agent expects that a restart interrupts its run, so it continues in a new instance
        // (decision 017).
        true
    }
}

/// The number of newest entries that are read back for the prompt at first, and at most. More are
/// read only if turns that no summary replaces are before them.
const READ_BACK: u64 = 4_096;
const MOST_READ_BACK: u64 = 16 * READ_BACK;

/// How often [`Actor::close`] checks whether cancelled turns have ended.
const LOOK: Duration = Duration::from_millis(20);

/// The history at this state.
fn recalled(ledger: &mut StoreLedger, state: &State) -> Result<History, DriveError> {
    let context = state.context();
    let replaced = context.context_summary.as_ref().map_or(0, |_| context.compacted_message_count);
    let mut entries = READ_BACK;
    let mut history = newest(ledger, &state.head(), entries)?;
    while entries < MOST_READ_BACK.min(state.head().seq.0) && !history.reaches(replaced) {
        entries *= 4;
        // An archive that is gone must not keep the agent from its work.
        let Ok(longer) = newest(ledger, &state.head(), entries) else { break };
        history = longer;
    }
    Ok(history)
}

/// The history of the newest entries up to this head.
fn newest(ledger: &mut StoreLedger, head: &Head, entries: u64) -> Result<History, DriveError> {
    let mut history = History::default();
    let from = driver::head_at(ledger, Seq(head.seq.0.saturating_sub(entries)))?;
    driver::read(ledger, from, |entry, _| {
        // The driver passes all later entries to the observer, so reading them here would count
        // them twice.
        if entry.seq <= head.seq {
            history.read(entry);
        }
    })?;
    Ok(history)
}

/// The part of a recorded answer that has its calls.
#[derive(Deserialize)]
struct SaidCalls {
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
}

/// The state that the owning thread of an agent works with.
pub(crate) struct Actor {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: Handle,
    pub(crate) jobs: Jobs,
    driver: Driver<StoreLedger, Observer>,
    clock: SteadyClock,
    ledger: StoreLedger,
    effects: Noted,
    turn: Option<Execution>,
    /// Turns that were cancelled but may still wait for a command to end.
    broken_off: Vec<Execution>,
    /// Messages that were interjected into the open run since the turn last asked.
    inserted: Vec<MessageRecord>,
    /// The number of commands started since the agent was opened.
    commands: u64,
    /// Why the ledger cannot be driven any further.
    broken: Option<DriveError>,
}

impl Actor {
    /// Takes up the agent's ledger, which is its owner's.
    pub(crate) fn open(
        context: Arc<Context>,
        mut ledger: StoreLedger,
        handle: Handle,
        takeover: Takeover,
    ) -> Result<Self, DriveError> {
        let options = Options::new(context.agent_id.clone());
        // The host folds the state itself, because no state crosses the sandbox (decision 023).
        let (machine, _) = opening::open(&options, &mut ledger)
            .map_err(|why| EngineError::Refused(why.report()))?;
        let state = machine.state().clone();
        let observer =
            Observer { context: Arc::clone(&context), history: recalled(&mut ledger, &state)? };
        let jobs = Jobs::new(&context, &state);
        // The jobs come before the driver: opening records the restart, which asks for the tasks
        // that are alive (contract 5.23).
        let effects = Noted::new(jobs.alive());
        let mut time = context.store.clock();
        let clock =
            SteadyClock::over(Box::new(move || time.now()), state.at(), context.trusts_clock);
        let lent = (ledger.clone(), clock.clone(), effects.clone());
        let driver = Driver::open(&options, &context.engines, lent, state, takeover, observer)?;
        let (broken_off, inserted) = (Vec::new(), Vec::new());
        let mut actor = Self {
            context,
            handle,
            jobs,
            driver,
            clock,
            ledger,
            effects,
            turn: None,
            broken_off,
            inserted,
            commands: 0,
            broken: None,
        };
        // The restart has interrupted every task that this host cannot resume. The others are still
        // active. An agent that rested has no active task of its own.
        if takeover == Takeover::Restart {
            Jobs::resume(&mut actor);
        }
        Ok(actor)
    }

    /// The state after the newest entry.
    pub(crate) fn state(&self) -> &State {
        self.driver.state()
    }

    /// The agent's summary as JSON, or an error message for the caller.
    pub(crate) fn summary(&mut self) -> Result<String, String> {
        let asked = self.driver.ask(|engine| engine.summary());
        self.told(asked)
    }

    /// The current time, but never before the newest entry.
    pub(crate) fn now(&self) -> Timestamp {
        // A batch gets the later of the two as its instant (contract 1.3), so waits must count from
        // it too.
        self.clock.clone().now().max(self.state().at())
    }

    /// Whether the newest entries already say that this wall holds.
    pub(crate) fn says_wall(&self, holds: &RawJson) -> bool {
        let said = self.driver.watcher().history.wall();
        said.is_some_and(|said| said.as_str() == self.context.redactor.redact(holds.as_str()))
    }

    /// Whether something runs beside the turns.
    pub(crate) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// The newest turn that ended.
    pub(crate) fn last_turn(&self) -> Option<&TurnRecord> {
        self.driver.watcher().history.newest()
    }

    /// A record of the ledger. It is verified against the entry before it only: the whole chain was
    /// verified when the ledger was opened.
    pub(crate) fn record(&mut self, seq: Seq) -> Option<Record> {
        Some(driver::entry_at(&mut self.ledger, seq)?.record)
    }

    /// Proposes a fact, without secrets. Returns what became of it, or why it was not accepted.
    pub(crate) fn propose(&mut self, fact: &Fact) -> Result<Answer, String> {
        // Secrets are removed from the text of the whole fact, so that no field can be forgotten.
        let text = json::write(fact);
        let proposed = self.driver.propose(&self.context.redactor.redact(&text));
        self.told(proposed)?.map_err(|report| {
            self.context
                .audience
                .notice(&self.context.agent_id, &format!("not accepted: {}", report.message));
            report.message
        })
    }

    /// Proposes the end of a turn, with its checkpoint. If the scheduler does not accept it, the
    /// run fails with that reason, so that it ends in any case.
    pub(crate) fn end_turn(&mut self, run_id: &RunId, end: Fact) {
        let end = self.with_checkpoint(end);
        if let Err(why) = self.propose(&end) {
            // If this is not accepted either, the ledger is broken and the agent ends.
            drop(self.propose(&Fact::failure(Some(run_id.clone()), why)));
        }
    }

    /// Unwraps an answer of the driver. If the driver failed, the agent ends after this request,
    /// and the caller gets the message.
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

    /// Interjects waiting operator messages into a run that is at this safe point, and returns
    /// them.
    pub(crate) fn interject(&mut self, run: &RunId, safe_point: Boundary) -> Vec<MessageRecord> {
        // A stop of another process can end the run between two messages.
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

    /// Reads what other processes have appended. Returns whether there was anything.
    pub(crate) fn catch_up(&mut self) -> Result<bool, DriveError> {
        self.driver.catch_up()
    }

    /// Proposes a fact that is written as JSON. What breaks the driver ends the agent after this.
    pub(crate) fn report(
        &mut self,
        fact: &str,
    ) -> Result<Result<(Answer, Head), ErrorReport>, Ended> {
        let proposed = self.driver.propose(&self.context.redactor.redact(fact));
        let said = self.told(proposed).map_err(|_| Ended)?;
        Ok(said.map(|answer| (answer, self.state().head())))
    }

    /// Records what came for the agent through its store. Returns whether there was anything.
    pub(crate) fn receive(&mut self, claim: &Claim) -> Result<bool, DriveError> {
        let redactor = Arc::clone(&self.context.redactor);
        self.driver.receive(claim, |fact| redactor.redact(fact))
    }

    /// When the scheduler next has something to do.
    pub(crate) fn next_wake(&mut self) -> Result<Option<Timestamp>, DriveError> {
        self.driver.next_wake()
    }

    /// Lets the scheduler decide and carries out its effects, until there is nothing left to do
    /// now.
    pub(crate) fn go_on(&mut self) -> Result<(), DriveError> {
        loop {
            self.carry_out();
            self.reconcile();
            // Both steps propose facts, and `told` keeps the driver's failure until here.
            if let Some(why) = self.broken.take() {
                return Err(why);
            }
            self.keep_time()?;
            if !self.driver.decide()? {
                return Ok(());
            }
        }
    }

    /// Does what is due about a clock that is behind the ledger, and says so (contract 1.3).
    fn keep_time(&mut self) -> Result<(), DriveError> {
        let ahead = self.state().at();
        let Some(remedy) =
            self.driver.keep_time(&self.clock, &|shows| self.clock.show_host(shows))?
        else {
            return Ok(());
        };
        let host = self.clock.host_now();
        let notice = match remedy {
            Remedy::Report if self.context.trusts_clock => format!(
                "the clock says {host}, but the newest entry is of {ahead}; if it stays so for a \
                 minute, the ledger is set back"
            ),
            Remedy::Report => format!(
                "the clock says {host}, but the newest entry is of {ahead}; time goes on from \
                 there. If the clock is right, start the agent with --trust-clock, which sets the \
                 ledger back"
            ),
            Remedy::Correct => format!("the ledger was set back from {ahead} to {host}"),
        };
        self.context.audience.notice(&self.context.agent_id, &notice);
        Ok(())
    }

    /// Carries out the effects of the scheduler.
    fn carry_out(&mut self) {
        while let Some(effect) = self.effects.take() {
            match effect {
                Effect::StartTurn(request) => self.start_turn(&request),
                Effect::YieldTurn { run_id } => {
                    if let Some(turn) = self.turn.as_ref().filter(|turn| *turn.run() == run_id) {
                        turn.yield_now();
                    }
                }
                // The interjected message goes to the turn that asked for it. Cancelled runs and
                // stopped jobs are ended by `reconcile`, which compares with the state and so also
                // covers other writers.
                Effect::Interject { .. } | Effect::AbortTurn { .. } | Effect::Release => {}
            }
        }
    }

    fn start_turn(&mut self, request: &TurnRequest) {
        // Only one run is open at a time (contract 5.4), so an earlier turn has nothing more to do.
        self.break_off();
        if !self.is_open(&request.run_id) {
            // The instance that started this run broke down, and the run was interrupted.
            return;
        }
        // Before the prompt is built: it lists what the agent still waits for.
        child::heeds(self, &request.message);
        let unknown: Vec<_> = request.unknown_calls.iter().map(|it| self.unknown(it)).collect();
        let checkpoint = self.checkpoint();
        let baseline = Baseline::new(
            &self.context,
            self.driver.state(),
            &self.driver.watcher().history,
            request,
            &unknown,
            checkpoint.as_ref(),
            self.now(),
        );
        match Execution::start(&self.context, &self.handle, request, baseline) {
            Ok(turn) => self.turn = Some(turn),
            Err(why) => {
                // The next decision follows from this failure.
                drop(self.propose(&Fact::failure(
                    Some(request.run_id.clone()),
                    format!("cannot start a thread for the turn: {why}"),
                )));
            }
        }
    }

    /// A call that may have run, with the arguments that its round records.
    fn unknown(&mut self, call: &UnknownCall) -> Unknown {
        let arguments = call.call_id.as_ref().and_then(|id| {
            let Record::Transcript(said) = self.record(call.seq)? else { return None };
            let said: SaidCalls = serde_json::from_str(said.data.as_str()).ok()?;
            said.tool_calls.into_iter().find(|made| made.id == *id).map(|made| made.arguments)
        });
        Unknown { call: call.clone(), arguments }
    }

    /// The whole text of a message or of a tool's result, for the model.
    pub(crate) fn whole_text(&mut self, id: &str) -> Option<String> {
        if let Some(call) = self.driver.watcher().history.call(id) {
            let output = call.output.as_str();
            // An output that is too long to be recorded as it is is a text with its beginning.
            return Some(serde_json::from_str(output).unwrap_or_else(|_| output.to_owned()));
        }
        let seq = self.state().entry_of(&MessageId::from(id))?;
        match self.record(seq)? {
            Record::Message(message) if message.id.as_str() == id => Some(body(&message)),
            _ => None,
        }
    }

    /// Cancels the turn that is being executed, if there is one. A turn that has already ended is
    /// not affected.
    fn break_off(&mut self) {
        // An agent lives long, so turns that have ended must not pile up here.
        self.broken_off.retain(|turn| !turn.has_ended());
        if let Some(turn) = self.turn.take() {
            turn.cancel();
            self.broken_off.push(turn);
        }
    }

    /// Ends everything that runs for the agent. Requests that are still in the mailbox are dropped,
    /// which tells their senders that the agent has ended.
    pub(crate) fn close(&mut self, mailbox: &Receiver<Request>) {
        self.break_off();
        // Everything is told to end before anything is waited for, so that the grace periods
        // overlap.
        self.jobs.stop();
        while self.broken_off.iter().any(|turn| !turn.has_ended()) {
            // Dropping the request unread tells its sender that the agent has ended.
            drop(mailbox.recv_timeout(LOOK));
        }
        self.jobs.join();
    }

    /// Ends what runs but should not, by the state. It covers decisions of other processes, for
    /// which this host gets no effect.
    fn reconcile(&mut self) {
        let state = self.driver.state();
        let open = state.turns().run.as_ref().map(|run| run.run_id.clone());
        let reason = match (&state.control().closing, &state.control().stopped) {
            // A shutdown comes first: its turn is interrupted and replays, and does not settle
            // (contract 4.3).
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
        // A cancelled turn reports no end, so the run is ended here.
        if let (Some(reason), Some(run_id)) = (reason, open) {
            drop(self.propose(&Fact::TurnAborted(TurnAborted { run_id, reason, error: None })));
        }
    }
}
