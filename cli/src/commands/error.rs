//! Why a command failed, as people read it.

use std::{io, path::PathBuf};

use wakeful_core::{
    host::SchedulerError,
    id::{AgentId, IdFault, Seq},
    json::JsonError,
    machine::OpenError,
};
use wakeful_host::{
    engine::EngineError,
    ledger::{LinesError, OwningError, PostgresError, SqliteError, StoreError},
    sandbox::GuestError,
};

use super::archive;
use crate::{case::CaseError, client::ServerError, trace::TraceError};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// A case cannot be loaded.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The guest cannot be used.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The guest was not found.
    #[error(transparent)]
    NoGuest(#[from] wakeful_host::sandbox::NoGuest),
    /// An engine failed over a case.
    #[error("{case}: {why}")]
    Trace {
        /// The name of the case.
        case: String,
        /// Why.
        why: TraceError,
    },
    /// An engine cannot be started.
    #[error(transparent)]
    Engine(#[from] TraceError),
    /// A store in PostgreSQL cannot be used.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// A place cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Agents should move to the place in which they are.
    #[error("the agents are in `{0}` already: name another place")]
    SamePlace(String),
    /// No case was named outside the source tree.
    #[error(
        "name the cases to play: the default cases are in the source tree, which was not found \
         from this folder"
    )]
    NoCases,
    /// The reference engine failed.
    #[error(transparent)]
    NoReference(#[from] crate::crosscheck::NoReference),
    /// The scheduler refused the case.
    #[error("{case}: {message}")]
    Refused {
        /// The name of the case.
        case: String,
        /// Why.
        message: String,
    },
    /// The case to replay is not a fixture.
    #[error(
        "`{0}` is a story: replay reads fixtures; use `wakeful explain` or `wakeful crosscheck` \
         for stories"
    )]
    NotAFixture(String),
    /// Several cases are to be compared with an edition.
    #[error("--edition compares one ledger or one case; name them one by one")]
    OneForEdition,
    /// An option for ledger files was given for something else.
    #[error("`{}` is not a ledger file: --agent and --up-to need one", .0.display())]
    OnlyOfLedgers(PathBuf),
    /// The folder to write is not empty.
    #[error(
        "`{}` is not empty: name another folder, or replace the fixture in it with --force",
        .0.display()
    )]
    NotEmpty(PathBuf),
    /// An agent with a story cannot continue.
    #[error(transparent)]
    Run(#[from] wakeful_host::driver::DriveError),
    /// Another process drives the agent.
    #[error(transparent)]
    Own(#[from] OwningError),
    /// A server cannot start, or a token cannot be made.
    #[error(transparent)]
    Serve(#[from] super::serve::CannotServe),
    /// The file of a running agent was lost.
    #[error(transparent)]
    Lost(SqliteError),
    /// The ledger of a running agent was set back.
    #[error("`{}`: {why}", path.display())]
    SetBack {
        /// The file.
        path: PathBuf,
        /// What is missing.
        why: wakeful_host::driver::DriveError,
    },
    /// An agent with a model cannot start or continue.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Agent(#[from] wakeful_agent::AgentError),
    /// What ended tasks left cannot be collected.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Gc(#[from] wakeful_agent::gc::GcError),
    /// It is not said where the agents of a store have their own folder.
    #[cfg(target_os = "linux")]
    #[error("say with --home DIR where the agents have their own folder on this machine")]
    NoHome,
    /// An option does not fit a store.
    #[error("{option} is for ledger files: {why}")]
    NotOnStore {
        /// The option that was given.
        option: &'static str,
        /// Why a store has no use for it.
        why: &'static str,
    },
    /// An option does not fit the provider.
    #[cfg(target_os = "linux")]
    #[error("{option} needs --provider {with}: {why}")]
    NotWith {
        /// The option that was given.
        option: &'static str,
        /// The provider that it needs.
        with: &'static str,
        /// Why the other provider has no use for it.
        why: &'static str,
    },
    /// The id of a new agent is empty, or has a control character.
    #[error("`{agent}` cannot be the id of an agent: {fault}; choose another id")]
    AgentId {
        /// The id that was given.
        agent: AgentId,
        /// What is wrong with it.
        fault: IdFault,
    },
    /// A prompt is about a work item that does not exist.
    #[error("agent `{agent}` has no work item `{asked}`; it has: {items}")]
    NoSuchItem {
        /// The agent.
        agent: AgentId,
        /// The id that was given.
        asked: String,
        /// The ids of the existing items.
        items: String,
    },
    /// A wait that does not exist is to be ended.
    #[error("agent `{agent}` has no wait `{asked}`; it has: {waits}")]
    NoSuchWait {
        /// The agent.
        agent: AgentId,
        /// The id that was given.
        asked: String,
        /// The ids of the waits.
        waits: String,
    },
    /// The agent's commands could change what they must not.
    #[cfg(target_os = "linux")]
    #[error(
        "the agent's commands could change {what} `{}`, because they may write in `{}`: {mend}",
        path.display(),
        folder.display()
    )]
    OpenToCommands {
        /// What they could change.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// The folder that is open to them.
        folder: PathBuf,
        /// What to do.
        mend: String,
    },
    /// The agent rests only because its last turn failed.
    #[cfg(target_os = "linux")]
    #[error(
        "the agent rests because its last turn failed: {why}; mend that, and send the message again"
    )]
    TurnFailed {
        /// Why the turn failed.
        why: String,
    },
    /// Neither a story nor a model was named.
    #[error("name a story with --story FILE, or a model with --provider openai --model NAME")]
    NoStory,
    /// The options of the provider are invalid.
    #[error(transparent)]
    Endpoint(#[from] wakeful_agent::openai::OptionsError),
    /// The policy cannot be read.
    #[cfg(target_os = "linux")]
    #[error("{}: {why}", path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place.
        why: wakeful_core::json::JsonError,
    },
    /// The workspace cannot be used.
    #[cfg(target_os = "linux")]
    #[error("the workspace `{}` cannot be used: {why}", path.display())]
    Workspace {
        /// The folder.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// The memory of the process cannot be hidden.
    #[cfg(target_os = "linux")]
    #[error("the kernel does not hide the memory of this process, which holds the key: {0}")]
    Memory(io::Error),
    /// The terminal cannot be used.
    #[cfg(target_os = "linux")]
    #[error("the terminal cannot be used: {0}")]
    Terminal(String),
    /// No trigger has the token.
    #[error(
        "no external trigger in `{}` has this token: it was rotated or revoked, is used or has \
         expired, or is of another file",
        .0
    )]
    NoSuchToken(String),
    /// A trigger that does not exist is to be changed.
    #[error("agent `{agent}` has no external trigger `{asked}`; it has: {triggers}")]
    NoSuchTrigger {
        /// The agent.
        agent: AgentId,
        /// The id that was given.
        asked: String,
        /// The ids of the triggers that can be delivered to.
        triggers: String,
    },
    /// No token was given.
    #[error(
        "there is no token: name it before the content, or set WAKEFUL_TOKEN; `wakeful trigger \
         create` makes one"
    )]
    TokenMissing,
    /// The content is a token.
    #[error(
        "the content is a token, and a token must not reach a ledger; to deliver with it, name it \
         alone and unset WAKEFUL_TOKEN"
    )]
    TokenAsContent,
    /// A delivery with a token names an agent.
    #[error("the token names the agent: leave out --agent, or name a trigger with --trigger")]
    TokenNamesAgent,
    /// The content of a delivery is not what its type says.
    #[error("the content is not JSON: {0}")]
    Content(wakeful_core::json::JsonError),
    /// The agent was never run.
    #[error(
        "agent `{0}` has never run, so nothing can be delivered to it: start it with `wakeful run`"
    )]
    NeverRan(AgentId),
    /// A token cannot be made.
    #[error(transparent)]
    NoToken(#[from] wakeful_host::token::NoRandomBytes),
    /// A ledger file cannot be opened.
    #[error(transparent)]
    Ledger(#[from] SqliteError),
    /// A ledger as JSON lines cannot be read.
    #[error(transparent)]
    Lines(#[from] LinesError),
    /// JSON lines cannot be appended to.
    #[error(
        "`{}` is a ledger as JSON lines, which can only be read: use the SQLite file of the agent",
        .0.display()
    )]
    OnlyLines(PathBuf),
    /// The file of a ledger does not exist.
    #[error(
        "`{}` does not exist: name the ledger of an agent; `wakeful run` makes one",
        .0.display()
    )]
    NoLedger(PathBuf),
    /// A server cannot be asked, or refuses what it is asked.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Neither a ledger nor a server was named.
    #[error("name a ledger file, or a server with --server URL or in the variable WAKEFUL_SERVER")]
    NoPlace,
    /// Both a ledger and a server were named.
    #[error("--server and --token-file do not go with a ledger file: name one of the two places")]
    TwoPlaces,
    /// An option of ledger files was given for a server.
    #[error("--virtual is for ledger files: a server has a clock of its own")]
    OwnClock,
    /// The receipt of a server cannot be read.
    #[error(
        "the answer of `{place}` is not a receipt: {why}; the fact may be recorded, which \
             `wakeful log` shows"
    )]
    NoReceipt {
        /// The server.
        place: String,
        /// What is wrong with it.
        why: JsonError,
    },
    /// The place holds no agent.
    #[error("`{0}` holds no agent yet: start one with `wakeful run`, or make one at a server")]
    NoAgents(String),
    /// The place holds several agents, and none was named.
    #[error("`{place}` holds {count} agents: name one of them with --agent: {agents}")]
    SeveralAgents {
        /// The file or the server.
        place: String,
        /// The number of agents.
        count: usize,
        /// Their ids.
        agents: String,
    },
    /// The place does not hold the agent.
    #[error("`{place}` holds no agent `{asked}`; it holds: {agents}")]
    NoSuchAgent {
        /// The file or the server.
        place: String,
        /// The id that was given.
        asked: String,
        /// The ids of the agents in the file.
        agents: String,
    },
    /// An agent was not moved.
    #[error(transparent)]
    Move(#[from] wakeful_host::ledger::MoveError),
    /// The ledger of an agent cannot be read.
    #[error("`{place}`, agent `{agent}`: {why}")]
    Unreadable {
        /// The file or the server.
        place: String,
        /// The agent.
        agent: AgentId,
        /// Why.
        why: Box<SchedulerError>,
    },
    /// A kept head cannot be read.
    #[error("{from}: {why}; a line is what `wakeful list heads --json` prints")]
    KeptHead {
        /// The file, or standard input.
        from: String,
        /// What is wrong, with its place.
        why: JsonError,
    },
    /// No head was kept.
    #[error("{0} has no heads: keep what `wakeful list heads --json` prints")]
    NoHeads(String),
    /// The ledger of an agent is damaged.
    #[error("`{place}`, agent `{agent}`: {why}: run `wakeful doctor` for details")]
    Damaged {
        /// The file.
        place: String,
        /// The agent.
        agent: AgentId,
        /// What is wrong, and where.
        why: OpenError,
    },
    /// The old part of a ledger cannot be moved.
    #[error("`{}`, agent `{agent}`: {why}", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
        /// Why.
        why: Box<archive::Refusal>,
    },
    /// The ledger does not reach the requested position.
    #[error("the ledger ends at entry {end}: there is nothing after entry {asked}")]
    PastTheEnd {
        /// The requested position.
        asked: Seq,
        /// The newest entry.
        end: Seq,
    },
    /// The handler for Ctrl-C cannot be set.
    #[error("cannot handle Ctrl-C: {0}")]
    NoInterrupt(ctrlc::Error),
    /// The output cannot be written.
    #[error("cannot write {what}: {why}")]
    Write {
        /// What was to be written.
        what: String,
        /// Why.
        why: io::Error,
    },
}

impl CliError {
    /// The exit code of the command.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Lost(_) | Self::SetBack { .. } => 4,
            #[cfg(target_os = "linux")]
            Self::TurnFailed { .. } => 5,
            _ => 2,
        }
    }
}

impl From<EngineError> for CliError {
    fn from(why: EngineError) -> Self {
        Self::Engine(TraceError::Engine(why))
    }
}
