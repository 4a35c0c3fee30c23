//! Scenarios that are cut after each append: an agent whose process died there must reach the same
//! outcome as in the process that lived on.
//!
//! A scenario says what its host does, and a crash would put that out of step. So no more of it is
//! played after the cut. Instead every open turn completes, and the clock advances to every instant
//! that is owed.

use wakeful_core::{
    derive::obligation::ObligationKind,
    host::{Provider, ProviderError, Scheduler, SchedulerError},
    id::{TaskId, TimerId},
    ladder::owed,
    machine::Options,
    record::effect::Effect,
    state::{State, autonomy},
    time::Timestamp,
};
use wakeful_host::clock::VirtualClock;

use super::{Tried, end::End, nothing_is_done_twice, nothing_is_lost};
use crate::{scenario, watched::WatchedLedger};

/// More rounds than any agent takes to reach rest without input.
const FOR_EVER: usize = 1_000;

/// Cuts a scenario after each append of each of its agents.
///
/// # Errors
/// How the outcome differs from that without a crash, and after which append the process died.
pub fn everywhere(text: &str) -> Result<Tried, String> {
    let mut tried = Tried { stories: 1, ..Tried::default() };
    for (agent, (ledger, cuts)) in scenario::ledgers(text).into_iter().enumerate() {
        tried.appends += cuts.len() as u64;
        for len in cuts {
            let cut = ledger.upto(len);
            // An observed ledger has no process that could die.
            if cut.state().control().live_from.is_none() {
                continue;
            }
            tried.died(&cut);
            compare(&cut).map_err(|why| {
                format!("the process of agent {} dies at entry {len}: {why}", agent + 1)
            })?;
        }
    }
    Ok(tried)
}

fn compare(cut: &WatchedLedger) -> Result<(), String> {
    // An observer continues without a restart, like a process that lived on. A driver takes over,
    // which ends the open run.
    let (lived, died) = (cut.upto(usize::MAX), cut.upto(usize::MAX));
    rests(&lived, Scheduler::observe)?;
    rests(&died, Scheduler::drive)?;
    if let [first, ..] = died.breaches().as_slice() {
        return Err(format!("an invariant is broken: {first}"));
    }
    nothing_is_lost(cut, &died)?;
    nothing_is_done_twice(&died)?;
    if ends_otherwise(&cut.state()) {
        return Ok(());
    }
    End::from_ledger(&lived).differs_from(&End::from_ledger(&died)).map_or(Ok(()), Err)
}

/// Whether a crash here rightly changes the outcome. A run that a stop was to abort is interrupted
/// instead and replays, and one interruption too many ends a message (contract 5.24).
fn ends_otherwise(state: &State) -> bool {
    let Some(run) = &state.turns().run else { return false };
    let budget = state.control().policy.replay_budget.get();
    state.control().stopped.is_some() || state.queue().interruptions(&run.message_id) + 1 >= budget
}

type Host = Scheduler<WatchedLedger, VirtualClock, Patient>;

/// Runs an agent until it rests; each turn completes at once.
fn rests(
    ledger: &WatchedLedger,
    open: impl Fn(Options, WatchedLedger, VirtualClock, Patient) -> Result<Host, SchedulerError>,
) -> Result<(), String> {
    let state = ledger.state();
    let clock = VirtualClock::at(state.at());
    let options = Options::new(state.control().agent_id.clone());
    let failed = |why: SchedulerError| why.to_string();
    let mut host = open(options, ledger.clone(), clock.clone(), Patient).map_err(failed)?;
    for _ in 0..FOR_EVER {
        host.run_until_rest().map_err(failed)?;
        if let Some(fact) = next_fact(host.state()) {
            host.propose(&fact).map_err(failed)?;
        } else if let Some(at) = next_instant(host.state()) {
            clock.set(at);
        } else {
            return Ok(());
        }
    }
    Err("the agent never rests".to_owned())
}

/// What the host reports next: the open run completes, and a closing agent gets another process.
fn next_fact(state: &State) -> Option<String> {
    if let Some(run) = &state.turns().run {
        return Some(format!(
            r#"{{"fact":"turn_terminal","run_id":"{}","kind":"completed"}}"#,
            run.run_id
        ));
    }
    let alive: Vec<_> =
        state.tasks().active.keys().map(|task| format!("{:?}", task.as_str())).collect();
    let restarted =
        || format!(r#"{{"fact":"runtime_restarted","alive_task_ids":[{}]}}"#, alive.join(","));
    state.control().closing.is_some().then(restarted)
}

/// The next instant that is owed. What comes again and again is left out: interval timers and the
/// offers of items.
fn next_instant(state: &State) -> Option<Timestamp> {
    if state.control().stopped.is_some() {
        return None;
    }
    let repeats = |id: &str| {
        state
            .waiting()
            .timers
            .get(&TimerId::from(id))
            .is_some_and(|timer| autonomy::keeps_coming(&timer.record))
    };
    let owed = owed::all(state).into_iter().filter(|owed| match owed.kind {
        ObligationKind::Timer => !repeats(&owed.id),
        kind => kind != ObligationKind::RunnableItem,
    });
    owed.filter(|owed| owed.held_by.is_none())
        .filter_map(|owed| owed.enabled_at)
        .filter(|at| *at > state.at())
        .min()
}

/// A provider whose tasks outlive each process, so that both sides have the same tasks.
#[derive(Clone, Copy)]
struct Patient;

impl Provider for Patient {
    fn carry_out(&mut self, _: &Effect) -> Result<(), ProviderError> {
        Ok(())
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        Ok(active)
    }
}
