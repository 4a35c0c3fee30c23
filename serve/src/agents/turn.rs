//! The open turn of an agent whose turns are run elsewhere, as its effect said it.

use std::sync::{Arc, atomic::Ordering};

use wakeful_core::{
    host::{Ledger, SchedulerError},
    id::Seq,
    machine::Machine,
    record::effect::{Effect, TurnRequest},
};

use super::{Agents, Cell, Turns, cell::Observed};
use crate::problem::Problem;

impl Cell {
    /// The open turn, or that there is none, as this process knows it without asking the store.
    /// What another process has appended a moment ago, the watch finds. `None` if the store must be
    /// asked, or a thread uses the agent now.
    pub(crate) fn known_turn(&self) -> Option<Option<TurnRequest>> {
        let brief = self.brief();
        let is_known = self.turns() == Some(Turns::Elsewhere)
            && self.is_own()
            && !self.has_mail.load(Ordering::Acquire)
            && brief.is_read
            && brief.problem.is_none()
            && brief.head.seq == self.head();
        if !is_known {
            return None;
        }
        if !brief.has_open_run {
            return Some(None);
        }
        let inner = self.try_inner()?;
        let (request, state) = (inner.request.as_deref()?, inner.scheduler.as_ref()?.state());
        let is_open = state.open_run().is_some_and(|run| run.run_id == request.run_id);
        (is_open && state.head() == brief.head).then(|| Some(request.clone()))
    }
}

impl Agents {
    /// What a host needs to run the open turn; `None` if no turn is open. It is the same as the
    /// effect by which the turn was started, also after a restart of the server.
    pub(crate) fn open_turn(&self, cell: &Arc<Cell>) -> Result<Option<TurnRequest>, Problem> {
        // What was sent while nobody drove the agent, such as a stop after a restore, comes before
        // its turn.
        if self.is_abandoned(cell)? {
            self.agenda.now(cell.number);
            return Ok(None);
        }
        if cell.is_own() && cell.has_mail.load(Ordering::Acquire) {
            let mut inner = cell.inner();
            let driven = self.drive(cell, &mut inner, None);
            if self.settle(cell, &mut inner, &driven) {
                self.is_due(cell);
            }
            driven?;
        }
        self.with(cell, |scheduler, request| {
            let Some(run) = scheduler.state().open_run() else { return Ok(None) };
            let (run_id, seq) = (run.run_id.clone(), run.seq);
            if request.as_ref().is_none_or(|request| request.run_id != run_id) {
                *request = asked_again(scheduler, seq)?.map(Box::new);
            }
            Ok(request.as_deref().cloned())
        })
    }
}

/// The request of the run that this entry opened, decided again where it was decided. The same
/// state and instant give the same batch, so the effect is the one that was released then.
fn asked_again(
    scheduler: &mut Observed,
    opened: Seq,
) -> Result<Option<TurnRequest>, SchedulerError> {
    let before = Seq(opened.0.saturating_sub(1));
    let page = scheduler.ledger().stored().read_with_batches(before, 1)?;
    let Some((_, first)) = page.first() else { return Ok(None) };
    let Some(before) = first.0.checked_sub(1).filter(|seq| *seq > 0) else { return Ok(None) };
    let stored = scheduler.ledger().read(Seq(before), 1)?;
    let then = scheduler.at(Seq(before))?;
    // A copy, because it goes on to the decision.
    let mut machine = Machine::standing(then.options().clone(), then.state().clone());
    let Some(entry) = stored.first().and_then(|bytes| bytes.open(&machine.head()).ok()) else {
        return Ok(None);
    };
    let boundary = machine.boundary();
    let Some(proposal) = machine.step(boundary, entry.at)? else { return Ok(None) };
    // Another version of the core may decide otherwise: then there is no such effect.
    if proposal.batch.first() != stored.first() {
        return Ok(None);
    }
    Ok(machine.committed().into_iter().find_map(|effect| match effect {
        Effect::StartTurn(request) => Some(request),
        _ => None,
    }))
}
