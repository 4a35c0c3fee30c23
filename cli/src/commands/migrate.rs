//! `wakeful migrate`: moves agents from one place to another.

use std::{
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    id::{AgentId, Seq},
    json,
    record::chain::Head,
};
use wakeful_host::ledger::{Address, MoveError, Moved, Store, move_agent};

use super::{
    CliError, Verdict, complain,
    ledger::listed,
    style::{self, FAINT, GOOD, STRONG, painted},
};

#[derive(Args)]
#[command(after_help = "\
    A place is a ledger file, or a store in PostgreSQL: \
    postgres://USER@HOST:5432/DATABASE?schema=wakeful. The password is in PGPASSWORD or ~/.pgpass.\n\n\
    Each agent is copied with its batches, read back, and compared by its head. Only then the old \
    place says where the agent goes on, and takes no more appends. Nobody may drive an agent that \
    moves. A move that was cut off is finished by the same command. Snapshots are made again. Who \
    runs the turns of an agent goes with it; the tokens and hooks of a server stay where they are. \
    Servers of a store may run: one that drives an agent gives it back when it has rested for a \
    minute, and --wait waits for that.\n\n\
    --json prints one object per agent: agent_id, head {seq, chain}, copied, from, to.\n\n\
    Exit codes:\n\
    \x20 0  moved\n\
    \x20 2  an agent cannot be moved; it goes on where it was\n\n\
    Examples:\n\
    \x20 wakeful migrate agents.sqlite postgres://me@db.example/fleet\n\
    \x20 wakeful migrate postgres://me@db.example/fleet agents.sqlite --agent ada")]
pub(super) struct Migrate {
    /// The place in which the agents are
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// The place to which they go. It is made if it does not exist
    #[arg(value_name = "TO")]
    to: PathBuf,
    /// Move only this agent [default: all]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Seconds to wait for each agent that a server of a store drives
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
    /// Print one JSON object per agent
    #[arg(long)]
    json: bool,
}

/// The pause before an agent is tried again that is driven.
const PAUSE: Duration = Duration::from_secs(1);

/// An agent that was moved.
#[derive(Serialize)]
struct Done<'a> {
    agent_id: &'a AgentId,
    head: Head,
    /// The entries that this call copied.
    copied: u64,
    from: &'a str,
    to: &'a str,
}

impl Done<'_> {
    /// Says it, as JSON or for people.
    fn print(&self, as_json: bool) {
        if as_json {
            say!("{}", json::write(self));
            return;
        }
        let Self { agent_id, head, copied, to, .. } = self;
        say!(
            "{}  {}: it goes on in {to} after entry {} {}",
            painted(STRONG, agent_id.as_str()),
            painted(GOOD, "moved"),
            head.seq,
            painted(FAINT, &format!("({copied} copied now)")),
        );
    }
}

impl Migrate {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let source = Store::open_read_only(&self.from)?;
        let agents = self.agents(&source)?;
        if name(&self.from) == name(&self.to) {
            return Err(CliError::SamePlace(name(&self.from)));
        }
        let (from, to) = (Store::open(&self.from)?, Store::open(&self.to)?);
        let (from_name, to_name) = (name(&self.from), name(&self.to));
        let mut verdict = Verdict::Well;
        for agent in &agents {
            let end = from.ledger(agent).head().map_or(0, |head| head.seq.0);
            let bar = style::progress(end);
            let places = ((&from, from_name.as_str()), (&to, to_name.as_str()));
            let began = Instant::now();
            let moved = loop {
                let belongings = wakeful_serve::belongings(agent, &from)?;
                let moved = move_agent(agent, places.0, places.1, &belongings, |seq: Seq| {
                    bar.set_position(seq.0);
                });
                match moved {
                    Err(MoveError::Changed { .. }) if began.elapsed().as_secs() < self.wait => {
                        thread::sleep(PAUSE);
                    }
                    moved => break moved,
                }
            };
            bar.finish_and_clear();
            match moved {
                Ok(Moved { head, copied }) => {
                    let (from, to) = (from_name.as_str(), to_name.as_str());
                    Done { agent_id: agent, head, copied, from, to }.print(self.json);
                }
                // One that cannot be moved does not keep the others.
                Err(why) => {
                    complain(why);
                    verdict = Verdict::Unreadable;
                }
            }
        }
        Ok(verdict)
    }

    fn agents(&self, source: &Store) -> Result<Vec<AgentId>, CliError> {
        let all = source.agents()?;
        let place = || source.to_string();
        match &self.agent {
            None if all.is_empty() => Err(CliError::NoAgents(place())),
            None => Ok(all),
            Some(asked) => match all.iter().find(|agent| agent.as_str() == asked) {
                Some(agent) => Ok(vec![agent.clone()]),
                None => Err(CliError::NoSuchAgent {
                    place: place(),
                    asked: asked.clone(),
                    agents: listed(all.iter()),
                }),
            },
        }
    }
}

/// How a place is called in another one: a file by its whole path.
fn name(place: &Path) -> String {
    if place.to_str().is_some_and(Address::is_like) {
        return place.display().to_string();
    }
    let whole = place.canonicalize().or_else(|_| std::path::absolute(place));
    whole.as_deref().unwrap_or(place).display().to_string()
}
