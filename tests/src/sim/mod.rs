//! The simulation: families of agents over virtual days, with faults at every import, kills, clocks that jump, input that comes twice and late,
//! and providers that do whatever they like. A seed determines all of it.
//!
//! A family is an agent and the children that its turns make. It lives through its wild days, and then through calm ones, in which nothing
//! fails and every turn does what it should: then nothing may be left undone. Each batch is checked against the invariants as it is appended.

mod family;
mod faults;
mod member;

use std::collections::BTreeMap;

use wakeful_core::{entry::Head, ladder::Edition};

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
        self.digest = Head { seq: self.digest.seq.next(), chain: self.digest.chain.extend(&head.to_string()) };
    }
}

/// Lets the family of a plan live.
#[must_use]
pub fn live(plan: &Plan) -> Report {
    let mut family = Family::new(plan);
    family.live(plan.days);
    family.report()
}

/// The first entry at which the family of a seed decides otherwise in another edition; none where it never does.
#[must_use]
pub fn divergence(plan: &Plan, other: Edition) -> Option<Divergence> {
    let families = [*plan, Plan { edition: other, ..*plan }].map(|plan| {
        let mut family = Family::new(&plan);
        family.live(plan.days);
        family
    });
    Divergence::first(&families[0], &families[1])
}
