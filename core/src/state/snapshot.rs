//! Snapshots: the state at an entry, so that a ledger opens without folding its whole log (contract
//! 3.5).

use alloc::string::{String, ToString};

use serde::Serialize;

use crate::{
    id::{AgentId, Seq},
    record::{
        chain::{Chain, Head},
        control::FORMAT,
    },
    state::State,
};
use wakeful_json::{self as json, JsonError, RawJson, Readable};

/// The version of this program. Another version may fold the same entries to another state, so it
/// ignores the snapshot and folds again.
pub const CORE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The state at an entry, as a host stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshot {
    /// The version of the ledger format.
    pub format: u32,
    /// The version of the program that made the snapshot.
    pub core_version: String,
    /// The newest entry that the state contains.
    pub head: Head,
    /// The digest of the state's text.
    pub digest: Chain,
    /// The state as JSON.
    pub state: RawJson,
}

/// Why a snapshot is not used. The whole log is folded instead, so nothing is lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotIgnored {
    /// Another version of the program or format made it.
    #[error(
        "the snapshot was made by version {found} of format {format}, this program is version \
         {CORE_VERSION} of format {FORMAT}"
    )]
    OtherVersion {
        /// The version of the program that made it.
        found: String,
        /// The ledger format of the snapshot.
        format: u32,
    },
    /// The digest does not match the state.
    #[error("the snapshot's digest does not match its state")]
    WrongDigest,
    /// The text is not a snapshot.
    #[error("the snapshot cannot be read: {0}")]
    Malformed(#[from] JsonError),
    /// It belongs to another agent.
    #[error("the snapshot belongs to agent `{0}`")]
    OtherAgent(AgentId),
    /// Its head is not the head of its state.
    #[error("the snapshot names another entry than its state")]
    OtherHead,
    /// The ledger has a different entry at its position.
    #[error("the snapshot is of another history: entry {seq} of the ledger differs")]
    OtherHistory {
        /// The position of the snapshot.
        seq: Seq,
    },
    /// The store could not load it.
    #[error("the snapshot cannot be loaded: {0}")]
    Unreadable(String),
}

impl Snapshot {
    /// The snapshot of a state.
    #[must_use]
    pub fn from_state(state: &State) -> Self {
        Self::from_text(state.head, RawJson::from_value(state))
    }

    /// The snapshot of a state whose text has at most this many bytes. `None` if it has more.
    #[must_use]
    pub fn from_state_within(state: &State, most: usize) -> Option<Self> {
        Some(Self::from_text(state.head, RawJson::from_value_within(state, most)?))
    }

    fn from_text(head: Head, state: RawJson) -> Self {
        let digest = Chain::START.extend(state.as_str());
        Self { format: FORMAT, core_version: CORE_VERSION.to_string(), head, digest, state }
    }

    /// Reads a stored snapshot.
    ///
    /// # Errors
    /// If the snapshot cannot be used; the error says why.
    pub fn open(text: &str) -> Result<State, SnapshotIgnored> {
        let snapshot: Self = json::read(text)?;
        if snapshot.core_version != CORE_VERSION || snapshot.format != FORMAT {
            return Err(SnapshotIgnored::OtherVersion {
                found: snapshot.core_version,
                format: snapshot.format,
            });
        }
        // Before the state is read, because a damaged text can still read as a state.
        if Chain::START.extend(snapshot.state.as_str()) != snapshot.digest {
            return Err(SnapshotIgnored::WrongDigest);
        }
        let mut state: State = snapshot.state.read()?;
        if state.head != snapshot.head {
            return Err(SnapshotIgnored::OtherHead);
        }
        // Lanes and index are not stored, because they follow from the rest.
        state.queue.rebuild();
        state.relist_all();
        Ok(state)
    }
}
