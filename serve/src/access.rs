//! Who may do what: bearer tokens, of which only the hashes are known, each with scopes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wakeful_core::id::AgentId;

/// What a token may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// See agents, their entries and why they do what they do.
    Read,
    /// Say something to an agent as its operator.
    Prompt,
    /// Report any fact, and start, stop and change agents.
    Operate,
}

impl Scope {
    /// The name, as in a token's grant and in a problem.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Operate => "operate",
        }
    }
}

/// What one token grants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// A name for people, as in a log.
    pub name: String,
    /// The SHA-256 of the token, in hexadecimal digits.
    pub token_hash: String,
    /// What it may be used for.
    pub scopes: BTreeSet<Scope>,
    /// The only agent that it may be used for. None means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
}

/// All tokens of a server.
#[derive(Clone, Debug, Default)]
pub struct Access(Vec<Grant>);

/// The system gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes for a token: {0}")]
pub struct AccessError(getrandom::Error);

impl Access {
    /// The tokens with these grants.
    #[must_use]
    pub fn new(grants: Vec<Grant>) -> Self {
        Self(grants)
    }

    /// A new token with these scopes. Only the caller ever has the token itself.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn grant(
        &mut self,
        name: &str,
        scopes: impl IntoIterator<Item = Scope>,
        agent_id: Option<AgentId>,
    ) -> Result<String, AccessError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(AccessError)?;
        let token = format!("wks_{}", hex(&bytes));
        self.0.push(Grant {
            name: name.to_owned(),
            token_hash: hash(&token),
            scopes: scopes.into_iter().collect(),
            agent_id,
        });
        Ok(token)
    }

    /// The grant of a token. What is compared is a hash, so the time that it takes says nothing of
    /// a token.
    #[must_use]
    pub fn of(&self, token: &str) -> Option<&Grant> {
        let hash = hash(token);
        self.0.iter().find(|grant| grant.token_hash == hash)
    }
}

fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_alone() {
        let mut access = Access::default();
        let token = access.grant("cli", [Scope::Read], None).expect("bytes");
        let grant = access.of(&token).expect("it is known");
        assert_eq!((grant.name.as_str(), grant.scopes.len()), ("cli", 1));
        assert!(!format!("{access:?}").contains(&token));
        assert_eq!(access.of("wks_0"), None);
        assert_eq!(access.of(&grant.token_hash), None, "the hash is not the token");
    }
}
