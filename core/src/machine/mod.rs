//! The machine: an outbox. It proposes a batch, the host stores it, and only then the state changes
//! and effects come out.
//!
//! The order of a host's duties (contract 3.2):
//!
//! 1. [`Machine::begin`] on a new ledger, then [`Machine::propose`] or [`Machine::step`] gives a
//!    [`Proposal`].
//! 2. The host appends its batch, atomically and durably, at the expected head.
//! 3. [`Machine::committed`] applies it and releases the effects; or [`Machine::rejected`] forgets
//!    it, and nothing has changed.
//! 4. The host carries the effects out.
//!
//! After every fact, and at [`Machine::next_wake`], call [`Machine::step`] until it gives nothing
//! or a rest. Extra calls are safe.

pub mod import;

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    consequence,
    derive::{arrival, summary::AgentSummary},
    explain::{self, Explanation, Supposition, WhyNot},
    fact::{Fact, outcome::Answer},
    id::{AgentId, MAX_STEM_BYTES, Seq},
    ladder::{self, View, owed},
    machine::import::Import,
    record::{
        Record,
        chain::Head,
        control::{ControlRecord, FORMAT, Genesis},
        decision::{Boundary, Decision, DecisionKind},
        edition::Edition,
        effect::Effect,
        entry::{self, Entry, EntryBytes, EntryError},
        policy::Policy,
    },
    state::{
        State,
        snapshot::{Snapshot, SnapshotIgnored},
    },
    time::Timestamp,
};
use wakeful_json::{self as json, JsonError, Readable};

/// A batch to append, and what it answers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Proposal {
    /// The head that the ledger must have.
    pub expected: Head,
    /// The entries, in order.
    pub batch: Vec<EntryBytes>,
    /// The head that the ledger then has.
    pub head: Head,
    /// What became of the fact; accepted for a step.
    pub answer: Answer,
    /// The decision that the batch records, if it records one.
    pub decision: Option<Decision>,
}

/// Why nothing was proposed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposeError {
    /// A proposal is open: commit or reject it first.
    #[error("a proposal is open: call `committed` or `rejected` first")]
    Busy,
    /// The fact cannot be read.
    #[error("malformed fact: {0}")]
    Malformed(#[from] JsonError),
    /// The fact, or something in it, is too long.
    #[error("{what} is {bytes} bytes long, the limit `{what}_bytes` is {limit}")]
    TooLarge {
        /// What is: `fact`, `id`, `agent_id` or `body`.
        what: &'static str,
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        limit: u64,
    },
    /// The ledger is observed, not driven.
    #[error("no driver has taken this ledger over: propose `runtime_restarted` first")]
    NotDriven,
    /// The ledger is empty.
    #[error("the ledger has no first entry: call `begin` first")]
    NotBegun,
    /// Something was imported into a ledger that has more than its first entry.
    #[error("an import needs a fresh ledger, this one ends at entry {0}")]
    NotEmpty(Seq),
    /// The folder is another agent's.
    #[error(
        "the folder is agent `{found}`'s, the ledger was opened for `{expected}`: open it for \
         `{found}`"
    )]
    OtherAgent {
        /// Whose folder it is.
        found: AgentId,
        /// Whose ledger it is.
        expected: AgentId,
    },
}

/// Why a stored ledger cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An entry is damaged, missing or of another history.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The ledger does not begin as it must.
    #[error("the ledger does not begin with its genesis entry")]
    NoGenesis,
    /// The ledger is newer than this program.
    #[error("the ledger has format {found}, this program reads up to {supported}: use a newer one")]
    NewerFormat {
        /// Its format.
        found: u32,
        /// The newest that is read.
        supported: u32,
    },
    /// The ledger belongs to another agent.
    #[error("the ledger belongs to agent `{found}`, not to `{expected}`")]
    OtherAgent {
        /// Whose it is.
        found: AgentId,
        /// Whose it should be.
        expected: AgentId,
    },
    /// Entries are missing at the end.
    #[error(
        "the ledger ends before entry {snapshot}, at which its snapshot stands: entries were \
         lost, restore a copy that has them"
    )]
    HeadBelowSnapshot {
        /// Where the snapshot stands.
        snapshot: Seq,
    },
}

/// What a new ledger begins with; an existing one says it itself.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Options {
    /// The agent.
    pub agent_id: AgentId,
    /// The order of the rules.
    #[serde(default)]
    pub edition: Edition,
    /// The limits and delays.
    #[serde(default)]
    pub policy: Policy,
}

impl Options {
    /// The defaults for an agent.
    #[must_use]
    pub fn new(agent_id: AgentId) -> Self {
        Self { agent_id, edition: Edition::default(), policy: Policy::default() }
    }
}

struct Open {
    entries: Vec<Entry>,
    effects: Vec<Effect>,
}

/// Batches of which nobody knows whether they were stored, by the heads that they would make, and
/// the effects that all of them have.
struct Doubtful {
    heads: Vec<Head>,
    effects: Vec<Effect>,
}

/// The scheduler of one agent.
pub struct Machine {
    options: Options,
    state: State,
    open: Option<Open>,
    doubtful: Vec<Doubtful>,
    found: Vec<Effect>,
}

impl Machine {
    /// A machine before the first entry. Feed it what the ledger holds with [`Machine::load`], then
    /// commit what [`Machine::begin`] gives.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            state: State::default(),
            open: None,
            doubtful: Vec::new(),
            found: Vec::new(),
        }
    }

    /// A machine that goes on from a stored snapshot. Ask [`Machine::stands_at`] with the entry at
    /// [`Machine::head`], then feed it the entries after it with [`Machine::load`].
    ///
    /// # Errors
    /// Why the snapshot is not used: begin with [`Machine::new`] and feed it the whole log.
    pub fn resume(options: Options, snapshot: &str) -> Result<Self, SnapshotIgnored> {
        let state = Snapshot::open(snapshot)?;
        if state.control.agent_id != options.agent_id {
            return Err(SnapshotIgnored::OtherAgent(state.control.agent_id));
        }
        Ok(Self::standing(options, state))
    }

    /// A machine that stands where `state` does, as one that has loaded all of its entries. The
    /// state must be one that was folded.
    #[must_use]
    pub fn standing(options: Options, state: State) -> Self {
        Self { state, ..Self::new(options) }
    }

    /// What the machine was made with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether a stored entry is the one at which the machine stands: else the snapshot that it
    /// goes on from is of another history.
    #[must_use]
    pub fn stands_at(&self, bytes: &EntryBytes) -> bool {
        bytes.split().is_some_and(|(_, chain)| chain == self.state.head.chain)
    }

    /// The state as text to store beside the log; useful each time the log has doubled.
    #[must_use]
    pub fn snapshot(&self) -> String {
        json::write(&Snapshot::from_state(&self.state))
    }

    /// Applies the next stored entry, verified.
    ///
    /// # Errors
    /// Where it is damaged or out of order, not the beginning of a ledger, of a newer format, or
    /// another agent's.
    pub fn load(&mut self, bytes: &EntryBytes) -> Result<(), OpenError> {
        let entry = bytes.open(&self.state.head)?;
        if self.state.head == Head::START {
            let Record::Control(ControlRecord::Genesis(genesis)) = &entry.record else {
                return Err(OpenError::NoGenesis);
            };
            if genesis.format > FORMAT {
                return Err(OpenError::NewerFormat { found: genesis.format, supported: FORMAT });
            }
            if genesis.agent_id != self.options.agent_id {
                return Err(OpenError::OtherAgent {
                    found: genesis.agent_id.clone(),
                    expected: self.options.agent_id.clone(),
                });
            }
        }
        self.state.apply(&entry);
        let stored =
            self.doubtful.iter().position(|doubtful| doubtful.heads.contains(&self.state.head));
        if let Some(at) = stored {
            self.found.extend(self.doubtful.swap_remove(at).effects);
        }
        Ok(())
    }

    /// The effects of batches that were [`Machine::unacknowledged`] and then read back: they were
    /// stored after all, and nobody has carried their effects out. Call it after [`Machine::load`].
    pub fn found(&mut self) -> Vec<Effect> {
        core::mem::take(&mut self.found)
    }

    /// The state up to the last committed entry.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The head of the last committed entry.
    #[must_use]
    pub fn head(&self) -> Head {
        self.state.head
    }

    /// Proposes the entry with which every ledger begins; none where the ledger has it.
    ///
    /// # Errors
    /// Where a proposal is open, or the agent's id is too long.
    pub fn begin(&mut self, now: Timestamp) -> Result<Option<Proposal>, ProposeError> {
        self.not_busy()?;
        if self.state.head != Head::START {
            return Ok(None);
        }
        within("agent_id", self.options.agent_id.as_str().len(), MAX_STEM_BYTES as u64)?;
        let genesis = Genesis {
            agent_id: self.options.agent_id.clone(),
            format: FORMAT,
            edition: self.options.edition,
            policy: self.options.policy.clone(),
        };
        let records = Vec::from([Record::Control(ControlRecord::Genesis(genesis))]);
        Ok(Some(self.seal(now, Draft::new(records))))
    }

    /// Proposes what follows from a fact in JSON text.
    ///
    /// # Errors
    /// Where the text is too long or malformed, the ledger was not begun, or a proposal is open.
    pub fn propose_json(&mut self, text: &str, now: Timestamp) -> Result<Proposal, ProposeError> {
        within("fact", text.len(), self.state.control.policy.fact_bytes.get())?;
        self.propose(Fact::decode(text)?, now)
    }

    /// Proposes what follows from a fact.
    ///
    /// # Errors
    /// Where an id or a body is too long (contract 10), the ledger was not begun, or a proposal is
    /// open.
    pub fn propose(&mut self, fact: Fact, now: Timestamp) -> Result<Proposal, ProposeError> {
        let at = self.ready(now)?;
        let policy = &self.state.control.policy;
        within("id", fact.new_id().map_or(0, str::len), policy.id_bytes.get())?;
        within(
            "body",
            fact.body().map_or(0, |body| body.as_text().len()),
            policy.body_bytes.get(),
        )?;
        let outcome = fact.transition(&self.state, at);
        let draft = Draft {
            answer: outcome.answer,
            effects: outcome.effects,
            ..Draft::new(outcome.records)
        };
        Ok(self.seal(at, draft))
    }

    /// Proposes a whole foreign ledger, as an observer sees it (contract 2.4, 3.7).
    ///
    /// # Errors
    /// Where the folder is another agent's, the ledger holds more than its first entry or was not
    /// begun, or a proposal is open.
    pub fn import(&mut self, import: Import, now: Timestamp) -> Result<Proposal, ProposeError> {
        let at = self.ready(now)?;
        if self.state.head.seq != Seq(1) {
            return Err(ProposeError::NotEmpty(self.state.head.seq));
        }
        let expected = &self.state.control.agent_id;
        if import.agent_id() != expected {
            return Err(ProposeError::OtherAgent {
                found: import.agent_id().clone(),
                expected: expected.clone(),
            });
        }
        Ok(self.seal(at, Draft::new(import.into_records())))
    }

    /// Proposes the next step: what has arrived, or else a decision with its consequences. None
    /// where there is nothing new to say.
    ///
    /// # Errors
    /// Where no driver has taken the ledger over, or a proposal is open.
    pub fn step(
        &mut self,
        boundary: Boundary,
        now: Timestamp,
    ) -> Result<Option<Proposal>, ProposeError> {
        let at = self.ready(now)?;
        if self.state.control.live_from.is_none() {
            return Err(ProposeError::NotDriven);
        }
        let arrived = arrival::records(&self.state, now);
        if !arrived.is_empty() {
            return Ok(Some(self.seal(at, Draft::new(arrived))));
        }
        let ruling =
            ladder::decide(self.state.control.edition, &View::to_decide(&self.state, boundary, at));
        let newest = self.state.control.decided.as_ref();
        // contract 7.5: a rest that says nothing new is not recorded again.
        let decision = &ruling.decision;
        if decision.kind.may_repeat()
            && newest.is_some_and(|newest| newest.decision.says_the_same(decision))
        {
            return Ok(None);
        }
        let (records, effects) = consequence::batch(&self.state, &ruling, at);
        let draft = Draft { effects, decision: Some(ruling.decision), ..Draft::new(records) };
        Ok(Some(self.seal(at, draft)))
    }

    /// The boundary at which a loop takes its next step.
    #[must_use]
    pub fn boundary(&self) -> Boundary {
        if self.state.queue.is_empty() { Boundary::RunLoopIdle } else { Boundary::RunLoop }
    }

    /// The batch is durable: applies it and releases its effects. Without an open proposal it does
    /// nothing.
    pub fn committed(&mut self) -> Vec<Effect> {
        let Some(open) = self.open.take() else {
            return Vec::new();
        };
        for entry in &open.entries {
            self.state.apply(entry);
        }
        // What was in doubt would have been stored in this place.
        self.doubtful.clear();
        open.effects
    }

    /// The batch was not stored: forgets it. The state is as before; propose again.
    pub fn rejected(&mut self) {
        self.open = None;
    }

    /// Whether the batch was stored is not known, as where its store failed to answer. The state is
    /// as before; propose again. Should another append be refused since the ledger is longer, load
    /// what is new: [`Machine::found`] has the effects of the batch then.
    pub fn unacknowledged(&mut self) {
        let Some(Open { entries, effects }) = self.open.take() else { return };
        let Some(head) = entries.last().map(Entry::head).filter(|_| !effects.is_empty()) else {
            return;
        };
        match self.doubtful.iter_mut().find(|doubtful| doubtful.effects == effects) {
            Some(doubtful) => doubtful.heads.push(head),
            None => self.doubtful.push(Doubtful { heads: Vec::from([head]), effects }),
        }
    }

    /// Explains what would be decided now. Appends nothing.
    #[must_use]
    pub fn explain(&self, boundary: Boundary, now: Timestamp) -> Explanation {
        explain::explain(&self.state, boundary, now.max(self.state.at))
    }

    /// The agent's summary, assembled now (contract 6.4).
    #[must_use]
    pub fn summary(&self) -> AgentSummary {
        AgentSummary::new(&self.state)
    }

    /// What would have to change for a decision of this kind (contract 11.2). Appends nothing.
    #[must_use]
    pub fn why_not(&self, boundary: Boundary, asked: DecisionKind, now: Timestamp) -> WhyNot {
        explain::why_not::why_not(&self.state, boundary, asked, now)
    }

    /// The earliest instant after `now` at which a step would find something new; ask again after
    /// every commit.
    #[must_use]
    pub fn next_wake(&self, now: Timestamp) -> Option<Timestamp> {
        owed::next_wake(&self.state, now.max(self.state.at))
    }

    /// The machine as it would stand if edition or policy were as supposed, to be asked and not to
    /// be driven: nothing of that is in the ledger.
    #[must_use]
    pub fn supposing(self, supposed: &Supposition) -> Self {
        let mut state = self.state;
        let set = supposed.over(&state.control.policy);
        state.control.set(set);
        state.relist_all();
        Self::standing(self.options, state)
    }

    /// What would be decided at the loop's next boundary, at the instant of the last entry; with an
    /// edition, as if it were set.
    pub(crate) fn decision_under(&self, edition: Option<Edition>) -> Decision {
        let edition = edition.unwrap_or(self.state.control.edition);
        ladder::decide(edition, &View::under(&self.state, edition, self.boundary(), self.state.at))
            .decision
    }

    fn not_busy(&self) -> Result<(), ProposeError> {
        match self.open {
            Some(_) => Err(ProposeError::Busy),
            None => Ok(()),
        }
    }

    /// The time of the next batch, where one may be made (contract 1.3).
    fn ready(&self, now: Timestamp) -> Result<Timestamp, ProposeError> {
        self.not_busy()?;
        if self.state.head == Head::START {
            return Err(ProposeError::NotBegun);
        }
        Ok(now.max(self.state.at))
    }

    fn seal(&mut self, at: Timestamp, draft: Draft) -> Proposal {
        let expected = self.state.head;
        let (entries, batch) = entry::seal_all(expected, at, draft.records);
        let head = entries.last().map_or(expected, Entry::head);
        self.open = Some(Open { entries, effects: draft.effects });
        Proposal { expected, batch, head, answer: draft.answer, decision: draft.decision }
    }
}

fn within(what: &'static str, bytes: usize, limit: u64) -> Result<(), ProposeError> {
    let bytes = bytes as u64;
    if bytes > limit { Err(ProposeError::TooLarge { what, bytes, limit }) } else { Ok(()) }
}

/// What a proposal is made from.
struct Draft {
    records: Vec<Record>,
    answer: Answer,
    effects: Vec<Effect>,
    decision: Option<Decision>,
}

impl Draft {
    fn new(records: Vec<Record>) -> Self {
        Self { records, answer: Answer::Accepted, effects: Vec::new(), decision: None }
    }
}
