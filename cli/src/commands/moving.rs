//! `wakeful move`: moves agents between the stores of a fleet.

use std::{
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use wakeful_core::id::AgentId;
use wakeful_host::ledger::{Address, MoveError, PostgresStore, Store, home, move_agent};

use super::{CliError, Verdict, complain, migrate::Done, status::counted};

#[derive(Args)]
#[command(after_help = "\
    Name each store of the fleet, as `wakeful serve` does. The home of an agent follows from its \
    id, so after a store was added, --all moves its share to it. Servers may run meanwhile: one \
    that drives an agent gives it back when it rests, and is waited for.\n\n\
    --json prints one object per agent that was moved: agent_id, head {seq, chain}, copied, from, \
    to.\n\n\
    Exit codes:\n\
    \x20 0  moved, or there already\n\
    \x20 2  an agent cannot be moved; it goes on where it was\n\n\
    Examples:\n\
    \x20 wakeful move ada --store postgres://me@a.example/fleet --store postgres://me@b.example/fleet\n\
    \x20 wakeful move --all --store postgres://me@a.example/fleet --store postgres://me@b.example/fleet")]
pub(super) struct Move {
    /// The agents
    #[arg(value_name = "AGENT", required_unless_present = "all", conflicts_with = "all")]
    agents: Vec<String>,
    /// Move each agent that does not live where its id says
    #[arg(long)]
    all: bool,
    /// The address of a store; name each
    #[arg(long = "store", value_name = "URL", required = true)]
    stores: Vec<PathBuf>,
    /// The store to which they go [default: where the id of each says]
    #[arg(long, value_name = "URL", conflicts_with = "all")]
    to: Option<PathBuf>,
    /// Seconds to wait for servers that drive agents, from the last one that was moved
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    patience: u64,
    /// Print one JSON object per agent
    #[arg(long)]
    json: bool,
}

/// The agents of one look at a store.
const PAGE: u32 = 1_000;

/// The pause before an agent is tried again that is driven.
const PAUSE: Duration = Duration::from_secs(1);

/// The stores of a fleet, by their names.
struct Fleet {
    stores: Vec<PostgresStore>,
    names: Vec<String>,
}

impl Move {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let stores: Vec<_> = self.stores.iter().map(|name| open(name)).collect::<Result<_, _>>()?;
        let names = stores.iter().map(PostgresStore::name).collect::<Result<_, _>>();
        let fleet = Fleet { names: names?, stores };
        let to = self.to.as_deref().map(|name| fleet.named(name)).transpose()?;
        let asked = match self.all {
            true => fleet.astray()?,
            false => fleet.found(&self.agents)?,
        };
        let mut left = Vec::new();
        for (agent, from) in asked {
            let to = to.unwrap_or_else(|| home(&agent, &fleet.names));
            match from == to {
                true if self.json => {}
                true => {
                    say!("{agent} lives in {} already", fleet.stores[to].address().shown());
                }
                false => left.push((agent, from, to)),
            }
        }
        Ok(self.moved(&fleet, left))
    }

    /// Moves agents from one store to another, each as soon as nobody drives it.
    fn moved(&self, fleet: &Fleet, mut left: Vec<(AgentId, usize, usize)>) -> Verdict {
        let (mut until, mut waits) = (Instant::now() + Duration::from_secs(self.patience), false);
        let mut verdict = Verdict::Well;
        loop {
            let before = left.len();
            let mut driven = Vec::new();
            for (agent, from, to) in left {
                match self.try_to_move(&agent, &fleet.stores[from], &fleet.stores[to]) {
                    Ok(()) => {}
                    Err(CliError::Move(why @ MoveError::Changed { .. })) => {
                        driven.push(((agent, from, to), why));
                    }
                    // One that cannot be moved does not keep the others.
                    Err(why) => {
                        complain(why);
                        verdict = Verdict::Unreadable;
                    }
                }
            }
            if driven.is_empty() {
                return verdict;
            }
            if driven.len() < before {
                until = Instant::now() + Duration::from_secs(self.patience);
            } else if Instant::now() >= until {
                driven.into_iter().for_each(|(_, why)| complain(why));
                return Verdict::Unreadable;
            }
            if !std::mem::replace(&mut waits, true) {
                let driven = counted(driven.len(), "agent");
                mention!("waiting for {driven} until the servers give them back");
            }
            left = driven.into_iter().map(|(agent, _)| agent).collect();
            thread::sleep(PAUSE);
        }
    }

    fn try_to_move(
        &self,
        agent: &AgentId,
        from: &PostgresStore,
        to: &PostgresStore,
    ) -> Result<(), CliError> {
        let names = [from, to].map(|store| store.address().shown().to_owned());
        let [from, to] = [from, to].map(|store| Store::Postgres(store.clone()));
        let belongings = wakeful_serve::belongings(agent, &from)?;
        let moved = move_agent(agent, (&from, &names[0]), (&to, &names[1]), &belongings, drop)?;
        Done {
            agent_id: agent,
            head: moved.head,
            copied: moved.copied,
            from: &names[0],
            to: &names[1],
        }
        .print(self.json);
        Ok(())
    }
}

fn open(name: &Path) -> Result<PostgresStore, CliError> {
    let Some(address) = Address::of(name)? else {
        return Err(CliError::NotShared(name.display().to_string()));
    };
    Ok(PostgresStore::open(&address)?)
}

impl Fleet {
    /// The place in the list of a store with this address.
    fn named(&self, address: &Path) -> Result<usize, CliError> {
        let name = open(address)?.name()?;
        let place = self.names.iter().position(|it| *it == name);
        place.ok_or_else(|| CliError::NotOfFleet(address.display().to_string()))
    }

    /// The place in the list of the store in which each of these agents lives.
    fn found(&self, agents: &[String]) -> Result<Vec<(AgentId, usize)>, CliError> {
        let find = |name: &String| {
            let agent = AgentId::from(name.as_str());
            for (at, store) in self.stores.iter().enumerate() {
                if !store.living_heads_of(std::slice::from_ref(&agent))?.is_empty() {
                    return Ok((agent, at));
                }
            }
            Err(CliError::NotInFleet(name.clone()))
        };
        agents.iter().map(find).collect()
    }

    /// The agents that do not live where their ids say.
    fn astray(&self) -> Result<Vec<(AgentId, usize)>, CliError> {
        let mut astray = Vec::new();
        for (at, store) in self.stores.iter().enumerate() {
            let mut after = String::new();
            loop {
                let page = store.agents_after(&after, PAGE)?;
                let Some(last) = page.last() else { break };
                after = last.to_string();
                let elsewhere: Vec<_> =
                    page.into_iter().filter(|agent| home(agent, &self.names) != at).collect();
                let living = store.living_heads_of(&elsewhere)?;
                astray.extend(living.into_iter().map(|(agent, _)| (agent, at)));
            }
        }
        Ok(astray)
    }
}
