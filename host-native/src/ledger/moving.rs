//! Moves an agent from one place to another: its whole ledger, verified by its head.
//!
//! At each moment at most one of the two places takes appends. The new place is told where the
//! ledger comes from, and takes none until the old one has said where it goes on. So a move that
//! was cut off leaves an agent that nobody drives, and the next move finishes it.

use wakeful_core::{AgentId, EntryBytes, EntryError, Head, Ledger, LedgerError, Seq};

use super::{
    OwnError, PostgresError, SqliteError, Store, StoreError, StoreLedger, row::Row, store::Kind,
};

/// The entries of one read.
const PAGE: u32 = 1024;

/// What goes with an agent besides its ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Belongings {
    /// Its kind, by which the workers of a store claim it
    /// ([`PostgresStore::set_kind`](super::PostgresStore::set_kind)).
    pub kind: String,
    /// Texts that are kept of it, each with its kind and its name ([`Store::keep`]).
    pub texts: Vec<(String, String, String)>,
}

/// A move that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The newest entry of the old place, which the new one has too.
    pub head: Head,
    /// The number of entries that this move copied; an earlier one may have copied others.
    pub copied: u64,
}

/// Why an agent was not moved. It goes on in the old place, unless that one says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// A ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A place cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process drives the agent.
    #[error(transparent)]
    Driven(#[from] OwnError),
    /// The ledger is damaged.
    #[error("the ledger of `{agent}` is damaged: {why}; run `wakeful doctor` for details")]
    Damaged {
        /// The agent.
        agent: AgentId,
        /// What is wrong with it.
        why: EntryError,
    },
    /// There is no such agent.
    #[error("`{place}` has no agent `{agent}`")]
    NoAgent {
        /// The place.
        place: String,
        /// The agent.
        agent: AgentId,
    },
    /// The agent lives in a third place.
    #[error("the agent `{agent}` goes on in `{place}`: move it from there")]
    GoneOn {
        /// The agent.
        agent: AgentId,
        /// Its place.
        place: String,
    },
    /// The new place has the agent already.
    #[error("`{place}` has an agent `{agent}` that lives there: nothing was moved")]
    Alive {
        /// The place.
        place: String,
        /// The agent.
        agent: AgentId,
    },
    /// The new place has other entries of the agent.
    #[error("`{place}` has a different history of agent `{agent}`: nothing was moved")]
    OtherHistory {
        /// The place.
        place: String,
        /// The agent.
        agent: AgentId,
    },
    /// Something was appended or sent to the agent meanwhile, or a worker drives it.
    #[error(
        "the agent `{agent}` is driven, or something came for it during the move: move it again \
         when it has rested for a minute, or when its server has ended; `wakeful migrate --wait` \
         waits for that"
    )]
    Changed {
        /// The agent.
        agent: AgentId,
    },
}

impl From<SqliteError> for MoveError {
    fn from(why: SqliteError) -> Self {
        Self::Store(why.into())
    }
}

impl From<PostgresError> for MoveError {
    fn from(why: PostgresError) -> Self {
        Self::Store(why.into())
    }
}

/// Moves an agent, with what belongs to it. `from` and `to` are called by these names in each
/// other. `done` learns how many entries were copied.
///
/// # Errors
/// If one of the places cannot be used, the ledger is damaged, the new place has the agent already,
/// or another process drives it.
pub fn move_agent(
    agent: &AgentId,
    (from, from_name): (&Store, &str),
    (to, to_name): (&Store, &str),
    belongings: &Belongings,
    mut done: impl FnMut(Seq),
) -> Result<Moved, MoveError> {
    // Nobody may begin to drive it meanwhile.
    let owned = match from.kind() {
        Kind::File(file) => Some(file.own(agent)?),
        Kind::Shared(store) => match store.driver(agent)? {
            // If a worker claims it later, the old place does not let it leave.
            Some(_) => return Err(MoveError::Changed { agent: agent.clone() }),
            None => None,
        },
    };
    let moved = moved(agent, (from, from_name), (to, to_name), belongings, &mut done);
    if let Some(owned) = owned {
        owned.release()?;
    }
    moved
}

fn moved(
    agent: &AgentId,
    (from, from_name): (&Store, &str),
    (to, to_name): (&Store, &str),
    belongings: &Belongings,
    done: &mut impl FnMut(Seq),
) -> Result<Moved, MoveError> {
    let mut old = from.ledger(agent);
    let head = old.head()?;
    if head == Head::START {
        let (place, agent) = (from.to_string(), agent.clone());
        return Err(MoveError::NoAgent { place, agent });
    }
    let goes_on_in = old.goes_on_in()?;
    match goes_on_in {
        Some(place) if place != to_name => {
            return Err(MoveError::GoneOn { agent: agent.clone(), place });
        }
        _ => {}
    }
    let mut new = to.ledger(agent);
    let other = || MoveError::OtherHistory { place: to.to_string(), agent: agent.clone() };
    let begun = new.head()?;
    // Before anything is changed there: what it has must be the beginning of this ledger. One that
    // lives there has gone on.
    if new.goes_on_in()?.is_some() && !begins_with(&mut old, &head, &begun)? {
        return Err(other());
    }
    let label = match from.kind() {
        Kind::Shared(store) => store.label(agent)?,
        Kind::File(_) => None,
    };
    if !to.arrive(agent, from_name, &belongings.kind, label.as_deref())? {
        // An earlier move may have ended here, and the agent gone on.
        let newest = new.head()?;
        if goes_on_in.is_some() && begins_with(&mut new, &newest, &head)? {
            return Ok(Moved { head, copied: 0 });
        }
        return Err(MoveError::Alive { place: to.to_string(), agent: agent.clone() });
    }
    // Not before: a place that has the agent already keeps its own.
    for (kind, name, text) in &belongings.texts {
        to.keep(kind, name, text)?;
    }
    let damaged = |why| MoveError::Damaged { agent: agent.clone(), why };
    let (mut at, mut there) = (Head::START, begun);
    while at.seq < head.seq {
        let page = old.read_with_batches(at.seq, PAGE)?;
        if page.is_empty() {
            return Err(damaged(EntryError::BrokenChain { seq: at.seq.next() }));
        }
        let mut rows = Vec::with_capacity(page.len());
        for (bytes, batch) in &page {
            at = bytes.open(&at).map_err(damaged)?.head();
            if at.seq > there.seq {
                rows.push(Row::new(bytes, at.seq, *batch)?);
            }
        }
        if !rows.is_empty() {
            to.receive(agent, &there, &at, &rows)?;
            there = at;
        }
        done(at.seq);
    }
    // What is read back is what counts.
    let mut read = Head::START;
    while read.seq < head.seq {
        let page = new.read(read.seq, PAGE)?;
        if page.is_empty() {
            break;
        }
        for bytes in &page {
            read = bytes.open(&read).map_err(damaged)?.head();
        }
    }
    if read != head || new.head()? != head {
        return Err(other());
    }
    if !from.leave(agent, &head, to_name)? {
        return Err(MoveError::Changed { agent: agent.clone() });
    }
    to.settle(agent, from_name)?;
    Ok(Moved { head, copied: head.seq.0 - begun.seq.0 })
}

/// Whether a ledger with this newest entry has `other` as one of its heads.
fn begins_with(ledger: &mut StoreLedger, newest: &Head, other: &Head) -> Result<bool, LedgerError> {
    if other.seq > newest.seq {
        return Ok(false);
    }
    let Some(before) = other.seq.0.checked_sub(1) else { return Ok(true) };
    let entry = ledger.read(Seq(before), 1)?;
    Ok(entry.first().and_then(EntryBytes::chain) == Some(other.chain))
}

impl Store {
    fn arrive(
        &self,
        agent: &AgentId,
        from: &str,
        kind: &str,
        label: Option<&str>,
    ) -> Result<bool, StoreError> {
        Ok(match self.kind() {
            Kind::File(file) => file.end(agent, from)?,
            Kind::Shared(store) => store.arrive(agent, from, kind, label)?,
        })
    }

    fn receive(
        &self,
        agent: &AgentId,
        expected: &Head,
        becomes: &Head,
        rows: &[Row],
    ) -> Result<(), StoreError> {
        match self.kind() {
            Kind::File(file) => file.receive(agent, expected, rows).map(drop)?,
            Kind::Shared(store) => store.receive(agent, expected, becomes, rows)?,
        }
        Ok(())
    }

    fn leave(&self, agent: &AgentId, head: &Head, to: &str) -> Result<bool, StoreError> {
        Ok(match self.kind() {
            Kind::File(file) => file.leave(agent, head, to)?,
            Kind::Shared(store) => store.leave(agent, head, to)?,
        })
    }

    fn settle(&self, agent: &AgentId, from: &str) -> Result<(), StoreError> {
        match self.kind() {
            Kind::File(file) => file.settle(agent, from)?,
            Kind::Shared(store) => store.settle(agent, from)?,
        }
        Ok(())
    }
}
