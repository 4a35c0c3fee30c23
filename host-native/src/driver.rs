//! The driver of a ledger: an engine that decides, and the state folded from the ledger beside it.
//!
//! A caller reads the state and proposes facts. The engine is either the native core or the
//! sandboxed guest. Other processes may write to the same ledger. If one of them appended first,
//! the driver reads its entries and repeats its own call (contract 3.2).

#[cfg(feature = "postgres")]
use std::borrow::Cow;
use std::time::Instant;

use wakeful_core::{
    Answer, Boundary, Clock, ClockRight, ControlRecord, Entry, EntryBytes, EntryError, ErrorCode,
    ErrorReport, Fact, Head, Ledger, LedgerError, MessageRecord, OpenError, Options, Provider,
    Record, Refusal, Remedy, SchedulerError, Seq, State, Timestamp,
    json::{self, JsonError, Readable},
};

#[cfg(feature = "postgres")]
use crate::ledger::{Claim, Fate};
use crate::{
    clock::SteadyClock,
    engine::{Engine, EngineError, Engines, Mode},
};

/// Entries per read.
const PAGE: u32 = 1024;

/// The fact with which a driver takes over a ledger.
const RESTARTED: &str = "runtime_restarted";

/// How a driver takes a ledger up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// With a restart: the driver before may have ended at any point. The open run is interrupted,
    /// and so is each task that the provider does not report as alive.
    Restart,
    /// As the driver before left it: that one came to rest, and no other one drove the agent since
    /// (contract 5.23). Nothing is recorded or interrupted. A ledger that was never driven is
    /// restarted.
    Resume,
}

/// Observes a ledger while it is driven.
pub trait Watcher {
    /// Called for each entry that was appended, by this process or another.
    fn entry(&mut self, entry: &Entry, bytes: &EntryBytes);

    /// Called when the engine's instance broke down; returns whether to continue with another one.
    /// To the scheduler that is a restart: it interrupts the open run and each task that the
    /// provider does not report as alive. The default is `false`, and the driver then fails.
    fn goes_on(&mut self, _why: &EngineError) -> bool {
        false
    }
}

/// Why a ledger cannot be driven any further. The ledger itself is consistent.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The engine failed.
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
    /// Two drivers use the ledger.
    #[error(
        "another process took over the ledger at entry {0}: let only one process drive the agent"
    )]
    TakenOver(Seq),
    /// The ledger no longer has an entry that this driver has read or appended.
    #[error(
        "the ledger no longer has entry {at} as this agent knows it: an older state or another \
         history was put in its place; decide which one is right, and start the agent again"
    )]
    SetBack {
        /// The newest entry that the driver knows.
        at: Seq,
    },
    /// The ledger refuses a batch as if another writer were first, but has no entry of one.
    #[error(
        "the ledger ends at entry {at} as this agent knows it, and yet refuses what comes next: \
         its store is defective"
    )]
    Stuck {
        /// The newest entry.
        at: Seq,
    },
}

impl DriveError {
    /// The scheduler's refusal, or the error itself if it is anything else.
    fn refusal(self) -> Result<ErrorReport, Self> {
        match self {
            Self::Engine(EngineError::Refused(report)) => Ok(report),
            other => Err(other),
        }
    }
}

/// Starts an engine and opens the ledger with it.
type Start = Box<dyn FnMut(Mode) -> Result<Box<dyn Engine>, EngineError>>;

/// An engine together with the ledger that it drives.
pub struct Driver<L, W> {
    start: Start,
    engine: Box<dyn Engine>,
    entries: L,
    state: State,
    watcher: W,
    /// The newest entry with which another driver took over the ledger.
    taken_over: Option<Seq>,
    /// When the newest entry was read; `None` if it is older than this driver.
    newest_at: Option<Instant>,
}

impl<L: Ledger + Clone + 'static, W: Watcher> Driver<L, W> {
    /// Takes up a ledger that was read up to `state`. If an instance of the engine breaks down
    /// later, the next one restarts the agent.
    ///
    /// # Errors
    /// If the ledger cannot be read, is damaged, newer or another agent's, or if the engine cannot
    /// be started.
    pub fn open<C, P>(
        options: &Options,
        engines: &Engines,
        lent: (L, C, P),
        state: State,
        takeover: Takeover,
        watcher: W,
    ) -> Result<Self, DriveError>
    where
        C: Clock + Clone + 'static,
        P: Provider + Clone + 'static,
    {
        let entries = lent.0.clone();
        let (options, engines) = (options.clone(), engines.clone());
        let mut start: Start = Box::new(move |mode| {
            loop {
                let (entries, clock, provider) = &lent;
                let mut engine = engines.start(entries.clone(), clock.clone(), provider.clone())?;
                match engine.open(&options, mode) {
                    // Another writer appended while the ledger was opened: open it again, with the
                    // new entries.
                    Err(why) if is_conflict(&why) => {}
                    opened => return opened.map(|_| engine),
                }
            }
        });
        // The core steps a ledger that was driven before, also without another restart.
        let mode = match takeover {
            Takeover::Resume if state.is_driven() => Mode::Observe,
            Takeover::Resume | Takeover::Restart => Mode::Drive,
        };
        let engine = start(mode)?;
        let mut driver =
            Self { start, engine, entries, state, watcher, taken_over: None, newest_at: None };
        driver.tell()?;
        match (mode, driver.taken_over) {
            (Mode::Observe, Some(seq)) => Err(DriveError::TakenOver(seq)),
            // The newest takeover that was just read is the one of this driver.
            _ => {
                driver.taken_over = None;
                Ok(driver)
            }
        }
    }

    /// The state after the newest entry that was read.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The watcher of this driver.
    #[must_use]
    pub fn watcher(&self) -> &W {
        &self.watcher
    }

    /// The watcher of this driver, for changes.
    pub fn watcher_mut(&mut self) -> &mut W {
        &mut self.watcher
    }

    /// Asks the engine a question that appends nothing. If the instance broke down, asks once more
    /// in a new one.
    ///
    /// # Errors
    /// If the engine fails.
    pub fn ask<T>(
        &mut self,
        mut question: impl FnMut(&mut dyn Engine) -> Result<T, EngineError>,
    ) -> Result<T, DriveError> {
        match question(&mut *self.engine) {
            // One more attempt per call: a second breakdown ends the driver (decision 017).
            Err(why) if why.is_broken_down() => {
                self.reopen(why)?;
                Ok(question(&mut *self.engine)?)
            }
            answered => Ok(answered?),
        }
    }

    /// When to call the engine again.
    ///
    /// # Errors
    /// If the engine fails.
    pub fn next_wake(&mut self) -> Result<Option<Timestamp>, DriveError> {
        self.ask(|engine| engine.next_wake())
    }

    /// Continues in another instance of the engine.
    fn reopen(&mut self, why: EngineError) -> Result<(), DriveError> {
        // Batches that the instance stored before it broke down count. Reading them also shows
        // whether another driver took over meanwhile.
        self.tell()?;
        self.taken_over.map_or(Ok(()), |seq| Err(DriveError::TakenOver(seq)))?;
        if !self.watcher.goes_on(&why) {
            return Err(why.into());
        }
        self.engine = (self.start)(Mode::Drive)?;
        self.tell()?;
        self.taken_over = None;
        Ok(())
    }

    /// Proposes a fact in JSON text. Returns what became of it, or why the scheduler refused to
    /// read it.
    ///
    /// # Errors
    /// If the ledger fails, or another driver takes over.
    pub fn propose(&mut self, fact: &str) -> Result<Result<Answer, ErrorReport>, DriveError> {
        let said = self.insist(|engine| engine.propose(fact));
        // The restart that this fact itself appended is not a takeover by another driver.
        if json::read::<Named>(fact).is_ok_and(|named| named.fact == RESTARTED) {
            // The restart that was just read is the one of the new instance.
            self.taken_over = None;
        }
        match said {
            Ok(receipt) => Ok(Ok(json::read::<Receipt>(&receipt)?.answer())),
            // The text never reached the guest, so this is a refusal as the native core would give
            // it, and the driver continues.
            Err(DriveError::Engine(why)) if why.is_too_long() => Ok(Err(ErrorReport {
                code: ErrorCode::TooLarge,
                message: why.to_string(),
                place: None,
            })),
            Err(why) => {
                let report = why.refusal()?;
                // These blame the fact, so the caller gets the report. All other refusals end the
                // driver.
                match report.code {
                    ErrorCode::Malformed | ErrorCode::TooLarge | ErrorCode::WrongState => {
                        Ok(Err(report))
                    }
                    _ => Err(EngineError::Refused(report).into()),
                }
            }
        }
    }

    /// Lets the engine decide until it rests. Returns whether anything was appended.
    ///
    /// # Errors
    /// As [`Driver::propose`].
    pub fn decide(&mut self) -> Result<bool, DriveError> {
        let before = self.state.head();
        self.insist(|engine| engine.run_until_rest())?;
        Ok(self.state.head() != before)
    }

    /// Interjects all waiting operator messages into the open run, which is at this safe point
    /// (contract 5.9).
    ///
    /// # Errors
    /// As [`Driver::propose`].
    pub fn interject(&mut self, safe_point: Boundary) -> Result<(), DriveError> {
        while self.interject_one(safe_point)?.is_some() {}
        Ok(())
    }

    /// Interjects the first waiting message, and returns it if it was taken.
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
        // If it still waits, something else came first that leaves no room for it, such as a stop.
        Ok(Some(next)
            .filter(|next| self.state.interjection().is_none_or(|waiting| waiting.id != next.id)))
    }

    /// Repeats a call after reading what another writer appended first.
    fn insist<T>(
        &mut self,
        mut say: impl FnMut(&mut dyn Engine) -> Result<T, EngineError>,
    ) -> Result<T, DriveError> {
        loop {
            match self.ask(&mut say) {
                Err(DriveError::Engine(why)) if is_conflict(&why) => {
                    // Without new entries the same conflict would come again and again.
                    if !self.catch_up()? {
                        return Err(DriveError::Stuck { at: self.state.head().seq });
                    }
                }
                said => {
                    let said = said.map_err(|why| self.explained(why));
                    // A call that failed may have appended something before.
                    if !matches!(said, Err(DriveError::SetBack { .. })) {
                        self.tell()?;
                    }
                    return said;
                }
            }
        }
    }

    /// Reads what other writers have appended. Returns whether there was anything.
    ///
    /// # Errors
    /// If the ledger fails or is damaged, was set back, or another driver has taken it over.
    pub fn catch_up(&mut self) -> Result<bool, DriveError> {
        let before = self.state.head();
        let read = match self.ask(|engine| engine.catch_up()) {
            Ok(read) => read,
            Err(why) => return Err(self.explained(why)),
        };
        self.tell()?;
        self.taken_over.map_or(Ok(()), |seq| Err(DriveError::TakenOver(seq)))?;
        Ok(read > 0 || self.state.head() != before)
    }

    /// Records what came for the agent through its store. `prepare` makes the text that is recorded
    /// from the one that came. Returns whether the ledger grew.
    ///
    /// # Errors
    /// If the ledger or the store fails, or another driver takes over.
    #[cfg(feature = "postgres")]
    pub fn receive(
        &mut self,
        claim: &Claim,
        prepare: impl Fn(&str) -> Cow<'_, str>,
    ) -> Result<bool, DriveError> {
        let before = self.state.head();
        claim.receive(|fact| -> Result<Fate, DriveError> {
            Ok(match self.propose(&prepare(fact))? {
                Ok(Answer::Accepted) => Fate::Recorded,
                Ok(Answer::Ignored { .. }) => Fate::Known,
                Err(report) => Fate::Refused(report.message),
            })
        })?;
        Ok(self.state.head() != before)
    }

    /// The failure of the engine, or that the ledger was set back, which explains any failure.
    fn explained(&mut self, why: DriveError) -> DriveError {
        match self.require_known() {
            Err(set_back @ DriveError::SetBack { .. }) => set_back,
            _ => why,
        }
    }

    /// Checks that the ledger still has the newest known entry. An empty page after that entry does
    /// not show this: the ledger may have become shorter.
    fn require_known(&mut self) -> Result<(), DriveError> {
        let head = self.state.head();
        let Some(before) = head.seq.0.checked_sub(1) else { return Ok(()) };
        let page = self.entries.read(Seq(before), 1)?;
        let found = page.first().and_then(EntryBytes::chain);
        if found == Some(head.chain) { Ok(()) } else { Err(DriveError::SetBack { at: head.seq }) }
    }

    /// Does what is due about a clock that is behind the ledger (contract 1.3), and returns what it
    /// was. `show_host` makes the engine's clock show the host's own time while it is true. Call
    /// this before each [`Driver::decide`].
    ///
    /// # Errors
    /// As [`Driver::propose`].
    pub fn keep_time(
        &mut self,
        clock: &SteadyClock,
        show_host: &dyn Fn(bool),
    ) -> Result<Option<Remedy>, DriveError> {
        let Some(remedy) = clock.remedy(self.state.at()) else { return Ok(None) };
        show_host(true);
        let kept = match remedy {
            // The step sees how far the clock is behind, and records the diagnostic.
            Remedy::Report => self.decide().map(drop),
            Remedy::Correct => {
                let elapsed_ms = self
                    .newest_at
                    .map(|at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX));
                let fact = Fact::ClockCorrected(ClockRight { elapsed_ms });
                // If another process has set the ledger back meanwhile, the fact is stale.
                let kept = self.propose(&json::write(&fact)).map(drop);
                clock.corrected(self.state.at());
                kept
            }
        };
        show_host(false);
        kept.map(|()| Some(remedy))
    }

    /// Reads the entries after the state, folds them and calls the watcher.
    fn tell(&mut self) -> Result<(), DriveError> {
        let (state, watcher, taken_over, newest_at) =
            (&mut self.state, &mut self.watcher, &mut self.taken_over, &mut self.newest_at);
        read(&mut self.entries, state.head(), |entry, bytes| {
            state.apply(entry);
            if matches!(entry.record, Record::Control(ControlRecord::RuntimeRestarted(_))) {
                *taken_over = Some(entry.seq);
            }
            watcher.entry(entry, bytes);
            *newest_at = Some(Instant::now());
        })?;
        Ok(())
    }
}

/// The part of a fact that names its type.
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
/// If the ledger cannot be read or has no such entry.
pub fn head_at(ledger: &mut impl Ledger, seq: Seq) -> Result<Head, DriveError> {
    let Some(before) = seq.0.checked_sub(1) else { return Ok(Head::START) };
    let page = ledger.read(Seq(before), 1)?;
    // Not verified here: if the chain is wrong, the next entry does not open after this head.
    let chain = page.first().and_then(|entry| Some(entry.split()?.1));
    let missing = || LedgerError::Failed { message: format!("entry {seq} is missing") };
    Ok(Head { seq, chain: chain.ok_or_else(missing)? })
}

/// One entry of a ledger, verified against the entry before it only. `None` if it cannot be read,
/// such as one in an archive that is missing.
pub fn entry_at(ledger: &mut impl Ledger, seq: Seq) -> Option<Entry> {
    let before = head_at(ledger, Seq(seq.0.checked_sub(1)?)).ok()?;
    ledger.read(before.seq, 1).ok()?.first()?.open(&before).ok()
}

/// Verifies the hash chain of the entries after a head up to a position, without reading their
/// records. Opening an agent from its snapshot does not verify the entries before it (contract
/// 3.4). Returns the head there, or at the end of the ledger if that comes first. Calls `done` with
/// each position.
///
/// # Errors
/// If the ledger cannot be read or is damaged.
pub fn verify(
    ledger: &mut impl Ledger,
    mut head: Head,
    to: Seq,
    mut done: impl FnMut(Seq),
) -> Result<Head, SchedulerError> {
    while head.seq < to {
        let left = u32::try_from(to.0 - head.seq.0).map_or(PAGE, |left| left.min(PAGE));
        let page = ledger.read(head.seq, left)?;
        if page.is_empty() {
            break;
        }
        for bytes in &page {
            let next = bytes
                .split()
                .map(|(canonical, chain)| (head.chain.extend(&canonical), chain))
                .filter(|(due, found)| due == found);
            head = match next {
                Some((chain, _)) => Head { seq: head.seq.next(), chain },
                // Reading the entry finds what is wrong with it.
                None => bytes.open(&head).map_err(OpenError::from)?.head(),
            };
            done(head.seq);
        }
    }
    Ok(head)
}

/// Reads and verifies the entries after a head. Returns the new head, and the time of the newest
/// entry that was read.
///
/// # Errors
/// If the ledger cannot be read or is damaged.
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
