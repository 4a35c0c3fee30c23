//! Why a machine does not propose, and why it does not open a ledger.

use alloc::string::String;

use crate::{
    id::{AgentId, IdFault, Seq},
    machine::clock::ClockError,
    record::entry::EntryError,
};
use wakeful_json::JsonError;

/// Why there is no proposal. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposeError {
    /// A proposal is open. Commit or reject it first.
    #[error("a proposal is open: call `committed` or `rejected` first")]
    Busy,
    /// The host's clock does not count nanoseconds since the epoch.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The fact cannot be read.
    #[error("malformed fact: {0}")]
    Malformed(#[from] JsonError),
    /// The fact or a part of it is too long.
    #[error("{what} is {bytes} bytes long, the limit `{what}_bytes` is {limit}")]
    TooLarge {
        /// The part that is: `fact`, `id`, `agent_id` or `body`.
        what: &'static str,
        /// Its length in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The fact introduces an id that only the scheduler makes (contract 2.3).
    #[error("`{id}` has the form of an id that the scheduler makes: choose another id")]
    ReservedId {
        /// The id.
        id: String,
    },
    /// A new id is empty, or has a control character (contract 2.3).
    #[error("{0}: choose another id")]
    WrongId(IdFault),
    /// The agent of a new ledger has an empty id.
    #[error("agent_id: id is empty: choose another one")]
    NoAgentId,
    /// The ledger is observed, not driven.
    #[error(
        "the ledger is only observed: take it over with `Scheduler::drive`, in another language \
         `drive`, or propose `runtime_restarted` to the machine"
    )]
    NotDriven,
    /// The ledger is empty.
    #[error("the ledger has no first entry: call `open` first, or `begin` of a machine")]
    NotBegun,
    /// An import needs a ledger that has only its first entry.
    #[error("an import needs a fresh ledger; this one ends at entry {0}")]
    NotEmpty(Seq),
    /// The folder belongs to another agent.
    #[error(
        "the folder belongs to agent `{found}`, the ledger to `{expected}`: open one for `{found}`"
    )]
    OtherAgent {
        /// The agent of the folder.
        found: AgentId,
        /// The agent of the ledger.
        expected: AgentId,
    },
}

/// Why a stored ledger cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An entry is damaged, missing, or belongs to another history.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The first entry is not a genesis.
    #[error("the ledger does not begin with its genesis entry")]
    NoGenesis,
    /// The ledger is newer than this program.
    #[error("the ledger has format {found}, this program reads up to {supported}: use a newer one")]
    NewerFormat {
        /// The format of the ledger.
        found: u32,
        /// The newest format that this program reads.
        supported: u32,
    },
    /// The ledger belongs to another agent.
    #[error("the ledger belongs to agent `{found}`, not to `{expected}`")]
    OtherAgent {
        /// The agent of the ledger.
        found: AgentId,
        /// The agent for which it was opened.
        expected: AgentId,
    },
    /// Entries are missing at the end.
    #[error(
        "the ledger ends before entry {snapshot}, which its snapshot covers: entries were lost, \
         restore a copy that has them"
    )]
    HeadBelowSnapshot {
        /// The position of the snapshot.
        snapshot: Seq,
    },
    /// The ledger was set back, or replaced.
    #[error(
        "the ledger no longer has entry {head} as this program knows it: it was set back or \
         replaced, restore a copy that has it, and open it again"
    )]
    SetBack {
        /// The newest entry that is known.
        head: Seq,
    },
}
