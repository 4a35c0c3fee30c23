//! The simulation: families of agents over virtual days, with faults at every import, kills, clocks
//! that jump, input that comes twice and late, and providers that do whatever they like. A seed
//! determines all of it.
//!
//! A family is an agent and the children that its turns make. It lives through its wild days, and
//! then through calm ones, in which nothing fails and every turn does what it should: then nothing
//! may be left undone. Each batch is checked against the invariants as it is appended.

mod family;
mod faults;
mod member;

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

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What determines everything else.
    pub seed: u64,
    /// How many wild days each family lives.
    pub days: u64,
    /// The edition of its agents.
    pub edition: Edition,
    /// Whether its hosts lose a message now and then: what is wrong then must be found.
    pub loses: bool,
}

/// What came of families.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many agents lived, children among them.
    pub agents: u64,
    /// How many days they lived, all in all.
    pub agent_days: u64,
    /// How many entries their ledgers have.
    pub entries: u64,
    /// How many batches were checked.
    pub checked: u64,
    /// How many turns were started.
    pub turns: u64,
    /// How many messages came in.
    pub messages: u64,
    /// What befell them, and how often.
    pub befell: BTreeMap<&'static str, u64>,
    /// The histories of all agents, in one chain: equal digests mean equal histories.
    pub digest: Head,
    /// What was wrong, in words.
    pub wrong: Vec<String>,
}

impl Report {
    /// Adds what came of another family.
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

    /// Takes the head of another history into the digest.
    fn extend_digest(&mut self, head: &Head) {
        self.digest = Head {
            seq: self.digest.seq.next(),
            chain: self.digest.chain.extend(&head.to_string()),
        };
    }
}

/// What the ledger of an agent holds in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The agent.
    pub agent: AgentId,
    /// Its entries as they are stored, each with its place among those of its whole family.
    pub entries: Vec<(u64, String)>,
}

impl History {
    /// Writes it into this folder, a line for each entry: `{"place":N,"entry":ENTRY}`.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(folder.join(format!("{}.jsonl", self.agent)))?);
        for (place, entry) in &self.entries {
            writeln!(file, r#"{{"place":{place},"entry":{entry}}}"#)?;
        }
        file.flush()
    }
}

/// Lets the family of a plan live.
#[must_use]
pub fn live(plan: &Plan) -> Report {
    Family::lived(plan).report()
}

/// Lets the family of a plan live: what came of it, and the history of each of its agents, in the
/// order in which they came into the world.
#[must_use]
pub fn live_and_tell(plan: &Plan) -> (Report, Vec<History>) {
    let family = Family::lived(plan);
    (family.report(), family.histories())
}

/// The first entry at which the family of a seed decides otherwise in another edition; none where
/// it never does.
#[must_use]
pub fn divergence(plan: &Plan, other: Edition) -> Option<Divergence> {
    let families = [*plan, Plan { edition: other, ..*plan }].map(|plan| Family::lived(&plan));
    Divergence::first(&families[0], &families[1])
}
