//! The places of agents. A command takes a [`Place`] and reads a [`Stored`] ledger, and does not
//! ask of which kind they are. A new kind of store is a variant of both.

use std::{
    env,
    fmt::{self, Display},
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use wakeful_core::{
    host::{Ledger, LedgerError, SchedulerError},
    id::{AgentId, Seq},
    record::{chain::Head, entry::EntryBytes},
};
use wakeful_host::ledger::{
    Address, Anchor, Format, PostgresLedger, SqliteError, SqliteLedger, StoreLedger,
};
use zeroize::Zeroizing;

use super::super::CliError;
use crate::client::{Notice, Remote, Server, ServerError};

/// The variable with the URL of the server. A ledger that is named goes before.
const SERVER: &str = "WAKEFUL_SERVER";

/// The variable with the token of the server. Others see the arguments of a process, and not its
/// variables.
const TOKEN: &str = "WAKEFUL_SERVER_TOKEN";

#[derive(Args)]
pub(in crate::commands) struct ServerArgs {
    /// Ask the server at this URL instead of a file: https://HOST, http://127.0.0.1:7171, or
    /// unix:FILE.sock [default: the variable WAKEFUL_SERVER, if no ledger is named]
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,
    /// Read the token of the server from this file [default: the variable WAKEFUL_SERVER_TOKEN]
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
}

impl ServerArgs {
    /// The place that is named: a ledger file, or a server.
    pub(in crate::commands) fn place(&self, ledger: Option<&Path>) -> Result<Place, CliError> {
        self.place_unless(ledger, true)
    }

    /// As [`Self::place`], for what a server is asked without a token of its own.
    pub(in crate::commands) fn place_without_token(
        &self,
        ledger: Option<&Path>,
    ) -> Result<Place, CliError> {
        self.place_unless(ledger, false)
    }

    fn place_unless(&self, ledger: Option<&Path>, has_token: bool) -> Result<Place, CliError> {
        match (ledger, self.url()) {
            (Some(path), _) if self.server.is_none() && self.token_file.is_none() => {
                Place::named(path)
            }
            (Some(_), _) => Err(CliError::TwoPlaces),
            (None, Some(url)) => self.server(&url, has_token),
            (None, None) => Err(CliError::NoPlace),
        }
    }

    fn url(&self) -> Option<String> {
        let named = |url: &String| !url.trim().is_empty();
        self.server.clone().or_else(|| env::var(SERVER).ok().filter(named))
    }

    fn server(&self, url: &str, has_token: bool) -> Result<Place, CliError> {
        let token = if has_token { self.token()? } else { None };
        Ok(Place::Server(Server::new(url, token)?))
    }

    fn token(&self) -> Result<Option<Zeroizing<String>>, ServerError> {
        let text = match &self.token_file {
            Some(path) => {
                let read = fs::read_to_string(path).map(Zeroizing::new);
                read.map_err(|why| ServerError::TokenFile { path: path.clone(), why })?
            }
            None => match env::var(TOKEN) {
                Ok(text) => Zeroizing::new(text),
                Err(env::VarError::NotPresent) => return Ok(None),
                Err(env::VarError::NotUnicode(_)) => return Err(ServerError::TokenUnfit),
            },
        };
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ServerError::TokenUnfit);
        }
        Ok(Some(Zeroizing::new(token.to_owned())))
    }
}

/// A place of agents.
#[derive(Clone)]
pub(in crate::commands) enum Place {
    /// A file of this machine: SQLite, or JSON lines, which are only read.
    File(PathBuf),
    /// A store in PostgreSQL.
    Store(Address),
    /// A server of `wakeful serve`.
    Server(Server),
}

/// As errors name it.
impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Store(address) => address.shown().fmt(f),
            Self::Server(server) => server.fmt(f),
        }
    }
}

impl From<&Path> for Place {
    /// A file. An argument of the command line may be an address: [`Place::named`].
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl Place {
    /// The place that an argument names: the address of a store, or a file.
    pub(in crate::commands) fn named(argument: &Path) -> Result<Self, CliError> {
        Ok(match Address::of(argument)? {
            Some(address) => Self::Store(address),
            None => Self::File(argument.to_owned()),
        })
    }

    /// The options by which another command names this place.
    pub(in crate::commands) fn options(&self) -> [String; 2] {
        let option = match self {
            Self::File(_) | Self::Store(_) => "--ledger",
            Self::Server(_) => "--server",
        };
        [option.to_owned(), self.to_string()]
    }

    /// Whether nothing can be said to its agents.
    pub(in crate::commands) fn is_only_read(&self) -> bool {
        match self {
            Self::File(path) => Format::from_file(path) == Some(Format::Lines),
            Self::Store(_) | Self::Server(_) => false,
        }
    }

    /// The error for a ledger of this place that cannot be read.
    pub(in crate::commands) fn unreadable(
        &self,
        agent: &AgentId,
        why: impl Into<SchedulerError>,
    ) -> CliError {
        CliError::Unreadable {
            place: self.to_string(),
            agent: agent.clone(),
            why: Box::new(why.into()),
        }
    }
}

/// The ledger of an agent, for reading.
pub(in crate::commands) enum Stored {
    /// In a file or a store.
    Local(StoreLedger),
    /// At a server.
    Server(Box<Remote>),
}

impl Stored {
    /// The ledger in a file.
    pub(in crate::commands) fn of_file(ledger: SqliteLedger) -> Self {
        Self::Local(StoreLedger::Sqlite(ledger))
    }

    /// The ledger in a store.
    pub(in crate::commands) fn of_store(ledger: PostgresLedger) -> Self {
        Self::Local(StoreLedger::Postgres(ledger))
    }

    /// The newest entry.
    pub(in crate::commands) fn head(&mut self) -> Result<Head, LedgerError> {
        match self {
            Self::Local(ledger) => ledger.head(),
            Self::Server(ledger) => ledger.head(),
        }
    }

    /// The entry after which the ledger begins, if its old entries were moved out. A server reads
    /// them in their archive.
    pub(in crate::commands) fn anchor(&mut self) -> Result<Option<Anchor>, LedgerError> {
        match self {
            Self::Local(ledger) => ledger.anchor(),
            Self::Server(_) => Ok(None),
        }
    }

    /// Why the old entries of an anchor cannot be read; `None` if they can.
    pub(in crate::commands) fn missing(&mut self, anchor: &Anchor) -> Option<SqliteError> {
        match self {
            Self::Local(ledger) => ledger.missing(anchor),
            Self::Server(_) => None,
        }
    }

    /// The file or store in which the ledger continues, if it does not do so here.
    pub(in crate::commands) fn goes_on_in(&mut self) -> Result<Option<PathBuf>, LedgerError> {
        match self {
            Self::Local(ledger) => Ok(ledger.goes_on_in()?.map(PathBuf::from)),
            Self::Server(_) => Ok(None),
        }
    }

    /// From now on an empty page means that nothing new has come yet. A file is like that anyway.
    pub(in crate::commands) fn follow(&mut self, notice: Notice) {
        if let Self::Server(ledger) = self {
            ledger.follow(notice);
        }
    }
}

impl Ledger for Stored {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        match self {
            Self::Local(ledger) => ledger.append(expected, batch),
            Self::Server(ledger) => ledger.append(expected, batch),
        }
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        match self {
            Self::Local(ledger) => ledger.read(after, limit),
            Self::Server(ledger) => ledger.read(after, limit),
        }
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        match self {
            Self::Local(ledger) => ledger.load_snapshot(),
            Self::Server(ledger) => ledger.load_snapshot(),
        }
    }

    fn store_snapshot(
        &mut self,
        head: &Head,
        write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        match self {
            Self::Local(ledger) => ledger.store_snapshot(head, write),
            Self::Server(ledger) => ledger.store_snapshot(head, write),
        }
    }
}
