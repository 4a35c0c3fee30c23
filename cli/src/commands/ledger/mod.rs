//! Selects a ledger: a place where agents are, and one of its agents. Commands that only read open
//! a file read-only.

mod place;

use std::{
    collections::BTreeMap,
    fmt::Display,
    path::{Path, PathBuf},
};

use clap::Args;
use indicatif::ProgressBar;
use wakeful_core::{
    host::{
        Clock, SchedulerError,
        opening::{self, Opening},
    },
    id::{AgentId, Seq, fault_in},
    machine::{Machine, Options},
    record::chain::Head,
    state::State,
    time::Timestamp,
};
use wakeful_host::{
    clock::SystemClock,
    driver::{self, DriveError},
    ledger::{
        Address, Format, PostgresStore, SqliteError, SqliteFile, SqliteLedger, StoreLedger,
        read_lines,
    },
};

use super::{CliError, Verdict, complain, style};
use crate::client::{Driven, Remote, Server, ServerError};

pub(super) use self::place::{Place, ServerArgs, Stored};

/// The most ids that an error lists.
const LISTED: usize = 20;

/// A ledger file or a store, for commands that cannot work at a server.
#[derive(Args)]
pub(super) struct LedgerArg {
    #[command(flatten)]
    named: NamedPlace,
    /// The agent [default: the only one in the file; `doctor` takes all]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

impl LedgerArg {
    /// Opens the agent's ledger for writing. A missing file is not created.
    pub(super) fn open_to_write(&self) -> Result<(AgentId, SqliteLedger), CliError> {
        to_write(self.path(), self.agent.as_deref())
    }

    /// The agent, after its ledger was verified.
    pub(super) fn verified(&self, place: &Place) -> Result<AgentId, CliError> {
        to_read(place, self.agent.as_deref()).map(|(agent, _)| agent)
    }

    /// As [`AgentsArg::for_each`].
    pub(super) fn for_each(
        &self,
        place: &Place,
        between: impl Fn(),
        act: impl Fn(&AgentId) -> Result<Verdict, CliError>,
    ) -> Result<Verdict, CliError> {
        for_each(place, self.agent.as_deref(), between, act)
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        self.named.path()
    }

    /// The place that is named.
    pub(super) fn place(&self) -> Result<Place, CliError> {
        Place::named(self.path())
    }
}

/// A ledger file or a store, which must be named.
#[derive(Args)]
pub(super) struct NamedPlace {
    /// The ledger file, or the address of a store. Another process may be writing to it. Commands
    /// that only read also take JSON lines (`.jsonl`, from `wakeful log --json` or the workbench)
    #[arg(value_name = "LEDGER", required_unless_present = "named-ledger")]
    ledger: Option<PathBuf>,
    #[command(flatten)]
    option: PlaceOption,
}

impl NamedPlace {
    /// Its name.
    pub(super) fn path(&self) -> &Path {
        let named = self.ledger.as_deref().or(self.option.named.as_deref());
        // INVARIANT: the command line is refused without one.
        named.unwrap_or(Path::new(""))
    }
}

/// The option for those who know it from commands that say something to an agent.
#[derive(Args)]
struct PlaceOption {
    /// The same as LEDGER
    #[arg(
        id = "named-ledger",
        long = "ledger",
        visible_alias = "store",
        value_name = "FILE|URL",
        conflicts_with = "ledger"
    )]
    named: Option<PathBuf>,
}

/// A ledger file or a store.
#[derive(Args)]
pub(super) struct PlaceArg {
    /// The ledger file, or the address of a store. Another process may be writing to it. Commands
    /// that only read also take JSON lines (`.jsonl`, from `wakeful log --json` or the workbench)
    #[arg(value_name = "LEDGER")]
    ledger: Option<PathBuf>,
    #[command(flatten)]
    option: PlaceOption,
}

impl PlaceArg {
    /// Its name, if it has one.
    pub(super) fn path(&self) -> Option<&Path> {
        self.ledger.as_deref().or(self.option.named.as_deref())
    }
}

/// The agents that a command reads: of a ledger file or a store, or at a server.
#[derive(Args)]
pub(super) struct AgentsArg {
    #[command(flatten)]
    ledger: PlaceArg,
    #[command(flatten)]
    server: ServerArgs,
    /// The agent [default: the only one; `status` and `list` take all]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

impl AgentsArg {
    /// The place of the agents.
    pub(super) fn place(&self) -> Result<Place, CliError> {
        self.server.place(self.ledger.path())
    }

    /// Opens the agent's ledger for reading only. The caller verifies what it reads.
    pub(super) fn open_unverified(&self, place: &Place) -> Result<(AgentId, Stored), CliError> {
        to_read_unverified(place, self.agent.as_deref())
    }

    /// Does something for the named agent, or for each agent in the place. If there are several, an
    /// error about one is printed, and the others come next. `between` is called between two.
    pub(super) fn for_each(
        &self,
        place: &Place,
        between: impl Fn(),
        act: impl Fn(&AgentId) -> Result<Verdict, CliError>,
    ) -> Result<Verdict, CliError> {
        for_each(place, self.agent.as_deref(), between, act)
    }
}

fn for_each(
    place: &Place,
    asked: Option<&str>,
    between: impl Fn(),
    act: impl Fn(&AgentId) -> Result<Verdict, CliError>,
) -> Result<Verdict, CliError> {
    let agents = agents_in(place, asked)?;
    if let [only] = agents.as_slice() {
        return act(only);
    }
    let mut whole = Verdict::Well;
    for (at, agent) in agents.iter().enumerate() {
        if at > 0 {
            between();
        }
        let verdict = act(agent).unwrap_or_else(|why| {
            complain(why);
            Verdict::Unreadable
        });
        whole = whole.max(verdict);
    }
    Ok(whole)
}

/// The number of entries from which on their verification shows its progress. Fewer take less than
/// a second.
const LONG: u64 = 100_000;

/// Opens a ledger for reading only, and verifies it: the one of the named agent, otherwise the only
/// one in the place. Of a server's ledger each entry is verified when it is read.
pub(super) fn to_read(place: &Place, asked: Option<&str>) -> Result<(AgentId, Stored), CliError> {
    let (agent, mut ledger) = to_read_unverified(place, asked)?;
    if !matches!(place, Place::Server(_)) {
        verify(place, &agent, &mut ledger)?;
    }
    Ok((agent, ledger))
}

/// Reads and verifies the ledger of an agent, and folds it, as an observer does.
pub(super) fn observed(
    place: &Place,
    agent: &AgentId,
) -> Result<(Machine, Opening, Stored), CliError> {
    let (_, mut ledger) = to_read(place, Some(agent.as_str()))?;
    match opening::open(&Options::new(agent.clone()), &mut ledger) {
        Ok((machine, opening)) => Ok((machine, opening, ledger)),
        Err(why) => Err(place.unreadable(agent, why)),
    }
}

/// The time now, or of the newest entry if that is later. A ledger can be ahead of the system
/// clock, for example after `--virtual`.
pub(super) fn now(state: &State) -> Timestamp {
    SystemClock.now().max(state.at())
}

/// Verifies the hash chain of all entries in the place, so that no command shows or continues a
/// damaged ledger. Archived entries are verified by `wakeful doctor`.
pub(super) fn verify(
    place: &impl Display,
    agent: &AgentId,
    ledger: &mut Stored,
) -> Result<(), CliError> {
    let mut verified = || {
        let begins = ledger.anchor()?.map_or(Head::START, |anchor| anchor.head);
        let ends = ledger.head()?.seq;
        let bar = (ends.0 >= LONG).then(|| style::progress(ends.0));
        let done = |seq: Seq| bar.iter().for_each(|bar| bar.set_position(seq.0));
        let verified = driver::verify(ledger, begins, ends, done);
        bar.iter().for_each(ProgressBar::finish_and_clear);
        verified
    };
    let (place, agent) = (place.to_string(), agent.clone());
    verified().map(drop).map_err(|why: SchedulerError| match why {
        SchedulerError::Open(why) => CliError::Damaged { place, agent, why },
        why => CliError::Unreadable { place, agent, why: Box::new(why) },
    })
}

/// Opens the ledger of one of the agents of a file or a store for reading only. The caller verifies
/// what it reads.
pub(super) fn local_unverified(place: &Place, agent: &AgentId) -> Result<StoreLedger, CliError> {
    match to_read_unverified(place, Some(agent.as_str()))?.1 {
        Stored::Local(ledger) => Ok(ledger),
        Stored::Server(_) => Err(CliError::NoPlace),
    }
}

/// Opens a ledger for reading only: the one of the named agent, otherwise the only one in the
/// place.
pub(super) fn to_read_unverified(
    place: &Place,
    asked: Option<&str>,
) -> Result<(AgentId, Stored), CliError> {
    match place {
        Place::File(path) => {
            in_file(path, asked).map(|(agent, ledger)| (agent, Stored::of_file(ledger)))
        }
        Place::Store(address) => in_store(address, asked),
        Place::Server(server) => at_server(server, asked),
    }
}

/// As [`to_read_unverified`], in a store.
fn in_store(address: &Address, asked: Option<&str>) -> Result<(AgentId, Stored), CliError> {
    let store = PostgresStore::open_read_only(address)?;
    // A store may have more agents than one wants to list.
    let is_there = |asked: &str| {
        let head = store.ledger(&asked.into()).head();
        head.is_ok_and(|head| head != Head::START)
    };
    let agent = match asked.filter(|asked| is_there(asked)) {
        Some(asked) => asked.into(),
        None => choose(&address.shown(), store.agents()?, asked)?,
    };
    let ledger = store.ledger(&agent);
    Ok((agent, Stored::of_store(ledger)))
}

/// As [`to_read_unverified`], in a file.
fn in_file(path: &Path, asked: Option<&str>) -> Result<(AgentId, SqliteLedger), CliError> {
    if Format::from_file(path) == Some(Format::Lines) {
        let (agent, ledger) = read_lines(path)?;
        return Ok((choose(&path.display(), vec![agent], asked)?, ledger));
    }
    let file = existing(path)?;
    let agent = choose(&path.display(), file.agents()?, asked)?;
    let ledger = file.ledger(&agent);
    Ok((agent, ledger))
}

/// As [`to_read_unverified`], at a server.
fn at_server(server: &Server, asked: Option<&str>) -> Result<(AgentId, Stored), CliError> {
    let agent = match asked {
        // A token for one agent may not list the others.
        Some(asked) => AgentId::from(asked),
        None => choose(server, server.agents()?.agents, None)?,
    };
    match Remote::open(server, &agent) {
        Ok(ledger) => Ok((agent, Stored::Server(Box::new(ledger)))),
        Err(why) => Err(no_such_agent(server, &agent, why)),
    }
}

/// The error of a server; with the agents that there are, if it has not the one that was named.
pub(super) fn no_such_agent(server: &Server, agent: &AgentId, why: ServerError) -> CliError {
    if !why.is_no_such_agent() {
        return why.into();
    }
    match server.agents() {
        Ok(all) => CliError::NoSuchAgent {
            place: server.to_string(),
            asked: agent.to_string(),
            agents: listed(all.agents.iter()),
        },
        // A token for one agent may not list the others.
        Err(_) => why.into(),
    }
}

/// Opens a file for reading only.
fn existing(path: &Path) -> Result<SqliteFile, CliError> {
    SqliteFile::open_read_only(path).map_err(|why| match why {
        SqliteError::NoSuchFile(path) => CliError::NoLedger(path),
        why => why.into(),
    })
}

/// All agents in a place.
pub(super) struct All {
    pub(super) agents: Vec<AgentId>,
    place: Place,
    within: Within,
}

/// A place that is open.
enum Within {
    Lines(SqliteLedger),
    File(SqliteFile),
    Store(PostgresStore),
    Server(Server, Vec<Driven>),
}

impl All {
    /// Lists the agents; at least one.
    pub(super) fn of(place: &Place) -> Result<Self, CliError> {
        let all = Self::of_any(place)?;
        if all.agents.is_empty() {
            return Err(CliError::NoAgents(place.to_string()));
        }
        Ok(all)
    }

    /// Lists the agents, if there are any.
    pub(super) fn of_any(place: &Place) -> Result<Self, CliError> {
        let (agents, within) = match place {
            Place::File(path) if Format::from_file(path) == Some(Format::Lines) => {
                let (agent, ledger) = in_file(path, None)?;
                (vec![agent], Within::Lines(ledger))
            }
            Place::File(path) => {
                let file = existing(path)?;
                (file.agents()?, Within::File(file))
            }
            Place::Store(address) => {
                let store = PostgresStore::open_read_only(address)?;
                (store.agents()?, Within::Store(store))
            }
            Place::Server(server) => {
                let listed = server.agents()?;
                (listed.agents, Within::Server(server.clone(), listed.driven))
            }
        };
        Ok(Self { agents, place: place.clone(), within })
    }

    /// The newest entry of each agent that has entries.
    pub(super) fn heads(&self) -> Result<Vec<(AgentId, Head)>, CliError> {
        match &self.within {
            Within::File(file) => Ok(file.heads()?),
            Within::Store(store) => Ok(store.heads()?),
            Within::Lines(_) | Within::Server(..) => self
                .agents
                .iter()
                .map(|agent| {
                    let head = self.open(agent)?.head();
                    Ok((agent.clone(), head.map_err(|why| self.place.unreadable(agent, why))?))
                })
                .collect(),
        }
    }

    /// The agents that go on in another place, each with its name.
    pub(super) fn moved(&self) -> Result<BTreeMap<AgentId, PathBuf>, CliError> {
        if let Within::Store(store) = &self.within {
            return Ok(store.moved()?.into_iter().map(|(id, at)| (id, at.into())).collect());
        }
        let mut moved = BTreeMap::new();
        for agent in &self.agents {
            let place = self.open(agent)?.goes_on_in();
            let place = place.map_err(|why| self.place.unreadable(agent, why))?;
            moved.extend(place.map(|place| (agent.clone(), place)));
        }
        Ok(moved)
    }

    /// The head of an agent's ledger at one of its entries. The chain is not verified.
    pub(super) fn head_at(&self, agent: &AgentId, seq: Seq) -> Result<Head, CliError> {
        driver::head_at(&mut self.open(agent)?, seq).map_err(|why| match why {
            DriveError::Ledger(why) => self.place.unreadable(agent, why),
            why => why.into(),
        })
    }

    /// Who drives which of them. Nobody drives a ledger in lines.
    pub(super) fn driven(&self) -> Result<Vec<Driven>, CliError> {
        Ok(match &self.within {
            Within::Lines(_) => Vec::new(),
            Within::File(file) => file.owners()?.into_iter().map(Driven::from).collect(),
            Within::Store(store) => store.placed()?.into_iter().map(Driven::from).collect(),
            Within::Server(_, driven) => driven.clone(),
        })
    }

    /// Opens the ledger of one of the agents for reading only. The caller verifies what it reads.
    pub(super) fn open(&self, agent: &AgentId) -> Result<Stored, CliError> {
        Ok(match &self.within {
            Within::Lines(ledger) => Stored::of_file(ledger.clone()),
            Within::File(file) => Stored::of_file(file.ledger(agent)),
            Within::Store(store) => Stored::of_store(store.ledger(agent)),
            Within::Server(server, _) => Stored::Server(Box::new(Remote::open(server, agent)?)),
        })
    }
}

/// The named agent, otherwise all agents in the place; at least one. That a server has the named
/// one is seen when it is read.
pub(super) fn agents_in(place: &Place, asked: Option<&str>) -> Result<Vec<AgentId>, CliError> {
    match (place, asked) {
        (Place::Server(_), Some(asked)) => Ok(vec![AgentId::from(asked)]),
        (Place::File(path), Some(_)) => in_file(path, asked).map(|(agent, _)| vec![agent]),
        (Place::Store(address), Some(_)) => in_store(address, asked).map(|(agent, _)| vec![agent]),
        (_, None) => All::of(place).map(|all| all.agents),
    }
}

/// Refuses the id of a new agent if it is empty or has control characters (contract 2.3). An agent
/// that has such an id from before goes on.
pub(super) fn require_plain(place: &Place, agent: &AgentId) -> Result<(), CliError> {
    match fault_in(agent.as_str()) {
        Some(fault) if to_read_unverified(place, Some(agent.as_str())).is_err() => {
            Err(CliError::AgentId { agent: agent.clone(), fault })
        }
        _ => Ok(()),
    }
}

/// The own folder of the agents of a place, as an absolute path. Beside a store there is none.
#[cfg(target_os = "linux")]
pub(super) fn home_of(place: &Place, given: Option<&Path>) -> Result<PathBuf, CliError> {
    let home = match (given, place) {
        (Some(given), _) => given.to_owned(),
        (None, Place::File(ledger)) => {
            let mut name = ledger.as_os_str().to_owned();
            name.push(".home");
            name.into()
        }
        (None, _) => return Err(CliError::NoHome),
    };
    // Commands run in other folders, where a relative path would lead elsewhere.
    std::path::absolute(&home).map_err(|why| CliError::Read { path: home, why })
}

/// Opens the agent's ledger for writing. A missing file is not created.
pub(super) fn to_write(
    path: &Path,
    asked: Option<&str>,
) -> Result<(AgentId, SqliteLedger), CliError> {
    if Format::from_file(path) == Some(Format::Lines) {
        return Err(CliError::OnlyLines(path.to_owned()));
    }
    // Opening for writing would create a missing file, so the agent is looked up read-only first.
    let (agent, _) = to_read(&Place::from(path), asked)?;
    let mut ledger = SqliteFile::open(path)?.ledger(&agent);
    // The append itself would be refused too, but the caller must know before it does anything.
    ledger.require_alive()?;
    Ok((agent, ledger))
}

fn choose(
    place: &impl Display,
    mut agents: Vec<AgentId>,
    asked: Option<&str>,
) -> Result<AgentId, CliError> {
    let place = place.to_string();
    match asked {
        Some(id) => match agents.iter().position(|agent| agent.as_str() == id) {
            Some(at) => Ok(agents.swap_remove(at)),
            None => Err(CliError::NoSuchAgent {
                place,
                asked: id.to_owned(),
                agents: listed(agents.iter()),
            }),
        },
        None if agents.len() > 1 => Err(CliError::SeveralAgents {
            place,
            count: agents.len(),
            agents: listed(agents.iter()),
        }),
        None => agents.pop().ok_or(CliError::NoAgents(place)),
    }
}

/// Formats ids for an error.
pub(super) fn listed(mut ids: impl Iterator<Item = impl Display>) -> String {
    let mut names: Vec<_> = ids.by_ref().take(LISTED).map(|id| format!("`{id}`")).collect();
    let more = ids.count();
    names.extend((more > 0).then(|| format!("and {more} more")));
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_asked_for_only_where_there_are_several() {
        let agents = |count: usize| {
            (0..count).map(|number| AgentId::from(format!("a{number}"))).collect::<Vec<_>>()
        };
        let said = |count: usize, asked: Option<&str>| match choose(&"F", agents(count), asked) {
            Ok(agent) => agent.to_string(),
            Err(why) => why.to_string(),
        };
        assert_eq!(said(1, None), "a0");
        assert_eq!(said(3, Some("a1")), "a1");
        assert_eq!(said(2, None), "`F` holds 2 agents: name one of them with --agent: `a0`, `a1`");
        assert_eq!(said(1, Some("b")), "`F` holds no agent `b`; it holds: `a0`");
        assert_eq!(said(0, Some("b")), "`F` holds no agent `b`; it holds: none");
        assert_eq!(
            said(0, None),
            "`F` holds no agent yet: start one with `wakeful run`, or make one at a server"
        );
        assert!(said(23, None).ends_with("`a19`, and 3 more"), "{}", said(23, None));
    }
}
