//! Selects a ledger: a file, and an agent in it. Commands that only read open the file read-only.

use std::{
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
    driver,
    ledger::{Format, Owner, SqliteError, SqliteFile, SqliteLedger, read_lines},
};

use super::{CliError, Verdict, complain, style};

/// The most ids that an error lists.
const LISTED: usize = 20;

#[derive(Args)]
pub(super) struct LedgerArg {
    /// The ledger file. Another process may be writing to it. Commands that only read also take
    /// JSON lines (`.jsonl`, from `wakeful log --json` or the workbench)
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
    /// The agent [default: the only one in the file; `status`, `doctor`, `tasks`, `items` and
    /// `waits` take all]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

impl LedgerArg {
    /// Opens the agent's ledger for reading only, and verifies it.
    pub(super) fn open(&self) -> Result<(AgentId, SqliteLedger), CliError> {
        to_read(&self.ledger, self.agent.as_deref())
    }

    /// Opens the agent's ledger for reading only. The caller verifies what it reads.
    pub(super) fn open_unverified(&self) -> Result<(AgentId, SqliteLedger), CliError> {
        to_read_unverified(&self.ledger, self.agent.as_deref())
    }

    /// Opens the agent's ledger for writing. A missing file is not created.
    pub(super) fn open_to_write(&self) -> Result<(AgentId, SqliteLedger), CliError> {
        to_write(&self.ledger, self.agent.as_deref())
    }

    /// As [`Self::open_unverified`], for one of the agents.
    pub(super) fn open_of_unverified(&self, agent: &AgentId) -> Result<SqliteLedger, CliError> {
        to_read_unverified(&self.ledger, Some(agent.as_str())).map(|(_, ledger)| ledger)
    }

    /// Does something for the named agent, or for each agent in the file. If there are several, an
    /// error about one is printed, and the others come next. `between` is called between two.
    pub(super) fn for_each(
        &self,
        between: impl Fn(),
        act: impl Fn(&AgentId) -> Result<Verdict, CliError>,
    ) -> Result<Verdict, CliError> {
        let agents = agents_in(&self.ledger, self.agent.as_deref())?;
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

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.ledger
    }

    /// The error for a ledger of this file that cannot be read.
    pub(super) fn unreadable(&self, agent: &AgentId, why: impl Into<SchedulerError>) -> CliError {
        CliError::Unreadable {
            path: self.ledger.clone(),
            agent: agent.clone(),
            why: Box::new(why.into()),
        }
    }
}

/// The number of entries from which on their verification shows its progress. Fewer take less than
/// a second.
const LONG: u64 = 100_000;

/// Opens a ledger for reading only, and verifies it: the one of the named agent, otherwise the only
/// one in the file.
pub(super) fn to_read(
    path: &Path,
    asked: Option<&str>,
) -> Result<(AgentId, SqliteLedger), CliError> {
    let (agent, mut ledger) = to_read_unverified(path, asked)?;
    verify(path, &agent, &mut ledger)?;
    Ok((agent, ledger))
}

/// Reads and verifies the ledger of an agent, and folds it, as an observer does.
pub(super) fn observed(
    path: &Path,
    agent: &AgentId,
) -> Result<(Machine, Opening, SqliteLedger), CliError> {
    let (_, mut ledger) = to_read(path, Some(agent.as_str()))?;
    match opening::open(&Options::new(agent.clone()), &mut ledger) {
        Ok((machine, opening)) => Ok((machine, opening, ledger)),
        Err(why) => Err(CliError::Unreadable {
            path: path.to_owned(),
            agent: agent.clone(),
            why: Box::new(why),
        }),
    }
}

/// The time now, or of the newest entry if that is later. A ledger can be ahead of the system
/// clock, for example after `--virtual`.
pub(super) fn now(state: &State) -> Timestamp {
    SystemClock.now().max(state.at())
}

/// Verifies the hash chain of all entries in the file, so that no command shows or continues a
/// damaged ledger. Archived entries are verified by `wakeful doctor`.
pub(super) fn verify(
    path: &Path,
    agent: &AgentId,
    ledger: &mut SqliteLedger,
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
    let (path, agent) = (path.to_owned(), agent.clone());
    verified().map(drop).map_err(|why: SchedulerError| match why {
        SchedulerError::Open(why) => CliError::Damaged { path, agent, why },
        why => CliError::Unreadable { path, agent, why: Box::new(why) },
    })
}

/// Opens a ledger for reading only: the one of the named agent, otherwise the only one in the file.
pub(super) fn to_read_unverified(
    path: &Path,
    asked: Option<&str>,
) -> Result<(AgentId, SqliteLedger), CliError> {
    if Format::from_file(path) == Some(Format::Lines) {
        let (agent, ledger) = read_lines(path)?;
        return Ok((choose(path, vec![agent], asked)?, ledger));
    }
    let file = existing(path)?;
    let agent = choose(path, file.agents()?, asked)?;
    let ledger = file.ledger(&agent);
    Ok((agent, ledger))
}

/// Opens a file for reading only.
fn existing(path: &Path) -> Result<SqliteFile, CliError> {
    SqliteFile::open_read_only(path).map_err(|why| match why {
        SqliteError::NoSuchFile(path) => CliError::NoLedger(path),
        why => why.into(),
    })
}

/// Opens the ledgers of all agents in a file for reading only; at least one. The caller verifies
/// what it reads.
pub(super) fn all_to_read(path: &Path) -> Result<Vec<(AgentId, SqliteLedger)>, CliError> {
    if Format::from_file(path) == Some(Format::Lines) {
        return to_read_unverified(path, None).map(|one| vec![one]);
    }
    let file = existing(path)?;
    let agents = file.agents()?.into_iter();
    let all: Vec<_> = agents.map(|agent| (agent.clone(), file.ledger(&agent))).collect();
    if all.is_empty() { Err(CliError::NoAgents(path.to_owned())) } else { Ok(all) }
}

/// Who drives agents of the file. Nobody drives a ledger in lines.
pub(super) fn owners_in(path: &Path) -> Result<Vec<Owner>, CliError> {
    match Format::from_file(path) {
        Some(Format::Lines) => Ok(Vec::new()),
        _ => Ok(existing(path)?.owners()?),
    }
}

/// The named agent, otherwise all agents in the file; at least one.
pub(super) fn agents_in(path: &Path, asked: Option<&str>) -> Result<Vec<AgentId>, CliError> {
    match asked {
        Some(_) => to_read_unverified(path, asked).map(|(agent, _)| vec![agent]),
        None => Ok(all_to_read(path)?.into_iter().map(|(agent, _)| agent).collect()),
    }
}

/// Refuses the id of a new agent if it is empty or has control characters (contract 2.3). An agent
/// that has such an id from before goes on.
pub(super) fn require_plain(path: &Path, agent: &AgentId) -> Result<(), CliError> {
    match fault_in(agent.as_str()) {
        Some(fault) if to_read_unverified(path, Some(agent.as_str())).is_err() => {
            Err(CliError::AgentId { agent: agent.clone(), fault })
        }
        _ => Ok(()),
    }
}

/// The own folder of the agents of a file, as an absolute path.
#[cfg(target_os = "linux")]
pub(super) fn home_of(ledger: &Path, given: Option<&Path>) -> Result<PathBuf, CliError> {
    let home = given.map_or_else(
        || {
            let mut name = ledger.as_os_str().to_owned();
            name.push(".home");
            PathBuf::from(name)
        },
        Path::to_owned,
    );
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
    let (agent, _) = to_read(path, asked)?;
    let mut ledger = SqliteFile::open(path)?.ledger(&agent);
    // The append itself would be refused too, but the caller must know before it does anything.
    ledger.require_alive()?;
    Ok((agent, ledger))
}

fn choose(path: &Path, mut agents: Vec<AgentId>, asked: Option<&str>) -> Result<AgentId, CliError> {
    let path = path.to_owned();
    match asked {
        Some(id) => match agents.iter().position(|agent| agent.as_str() == id) {
            Some(at) => Ok(agents.swap_remove(at)),
            None => Err(CliError::NoSuchAgent {
                path,
                asked: id.to_owned(),
                agents: listed(agents.iter()),
            }),
        },
        None if agents.len() > 1 => Err(CliError::SeveralAgents {
            path,
            count: agents.len(),
            agents: listed(agents.iter()),
        }),
        None => agents.pop().ok_or(CliError::NoAgents(path)),
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
        let said = |count: usize, asked: Option<&str>| match choose(
            Path::new("F"),
            agents(count),
            asked,
        ) {
            Ok(agent) => agent.to_string(),
            Err(why) => why.to_string(),
        };
        assert_eq!(said(1, None), "a0");
        assert_eq!(said(3, Some("a1")), "a1");
        assert_eq!(said(2, None), "`F` holds 2 agents: name one of them with --agent: `a0`, `a1`");
        assert_eq!(said(1, Some("b")), "`F` holds no agent `b`; it holds: `a0`");
        assert_eq!(said(0, Some("b")), "`F` holds no agent `b`; it holds: none");
        assert_eq!(said(0, None), "`F` holds no agent yet: start one with `wakeful run`");
        assert!(said(23, None).ends_with("`a19`, and 3 more"), "{}", said(23, None));
    }
}
