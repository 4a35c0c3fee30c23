//! Agents that another server drives, or a runner of this one: what is said to them is passed on.

use std::sync::Arc;

use wakeful_core::{
    fact::Fact,
    host::{LedgerError, Receipt, SchedulerError},
    json,
    record::chain::Head,
};
use wakeful_host::ledger::{Fault, Own, Worker};

use super::{
    Agents, Cell, Outcome, Said, Stored, Stores,
    fleet::{goes_on_with, takes},
    said,
};
use crate::{problem::Problem, random};

impl Agents {
    /// The worker that drives an agent of a shared store, unless this server holds the agent
    /// itself: another server, or this one for a runner.
    pub(super) fn owner(&self, cell: &Cell) -> Result<Option<String>, Problem> {
        match self.store.worker() {
            Some(worker) if !cell.is_own() => Ok(worker.store().driver(&cell.agent)?),
            _ => Ok(None),
        }
    }

    /// Says something to an agent that only its owner may append to.
    pub(super) fn say_to_owner(
        &self,
        cell: &Arc<Cell>,
        fact: &str,
        owner: &str,
    ) -> Result<Outcome, Problem> {
        let Some(worker) = self.store.worker() else {
            return Err(Problem::store());
        };
        if *owner == *worker.id() {
            if let Some(heard) = self.heard_living(cell, fact) {
                let (answer, head) = heard.map_err(|report| Problem::of_report(&report))?;
                let receipt = Receipt::elsewhere(answer, head);
                return Ok(Outcome::Said(Said { receipt, steps: Vec::new() }));
            }
            if let Some(Some(said)) = self.while_at_rest(cell, || {
                self.at_rest(worker, cell, || self.say_here(cell, fact, false))
            }) {
                return said.map(Outcome::Said);
            }
        }
        let parsed = json::read::<Fact>(fact).map_err(|why| Problem::unfit(why.to_string()))?;
        if !may_be_sent(&parsed) {
            return Err(self.elsewhere(cell)?);
        }
        let (receipt, head) = self.would_answer(cell, fact)?;
        if let Some(receipt) = receipt {
            return Ok(Outcome::Said(Said { receipt, steps: Vec::new() }));
        }
        let key = match key_of(&parsed) {
            Some(key) => key,
            None => random::id()?,
        };
        worker.store().send(&cell.agent, &key, fact).map_err(|why| match why.fault {
            Fault::OtherFact { .. } => Problem::conflicting(why.to_string()),
            _ => why.into(),
        })?;
        Ok(Outcome::Stored(Stored { answer: Stores::Stored, head }))
    }

    /// What an agent of another one answers to a fact if it records nothing, such as one that it
    /// knows; `None` if it would record something. Also its newest entry.
    fn would_answer(
        &self,
        cell: &Arc<Cell>,
        fact: &str,
    ) -> Result<(Option<Receipt>, Head), Problem> {
        self.with(cell, |scheduler, _| {
            scheduler.ledger().withhold(true);
            let answered = said(scheduler, fact);
            scheduler.ledger().withhold(false);
            let receipt = match answered {
                Err(SchedulerError::Ledger(LedgerError::Conflict { .. })) => None,
                answered => Some(answered?),
            };
            Ok((receipt, scheduler.state().head()))
        })
    }

    /// Drives an agent of a runner that waits here, while `doing` runs. `None` if it does not wait.
    fn at_rest<T>(&self, worker: &Worker, cell: &Cell, doing: impl FnOnce() -> T) -> Option<T> {
        let claim = worker.claim(&cell.agent).ok()?;
        takes(cell, &mut cell.inner(), Own::Worker(claim));
        let done = doing();
        // Its runner goes on with the claim.
        let mut inner = cell.inner();
        cell.owned_here(false);
        goes_on_with(&mut inner, self.store.ledger(&cell.agent));
        inner.request = None;
        if let Some(Own::Worker(claim)) = inner.owned.take() {
            claim.wait();
        }
        Some(done)
    }

    /// Records what came for a child whose parent does not run. The parent reads it in its ledger.
    pub(super) fn receive_for_child(&self, cell: &Arc<Cell>) {
        let Some(worker) = self.store.worker() else { return };
        // If it fails, the next look at the inbox finds it again.
        let _ = self.at_rest(worker, cell, || {
            let mut inner = cell.inner();
            let received =
                self.resident(cell, &mut inner).and_then(|()| self.receive(cell, &mut inner));
            if self.settle(cell, &mut inner, &received) {
                self.is_due(cell);
            }
        });
    }

    /// That another server drives the agent, and which one.
    pub(super) fn elsewhere(&self, cell: &Cell) -> Result<Problem, Problem> {
        let placed = match self.store.worker() {
            Some(worker) => worker.store().placed_of(std::slice::from_ref(&cell.agent))?,
            None => Vec::new(),
        };
        Ok(match placed.into_iter().next() {
            Some(placed) => Problem::driven_by(&placed.worker, placed.address),
            None => Problem::not_ready("the agent changes its server: ask again"),
        })
    }
}

/// Whether a fact may come through the inbox of an agent: what people and systems outside say.
/// Those of turns, tasks and clocks are its driver's.
fn may_be_sent(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::MessageQueued(_)
            | Fact::ExternalTriggerDelivered(_)
            | Fact::WakeHintSubmitted(_)
            | Fact::StartRequested(_)
            | Fact::StopRequested(_)
            | Fact::BudgetGranted(_)
    )
}

/// The key of a fact that has an id of its own: the same one counts once.
fn key_of(fact: &Fact) -> Option<String> {
    match fact {
        Fact::MessageQueued(fact) => Some(format!("message:{}", fact.message.id)),
        Fact::ExternalTriggerDelivered(fact) => Some(json::write(&[
            "delivery",
            fact.external_trigger_id.as_str(),
            fact.delivery_id.as_str(),
        ])),
        _ => None,
    }
}
