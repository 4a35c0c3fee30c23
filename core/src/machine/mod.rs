//! The machine: an outbox. It proposes a batch and the host stores it. Only then does the machine
//! change its state and release effects.
//!
//! The host follows this order (contract 3.2):
//!
//! 1. It calls [`Machine::begin`] on a new ledger. Then [`Machine::propose`] or [`Machine::step`]
//!    returns a [`Proposal`].
//! 2. It appends the batch at the expected head, atomically and durably.
//! 3. It calls [`Machine::committed`], which applies the batch and releases the effects. If the
//!    append failed, it calls [`Machine::rejected`], and nothing has changed.
//! 4. It carries the effects out.
//!
//! After every fact, and at [`Machine::next_wake`], call [`Machine::step`] until it returns `None`
//! or a rest. Extra calls are safe.

pub mod clock;
mod error;
pub mod import;

use alloc::{
    boxed::Box,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    consequence,
    derive::{arrival, summary::AgentSummary},
    explain::{self, Explanation, Headline, Supposition, WhyNot},
    fact::{Fact, outcome::Answer},
    id::{AgentId, MAX_STEM_BYTES, Seq, fault_in},
    ladder::{self, View, owed},
    machine::{clock::ClockError, import::Import},
    record::{
        Record,
        chain::Head,
        control::{ControlRecord, FORMAT, Genesis},
        decision::{Boundary, Decision, DecisionKind},
        edition::Edition,
        effect::Effect,
        entry::{self, Entry, EntryBytes},
        ingress::DELIVERY,
        policy::Policy,
        waiting::MIRROR,
    },
    state::{
        State,
        snapshot::{Snapshot, SnapshotIgnored},
    },
    time::Timestamp,
};
use wakeful_json::{self as json, JsonError, Origin, Readable};

pub use self::error::{OpenError, ProposeError};

/// A batch to append, and the answer to what was proposed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Proposal {
    /// The head that the ledger must have before the append.
    pub expected: Head,
    /// The entries in order, as they are stored.
    pub batch: Vec<EntryBytes>,
    /// The head that the ledger has after the append.
    pub head: Head,
    /// The answer to the fact; always accepted for a step.
    pub answer: Answer,
    /// The decision that the batch records, if it records one.
    pub decision: Option<Decision>,
}

/// The settings of a new ledger, and of this program. An existing ledger has its own edition and
/// policy.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Options {
    /// The agent that owns the ledger.
    pub agent_id: AgentId,
    /// The order of the rules.
    #[serde(default)]
    pub edition: Edition,
    /// The limits and delays of the scheduler.
    #[serde(default)]
    pub policy: Policy,
    /// Whether a fact with a field that is not known is refused. A host that passes on the facts of
    /// a newer program says `false`.
    #[serde(default = "strict")]
    pub strict: bool,
}

fn strict() -> bool {
    true
}

impl Options {
    /// The default edition and policy for an agent.
    #[must_use]
    pub fn new(agent_id: AgentId) -> Self {
        Self { agent_id, edition: Edition::default(), policy: Policy::default(), strict: strict() }
    }

    /// Reads options from JSON text. A field that is not known is an error, because it cannot be
    /// obeyed.
    ///
    /// # Errors
    /// If the text is not JSON or not of this type; see [`json::read`].
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        json::read_from(Origin { is_new: false, is_strict: true }, text)
    }
}

struct Open {
    entries: Vec<Entry>,
    effects: Vec<Effect>,
}

/// Batches that may or may not have been stored: the head after each, and the effects that they
/// share.
struct Doubtful {
    heads: Vec<Head>,
    effects: Vec<Effect>,
}

/// The scheduler of one agent.
pub struct Machine {
    options: Options,
    /// In the heap, because it is large and a machine is passed on by value: on the stack each
    /// frame on the way would have room for it.
    state: Box<State>,
    open: Option<Open>,
    doubtful: Vec<Doubtful>,
    /// Effects of doubtful batches that turned out to be stored.
    found: Vec<Effect>,
}

impl Machine {
    /// A machine before the first entry. Feed it the stored entries with [`Machine::load`], then
    /// commit the proposal of [`Machine::begin`], if there is one.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, state: Box::default(), open: None, doubtful: Vec::new(), found: Vec::new() }
    }

    /// A machine that continues from a stored snapshot. Check the entry at [`Machine::head`] with
    /// [`Machine::stands_at`], then feed it the entries after that one with [`Machine::load`].
    ///
    /// # Errors
    /// If the snapshot cannot be used. Then start with [`Machine::new`] and feed it the whole log.
    pub fn resume(options: Options, snapshot: &str) -> Result<Self, SnapshotIgnored> {
        let state = Snapshot::open(snapshot)?;
        if state.control.agent_id != options.agent_id {
            return Err(SnapshotIgnored::OtherAgent(state.control.agent_id));
        }
        Ok(Self::standing(options, state))
    }

    /// A machine with this state, as if it had loaded all entries of it. The state must come from a
    /// fold.
    #[must_use]
    pub fn standing(options: Options, state: State) -> Self {
        Self { state: Box::new(state), ..Self::new(options) }
    }

    /// The options with which the machine was made.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether a stored entry is the newest entry of this machine. If not, the snapshot from which
    /// the machine continues belongs to another history.
    #[must_use]
    pub fn stands_at(&self, bytes: &EntryBytes) -> bool {
        bytes.split().is_some_and(|(_, chain)| chain == self.state.head.chain)
    }

    /// The state as text to store beside the log. Store one each time the entries since
    /// the newest one have become several times as long.
    #[must_use]
    pub fn snapshot(&self) -> String {
        json::write(&Snapshot::from_state(&self.state))
    }

    /// As [`Machine::snapshot`], if the state has at most this many bytes as text; else `None`.
    #[must_use]
    pub fn snapshot_within(&self, most: usize) -> Option<String> {
        Snapshot::from_state_within(&self.state, most).map(|snapshot| json::write(&snapshot))
    }

    /// Verifies and applies the next stored entry.
    ///
    /// # Errors
    /// If the entry is damaged or out of order. For a first entry also if it is not a genesis, has
    /// a newer format, or belongs to another agent.
    pub fn load(&mut self, bytes: &EntryBytes) -> Result<(), OpenError> {
        let entry = bytes.open(&self.state.head)?;
        self.take(&entry)
    }

    /// Applies the next stored entry, which was verified on this head.
    pub(crate) fn take(&mut self, entry: &Entry) -> Result<(), OpenError> {
        if self.state.head == Head::START {
            let Record::Control(ControlRecord::Genesis(genesis)) = &entry.record else {
                return Err(OpenError::NoGenesis);
            };
            readable(genesis.format)?;
            if genesis.agent_id != self.options.agent_id {
                return Err(OpenError::OtherAgent {
                    found: genesis.agent_id.clone(),
                    expected: self.options.agent_id.clone(),
                });
            }
        }
        if let Record::Control(ControlRecord::FormatRaised(raised)) = &entry.record {
            readable(raised.format)?;
        }
        self.state.apply(entry);
        // A head names the whole history (contract 3.4), so this batch was stored after all.
        let stored =
            self.doubtful.iter().position(|doubtful| doubtful.heads.contains(&self.state.head));
        if let Some(at) = stored {
            // contract 3.2: taken out of the list, so that these effects are released once.
            self.found.extend(self.doubtful.swap_remove(at).effects);
        }
        Ok(())
    }

    /// The effects of batches that were [`Machine::unacknowledged`] and then read back. These
    /// batches were stored after all, so the host still has to carry their effects out. Call this
    /// after [`Machine::load`], also if reading on fails.
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

    /// Proposes the first entry of a ledger; `None` if the ledger has it.
    ///
    /// # Errors
    /// If a proposal is open, the agent's id is too long, or `now` is not an instant from 2000 to
    /// 2200.
    pub fn begin(&mut self, now: Timestamp) -> Result<Option<Proposal>, ProposeError> {
        if self.state.head == Head::START {
            ClockError::at_beginning(now)?;
        }
        self.begin_at(now)
    }

    /// As [`Machine::begin`], at an instant that no clock answered.
    pub fn begin_at(&mut self, now: Timestamp) -> Result<Option<Proposal>, ProposeError> {
        self.not_busy()?;
        if self.state.head != Head::START {
            return Ok(None);
        }
        // An import may have an id with control characters (contract 2.3), but none without any.
        if self.options.agent_id.as_str().is_empty() {
            return Err(ProposeError::NoAgentId);
        }
        // The core makes other ids from this one, and they must be valid too.
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
    /// If the text is too long or malformed, or as [`Machine::propose`].
    pub fn propose_json(&mut self, text: &str, now: Timestamp) -> Result<Proposal, ProposeError> {
        within("fact", text.len(), self.state.control.policy.fact_bytes.get())?;
        let origin = Origin { is_new: true, is_strict: self.options.strict };
        self.propose(json::read_from(origin, text)?, now)
    }

    /// Proposes what follows from a fact.
    ///
    /// # Errors
    /// If an id or a body is too long (contract 10), a new id has a control character, the ledger
    /// has no first entry, a proposal is open, or `now` is not in nanoseconds.
    pub fn propose(&mut self, fact: Fact, now: Timestamp) -> Result<Proposal, ProposeError> {
        let mut at = self.ready(now)?;
        // contract 1.3: a correction is the one fact whose batch may set the time back.
        if matches!(fact, Fact::ClockCorrected(_)) && arrival::is_behind(&self.state, now) {
            at = now;
        }
        let policy = &self.state.control.policy;
        // The sender of a delivery names it, and the core makes the id of its message.
        let is_senders = matches!(fact, Fact::ExternalTriggerDelivered(_));
        if let Some(id) = fact.new_id().filter(|id| !is_senders && self.is_made_by_core(id)) {
            return Err(ProposeError::ReservedId { id: id.to_string() });
        }
        within("id", fact.new_id().map_or(0, str::len), policy.id_bytes.get())?;
        // A fact that was not read from JSON has met no other check of its id.
        if let Some(fault) = fact.new_id().and_then(fault_in) {
            return Err(ProposeError::WrongId(fault));
        }
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
    /// If the folder belongs to another agent, the ledger does not have exactly its first entry, a
    /// proposal is open, or `now` is not in nanoseconds.
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

    /// Proposes the next step: the arrivals that are due, or else a decision with its consequences.
    /// `None` if there is nothing new to record.
    ///
    /// # Errors
    /// If no driver has taken over the ledger, a proposal is open, or `now` is not in nanoseconds.
    pub fn step(
        &mut self,
        boundary: Boundary,
        now: Timestamp,
    ) -> Result<Option<Proposal>, ProposeError> {
        let at = self.ready(now)?;
        if self.state.control.live_from.is_none() {
            return Err(ProposeError::NotDriven);
        }
        // The host's clock and not `at`: only it shows a clock that is behind (contract 1.3).
        let arrived = arrival::records(&self.state, now);
        // contract 7.2: arrivals are proposed alone, and the next step decides.
        if !arrived.is_empty() {
            return Ok(Some(self.seal(at, Draft::new(arrived))));
        }
        // `to_decide` lists one item if one can be offered, so that a step need not look at all of
        // them.
        let ruling =
            ladder::decide(self.state.control.edition, &View::to_decide(&self.state, boundary, at));
        let newest = self.state.control.decided.as_ref();
        // contract 7.5: a rest that equals the newest decision is not recorded again.
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
        self.state.boundary()
    }

    /// Reports that the batch is durable: applies it and releases its effects, after those that
    /// [`Machine::found`] still has. Does nothing if no proposal is open.
    pub fn committed(&mut self) -> Vec<Effect> {
        let Some(open) = self.open.take() else {
            return Vec::new();
        };
        for entry in &open.entries {
            self.state.apply(entry);
        }
        // The ledger has this batch where a doubtful one would be, so none of those was stored.
        self.doubtful.clear();
        // A host that stopped reading between a batch and its end did not ask for these.
        let mut effects = self.found();
        effects.extend(open.effects);
        effects
    }

    /// Reports that the batch was not stored, and forgets it. The state is unchanged, so propose
    /// again.
    pub fn rejected(&mut self) {
        self.open = None;
    }

    /// Reports that the batch may or may not have been stored, because the store did not answer.
    /// The state is unchanged, so propose again. If a later append is refused because the ledger is
    /// longer, load the new entries: [`Machine::found`] then has the effects of the batch.
    pub fn unacknowledged(&mut self) {
        let Some(Open { entries, effects }) = self.open.take() else { return };
        // Without effects there is nothing to carry out later.
        let Some(head) = entries.last().map(Entry::head).filter(|_| !effects.is_empty()) else {
            return;
        };
        // A retry of the same proposal may have another time and head, but it has equal effects.
        // One group for all attempts releases these effects at most once.
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

    /// What an operator should read first. `now` is the time of the reader, from which the core
    /// says what is overdue; `None` for a reader who looks at the past.
    #[must_use]
    pub fn headline(&self, decision: &Decision, now: Option<Timestamp>) -> Headline {
        explain::notice::headline(&self.state, decision, now)
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

    /// The earliest instant after `now` at which a step would find something new. Ask again after
    /// every commit.
    #[must_use]
    pub fn next_wake(&self, now: Timestamp) -> Option<Timestamp> {
        owed::next_wake(&self.state, now.max(self.state.at))
    }

    /// A machine under the supposed edition or policy; `None` if nothing is supposed. Ask it, but
    /// do not drive it: the ledger does not have that edition or policy.
    #[must_use]
    pub fn supposing(&self, supposed: &Supposition) -> Option<Self> {
        // Copying and relisting take as long as the state is large.
        if *supposed == Supposition::default() {
            return None;
        }
        let mut state = self.state.copied();
        let set = supposed.over(&state.control.policy);
        state.control.set(set);
        // The lists depend on policy and edition.
        state.relist_all();
        Some(Self::standing(self.options.clone(), state))
    }

    /// The decision at the loop's next boundary and the instant of the last entry. If an edition is
    /// given, the decision is made as if that edition were set.
    pub(crate) fn decision_under(&self, edition: Option<Edition>) -> Decision {
        let edition = edition.unwrap_or(self.state.control.edition);
        ladder::decide(edition, &View::under(&self.state, edition, self.boundary(), self.state.at))
            .decision
    }

    /// Whether an id has the form of those that the core makes for this agent.
    fn is_made_by_core(&self, id: &str) -> bool {
        let made = |what: &str| {
            let number = id
                .strip_prefix(self.state.control.agent_id.as_str())
                .and_then(|rest| rest.strip_prefix(what));
            number.is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
            })
        };
        made(":message-") || made(":run-") || id.starts_with(MIRROR) || id.starts_with(DELIVERY)
    }

    fn not_busy(&self) -> Result<(), ProposeError> {
        match self.open {
            Some(_) => Err(ProposeError::Busy),
            None => Ok(()),
        }
    }

    /// The time of the next batch, if one may be proposed (contract 1.3).
    fn ready(&self, now: Timestamp) -> Result<Timestamp, ProposeError> {
        self.not_busy()?;
        if self.state.head == Head::START {
            return Err(ProposeError::NotBegun);
        }
        ClockError::going_on(now, &self.state)?;
        Ok(now.max(self.state.at))
    }

    fn seal(&mut self, at: Timestamp, draft: Draft) -> Proposal {
        let expected = self.state.head;
        let (entries, batch) = entry::seal_all(expected, at, draft.records);
        let head = entries.last().map_or(expected, Entry::head);
        // contract 3.2: nothing is applied before the append has succeeded.
        self.open = Some(Open { entries, effects: draft.effects });
        Proposal { expected, batch, head, answer: draft.answer, decision: draft.decision }
    }
}

fn readable(format: u32) -> Result<(), OpenError> {
    if format > FORMAT {
        return Err(OpenError::NewerFormat { found: format, supported: FORMAT });
    }
    Ok(())
}

fn within(what: &'static str, bytes: usize, limit: u64) -> Result<(), ProposeError> {
    let bytes = bytes as u64;
    if bytes > limit { Err(ProposeError::TooLarge { what, bytes, limit }) } else { Ok(()) }
}

/// A proposal before its records are sealed.
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
