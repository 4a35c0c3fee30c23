//! The driver of a ledger: an engine that decides, and beside it the state, folded from what the
//! ledger then holds.
//!
//! Whoever lives on it reads the state and says facts; the engine may be the native core or the
//! sandboxed guest. Other processes write to the same ledger: where one of them was first, what it
//! said is read, and the same is said again (contract 3.2).

use wakeful_core::{
    Answer, Boundary, Clock, ControlRecord, Entry, EntryBytes, EntryError, ErrorCode, ErrorReport,
    Head, Ledger, LedgerError, MessageRecord, Options, Provider, Record, Refusal, Seq, State,
    Timestamp,
    json::{self, JsonError, Readable},
};

use crate::engine::{Engine, EngineError, Engines, Mode};

/// How many entries are read at once.
const PAGE: u32 = 1024;

/// The fact with which a driver takes a ledger over.
const RESTARTED: &str = "runtime_restarted";

/// Who watches a ledger while it is driven.
pub trait Watcher {
    /// An entry was appended, by this process or another.
    fn entry(&mut self, entry: &Entry, bytes: &EntryBytes);

    /// The engine's instance broke down; whether another one goes on. To the scheduler that is a
    /// restart: the open run is interrupted, and tasks that the provider does not prove alive.
    /// Whoever does not expect that stays with no, and the driver ends.
    fn goes_on(&mut self, _why: &EngineError) -> bool {
        false
    }
}

/// Why a ledger cannot be driven any further. It is consistent.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The engine cannot go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine answered with something that cannot be read.
    #[error("the engine's answer cannot be read: {0}")]
    Answer(#[from] JsonError),
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The ledger is damaged.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There are two drivers.
    #[error("another process took the ledger over with entry {0}: let one of them drive the agent")]
    TakenOver(Seq),
}

impl DriveError {
    /// What the scheduler refused, where that is what happened.
    fn refusal(self) -> Result<ErrorReport, Self> {
        match self {
            Self::Engine(EngineError::Refused(report)) => Ok(report),
            other => Err(other),
        }
    }
}

/// Starts an engine, and opens the ledger with it.
type Start = Box<dyn FnMut() -> Result<Box<dyn Engine>, EngineError>>;

/// An engine that drives a ledger.
pub struct Driver<L, W> {
    start: Start,
    engine: Box<dyn Engine>,
    entries: L,
    state: State,
    watcher: W,
    /// The newest entry with which another driver took the ledger over.
    taken_over: Option<Seq>,
}

impl<L: Ledger + Clone + 'static, W: Watcher> Driver<L, W> {
    /// Takes a ledger over that was read up to `state`.
    ///
    /// # Errors
    /// Where the ledger cannot be read, or is damaged, newer, or another agent's, or the engine
    /// cannot be started.
    pub fn open<C, P>(
        options: &Options,
        engines: &Engines,
        lent: (L, C, P),
        state: State,
        watcher: W,
    ) -> Result<Self, DriveError>
    where
        C: Clock + Clone + 'static,
        P: Provider + Clone + 'static,
    {
        let entries = lent.0.clone();
        let (options, engines) = (options.clone(), engines.clone());
        let mut start: Start = Box::new(move || {
            loop {
                let (entries, clock, provider) = &lent;
                let mut engine = engines.start(entries.clone(), clock.clone(), provider.clone())?;
                match engine.open(&options, Mode::Drive) {
                    // Somebody said something in between: it is read with the rest.
                    Err(why) if is_conflict(&why) => {}
                    opened => return opened.map(|_| engine),
                }
            }
        });
        let engine = start()?;
        let mut driver = Self { start, engine, entries, state, watcher, taken_over: None };
        driver.tell()?;
        // The newest of what took it over is this driver.
        driver.taken_over = None;
        Ok(driver)
    }

    /// The state after the newest entry that was read.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Who watches.
    #[must_use]
    pub fn watcher(&self) -> &W {
        &self.watcher
    }

    /// Who watches, to be told something.
    pub fn watcher_mut(&mut self) -> &mut W {
        &mut self.watcher
    }

    /// What the engine answers, which is asked and not driven.
    ///
    /// # Errors
    /// Where the engine cannot go on.
    pub fn ask<T>(
        &mut self,
        mut question: impl FnMut(&mut dyn Engine) -> Result<T, EngineError>,
    ) -> Result<T, DriveError> {
        match question(&mut *self.engine) {
            Err(why) if why.is_broken_down() => {
                self.reopen(why)?;
                Ok(question(&mut *self.engine)?)
            }
            answered => Ok(answered?),
        }
    }

    /// When the engine would wake.
    ///
    /// # Errors
    /// Where the engine cannot go on.
    pub fn next_wake(&mut self) -> Result<Option<Timestamp>, DriveError> {
        self.ask(|engine| engine.next_wake())
    }

    /// Goes on in another instance of the engine.
    fn reopen(&mut self, why: EngineError) -> Result<(), DriveError> {
        // What the instance has stored before it broke down counts; so does another driver that
        // came between.
        self.tell()?;
        self.taken_over.map_or(Ok(()), |seq| Err(DriveError::TakenOver(seq)))?;
        if !self.watcher.goes_on(&why) {
            return Err(why.into());
        }
        self.engine = (self.start)()?;
        self.tell()?;
        self.taken_over = None;
        Ok(())
    }

    /// Takes a fact in JSON text; what became of it, or why the scheduler refused to read it.
    ///
    /// # Errors
    /// Where the ledger fails, or another driver takes over.
    pub fn propose(&mut self, fact: &str) -> Result<Result<Answer, ErrorReport>, DriveError> {
        let said = self.insist(|engine| engine.propose(fact));
        if json::read::<Named>(fact).is_ok_and(|named| named.fact == RESTARTED) {
            self.taken_over = None;
        }
        match said {
            Ok(receipt) => Ok(Ok(json::read::<Receipt>(&receipt)?.answer())),
            Err(DriveError::Engine(why)) if why.is_too_long() => Ok(Err(ErrorReport {
                code: ErrorCode::TooLarge,
                message: why.to_string(),
                place: None,
            })),
            Err(why) => {
                let report = why.refusal()?;
                match report.code {
                    ErrorCode::Malformed | ErrorCode::TooLarge | ErrorCode::WrongState => {
                        Ok(Err(report))
                    }
                    _ => Err(EngineError::Refused(report).into()),
                }
            }
        }
    }

    /// Lets the engine decide until it rests; whether there was anything to say.
    ///
    /// # Errors
    /// As [`Driver::propose`].
    pub fn decide(&mut self) -> Result<bool, DriveError> {
        let before = self.state.head();
        self.insist(|engine| engine.run_until_rest())?;
        Ok(self.state.head() != before)
    }

    /// Puts the operator's messages that wait for it into the open run, which stands at this safe
    /// point (contract 5.9).
    ///
    /// # Errors
    /// As [`Driver::propose`].
    pub fn interject(&mut self, safe_point: Boundary) -> Result<(), DriveError> {
        while self.interject_one(safe_point)?.is_some() {}
        Ok(())
    }

    /// Puts the first of them into the open run; which that was, if any.
    ///
    /// # Errors
    /// As [`Driver::propose`].
    pub fn interject_one(
        &mut self,
        safe_point: Boundary,
    ) -> Result<Option<MessageRecord>, DriveError> {
        let next = self.state.open_run().and(self.state.interjection()).cloned();
        let Some(next) = next else { return Ok(None) };
        self.insist(|engine| engine.step(safe_point))?;
        // Where it still waits, something came between that leaves no room for it, as a stop does.
        Ok(Some(next)
            .filter(|next| self.state.interjection().is_none_or(|waiting| waiting.id != next.id)))
    }

    /// Says the same again after reading what another writer has said first.
    fn insist<T>(
        &mut self,
        mut say: impl FnMut(&mut dyn Engine) -> Result<T, EngineError>,
    ) -> Result<T, DriveError> {
        loop {
            match self.ask(&mut say) {
                Err(DriveError::Engine(why)) if is_conflict(&why) => self.catch_up()?,
                said => {
                    self.tell()?;
                    return said;
                }
            }
        }
    }

    /// Reads what other writers have appended.
    ///
    /// # Errors
    /// Where the ledger fails, is damaged, or another driver has taken it over.
    pub fn catch_up(&mut self) -> Result<(), DriveError> {
        self.ask(|engine| engine.catch_up())?;
        self.tell()?;
        self.taken_over.map_or(Ok(()), |seq| Err(DriveError::TakenOver(seq)))
    }

    /// Reads what the ledger holds after the state, and tells the watcher.
    fn tell(&mut self) -> Result<(), DriveError> {
        let (state, watcher, taken_over) =
            (&mut self.state, &mut self.watcher, &mut self.taken_over);
        read(&mut self.entries, state.head(), |entry, bytes| {
            state.apply(entry);
            if matches!(entry.record, Record::Control(ControlRecord::RuntimeRestarted(_))) {
                *taken_over = Some(entry.seq);
            }
            watcher.entry(entry, bytes);
        })?;
        Ok(())
    }
}

/// The name of a fact.
#[derive(Readable)]
struct Named {
    fact: String,
}

/// The part of a receipt that says what became of the fact.
#[derive(Readable)]
struct Receipt {
    reason: Option<Refusal>,
    because: Option<Seq>,
}

impl Receipt {
    fn answer(self) -> Answer {
        match self {
            Self { reason: Some(reason), because: Some(because) } => {
                Answer::Ignored { reason, because }
            }
            Self { .. } => Answer::Accepted,
        }
    }
}

fn is_conflict(why: &EngineError) -> bool {
    matches!(why, EngineError::Refused(report) if report.code == ErrorCode::Conflict)
}

/// The head of a ledger at one of its entries.
///
/// # Errors
/// Where the ledger cannot be read, or has no such entry.
pub fn head_at(ledger: &mut impl Ledger, seq: Seq) -> Result<Head, DriveError> {
    let Some(before) = seq.0.checked_sub(1) else { return Ok(Head::START) };
    let page = ledger.read(Seq(before), 1)?;
    let chain = page.first().and_then(|entry| Some(entry.split()?.1));
    let missing = || LedgerError::Failed { message: format!("entry {seq} is missing") };
    Ok(Head { seq, chain: chain.ok_or_else(missing)? })
}

/// Reads the entries after a head, verified; where the ledger then ends, and when its newest entry
/// was made.
///
/// # Errors
/// Where the ledger cannot be read or is damaged.
pub fn read(
    ledger: &mut impl Ledger,
    mut head: Head,
    mut each: impl FnMut(&Entry, &EntryBytes),
) -> Result<(Head, Option<Timestamp>), DriveError> {
    let mut at = None;
    loop {
        let page = ledger.read(head.seq, PAGE)?;
        if page.is_empty() {
            return Ok((head, at));
        }
        for bytes in &page {
            let entry = bytes.open(&head)?;
            head = entry.head();
            at = Some(entry.at);
            each(&entry, bytes);
        }
    }
}
