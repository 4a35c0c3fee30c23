//! The workers: they look after the agents whose time has come.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
};

use super::{
    Agents, Cell, Turns,
    agenda::Number,
    brief::Brief,
    cell::{Inner, Observed},
    fleet::takes,
    insisted, said,
};
use crate::problem::Problem;
use wakeful_core::{
    fact::{Fact, turn::TurnAborted},
    host::{LedgerError, SchedulerError, StepReport},
    json::{self, RawJson},
    record::{
        chain::Head,
        decision::Boundary,
        effect::{Effect, TurnRequest},
        turn::AbortReason,
    },
};

/// The time until an agent is tried again that failed, or that another process drives, in
/// milliseconds. It doubles with each failure.
const AGAIN_MS: u64 = 1_000;

/// The longest such time.
const LONGEST_MS: u64 = 60_000;

/// The fact by which a host takes over an agent that was never driven, or that was shut down.
const RESTARTED: &str = r#"{"fact":"runtime_restarted"}"#;

impl Agents {
    /// Looks after agents until the end.
    pub(super) fn work(self: &Arc<Self>) {
        while let Some(number) = self.agenda.next() {
            // What breaks is one agent's, and not the loop's.
            if catch_unwind(AssertUnwindSafe(|| self.tend(number))).is_err()
                && let Some(cell) = self.numbered(number)
            {
                self.failed(&cell, &Problem::broken("looking after the agent broke down"));
            }
        }
    }

    /// Looks after an agent that is due. Its next time is put on the agenda while it is held, so
    /// that what is said to it meanwhile is not forgotten.
    fn tend(self: &Arc<Self>, number: Number) {
        let Some(cell) = self.numbered(number) else { return };
        let mut inner = cell.inner();
        match cell.turns() {
            None => {
                self.look(&cell, &mut inner);
            }
            Some(Turns::Model) => {
                let is_due = self.is_due_to_live(&cell, &mut inner);
                drop(inner);
                if cell.brief().is_child && cell.has_mail.load(Ordering::Acquire) {
                    self.receive_for_child(&cell);
                }
                if is_due {
                    self.live(&cell);
                }
            }
            Some(Turns::Elsewhere) => {
                let driven = self.drive(&cell, &mut inner, None);
                self.settle(&cell, &mut inner, &driven);
                match driven {
                    Ok(_) if inner.owned.is_some() => {
                        inner.failures = 0;
                        self.agenda.set(number, cell.brief().next_wake);
                    }
                    // The store tells when its worker has ended.
                    Ok(_) if self.is_shared() => {}
                    Ok(_) => {
                        // Another process drives it, and may end without a word.
                        let after = again_ms(&mut inner);
                        self.agenda.set(number, Some(self.now().plus_ms(after)));
                    }
                    Err(why) => {
                        drop(inner);
                        self.failed(&cell, &Problem::from(why));
                    }
                }
            }
        }
    }

    /// Whether an agent of a runner has something to do. Otherwise its next time is on the agenda.
    fn is_due_to_live(&self, cell: &Arc<Cell>, inner: &mut Inner) -> bool {
        let known = cell.brief();
        // What came is its runner's to read.
        if known.is_read && !known.is_child && cell.has_mail.swap(false, Ordering::AcqRel) {
            return true;
        }
        let Some(brief) = self.look(cell, inner) else { return false };
        // Its parent drives a child.
        if brief.is_child {
            return false;
        }
        if inner.rested_at.is_none() && !brief.is_unfinished && !brief.is_closed {
            inner.rested_at = Some(brief.head);
        }
        let is_late = brief.next_wake.is_some_and(|at| at <= self.now());
        let has_mail = cell.has_mail.swap(false, Ordering::AcqRel);
        if inner.rested_at != Some(brief.head) || is_late || has_mail {
            return true;
        }
        self.agenda.set(cell.number, brief.next_wake);
        false
    }

    /// Reads what others appended. `None` if the agent cannot be read, which is told to those who
    /// ask for it.
    pub(super) fn look(&self, cell: &Arc<Cell>, inner: &mut Inner) -> Option<Arc<Brief>> {
        let looked = self.resident(cell, inner).and_then(|()| self.catch_up(cell, inner));
        if self.settle(cell, inner, &looked) {
            self.is_due(cell);
        }
        looked.is_ok().then(|| cell.brief())
    }

    /// Lets the scheduler decide until it rests or a run is open, as the one that drives the agent.
    pub(super) fn drive(
        &self,
        cell: &Arc<Cell>,
        inner: &mut Inner,
        safe_point: Option<Boundary>,
    ) -> Result<Vec<StepReport>, SchedulerError> {
        Self::drops_lost(cell, inner);
        if inner.owned.is_none() {
            match self.store.own(&cell.agent) {
                Ok(own) => takes(cell, inner, own),
                // It takes what is said here from the ledger, or from its inbox.
                Err(why) if why.is_driven() => return Ok(Vec::new()),
                Err(why) => {
                    return Err(LedgerError::Failed { message: why.to_string() }.into());
                }
            }
        }
        self.resident(cell, inner)?;
        self.receive(cell, inner)?;
        self.catch_up(cell, inner)?;
        let Some(scheduler) = &mut inner.scheduler else { unreachable!("it was opened") };
        decide(scheduler, &mut inner.request, safe_point)
    }

    /// An agent failed: it is tried again later, and meanwhile those who ask are told why.
    pub(super) fn failed(&self, cell: &Arc<Cell>, problem: &Problem) {
        let brief = Brief::clone(&cell.brief());
        let (is_first, after) = {
            let mut inner = cell.inner();
            inner.scheduler = None;
            (inner.failures == 0, again_ms(&mut inner))
        };
        let before = if is_first { None } else { brief.problem.as_deref() };
        if is_told(problem, before, self.is_shared()) {
            (self.notice)(&format!("{}: {}", cell.agent, problem.detail));
        }
        self.index(cell, brief.broken(problem.clone()));
        if !self.has_ended.load(Ordering::Acquire) {
            self.agenda.set(cell.number, Some(self.now().plus_ms(after)));
        }
    }

    /// The agent was left at rest here by a runner.
    pub(super) fn rested(&self, cell: &Arc<Cell>, at: Head) {
        let mut inner = cell.inner();
        inner.rested_at = Some(at);
        inner.failures = 0;
        drop(inner);
        self.agenda.now(cell.number);
    }
}

/// Lets the scheduler of an agent decide until it rests or a run is open, as its driver. `request`
/// becomes the turn that it starts.
pub(super) fn decide(
    scheduler: &mut Observed,
    request: &mut Option<Box<TurnRequest>>,
    safe_point: Option<Boundary>,
) -> Result<Vec<StepReport>, SchedulerError> {
    let control = scheduler.state().control();
    if control.closing.is_some() || !scheduler.state().is_driven() {
        said(scheduler, RESTARTED)?;
    }
    let state = scheduler.state();
    if let (Some(_), Some(run)) = (&state.control().stopped, state.open_run()) {
        // The answer to its next report tells its host.
        let (run_id, reason) = (run.run_id.clone(), AbortReason::AgentStopped);
        let aborted = Fact::TurnAborted(TurnAborted { run_id, reason, error: None });
        said(scheduler, &json::write(&aborted))?;
    }
    let mut steps = Vec::new();
    while let Some(boundary) = safe_point {
        let state = scheduler.state();
        let waiting = state.open_run().and(state.interjection()).map(|next| next.id.clone());
        let Some(waiting) = waiting else { break };
        steps.push(insisted(scheduler, |scheduler| scheduler.step(boundary))?);
        // If it still waits, something came first that leaves no room for it, such as a stop.
        if scheduler.state().interjection().is_some_and(|next| next.id == waiting) {
            break;
        }
    }
    steps.extend(insisted(scheduler, |scheduler| scheduler.run_until_rest())?);
    for effect in steps.iter().flat_map(|step| &step.effects) {
        if let Effect::StartTurn(asked) = effect {
            *request = Some(Box::new(asked.clone()));
        }
    }
    Ok(steps)
}

/// Whether the log has the problem of an agent: each kind once until the agent works again, but not
/// that it is another's by now, which is usual in a store that servers share.
fn is_told(problem: &Problem, before: Option<&Problem>, is_shared: bool) -> bool {
    let is_usual = is_shared && problem.is_driven();
    !is_usual && before.is_none_or(|before| before.code != problem.code)
}

/// The time until the agent is tried again, which doubles each time, in milliseconds.
fn again_ms(inner: &mut Inner) -> u64 {
    let after = AGAIN_MS.saturating_mul(1 << inner.failures.min(6)).min(LONGEST_MS);
    inner.failures = inner.failures.saturating_add(1);
    after
}

/// The safe point that a run reaches with this fact, if any (contract 5.9).
pub(super) fn safe_point(fact: &str) -> Option<Boundary> {
    let fact = json::read::<RawJson>(fact).ok()?;
    let name = fact.field("fact")?.read::<String>().ok()?;
    match name.as_str() {
        "provider_round_completed" | "assistant_round_recorded" => {
            Some(Boundary::AfterProviderRound)
        }
        "tool_round_completed" => Some(Boundary::AfterToolResults),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Problem, is_told};

    #[test]
    fn each_kind_of_problem_is_told_once_and_a_usual_one_hides_none() {
        let (driven, broken) = (Problem::driven("it is another's"), Problem::broken("it broke"));
        assert!(is_told(&broken, None, true) && is_told(&broken, None, false));
        assert!(!is_told(&broken, Some(&broken), true), "it is known");
        assert!(!is_told(&driven, None, true), "servers share the store");
        assert!(is_told(&driven, None, false), "only this server should drive it");
        assert!(is_told(&broken, Some(&driven), true), "nothing was told yet");
    }
}
