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

/// The version of the program that made a snapshot. Another version may fold the same entries to
/// another state, so it folds again.
pub const CORE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A state at an entry, as a host stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshot {
    /// The version of the ledger format.
    pub format: u32,
    /// The version of the program that made it.
    pub core_version: String,
    /// The entry at which the state stands.
    pub head: Head,
    /// The digest of the state's text.
    pub digest: Chain,
    /// The state.
    pub state: RawJson,
}

/// Why a snapshot is not used. The log is folded whole instead, and nothing is lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotIgnored {
    /// It was made by another version.
    #[error(
        "the snapshot was made by version {found} of format {format}, this program is version \
         {CORE_VERSION} of format {FORMAT}"
    )]
    OtherVersion {
        /// The version that made it.
        found: String,
        /// Its format.
        format: u32,
    },
    /// Its digest is another.
    #[error("the snapshot's state does not have the digest that it names")]
    WrongDigest,
    /// It cannot be read.
    #[error("the snapshot cannot be read: {0}")]
    Malformed(#[from] JsonError),
    /// It is another agent's.
    #[error("the snapshot is agent `{0}`'s")]
    OtherAgent(AgentId),
    /// It stands at another entry than it says.
    #[error("the snapshot's state stands at another entry than it says")]
    OtherHead,
    /// The ledger has another entry where it stands.
    #[error(
        "the snapshot is of another history: entry {seq} of the ledger is not the one at which it \
         stands"
    )]
    OtherHistory {
        /// Where it stands.
        seq: Seq,
    },
    /// The store did not give it.
    #[error("the snapshot cannot be loaded: {0}")]
    Unreadable(String),
}

impl Snapshot {
    /// The snapshot of a state.
    #[must_use]
    pub fn from_state(state: &State) -> Self {
        let text = RawJson::from_value(state);
        let digest = Chain::START.extend(text.as_str());
        Self {
            format: FORMAT,
            core_version: CORE_VERSION.to_string(),
            head: state.head,
            digest,
            state: text,
        }
    }

    /// Reads a stored snapshot.
    ///
    /// # Errors
    /// Why it is not used.
    pub fn open(text: &str) -> Result<State, SnapshotIgnored> {
        let snapshot: Self = json::read(text)?;
        if snapshot.core_version != CORE_VERSION || snapshot.format != FORMAT {
            return Err(SnapshotIgnored::OtherVersion {
                found: snapshot.core_version,
                format: snapshot.format,
            });
        }
        if Chain::START.extend(snapshot.state.as_str()) != snapshot.digest {
            return Err(SnapshotIgnored::WrongDigest);
        }
        let mut state: State = snapshot.state.read()?;
        if state.head != snapshot.head {
            return Err(SnapshotIgnored::OtherHead);
        }
        state.queue.rebuild();
        state.relist_all();
        Ok(state)
    }
}
