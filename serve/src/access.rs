//! Who may do what: bearer tokens with scopes. The store of the agents keeps their hashes, so a
//! token is shown once, when it is made.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    str::FromStr,
    sync::{Arc, PoisonError, RwLock},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use wakeful_core::{id::AgentId, json};
use wakeful_host::{
    ledger::{Store, StoreError},
    token::hex,
};

use crate::agents::digest;

/// What a token may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// See agents, their entries and why they do what they do.
    Read,
    /// Say something to an agent as its operator.
    Prompt,
    /// Report any fact, run turns, and make, start, stop and change agents.
    Operate,
    /// Report events of a system outside.
    Ingress,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 4] = [Self::Read, Self::Prompt, Self::Operate, Self::Ingress];

    /// The name, as in a token's grant and in a problem.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Operate => "operate",
            Self::Ingress => "ingress",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|scope| scope.name() == name).ok_or_else(|| {
            format!("there is no scope `{name}`: they are {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// What one token grants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// A name for people, as in a log. It is unique.
    pub name: String,
    /// The SHA-256 of the token, in hexadecimal digits.
    pub token_hash: String,
    /// What it may be used for.
    pub scopes: BTreeSet<Scope>,
    /// The only agent that it may be used for. None means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
}

/// Why a token cannot be made or ended.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The system gives no random bytes.
    #[error("the system gives no random bytes for a token: {0}")]
    Random(getrandom::Error),
    /// There is a token of this name.
    #[error("there is a token `{0}` already: name it otherwise, or revoke that one")]
    Taken(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The kind of what the store keeps of tokens.
const KEPT: &str = "token";

/// The beginning of every token, by which people and scanners know one.
const BEGINS: &str = "wks_";

/// The grants of a store, by name. One that a newer program wrote and this one cannot read grants
/// nothing.
///
/// # Errors
/// If the store cannot be read.
pub fn grants(store: &Store) -> Result<Vec<Grant>, StoreError> {
    let kept = store.kept(KEPT)?;
    Ok(kept.iter().filter_map(|(_, text)| serde_json::from_str(text).ok()).collect())
}

/// Makes a token with these scopes, for one agent or for all. Only the caller ever has the token
/// itself.
///
/// # Errors
/// If the name is taken, the system gives no random bytes, or the store fails.
pub fn grant(
    store: &Store,
    name: &str,
    scopes: impl IntoIterator<Item = Scope>,
    agent_id: Option<AgentId>,
) -> Result<String, AccessError> {
    if grants(store)?.iter().any(|grant| grant.name == name) {
        return Err(AccessError::Taken(name.to_owned()));
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(AccessError::Random)?;
    let token = format!("{BEGINS}{}", hex(&bytes));
    let grant = Grant {
        name: name.to_owned(),
        token_hash: hash(&token),
        scopes: scopes.into_iter().collect(),
        agent_id,
    };
    store.keep(KEPT, name, &json::write(&grant))?;
    Ok(token)
}

/// Ends the token of this name. A running server learns of it at once. Returns whether there was
/// one.
///
/// # Errors
/// If the store fails.
pub fn revoke(store: &Store, name: &str) -> Result<bool, StoreError> {
    store.forget(KEPT, name)
}

/// The tokens that a server knows.
#[derive(Default)]
pub(crate) struct Access(RwLock<HashMap<[u8; 32], Arc<Grant>>>);

impl Access {
    /// Reads the grants again.
    pub(crate) fn read(&self, store: &Store) -> Result<(), StoreError> {
        let known = grants(store)?
            .into_iter()
            .filter_map(|grant| Some((digest(&grant.token_hash)?, Arc::new(grant))))
            .collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    /// The grant of a token. What is looked for is a hash, so the time that it takes says nothing
    /// of a token.
    pub(crate) fn of(&self, token: &str) -> Option<Arc<Grant>> {
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&hash).cloned()
    }
}

/// A hash as it is written.
pub(crate) fn hex_of(hash: &[u8; 32]) -> String {
    hex(hash)
}

fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("a.sqlite")).expect("a store");
        let token = grant(&store, "cli", [Scope::Read], None).expect("a token");
        let access = Access::default();
        access.read(&store).expect("it reads");
        let known = access.of(&token).expect("it is known");
        assert_eq!((known.name.as_str(), known.scopes.len()), ("cli", 1));
        assert!(!format!("{:?}", store.kept(KEPT).expect("texts")).contains(&token));
        assert_eq!(access.of("wks_0"), None);
        assert_eq!(access.of(&known.token_hash), None, "the hash is not the token");
        assert!(matches!(grant(&store, "cli", [], None), Err(AccessError::Taken(_))));
        assert!(revoke(&store, "cli").expect("it writes"));
        access.read(&store).expect("it reads");
        assert_eq!(access.of(&token), None);
        assert!(!revoke(&store, "cli").expect("it writes"));
    }
}
