//! The short loop over a ledger, a clock and a provider.

use alloc::{collections::VecDeque, format, string::String, vec::Vec};
use core::{cell::Cell, ops::RangeInclusive};

use serde::Serialize;

use crate::{
    derive::summary::AgentSummary,
    explain::{Explanation, WhyNot},
    fact::{Fact, control::Restarted, outcome::Answer},
    foreign::{Folder, expected::Expected},
    host::{
        error::SchedulerError,
        export,
        imports::{Clock, Ledger, LedgerError, Provider},
        opening::{self, Opening},
        past::{self, DecisionFrom, History, Past},
    },
    id::{Seq, TaskId},
    machine::{Machine, Options, Proposal, import::Import},
    record::{
        chain::Head,
        decision::{Boundary, Decision, DecisionKind},
        edition::Edition,
        effect::Effect,
    },
    state::State,
    time::Timestamp,
};

/// A replayed folder: the contents of its `expected.json`, what was found in the same shape, and
/// the explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Replay {
    /// The expectations of the folder; absent if it has no `expected.json`, as in a data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// What the replay found.
    pub found: Expected,
    /// Why it was found.
    pub explanation: Explanation,
}

/// The answer to a fact, after its batch is durable.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Receipt {
    /// Whether the fact changed the state.
    #[serde(flatten)]
    pub answer: Answer,
    /// The head after the fact.
    pub head: Head,
    /// The effects that the provider was asked to carry out.
    pub effects: Vec<Effect>,
}

impl Receipt {
    /// What became of a fact that another one proposed, such as the driver of an agent in another
    /// thread. Its effects are carried out there.
    #[must_use]
    pub fn elsewhere(answer: Answer, head: Head) -> Self {
        Self { answer, head, effects: Vec::new() }
    }
}

/// One step of the loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StepReport {
    /// The recorded decision. `None` if the step recorded arrivals, or if there was nothing new.
    pub decision: Option<Decision>,
    /// The head after the step.
    pub head: Head,
    /// The effects that the provider was asked to carry out.
    pub effects: Vec<Effect>,
}

/// The length of the log at which the first snapshot is stored, and the least number of entries
/// between two. So few are folded quickly.
pub const FIRST_SNAPSHOT: Seq = Seq(64);

/// After a snapshot there is an entry for each such number of its bytes, and then the next one.
/// Entries have about four times as many, so snapshots add a quarter to what is written, and to
/// open a ledger takes as long as the state is large, however long the history is.
const SNAPSHOT_BYTES_PER_ENTRY: usize = 128;

/// The most steps without a rest. More of them are a defect, not a workload.
const MAX_STEPS: usize = 100_000;

/// The scheduler of one agent over its host.
pub struct Scheduler<L, C, P> {
    machine: Machine,
    ledger: L,
    clock: C,
    provider: P,
    opening: Opening,
    /// Failures of the provider that the ledger does not have yet, in order.
    unsaid: VecDeque<Fact>,
    past: Past,
    snapshot_due: Seq,
    snapshot_failed: Option<LedgerError>,
}

impl<L: Ledger, C: Clock, P: Provider> Scheduler<L, C, P> {
    /// Opens a ledger as an observer. Reads and verifies it, from its snapshot on if that can be
    /// used. An empty ledger gets its first entry. Nothing else is started.
    ///
    /// # Errors
    /// If the ledger cannot be read, is damaged, has a newer format, belongs to another agent, or
    /// ends before its snapshot.
    pub fn observe(
        options: Options,
        mut ledger: L,
        clock: C,
        provider: P,
    ) -> Result<Self, SchedulerError> {
        let (machine, opening) = opening::open(&options, &mut ledger)?;
        let snapshot_due =
            opening.snapshot.map_or(FIRST_SNAPSHOT, |seq| after(seq, opening.snapshot_bytes));
        let mut scheduler = Self {
            machine,
            ledger,
            clock,
            provider,
            opening,
            unsaid: VecDeque::new(),
            past: Past::default(),
            snapshot_due,
            snapshot_failed: None,
        };
        let now = scheduler.clock.now();
        if let Some(proposal) = scheduler.machine.begin(now)? {
            scheduler.commit(&proposal)?;
        }
        Ok(scheduler)
    }

    /// Opens a ledger as its driver: observes it and takes it over. An open run of the previous
    /// driver becomes interrupted.
    ///
    /// # Errors
    /// As [`Scheduler::observe`], and if the provider cannot say which tasks are alive.
    pub fn drive(
        options: Options,
        ledger: L,
        clock: C,
        provider: P,
    ) -> Result<Self, SchedulerError> {
        let mut scheduler = Self::observe(options, ledger, clock, provider)?;
        let active: Vec<TaskId> = scheduler.state().tasks.active.keys().cloned().collect();
        let alive_task_ids =
            // Without active tasks a provider that fails does not stop the takeover.
            if active.is_empty() { active } else { scheduler.provider.alive(active)? };
        scheduler.propose_fact(Fact::RuntimeRestarted(Restarted { alive_task_ids }))?;
        Ok(scheduler)
    }

    /// Reads the entries that were appended since, and returns their number. Call it after a
    /// [`LedgerError::Conflict`], then repeat the failed call. The effects of other writers are not
    /// carried out. If an own batch is among the entries, because a failed append had stored it
    /// after all, its effects are carried out now.
    ///
    /// # Errors
    /// If the ledger cannot be read, is damaged, was set back, or has another history than this
    /// scheduler.
    pub fn catch_up(&mut self) -> Result<u64, SchedulerError> {
        let loaded = self.read_on();
        // Also if reading failed: the entries before that may have been the last ones, and then no
        // conflict leads back here.
        let effects = self.machine.found();
        // Not `carry_out`: it records failures at once, which can conflict and lead back here.
        self.ask_provider(&effects);
        loaded
    }

    fn read_on(&mut self) -> Result<u64, SchedulerError> {
        let loaded = opening::load_tail(&mut self.machine, &mut self.ledger)?;
        // A first new entry would show that the one before it is still there.
        if loaded == 0 {
            opening::require_head(&self.machine, &mut self.ledger)?;
        }
        Ok(loaded)
    }

    /// Records a fact given as JSON text.
    ///
    /// # Errors
    /// If the text is malformed or too long, or the ledger fails. Then nothing has changed.
    pub fn propose(&mut self, text: &str) -> Result<Receipt, SchedulerError> {
        // A failure that the ledger did not take goes before anything else.
        self.say_unsaid()?;
        let now = self.clock.now();
        let proposal = self.machine.propose_json(text, now)?;
        self.receive(proposal)
    }

    fn propose_fact(&mut self, fact: Fact) -> Result<Receipt, SchedulerError> {
        let now = self.clock.now();
        let proposal = self.machine.propose(fact, now)?;
        self.receive(proposal)
    }

    /// Records the failures of the provider. If the ledger fails, the next call tries again.
    fn say_unsaid(&mut self) -> Result<(), SchedulerError> {
        while let Some(fact) = self.unsaid.front().map(Fact::copied) {
            let now = self.clock.now();
            let proposal = self.machine.propose(fact, now)?;
            match self.commit(&proposal) {
                Ok(effects) => {
                    // Only now, so that a failed append leaves it for the next call.
                    self.unsaid.pop_front();
                    // Not `carry_out`, which would lead back here. This loop takes new failures
                    // too.
                    self.ask_provider(&effects);
                }
                // Another writer was first: try again after its entries.
                Err(SchedulerError::Ledger(LedgerError::Conflict { .. }))
                    // Without new entries the same conflict would come again and again.
                    if self.catch_up()? > 0 => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    fn receive(&mut self, proposal: Proposal) -> Result<Receipt, SchedulerError> {
        let effects = self.commit(&proposal)?;
        self.carry_out(&effects);
        Ok(Receipt { answer: proposal.answer, head: self.machine.head(), effects })
    }

    /// Imports a folder into a fresh ledger, as an observer sees it.
    ///
    /// # Errors
    /// If the folder cannot be read or belongs to another agent, or the ledger is not fresh or
    /// fails.
    pub fn import(&mut self, folder: &Folder) -> Result<Head, SchedulerError> {
        let now = self.clock.now();
        let import = Import::of_folder(folder, now)?;
        let proposal = self.machine.import(import, now)?;
        // An import has no effects to carry out.
        self.commit(&proposal)?;
        Ok(self.machine.head())
    }

    /// Imports a folder into a fresh ledger, and finds the values that its `expected.json` names.
    /// If the folder has no expectations, it finds all of them.
    ///
    /// # Errors
    /// As [`Scheduler::import`].
    pub fn replay(&mut self, folder: &Folder) -> Result<Replay, SchedulerError> {
        let expected = Expected::of_folder(folder)?;
        self.import(folder)?;
        let explanation = self.explain(Boundary::RunLoopIdle);
        let found = expected.as_ref().map_or_else(
            || Expected::from_explanation(&explanation),
            |expected| expected.found(&explanation),
        );
        Ok(Replay { expected, found, explanation })
    }

    /// Takes one step at a boundary.
    ///
    /// # Errors
    /// If the ledger is only observed, or fails. Then nothing has changed.
    pub fn step(&mut self, boundary: Boundary) -> Result<StepReport, SchedulerError> {
        self.say_unsaid()?;
        // One reading of the clock per call, so that a replay at recorded instants gives the same
        // entries (decision 015).
        let now = self.clock.now();
        let Some(proposal) = self.machine.step(boundary, now)? else {
            return Ok(StepReport {
                decision: None,
                head: self.machine.head(),
                effects: Vec::new(),
            });
        };
        let effects = self.commit(&proposal)?;
        self.carry_out(&effects);
        Ok(StepReport { decision: proposal.decision, head: self.machine.head(), effects })
    }

    /// Steps until there is nothing more to do: a rest, a stop, or an open run.
    ///
    /// # Errors
    /// As [`Scheduler::step`]; [`SchedulerError::Restless`] if there is no rest after 100,000
    /// steps.
    pub fn run_until_rest(&mut self) -> Result<Vec<StepReport>, SchedulerError> {
        let mut reports = Vec::new();
        for _ in 0..MAX_STEPS {
            let before = self.machine.head();
            let report = self.step(self.machine.boundary())?;
            // Nothing was recorded, so another step would find nothing either.
            if report.head == before {
                return Ok(reports);
            }
            // A step without a decision recorded arrivals, and the next one decides.
            let goes_on = report.decision.as_ref().is_none_or(|decision| decision.kind.goes_on());
            reports.push(report);
            if !goes_on {
                return Ok(reports);
            }
        }
        Err(SchedulerError::Restless { steps: MAX_STEPS })
    }

    /// The boundary at which the loop takes its next step.
    #[must_use]
    pub fn boundary(&self) -> Boundary {
        self.machine.boundary()
    }

    /// Explains what would be decided at a boundary. Appends nothing.
    pub fn explain(&mut self, boundary: Boundary) -> Explanation {
        let now = self.clock.now();
        self.machine.explain(boundary, now)
    }

    /// What would have to change for a decision of this kind (contract 11.2). Appends nothing.
    pub fn why_not(&mut self, boundary: Boundary, asked: DecisionKind) -> WhyNot {
        let now = self.clock.now();
        self.machine.why_not(boundary, asked, now)
    }

    /// The earliest instant at which a step would find something new. If a failure of the provider
    /// is not recorded yet, that is now.
    pub fn next_wake(&mut self) -> Option<Timestamp> {
        let now = self.clock.now();
        if self.unsaid.is_empty() { self.machine.next_wake(now) } else { Some(now) }
    }

    /// The state up to the last committed entry.
    #[must_use]
    pub fn state(&self) -> &State {
        self.machine.state()
    }

    /// The machine at an entry. Its own time is `state().at`. To go on from there, make a machine
    /// of your own with [`Machine::standing`]. States on the way are kept, so steps forward and
    /// back from there are quick.
    ///
    /// # Errors
    /// If there is no such entry, or the ledger cannot be read or is damaged before it.
    pub fn at(&mut self, seq: Seq) -> Result<&Machine, SchedulerError> {
        self.there_is(seq)?;
        // The newest state is here already, so nothing has to be folded.
        if seq == self.machine.head().seq {
            return Ok(&self.machine);
        }
        self.past.at(self.machine.options(), &mut self.ledger, seq)
    }

    /// What happened in these entries: the decisions, as a list of the entries after which they
    /// change, and what is odd.
    ///
    /// # Errors
    /// As [`Scheduler::at`].
    pub fn history(
        &mut self,
        entries: RangeInclusive<Seq>,
        edition: Option<Edition>,
    ) -> Result<History, SchedulerError> {
        self.there_is(*entries.start())?;
        self.there_is(*entries.end())?;
        self.past.history(self.machine.options(), &mut self.ledger, entries, edition)
    }

    /// The decisions of [`Scheduler::history`].
    ///
    /// # Errors
    /// As [`Scheduler::at`].
    pub fn decisions_in(
        &mut self,
        entries: RangeInclusive<Seq>,
        edition: Option<Edition>,
    ) -> Result<Vec<DecisionFrom>, SchedulerError> {
        Ok(self.history(entries, edition)?.decisions)
    }

    /// The ledger up to an entry, or all of it, as a fixture folder with its `expected.json`
    /// (contract 3.7).
    ///
    /// # Errors
    /// As [`Scheduler::at`].
    pub fn export(&mut self, up_to: Option<Seq>) -> Result<Folder, SchedulerError> {
        let last = up_to.unwrap_or(self.machine.head().seq);
        self.there_is(last)?;
        let mut entries = Vec::new();
        past::each_entry(&mut self.ledger, Seq(0), last, |bytes| {
            entries.push(bytes.clone());
            Ok(())
        })?;
        export::folder_of(&entries)
    }

    fn there_is(&self, seq: Seq) -> Result<(), SchedulerError> {
        let ends = self.machine.head().seq;
        if seq == Seq(0) || seq > ends {
            Err(SchedulerError::NoSuchEntry { asked: seq, ends })
        } else {
            Ok(())
        }
    }

    /// The agent's summary, assembled now (contract 6.4).
    #[must_use]
    pub fn summary(&self) -> AgentSummary {
        self.machine.summary()
    }

    /// The state as text to store beside the log. The loop stores it automatically each time the
    /// entries since the newest one have become about four times as long.
    #[must_use]
    pub fn snapshot(&self) -> String {
        self.machine.snapshot()
    }

    /// How the ledger was opened: from which snapshot, or why without one.
    #[must_use]
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Why the newest due snapshot is not stored; `None` if it is. Nothing is lost, because the log
    /// has everything, and the loop tries again later.
    #[must_use]
    pub fn snapshot_failed(&self) -> Option<&LedgerError> {
        self.snapshot_failed.as_ref()
    }

    /// The ledger, for hosts that share it.
    pub fn ledger(&mut self) -> &mut L {
        &mut self.ledger
    }

    fn commit(&mut self, proposal: &Proposal) -> Result<Vec<Effect>, SchedulerError> {
        match self.ledger.append(&proposal.expected, &proposal.batch) {
            Ok(()) => {
                let effects = self.machine.committed();
                self.keep_snapshot();
                Ok(effects)
            }
            Err(why) => {
                match &why {
                    // A conflict proves that nothing was stored; any other failure does not.
                    LedgerError::Conflict { .. } => self.machine.rejected(),
                    LedgerError::Failed { .. } => self.machine.unacknowledged(),
                }
                Err(why.into())
            }
        }
    }

    /// contract 3.5: stores a snapshot when one is due. The batch is already durable, so a failure
    /// is only noted.
    fn keep_snapshot(&mut self) {
        let head = self.machine.head();
        if head.seq < self.snapshot_due {
            return;
        }
        // A host without snapshots makes no text.
        let bytes = Cell::new(0);
        let counted = |text: String| {
            bytes.set(text.len());
            text
        };
        let stored = match self.ledger.snapshot_bytes() {
            usize::MAX => self.ledger.store_snapshot(&head, &|| counted(self.machine.snapshot())),
            most => match self.machine.snapshot_within(most) {
                Some(text) => self.ledger.store_snapshot(&head, &|| counted(text.clone())),
                None => {
                    bytes.set(most);
                    Err(LedgerError::Failed {
                        message: format!(
                            "the state has more than {most} bytes, so it is not stored"
                        ),
                    })
                }
            },
        };
        // After a failure not with the very next append, which would ask a broken store each time.
        self.snapshot_due = after(head.seq, bytes.get());
        self.snapshot_failed = stored.err();
    }

    /// Carries effects out, in order. A failure of the provider becomes a fact: the turn is
    /// aborted, or a runtime error is recorded. The batch is already durable, so if the ledger does
    /// not take that fact, only the next call fails.
    fn carry_out(&mut self, effects: &[Effect]) {
        self.ask_provider(effects);
        // The next call tries again first, and reports the error if it persists.
        let _ = self.say_unsaid();
    }

    fn ask_provider(&mut self, effects: &[Effect]) {
        for effect in effects {
            let done = self.provider.carry_out(effect);
            self.unsaid
                .extend(done.err().map(|why| Fact::failure(effect.run_id().cloned(), why.message)));
        }
    }
}

/// The length of the log at which a snapshot is due after one at `seq` with this length.
fn after(seq: Seq, bytes: usize) -> Seq {
    let entries = u64::try_from(bytes / SNAPSHOT_BYTES_PER_ENTRY).unwrap_or(u64::MAX);
    Seq(seq.0.saturating_add(entries.max(FIRST_SNAPSHOT.0)))
}
