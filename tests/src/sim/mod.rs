//! The simulation: families of agents over virtual days, with faults at every import, kills, clocks
//! that jump, input that arrives twice and late, and turns that do anything. A seed determines all
//! of it.
//!
//! A family is an agent and the children that its turns make. After its wild days it has calm days,
//! in which nothing fails and every turn does what it should. Then nothing may be left undone.
//! Every fifth batch is checked against the invariants as it is appended.

mod family;
mod faults;
mod member;
mod turns;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use wakeful_core::{
    id::AgentId,
    record::{chain::Head, edition::Edition},
};

pub use self::family::Divergence;
use self::family::Family;

/// A simulation; equal plans give equal histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of wild days of each family.
    pub days: u64,
    /// The edition of all agents.
    pub edition: Edition,
    /// Whether hosts sometimes lose a message: a seeded mistake, which the check at the end must
    /// find.
    pub loses: bool,
}

/// The results of one or more families.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of agents, children included.
    pub agents: u64,
    /// The sum of the days of all agents.
    pub agent_days: u64,
    /// The number of entries in all ledgers.
    pub entries: u64,
    /// The number of batches that were checked.
    pub checked: u64,
    /// The number of turns that were started.
    pub turns: u64,
    /// The number of messages that were sent.
    pub messages: u64,
    /// The faults, and how often each happened.
    pub befell: BTreeMap<&'static str, u64>,
    /// A hash chain over the heads of all agents: equal digests mean equal histories.
    pub digest: Head,
    /// What was wrong, for people; empty if nothing was.
    pub wrong: Vec<String>,
}

impl Report {
    /// Adds the results of another family.
    pub fn add(&mut self, other: &Self) {
        self.agents += other.agents;
        self.agent_days += other.agent_days;
        self.entries += other.entries;
        self.checked += other.checked;
        self.turns += other.turns;
        self.messages += other.messages;
        for (what, count) in &other.befell {
            *self.befell.entry(what).or_default() += count;
        }
        self.extend_digest(&other.digest);
        self.wrong.extend(other.wrong.iter().cloned());
    }

    /// Adds the head of another history to the digest.
    fn extend_digest(&mut self, head: &Head) {
        self.digest = Head {
            seq: self.digest.seq.next(),
            chain: self.digest.chain.extend(&head.to_string()),
        };
    }
}

/// The ledger of an agent at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The agent.
    pub agent: AgentId,
    /// Its entries as they are stored, each with its place among the entries of the whole family.
    pub entries: Vec<(u64, String)>,
}

impl History {
    /// Writes it to `AGENT.jsonl` in this folder, a line for each entry:
    /// `{"place":N,"entry":ENTRY}`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(folder.join(format!("{}.jsonl", self.agent)))?);
        for (place, entry) in &self.entries {
            writeln!(file, r#"{{"place":{place},"entry":{entry}}}"#)?;
        }
        file.flush()
    }
}

/// Simulates the family of a plan.
#[must_use]
pub fn live(plan: &Plan) -> Report {
    Family::lived(plan).report()
}

/// Simulates the family of a plan. Returns its results and the history of each agent, in the order
/// in which they were made.
#[must_use]
pub fn live_and_tell(plan: &Plan) -> (Report, Vec<History>) {
    let family = Family::lived(plan);
    (family.report(), family.histories())
}

/// The first entry at which the family of a plan decides differently in another edition; `None` if
/// it never does.
#[must_use]
pub fn divergence(plan: &Plan, other: Edition) -> Option<Divergence> {
    let families = [*plan, Plan { edition: other, ..*plan }].map(|plan| Family::lived(&plan));
    Divergence::first(&families[0], &families[1])
}
