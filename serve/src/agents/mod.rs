//! The agents of a store, and the supervisor that looks after them.
//!
//! An agent at rest has no thread and no polling: it is an entry in the [`agenda`] and a [`brief`].
//! Its state is opened when it is due or addressed, and dropped when nobody asked for a while.
//! Dropping it is not a restart, because this process still owns the agent. [`work`] does what is
//! due, and [`watch`] sees what other processes append.

mod agenda;
mod brief;
mod cell;
mod changes;
mod driven;
mod fleet;
mod live;
mod recent;
mod registry;
pub(crate) mod tail;
mod turn;
mod watch;
mod work;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use serde::{Deserialize, Serialize};
use wakeful_core::{
    host::{Clock, LedgerError, Receipt, Scheduler, SchedulerError, StepReport},
    id::{AgentId, ExternalTriggerId},
    machine::{OpenError, Options},
    record::chain::Head,
    time::Timestamp,
};
use wakeful_host::{
    ledger::{DrivenBy, Own, SqliteFile, Store, StoreError, StoreLedger, StoreTime, Worker},
    provider::Elsewhere,
};

use self::{
    agenda::Agenda,
    brief::{Brief, Digest},
    cell::{Inner, Observed},
    changes::Changes,
    live::Lives,
    recent::Telling,
};
use crate::{
    access::Access, cursors::Cursors, limits::Limits, metrics::Metrics, problem::Problem,
    runner::Runner, signing::Checks,
};

pub use self::{fleet::kinds, registry::belongings};

pub(crate) use self::{
    brief::{Listed, digest},
    cell::{Cell, Follower},
    fleet::FollowsAll,
};

/// Who runs the turns of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Turns {
    /// A model, in this process.
    Model,
    /// A host that asks for them over HTTP and reports what happens in them.
    Elsewhere,
}

/// How the people who run a server are told something.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// The agents of a store.
pub(crate) struct Agents {
    store: Store,
    /// The same for those who only read.
    reads: Store,
    /// By which agents wait.
    clock: StoreTime,
    limits: Limits,
    /// The tokens, which are read again when another process changes them.
    access: Arc<Access>,
    /// How deliveries are signed.
    pub(crate) checks: Checks,
    runner: Option<Arc<dyn Runner>>,
    /// Tells the people who run the server something.
    notice: Notice,
    cells: RwLock<Cells>,
    /// Which agents have new entries.
    pub(crate) changes: Arc<Changes>,
    pub(crate) metrics: Metrics,
    /// The places at which readers of all agents can go on.
    pub(crate) cursors: Cursors,
    agenda: Agenda,
    lives: Mutex<Lives>,
    /// Which trigger has which token.
    triggers: RwLock<HashMap<Digest, (Arc<Cell>, ExternalTriggerId)>>,
    began: Instant,
    /// Whether each agent was read once, so that all tokens are known.
    is_ready: AtomicBool,
    has_ended: AtomicBool,
    /// Those that look after the agents.
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// The version of the file at which others' entries were last looked for.
    seen: Mutex<i64>,
    /// The number of those who follow all agents.
    followers: Arc<AtomicUsize>,
    /// The id under which this server works in a shared store, as far as what it did under earlier
    /// ones was ended.
    id: Mutex<Option<Arc<str>>>,
    /// Why the store cannot be used.
    lost: Mutex<Option<String>>,
}

#[derive(Default)]
struct Cells {
    all: Vec<Arc<Cell>>,
    by_id: HashMap<AgentId, Arc<Cell>>,
}

/// What became of something that was said.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(crate) enum Outcome {
    /// The agent's ledger has it, or the agent ignored it.
    Said(Said),
    /// It waits in the store, because another server drives the agent.
    Stored(Stored),
}

/// Something that waits in the store until the server that drives the agent records it.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Stored {
    answer: Stores,
    /// The newest entry of the agent before.
    head: Head,
}

/// What is answered then.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Stores {
    /// It is stored, and counts once.
    Stored,
}

/// What became of a fact, and what followed from it at once.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Said {
    #[serde(flatten)]
    pub(crate) receipt: Receipt,
    /// The steps that followed, if this server decides for the agent.
    pub(crate) steps: Vec<StepReport>,
}

/// The steps that followed from a fact, or why they did not.
type Decided = Result<Vec<StepReport>, SchedulerError>;

impl Agents {
    /// The agents of a store, and the heads at which they were found. Threads begin to look after
    /// them.
    pub(crate) fn start(
        store: Store,
        runner: Option<Arc<dyn Runner>>,
        limits: Limits,
        access: Arc<Access>,
        notice: Notice,
    ) -> Result<(Arc<Self>, Vec<Head>), Problem> {
        let (reads, clock) = (store.for_reading()?, store.clock());
        let cursors = Cursors::load(&store)?;
        let version = store.file().map_or(Ok(0), SqliteFile::version).map_err(StoreError::from)?;
        let agents = Arc::new(Self {
            id: Mutex::new(store.worker().map(Worker::id)),
            store,
            reads,
            limits,
            access,
            checks: Checks::default(),
            runner,
            notice,
            cells: RwLock::default(),
            changes: Arc::default(),
            metrics: Metrics::new(&limits),
            cursors,
            agenda: Agenda::new(clock.clone()),
            clock,
            lives: Mutex::default(),
            triggers: RwLock::default(),
            began: Instant::now(),
            is_ready: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            threads: Mutex::default(),
            seen: Mutex::new(version),
            followers: Arc::default(),
            lost: Mutex::default(),
        });
        agents.checks.read(&agents.store)?;
        let mut heads = Vec::new();
        if !agents.is_shared() {
            let registered = agents.registered()?;
            for (agent, head) in agents.store.heads()? {
                heads.push(head);
                let registered = registered.get(agent.as_str());
                let cell = agents.add(agent, (head, head), agents.turns_of(registered));
                cell.put_away(registered.is_some_and(|registered| registered.put_away));
            }
        }
        let found = heads.clone();
        agents.spawn("wakeful-tail", move |agents| agents.tail(heads))?;
        if agents.is_shared() {
            agents.spawn("wakeful-guard", |agents| {
                agents.store.worker().into_iter().for_each(|worker| agents.guard(worker));
            })?;
        }
        agents.spawn("wakeful-watch", |agents| {
            match (agents.store.file(), agents.store.worker()) {
                (Some(file), _) => agents.watch(file),
                (_, Some(worker)) => agents.share(worker),
                // The caller has joined.
                (None, None) => {}
            }
        })?;
        for _ in 0..limits.workers.max(1) {
            agents.spawn("wakeful-work", |agents| agents.work())?;
        }
        Ok((agents, found))
    }

    fn spawn(
        self: &Arc<Self>,
        name: &str,
        run: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) -> Result<(), Problem> {
        let agents = Arc::clone(self);
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || run(&agents));
        let thread =
            spawned.map_err(|why| Problem::broken(format!("the system gives no thread: {why}")))?;
        held(&self.threads).push(thread);
        Ok(())
    }

    /// Has an agent, unless it is known. `heads` are the one from which it is followed, and its
    /// newest.
    fn add(&self, agent: AgentId, heads: (Head, Head), turns: Option<Turns>) -> Arc<Cell> {
        let mut cells = self.cells.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = cells.by_id.get(&agent) {
            return Arc::clone(cell);
        }
        let (number, changes) = (cells.all.len(), Arc::clone(&self.changes));
        let cell = Arc::new(Cell::new(number, agent.clone(), heads, turns, changes));
        cells.all.push(Arc::clone(&cell));
        cells.by_id.insert(agent, Arc::clone(&cell));
        cell
    }

    /// All agents, in the order in which this process came to know them.
    pub(crate) fn all(&self) -> Vec<Arc<Cell>> {
        self.cells.read().unwrap_or_else(PoisonError::into_inner).all.clone()
    }

    pub(crate) fn numbered(&self, number: usize) -> Option<Arc<Cell>> {
        self.cells.read().unwrap_or_else(PoisonError::into_inner).all.get(number).cloned()
    }

    /// The agent of this name, if this process knows it.
    pub(crate) fn known(&self, agent: &AgentId) -> Option<Arc<Cell>> {
        let cells = self.cells.read().unwrap_or_else(PoisonError::into_inner);
        cells.by_id.get(agent).cloned()
    }

    /// The agent of this name. It may block while a shared store is asked for it.
    pub(crate) fn cell(&self, agent: &AgentId) -> Result<Arc<Cell>, Problem> {
        match self.known(agent) {
            Some(cell) => Ok(cell),
            None => self.found(agent)?.ok_or_else(|| Problem::no_agent(agent.as_str())),
        }
    }

    /// Refuses an agent that was moved to another place. The one who drives it knows that it was
    /// not, without asking the store.
    pub(crate) fn require_here(&self, cell: &Cell) -> Result<(), Problem> {
        if cell.is_own() {
            return Ok(());
        }
        match self.reading(cell).goes_on_in().map_err(SchedulerError::from)? {
            None => Ok(()),
            Some(_) => Err(Problem::moved(cell.agent.as_str())),
        }
    }

    /// Whether this server drives the agent, or has it for a runner.
    pub(crate) fn has(&self, cell: &Cell) -> bool {
        self.store.worker().is_none_or(|worker| cell.is_own() || worker.has(&cell.agent))
    }

    /// Whether other servers may have agents of this store.
    pub(crate) fn is_shared(&self) -> bool {
        self.store.worker().is_some()
    }

    /// The time by which agents wait.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.clone().now()
    }

    /// Reads again who may do what, and how deliveries are signed.
    pub(crate) fn read_access(&self) -> Result<(), Problem> {
        self.access.read(&self.store)?;
        Ok(self.checks.read(&self.store)?)
    }

    /// Whether turns can be run in this process.
    pub(crate) fn has_runner(&self) -> bool {
        self.runner.is_some()
    }

    /// The limits.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The ledger of an agent for those who only read.
    pub(crate) fn reading(&self, cell: &Cell) -> StoreLedger {
        self.reads.ledger(&cell.agent)
    }

    /// The store, for what the server keeps in it besides the ledgers.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Tells the people who run the server something.
    pub(crate) fn tell(&self, notice: &str) {
        (self.notice)(notice);
    }

    /// Who drives these agents.
    pub(crate) fn owners_of(&self, agents: &[AgentId]) -> Result<Vec<DrivenBy>, Problem> {
        Ok(self.reads.owners_of(agents)?)
    }

    /// Whether each agent was read, and the store can be used.
    pub(crate) fn ready(&self) -> Result<(), Problem> {
        if let Some(why) = &*held(&self.lost) {
            return Err(Problem::not_ready(why.clone()));
        }
        // A question to the store is repeated for half a minute before it has failed.
        if self.store.worker().is_some_and(|worker| !worker.is_sure()) {
            return Err(Problem::not_ready("the lease of this server was not renewed in time"));
        }
        if self.has_ended.load(Ordering::Acquire) {
            return Err(Problem::not_ready("the server is ending".to_owned()));
        }
        match self.is_ready.load(Ordering::Acquire) {
            true => Ok(()),
            false => Err(Problem::not_ready("the agents are being read".to_owned())),
        }
    }

    /// The agent and the trigger with this token, as far as this process knows.
    pub(crate) fn trigger(&self, hash: &Digest) -> Option<(Arc<Cell>, ExternalTriggerId)> {
        self.triggers.read().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    /// Asks an agent, after what others appended was read. It blocks while the store does.
    pub(crate) fn with<T>(
        &self,
        cell: &Arc<Cell>,
        ask: impl FnOnce(
            &mut Observed,
            &mut Option<Box<wakeful_core::record::effect::TurnRequest>>,
        ) -> Result<T, SchedulerError>,
    ) -> Result<T, Problem> {
        let _place = cell.queue(self.limits.queue_per_agent)?;
        let mut inner = cell.inner();
        let inner = &mut *inner;
        let asked = self.resident(cell, inner).and_then(|()| {
            self.catch_up(cell, inner)?;
            let Some(scheduler) = &mut inner.scheduler else { unreachable!("it was opened") };
            ask(scheduler, &mut inner.request)
        });
        if self.settle(cell, inner, &asked) {
            self.is_due(cell);
        }
        Ok(asked?)
    }

    /// Proposes a fact, and decides what follows from it if this server drives the agent and
    /// `decides` is set, or if that costs no second sync. Otherwise a worker decides a little later.
    /// What is said to an agent of another server waits in the store, or is refused with the
    /// server's address.
    pub(crate) fn say(
        &self,
        cell: &Arc<Cell>,
        fact: &str,
        decides: bool,
    ) -> Result<Outcome, Problem> {
        if let Some(owner) = self.owner(cell)? {
            return self.say_to_owner(cell, fact, &owner);
        }
        match self.say_here(cell, fact, decides) {
            Ok(said) => Ok(Outcome::Said(said)),
            // Another worker may have claimed the agent meanwhile.
            Err(why) if why.status >= 500 => match self.owner(cell)? {
                Some(owner) => self.say_to_owner(cell, fact, &owner),
                None => self.require_here(cell).and(Err(why)),
            },
            Err(why) => Err(why),
        }
    }

    fn say_here(&self, cell: &Arc<Cell>, fact: &str, decides: bool) -> Result<Said, Problem> {
        let _place = cell.queue(self.limits.queue_per_agent)?;
        let mut inner = cell.inner();
        let inner = &mut *inner;
        let is_elsewhere = cell.turns() == Some(Turns::Elsewhere);
        eprintln!(
            "DBG {is_elsewhere} {} {:?}",
            matches!(inner.owned, Some(Own::Sqlite(_))),
            inner.scheduler.as_ref().map(|s| s.state().head().seq)
        );
        if is_elsewhere && matches!(inner.owned, Some(Own::Sqlite(_))) {
            let said = self.say_and_decide(cell, inner, fact);
            self.settle(cell, inner, &said);
            if !matches!(said, Ok(None) | Ok(Some((_, Ok(_))))) {
                // What fails now is decided by a worker: the fact itself may be recorded.
                self.is_due(cell);
            }
            if let Some((receipt, decided)) = said? {
                if decided.is_ok() {
                    self.agenda.set(cell.number, cell.brief().next_wake);
                }
                return Ok(Said { receipt, steps: decided.unwrap_or_default() });
            }
        }
        let said = self.resident(cell, inner).and_then(|()| {
            let Some(scheduler) = &mut inner.scheduler else { unreachable!("it was opened") };
            let (began, head) = (Instant::now(), scheduler.state().head());
            let mut became = said(scheduler, fact);
            // A batch that is stored shows that no writer was first. What was refused, or recorded
            // nothing, may be another answer after the entries of another writer.
            let is_open = match &became {
                Ok(_) => scheduler.state().head() == head,
                Err(why) => Problem::from(why).blames_request(),
            };
            if is_open && scheduler.catch_up()? > 0 {
                became = said(scheduler, fact);
            }
            self.metrics.appended(began.elapsed());
            became
        });
        let mut steps = Vec::new();
        if decides && said.is_ok() && is_elsewhere {
            // What fails now is decided by a worker: the fact itself is recorded.
            let driven = self.drive(cell, inner, work::safe_point(fact));
            self.settle(cell, inner, &said);
            match driven {
                Ok(taken) if inner.owned.is_some() => {
                    steps = taken;
                    self.agenda.set(cell.number, cell.brief().next_wake);
                }
                driven => {
                    if driven.is_err() {
                        // A batch may have been stored although its append failed.
                        inner.version = None;
                    }
                    self.is_due(cell);
                }
            }
        } else {
            self.settle(cell, inner, &said);
            if said.is_ok() && cell.turns().is_some() {
                // Of a shared store, an agent that nobody has is claimed here.
                self.agenda.now(cell.number);
            }
        }
        Ok(Said { receipt: said?, steps })
    }

    /// Proposes a fact to an agent of a file that this server drives, and decides what follows from
    /// it. Both are stored with one sync, before anybody learns of them. `None` if the fact recorded
    /// nothing, or another process was first: its entries must be read, and the fact proposed again.
    fn say_and_decide(
        &self,
        cell: &Arc<Cell>,
        inner: &mut Inner,
        fact: &str,
    ) -> Result<Option<(Receipt, Decided)>, SchedulerError> {
        self.resident(cell, inner)?;
        // Taken out until all is stored: nobody may go on with a state that the file does not have,
        // even if this thread panics.
        let Some(mut scheduler) = inner.scheduler.take() else { unreachable!("it was opened") };
        let (began, head) = (Instant::now(), scheduler.state().head());
        // The file is not asked whether another process was first: it says so when this is stored.
        scheduler.ledger().hold();
        let said = said(&mut scheduler, fact);
        let is_recorded = scheduler.state().head() != head;
        let (mut request, mut decided) = (None, Ok(Vec::new()));
        if is_recorded {
            decided = work::decide(&mut scheduler, &mut request, work::safe_point(fact));
        }
        if let Err(why) = scheduler.ledger().store() {
            inner.request = None;
            cell.recent.clear();
            return match why {
                LedgerError::Conflict { found } if found > head.seq => Ok(None),
                LedgerError::Conflict { .. } => Err(OpenError::SetBack { head: head.seq }.into()),
                why => Err(why.into()),
            };
        }
        inner.scheduler = Some(scheduler);
        inner.request = request.or_else(|| inner.request.take());
        self.metrics.appended(began.elapsed());
        Ok(said.ok().filter(|_| is_recorded).map(|receipt| (receipt, decided)))
    }

    /// Has the state of the agent in memory.
    fn resident(&self, cell: &Arc<Cell>, inner: &mut Inner) -> Result<(), SchedulerError> {
        Self::drops_lost(cell, inner);
        if inner.scheduler.is_none() {
            let options = Options::new(cell.agent.clone());
            let ledger = match &inner.owned {
                Some(own) => own.ledger(),
                None => self.store.ledger(&cell.agent),
            };
            let ledger = Telling::new(ledger, cell);
            let opened = Scheduler::observe(options, ledger, self.clock.clone(), Elsewhere)?;
            inner.scheduler = Some(Box::new(opened));
            inner.version = None;
        }
        cell.use_at(self.second());
        Ok(())
    }

    /// Reads what others appended to an agent whose state is in memory.
    fn catch_up(&self, cell: &Cell, inner: &mut Inner) -> Result<(), SchedulerError> {
        let Some(scheduler) = &mut inner.scheduler else { unreachable!("it was opened") };
        // What this process appends to an agent that it drives for hosts goes through its
        // scheduler. Then the file itself says whether another process changed anything, which
        // costs less than to read nothing. Asked first, so that a change in between is seen next
        // time.
        let is_alone = inner.owned.is_some() && cell.turns() == Some(Turns::Elsewhere);
        let file = self.store.file().filter(|_| is_alone);
        let version = file.and_then(|file| file.version().ok());
        if version.is_none() || version != inner.version {
            scheduler.catch_up()?;
            inner.version = version;
        }
        Ok(())
    }

    /// A worker looks after the agent now.
    fn is_due(&self, cell: &Cell) {
        // To read an agent of a shared store is not a reason to claim it.
        if cell.turns().is_some() && (!self.is_shared() || cell.is_own()) {
            self.agenda.now(cell.number);
        }
    }

    /// Takes over into the brief what the agent became, and tells those who wait. Whether there was
    /// something new. If the caller has not driven the agent, it is due then.
    fn settle<T>(
        &self,
        cell: &Arc<Cell>,
        inner: &mut Inner,
        asked: &Result<T, SchedulerError>,
    ) -> bool {
        if let Err(why) = asked {
            let problem = Problem::from(why);
            // A mistake of the one who asked says nothing of the agent. After anything else its
            // ledger may have been set back or replaced, so the next request opens it again.
            if problem.blames_request() {
                return false;
            }
            inner.scheduler = None;
            cell.recent.clear();
            if problem.is_lasting() {
                let brief = Brief::clone(&cell.brief());
                self.index(cell, brief.broken(problem));
            }
            return false;
        }
        let Some(scheduler) = &mut inner.scheduler else { return false };
        let head = scheduler.state().head();
        let known = cell.brief();
        if known.head == head && known.is_read && known.problem.is_none() {
            return false;
        }
        if scheduler.state().turns().run.is_none() {
            inner.request = None;
        }
        self.index(cell, Brief::of(scheduler));
        cell.moves_at(self.second());
        cell.heard(head.seq);
        true
    }

    /// Keeps the brief, and the list of tokens in step with it.
    fn index(&self, cell: &Arc<Cell>, brief: Brief) {
        let new: Vec<_> = brief.triggers.to_vec();
        let before = cell.set_brief(brief);
        if *before.triggers == *new {
            return;
        }
        if self.is_shared()
            && let Err(why) = self.publish(cell, &before.triggers, &new)
        {
            // The next look at the agent publishes them.
            self.tell(&format!(
                "{}: its triggers are known to this server only: {why}",
                cell.agent
            ));
        }
        let mut triggers = self.triggers.write().unwrap_or_else(PoisonError::into_inner);
        for (hash, _) in &before.triggers {
            triggers.remove(hash);
        }
        for (hash, trigger) in new {
            triggers.insert(hash, (Arc::clone(cell), trigger));
        }
    }

    /// The seconds since the server began.
    fn second(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    /// Ends the threads. Running turns are told to end, and waited for as long as `drain` says.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.agenda.end();
        self.changes.ring();
        self.drain();
        for thread in std::mem::take(&mut *held(&self.threads)) {
            // What it did for an agent is in the ledger, or was not acknowledged.
            let _ = thread.join();
        }
        if let Some(worker) = self.store.worker() {
            return self.leave(worker);
        }
        for cell in self.all() {
            let owned = cell.inner().owned.take();
            // What is not given up is found to be dead by the next process.
            drop(owned.map(Own::release));
        }
    }
}

/// Proposes a fact. If another writer was first, what it appended is read, and the fact is proposed
/// again.
fn said(scheduler: &mut Observed, fact: &str) -> Result<Receipt, SchedulerError> {
    insisted(scheduler, |scheduler| scheduler.propose(fact))
}

/// Repeats a call after reading what another writer appended first.
fn insisted<T>(
    scheduler: &mut Observed,
    mut call: impl FnMut(&mut Observed) -> Result<T, SchedulerError>,
) -> Result<T, SchedulerError> {
    loop {
        match call(scheduler) {
            // Without new entries the same conflict would come again and again.
            Err(SchedulerError::Ledger(LedgerError::Conflict { .. }))
                if scheduler.catch_up()? > 0 => {}
            called => return called,
        }
    }
}

/// What is guarded is consistent between any two statements, so a panic elsewhere does not matter.
fn held<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
