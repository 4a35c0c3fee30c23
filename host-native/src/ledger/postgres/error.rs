//! Why a store in PostgreSQL cannot be used, and what to do.

use std::{io, time::Duration};

use tokio_postgres::error::SqlState;
use wakeful_core::{AgentId, LedgerError};

use super::address::Address;

/// Why a call on a store in PostgreSQL failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct PostgresError {
    /// The store, without a password.
    pub place: String,
    /// What went wrong.
    pub fault: Fault,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The text is not an address of a store.
    #[error(
        "this is not an address of a store: {why}; write it as \
         postgres://user@host:5432/database?schema=wakeful"
    )]
    Address {
        /// What is wrong with it.
        why: String,
    },
    /// The address has a password, which `ps` would show.
    #[error(
        "the address has a password, which other users of this machine would see: put it into the \
         variable PGPASSWORD or the file ~/.pgpass, and leave it out here"
    )]
    PasswordInAddress,
    /// The server cannot be reached.
    #[error("the server cannot be reached ({why}): start it, or mend the address")]
    Unreachable {
        /// The message of the system.
        why: String,
    },
    /// The server did not answer, or broke calls off, for as long as this call waited.
    #[error("the server did not do it within {} s ({why})", waited.as_secs())]
    Away {
        /// How long the call waited.
        waited: Duration,
        /// What happened last.
        why: String,
    },
    /// The server lets this user not in.
    #[error(
        "the server does not let this user in ({why}): put the password into PGPASSWORD, or into \
         ~/.pgpass with the mode 0600"
    )]
    Denied {
        /// The message of the server.
        why: String,
    },
    /// TLS failed.
    #[error(
        "no encrypted connection can be made ({why}): name the file of your authority's \
         certificate in PGSSLROOTCERT, or add ?sslmode=disable for a server on this machine"
    )]
    Tls {
        /// What failed.
        why: String,
    },
    /// There is a database, but no store in it.
    #[error(
        "there is no store in the schema `{schema}`: mend the address, or make one: \
         `wakeful serve`, `wakeful token create` and `wakeful migrate` do"
    )]
    NoStore {
        /// The schema.
        schema: String,
    },
    /// A newer program made the store.
    #[error(
        "the store has schema version {version}, which is too new for this program ({reads}): use a \
         newer wakeful"
    )]
    Newer {
        /// The version of the store.
        version: i32,
        /// The newest version that this program reads.
        reads: i32,
    },
    /// An older program made the store, and nothing may be changed now.
    #[error(
        "the store has schema version {version}, and this program reads {reads}: a command that \
         writes, such as `wakeful serve`, takes it along"
    )]
    Older {
        /// The version of the store.
        version: i32,
        /// The version that this program reads.
        reads: i32,
    },
    /// The agent lives elsewhere now.
    #[error("the agent `{agent}` goes on in `{goes_on_in}`: nothing is appended here")]
    Moved {
        /// The agent.
        agent: AgentId,
        /// Its place.
        goes_on_in: String,
    },
    /// A worker drives the agent, and only it appends.
    #[error(
        "the agent `{agent}` is driven by the worker `{by}`: say things to it with `wakeful send`"
    )]
    Driven {
        /// The agent.
        agent: AgentId,
        /// The worker.
        by: String,
    },
    /// A newer program drove the agent.
    #[error(
        "the agent `{agent}` was driven by a newer program, which may have taken its ledger to \
         format {format}; this one drives up to {drives}: use a newer wakeful"
    )]
    NewerAgent {
        /// The agent.
        agent: AgentId,
        /// The newest format that its driver drives.
        format: i32,
        /// The newest that this program drives.
        drives: i32,
    },
    /// This process drove the agent, and another may do so now.
    #[error(
        "this process no longer owns the agent `{agent}`: it gave the agent back, or its lease \
         ended; another one goes on from the newest entry"
    )]
    ClaimLost {
        /// The agent.
        agent: AgentId,
    },
    /// The lease of this process has ended.
    #[error("the lease of this worker has ended, and its agents are another's: join again")]
    LeaseLost,
    /// A fact has the key of another one.
    #[error("the inbox of `{agent}` has another fact under the key `{key}`: use a new key")]
    OtherFact {
        /// The agent.
        agent: AgentId,
        /// The key.
        key: String,
    },
    /// The store does not know the agent.
    #[error("there is no agent `{agent}` in this store")]
    NoAgent {
        /// The agent.
        agent: AgentId,
    },
    /// What is stored is not what a store holds.
    #[error("the store is damaged ({why}): restore a backup of the database")]
    Damaged {
        /// What was found.
        why: String,
    },
    /// The server refuses the call.
    #[error("cannot {doing}: {why}")]
    Refused {
        /// The verb of the message, as in "append".
        doing: &'static str,
        /// The message of the server.
        why: String,
    },
}

impl PostgresError {
    pub(super) fn new(address: &Address, fault: Fault) -> Self {
        Self { place: address.shown().to_owned(), fault }
    }
}

impl From<PostgresError> for LedgerError {
    fn from(why: PostgresError) -> Self {
        Self::Failed { message: why.to_string() }
    }
}

/// What a failure of a call means for the next attempt.
pub(super) enum Meaning {
    /// It may work later, with a new connection. What became of the call is not known.
    Lost(String),
    /// It may work later. Nothing was changed.
    Again(String),
    /// It will not work.
    Never(Fault),
}

/// Reads an error of the driver.
pub(super) fn meaning(doing: &'static str, why: &tokio_postgres::Error) -> Meaning {
    let said = said(why);
    let Some(code) = why.code() else {
        // Without a code, the server did not say it: the connection broke, or never was.
        return if is_of_tls(why) {
            Meaning::Never(Fault::Tls { why: said })
        } else if is_of_this_program(why) {
            Meaning::Never(Fault::Refused { doing, why: said })
        } else if is_of_the_user(why) {
            Meaning::Never(Fault::Denied { why: said })
        } else {
            Meaning::Lost(said)
        };
    };
    let denied = [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INSUFFICIENT_PRIVILEGE,
    ];
    // Class 08 is of connections, 57 of an operator who stops the server. After a failover, the
    // server of the old connection is read-only.
    let is_lost = code.code().starts_with("08")
        || code.code().starts_with("57")
        || *code == SqlState::READ_ONLY_SQL_TRANSACTION;
    // Class 53 is of a server without room, 40 of a conflict between transactions.
    let is_passing = code.code().starts_with("53")
        || code.code().starts_with("40")
        || *code == SqlState::LOCK_NOT_AVAILABLE;
    if denied.contains(code) {
        Meaning::Never(Fault::Denied { why: said })
    } else if is_lost {
        Meaning::Lost(said)
    } else if is_passing {
        Meaning::Again(said)
    } else if *code == SqlState::UNIQUE_VIOLATION || *code == SqlState::CHECK_VIOLATION {
        // No statement of a sound store meets one: an entry stands where the head says there is
        // none.
        Meaning::Never(Fault::Damaged { why: said })
    } else {
        Meaning::Never(Fault::Refused { doing, why: said })
    }
}

/// Whether a server said it while a connection was made, and not the network.
pub(super) fn is_of_a_server(why: &tokio_postgres::Error) -> bool {
    // The driver asks a server whether it takes writes, and says itself that it does not.
    let is_read_only = std::error::Error::source(why)
        .and_then(|source| source.downcast_ref::<io::Error>())
        .is_some_and(|why| why.kind() == io::ErrorKind::PermissionDenied);
    why.code().is_some() || is_read_only
}

/// Whether a value does not fit its statement. Trying again would not help, and the driver has no
/// code for it.
fn is_of_this_program(why: &tokio_postgres::Error) -> bool {
    let said = why.to_string();
    ["error serializing", "error deserializing", "expected "].iter().any(|it| said.starts_with(it))
}

/// The message of an error, with those of its sources. The driver's own says little.
fn said(why: &tokio_postgres::Error) -> String {
    let mut said = why.to_string();
    let mut source = std::error::Error::source(why);
    while let Some(why) = source {
        let text = why.to_string();
        if !said.contains(&text) {
            said.push_str(": ");
            said.push_str(&text);
        }
        source = why.source();
    }
    said
}

/// Whether the client cannot say who its user is: the driver has no other errors of this kind once
/// an address was read.
fn is_of_the_user(why: &tokio_postgres::Error) -> bool {
    let kind = why.to_string();
    kind.starts_with("invalid configuration") || kind.starts_with("authentication error")
}

fn is_of_tls(why: &tokio_postgres::Error) -> bool {
    let mut source = std::error::Error::source(why);
    while let Some(why) = source {
        // rustls's errors come wrapped in those of the socket.
        if why.is::<rustls::Error>()
            || why
                .downcast_ref::<io::Error>()
                .is_some_and(|why| why.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()))
        {
            return true;
        }
        source = why.source();
    }
    why.to_string().contains("TLS")
}
