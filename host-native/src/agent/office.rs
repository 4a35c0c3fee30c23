//! The office: what the one thread that owns an agent has at hand. Others leave errands for it (see `desk`); between them it lets the
//! scheduler decide, and carries out what that asks for.

use std::sync::Arc;

use wakeful_core::{
    effect::{self, Effect, TurnRequest},
    entry::{Entry, EntryBytes, Head, Record},
    fact::{Answer, Fact},
    host::{Clock, Ledger},
    id::{RunId, Seq},
    json,
    ladder::Boundary,
    machine::Options,
    plane::{
        queue::MessageRecord,
        task::TaskStatus,
        turn::{AbortReason, TurnAborted, TurnRecord},
    },
    state::State,
    time::Timestamp,
};

use super::{desk::Desk, effects::Noted, history::History, jobs::Jobs, kit::Kit, prompt, turn::Execution};
use crate::{
    clock::SystemClock,
    driver::{self, DriveError, Driver, Watcher},
    engine::Engine,
    ledger::SqliteLedger,
};

/// Reads along for the model, and tells the audience.
struct Eyes {
    kit: Arc<Kit>,
    history: History,
}

impl Watcher for Eyes {
    fn entry(&mut self, entry: &Entry, bytes: &EntryBytes) {
        self.history.read(entry);
        self.kit.audience.entry(&self.kit.agent_id, entry, bytes);
    }
}

/// What the owner of an agent has at hand.
pub(super) struct Office {
    pub(super) kit: Arc<Kit>,
    pub(super) desk: Desk,
    pub(super) jobs: Jobs,
    driver: Driver<SqliteLedger, Eyes>,
    ledger: SqliteLedger,
    effects: Noted,
    turn: Option<Execution>,
    /// What was put into the open run since the turn last asked.
    inserted: Vec<MessageRecord>,
    /// How many commands were started in this life.
    commands: u64,
    /// Why the ledger cannot be driven any further.
    broken: Option<DriveError>,
}

impl Office {
    /// Takes the agent's ledger over.
    pub(super) fn open(kit: Arc<Kit>, desk: Desk) -> Result<Self, DriveError> {
        let mut ledger = kit.file.ledger(&kit.agent_id);
        let mut state = State::default();
        let mut history = History::default();
        driver::read(&mut ledger, Head::START, |entry, _| {
            state.apply(entry);
            history.read(entry);
        })?;
        let effects = Noted::with_alive(Jobs::resumable(&kit, &state));
        let eyes = Eyes { kit: Arc::clone(&kit), history };
        let lent = (ledger.clone(), SystemClock, effects.clone());
        let driver = Driver::open(&Options::new(kit.agent_id.clone()), &kit.engines, lent, state, eyes)?;
        let mut office =
            Self { kit, desk, jobs: Jobs::default(), driver, ledger, effects, turn: None, inserted: Vec::new(), commands: 0, broken: None };
        Jobs::resume(&mut office);
        Ok(office)
    }

    /// The state after the newest entry.
    pub(super) fn state(&self) -> &State {
        self.driver.state()
    }

    /// The engine, to be asked.
    pub(super) fn engine(&mut self) -> &mut dyn Engine {
        self.driver.engine()
    }

    /// Now.
    pub(super) fn now(&self) -> Timestamp {
        SystemClock.now().max(self.state().at)
    }

    /// The newest turn that ended.
    pub(super) fn last_turn(&self) -> Option<&TurnRecord> {
        self.driver.watcher().history.exchanges().next_back().map(|exchange| &exchange.turn)
    }

    /// A record of the ledger.
    pub(super) fn record(&mut self, seq: Seq) -> Option<Record> {
        let before = Seq(seq.0.checked_sub(1)?);
        let head = match before {
            Seq(0) => Head::START,
            _ => Head { seq: before, chain: self.ledger.read(Seq(before.0 - 1), 1).ok()?.first()?.split()?.1 },
        };
        Some(self.ledger.read(before, 1).ok()?.first()?.open(&head).ok()?.record)
    }

    /// Says a fact; what became of it, or in words why it cannot be taken. No secret passes here.
    pub(super) fn propose(&mut self, fact: &Fact) -> Result<Answer, String> {
        let text = json::write(fact);
        match self.driver.propose(&self.kit.redactor.redact(&text)) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(report)) => {
                self.kit.audience.notice(&self.kit.agent_id, &format!("not taken: {}", report.message));
                Err(report.message)
            }
            Err(why) => {
                let said = why.to_string();
                self.broken = Some(why);
                Err(said)
            }
        }
    }

    /// Puts what the operator says meanwhile into a run that stands at this safe point; what that is.
    pub(super) fn interject(&mut self, run: &RunId, safe_point: Boundary) -> Vec<MessageRecord> {
        let is_open = self.state().turns.run.as_ref().is_some_and(|open| open.run_id == *run);
        while is_open && let Some(next) = self.state().queue.interjection().map(|held| held.record.clone()) {
            if let Err(why) = self.driver.interject_one(safe_point) {
                self.broken = Some(why);
                break;
            }
            self.inserted.push(next);
            self.carry_out();
        }
        std::mem::take(&mut self.inserted)
    }

    /// The number of the next command.
    pub(super) fn count_command(&mut self) -> u64 {
        self.commands += 1;
        self.commands
    }

    /// Reads what other processes have said.
    pub(super) fn catch_up(&mut self) -> Result<(), DriveError> {
        self.driver.catch_up()
    }

    /// When there will be something to do.
    pub(super) fn next_wake(&mut self) -> Result<Option<Timestamp>, DriveError> {
        self.driver.next_wake()
    }

    /// Lets the scheduler decide, and does what it asks for, until there is nothing more to do now.
    pub(super) fn go_on(&mut self) -> Result<(), DriveError> {
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
                // The message is handed to the turn by whoever asked; a run is broken off, and what was stopped ended, by how the state
                // then stands, whoever said so.
                Effect::Interject { .. } | Effect::AbortTurn { .. } | Effect::Release => {}
            }
        }
    }

    fn start_turn(&mut self, request: &TurnRequest) {
        let baseline = prompt::baseline(&self.kit, self.driver.state(), &self.driver.watcher().history, request, self.now());
        match Execution::start(&self.kit, &self.desk, request, baseline) {
            Ok(turn) => self.turn = Some(turn),
            Err(why) => {
                // Said with what the scheduler decides next.
                drop(self.propose(&effect::failure(Some(request.run_id.clone()), format!("a thread for the turn: {why}"))));
            }
        }
    }

    /// Ends what goes on and should not, whoever decided so: another process may have.
    fn reconcile(&mut self) {
        let state = self.driver.state();
        let open = state.turns.run.as_ref().map(|run| run.run_id.clone());
        let reason = match (&state.control.closing, &state.control.stopped) {
            (Some(_), _) => Some(AbortReason::DaemonShutdown),
            (None, Some(_)) => Some(AbortReason::AgentStopped),
            (None, None) => None,
        };
        if let Some(turn) = self.turn.take_if(|turn| reason.is_some() || open.as_ref() != Some(turn.run())) {
            turn.cancel();
        }
        self.jobs.reconcile(|task| state.tasks.active.get(task).map(|task| task.record.status == TaskStatus::Cancelling));
        if let (Some(reason), Some(run_id)) = (reason, open) {
            drop(self.propose(&Fact::TurnAborted(TurnAborted { run_id, reason, error: None })));
        }
    }
}
