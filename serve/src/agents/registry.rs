//! What the server keeps of agents besides their ledgers: who runs their turns, and whether they
//! were put away.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Serialize};
use wakeful_core::{host::Scheduler, id::AgentId, json, machine::Options, record::chain::Head};
use wakeful_host::{
    ledger::{Belongings, Own, Store, StoreError, Worker},
    provider::Elsewhere,
};

use super::{Agents, Cell, Turns, fleet};
use crate::problem::Problem;

/// What the server keeps of an agent in its store.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Registered {
    /// Who runs its turns; absent if the server only observes it.
    pub(super) turns: Option<Turns>,
    /// Whether it was put away: it is not driven, and not in the list.
    #[serde(default)]
    pub(super) put_away: bool,
}

/// The kind of what the server keeps of agents.
const KEPT: &str = "agent";

/// What servers keep of an agent in this place, and what goes with it when it moves.
///
/// # Errors
/// If the place cannot be read.
pub fn belongings(agent: &AgentId, place: &Store) -> Result<Belongings, StoreError> {
    let Some(text) = place.kept_one(KEPT, agent.as_str())? else {
        let kind = fleet::kind_of(Some(Turns::Model)).to_owned();
        return Ok(Belongings { kind, texts: Vec::new() });
    };
    // What a newer server wrote and this one cannot read is observed only.
    let registered: Registered = serde_json::from_str(&text).unwrap_or_default();
    let kind = fleet::kind_of(registered.turns.filter(|_| !registered.put_away)).to_owned();
    Ok(Belongings { kind, texts: vec![(KEPT.to_owned(), agent.to_string(), text)] })
}

impl Agents {
    pub(super) fn registered(&self) -> Result<HashMap<String, Registered>, Problem> {
        let kept = self.store.kept(KEPT)?.into_iter();
        // What a newer server wrote and this one cannot read is observed only.
        Ok(kept
            .map(|(agent, text)| (agent, serde_json::from_str(&text).unwrap_or_default()))
            .collect())
    }

    /// What the server keeps of one agent.
    pub(super) fn registration(&self, agent: &AgentId) -> Result<Option<Registered>, Problem> {
        let kept = self.store.kept_one(KEPT, agent.as_str())?;
        Ok(kept.map(|text| serde_json::from_str(&text).unwrap_or_default()))
    }

    /// What the server keeps of some agents of a shared store.
    pub(super) fn registered_of(
        &self,
        worker: &Worker,
        agents: &[AgentId],
    ) -> Result<HashMap<AgentId, Registered>, Problem> {
        let names: Vec<_> = agents.iter().map(AgentId::as_str).collect();
        let kept = worker.store().kept_among(KEPT, &names)?.into_iter();
        Ok(kept
            .map(|(agent, text)| (agent.into(), serde_json::from_str(&text).unwrap_or_default()))
            .collect())
    }

    /// Who runs the turns of an agent: as it is registered, else the runner of this server.
    pub(super) fn turns_of(&self, registered: Option<&Registered>) -> Option<Turns> {
        let by_runner = self.runner.as_ref().map(|_| Turns::Model);
        match registered {
            Some(registered) if registered.put_away => None,
            // Without a runner, a model's agent waits for a server that has one.
            Some(Registered { turns: Some(Turns::Model), .. }) | None => by_runner,
            Some(registered) => registered.turns,
        }
    }

    /// Creates an agent, or changes who runs its turns.
    pub(crate) fn put(&self, options: Options, turns: Turns) -> Result<(Arc<Cell>, bool), Problem> {
        let agent = options.agent_id.clone();
        if turns == Turns::Model && self.runner.is_none() {
            return Err(Problem::no_runner());
        }
        let is_new = self.cell(&agent).is_err();
        let own = self.own_first(&agent)?;
        if is_new {
            let ledger = own.as_ref().map_or_else(|| self.store.ledger(&agent), Own::ledger);
            // Another process may make it at the same time: the second one finds it.
            Scheduler::observe(options, ledger, self.clock.clone(), Elsewhere)?;
        }
        let kept = Registered { turns: Some(turns), put_away: false };
        self.register(&agent, &kept)?;
        let cell = self.add(agent, (Head::START, Head::START), None);
        cell.set_turns(self.turns_of(Some(&kept)));
        cell.put_away(false);
        match (own, turns) {
            (Some(own), Turns::Elsewhere) => fleet::takes(&cell, &mut cell.inner(), own),
            (Some(Own::Worker(claim)), Turns::Model) => claim.wait(),
            _ => {}
        }
        if turns == Turns::Elsewhere {
            let mut inner = cell.inner();
            let driven = self.drive(&cell, &mut inner, None);
            self.settle(&cell, &mut inner, &driven);
            driven?;
        } else {
            self.look(&cell, &mut cell.inner());
        }
        self.agenda.now(cell.number);
        Ok((cell, is_new))
    }

    /// Puts an agent away: it is no longer driven or listed. Its ledger stays, and can be read.
    pub(crate) fn put_away(&self, cell: &Arc<Cell>) -> Result<(), Problem> {
        let own = self.own_first(&cell.agent)?;
        let kept = Registered { turns: cell.turns(), put_away: true };
        self.register(&cell.agent, &kept)?;
        cell.set_turns(None);
        cell.put_away(true);
        self.agenda.set(cell.number, None);
        let mut inner = cell.inner();
        cell.owned_here(false);
        match own.or_else(|| inner.owned.take()) {
            // Something may come for it, and nothing of that is due.
            Some(Own::Worker(claim)) => claim.rest(None)?,
            Some(owned) => owned.release()?,
            None => {}
        }
        Ok(())
    }

    /// Keeps who runs the turns of an agent.
    pub(super) fn register(&self, agent: &AgentId, kept: &Registered) -> Result<(), Problem> {
        self.store.keep(KEPT, agent.as_str(), &json::write(kept))?;
        if let Some(worker) = self.store.worker() {
            let turns = kept.turns.filter(|_| !kept.put_away);
            worker.store().set_kind(agent, fleet::kind_of(turns))?;
        }
        Ok(())
    }

    /// Claims an agent of a shared store before it is changed, so that no other server drives it
    /// meanwhile. `None` if this server has it, or shares its store with nobody.
    pub(super) fn own_first(&self, agent: &AgentId) -> Result<Option<Own>, Problem> {
        let is_own = self.known(agent).is_some_and(|cell| cell.is_own());
        if !self.is_shared() || is_own {
            return Ok(None);
        }
        match self.store.own(agent) {
            Ok(own) => Ok(Some(own)),
            // Its runner has it.
            Err(why) if why.is_driven() && self.known(agent).is_some_and(|it| self.lives(&it)) => {
                Ok(None)
            }
            Err(why) if why.is_driven() => Err(match self.known(agent) {
                Some(cell) => self.elsewhere(&cell)?,
                None => Problem::not_ready("another server makes the agent just now: ask again"),
            }),
            Err(_) => Err(Problem::store()),
        }
    }
}
