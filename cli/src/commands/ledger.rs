//! Which ledger a command is about: a file, and the agent in it where there are several. Who only
//! looks opens it for reading only.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use clap::Args;
use wakeful_core::{host::SchedulerError, id::AgentId};
use wakeful_host::ledger::{Format, SqliteFile, SqliteLedger, read_lines};

use super::CliError;

/// How many ids an error lists.
const LISTED: usize = 20;

#[derive(Args)]
pub(super) struct LedgerArg {
    /// A file of ledgers, to which another process may be writing; to look, also a ledger as lines
    /// (`.jsonl`: `wakeful log --json`, the workbench)
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
    /// The agent; not needed where the file holds one
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

impl LedgerArg {
    /// The agent and its ledger.
    pub(super) fn open(&self) -> Result<(AgentId, SqliteLedger), CliError> {
        to_read(&self.ledger, self.agent.as_deref())
    }

    /// The same for writing. Nothing is made where there is nothing.
    pub(super) fn open_to_write(&self) -> Result<(AgentId, SqliteLedger), CliError> {
        to_write(&self.ledger, self.agent.as_deref())
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.ledger
    }

    /// The error of a ledger of this file that cannot be read.
    pub(super) fn unreadable(&self, agent: &AgentId, why: impl Into<SchedulerError>) -> CliError {
        CliError::Unreadable {
            path: self.ledger.clone(),
            agent: agent.clone(),
            why: Box::new(why.into()),
        }
    }
}

/// The ledger of an agent that is there, for reading only: the named one, else the only one of the
/// file.
pub(super) fn to_read(
    path: &Path,
    asked: Option<&str>,
) -> Result<(AgentId, SqliteLedger), CliError> {
    if Format::from_file(path) == Some(Format::Lines) {
        let (agent, ledger) = read_lines(path)?;
        return Ok((choose(path, vec![agent], asked)?, ledger));
    }
    let file = SqliteFile::open_read_only(path)?;
    let agent = choose(path, file.agents()?, asked)?;
    let ledger = file.ledger(&agent);
    Ok((agent, ledger))
}

/// The same for writing. Nothing is made where there is nothing.
pub(super) fn to_write(
    path: &Path,
    asked: Option<&str>,
) -> Result<(AgentId, SqliteLedger), CliError> {
    if Format::from_file(path) == Some(Format::Lines) {
        return Err(CliError::OnlyLines(path.to_owned()));
    }
    let (agent, _) = to_read(path, asked)?;
    let mut ledger = SqliteFile::open(path)?.ledger(&agent);
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

/// Ids, as an error lists them.
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
        assert_eq!(said(0, None), "`F` holds no agent yet: none has appended to it");
        assert!(said(23, None).ends_with("`a19`, and 3 more"), "{}", said(23, None));
    }
}
