//! Operation `ledger`: the records of every class in, every reading of them out.
//!
//! The product's own import turns the records into one of our ledgers, as an observer. All parts of
//! the answer are readings of its state, under the reference runtime's keys. That runtime asks its
//! scheduler several questions that our ladder answers at once, and it takes the length of the
//! queue from a cache in the agent's state. This module does both as that runtime does
//! (`conformance` mappings).

mod decisions;
mod given;
mod shapes;

use serde::Serialize;

use crate::oracle::{
    asked::{Ladder, Said},
    closure::Told,
};
use wakeful_core::{
    derive::{
        closure::{self, Facts, WorkSignal},
        posture::{self, AgentPosture},
        status,
        work_queue::WorkQueue,
    },
    explain::diagnose,
    fact::{Fact, control::Restarted},
    id::{TaskId, TimerId, WorkItemId},
    machine::{Machine, Options, ProposeError},
    record::{control::AgentStatus, diagnostic::Diagnostic},
    state::{State, recheck},
    time::Timestamp,
};
use wakeful_json::{self as json, JsonError};

#[derive(Serialize)]
struct Output<'a> {
    projection: shapes::Projection<'a>,
    work_queue: shapes::Lists<'a>,
    work_reactivation_signal: Option<WorkSignal>,
    waiting_contract_anchor: Option<&'a WorkItemId>,
    posture: AgentPosture,
    closure: Told,
    wait_decision: Option<Said>,
    idle_boundary: Option<Said>,
    idle_boundary_direct: Option<Said>,
    idle_tick: decisions::IdleTick,
    run_loop: decisions::Poll,
    diagnostics: Vec<Diagnostic>,
    due_rechecks: Vec<&'a WorkItemId>,
    next_recheck_at: Option<Timestamp>,
    recovery: Recovery<'a>,
    events_on_disk: usize,
}

#[derive(Serialize)]
struct Recovery<'a> {
    replay_message_ids: Vec<&'a wakeful_core::id::MessageId>,
    queue_order: Vec<&'a wakeful_core::id::MessageId>,
    active_task_ids: Vec<&'a TaskId>,
    active_timer_ids: Vec<&'a TimerId>,
    bootstrap: Bootstrap,
}

/// The agent after a restart.
#[derive(Serialize)]
struct Bootstrap {
    status: AgentStatus,
    current_run_id: Option<String>,
    changed: bool,
}

pub(super) fn answer(input: &str, without: Option<&str>) -> Result<String, JsonError> {
    let given = given::read(input)?;
    let events_on_disk = given.events_on_disk;
    let mut machine = Machine::new(Options::new(given.import.agent_id().clone()));
    let refused = |why: ProposeError| JsonError::at_field("records", why);
    machine.begin_at(given.now).map_err(refused)?;
    machine.committed();
    machine.import(given.import, given.now).map_err(refused)?;
    machine.committed();
    // A copy from before the restart, which most answers are about.
    let state = &machine.state().clone();
    if status::status(state) != AgentStatus::Stopped {
        // The reference runtime starts no loop for a stopped agent, so nothing restarts it. All
        // tasks count as alive, because another operation covers what happens to tasks.
        let alive_task_ids = state.tasks().active.keys().cloned().collect();
        machine
            .propose(Fact::RuntimeRestarted(Restarted { alive_task_ids }), given.now)
            .map_err(refused)?;
        machine.committed();
    }

    let queue = WorkQueue::new(state);
    let asked = decisions::Asked { ladder: Ladder { without }, state, pending: given.pending };
    Ok(json::write(&Output {
        projection: shapes::Projection::new(state, given.pending),
        work_queue: shapes::Lists::new(&queue),
        work_reactivation_signal: Facts::from_state(state).work_signal,
        waiting_contract_anchor: queue.anchor().map(|candidate| candidate.id()),
        posture: posture::posture(state),
        closure: Told::from_closure(closure::decide(&Facts::from_state(state))),
        wait_decision: asked.wait(),
        idle_boundary: asked.idle(),
        idle_boundary_direct: asked.idle_past_the_gate(),
        idle_tick: asked.tick(given.now),
        run_loop: asked.poll(),
        diagnostics: diagnose::known_to_the_reference(state, given.pending),
        due_rechecks: recheck::due(state, given.now)
            .into_iter()
            .map(|item| &item.record.id)
            .collect(),
        next_recheck_at: recheck::next(state),
        recovery: Recovery {
            replay_message_ids: state.queue().replayable(),
            queue_order: state.queue().waiting().map(|held| &held.record.id).collect(),
            active_task_ids: wakeful_core::derive::projection::active_tasks(state)
                .into_iter()
                .map(|task| &task.record.id)
                .collect(),
            active_timer_ids: state.waiting().timers.keys().collect(),
            bootstrap: bootstrap(state, machine.state(), given.pending),
        },
        events_on_disk,
    }))
}

/// The restart as the reference runtime sees it. Messages that its cache counts are queued, and
/// queued input ends an imported rest.
fn bootstrap(before: &State, after: &State, pending: u64) -> Bootstrap {
    let run = |state: &State| state.turns().run.as_ref().map(|run| run.run_id.to_string());
    let stands = |state: &State| (status::status(state), run(state));
    let (status, current_run_id) = stands(after);
    let status =
        if pending > 0 && status == AgentStatus::Asleep { AgentStatus::AwakeIdle } else { status };
    Bootstrap {
        status,
        changed: stands(before) != (status, current_run_id.clone()),
        current_run_id,
    }
}
