//! The control plane: identity, lifecycle, policy and wake hints (contract 1.4, 4, 5.21, 10).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    derive::{arrival::is_behind, waker},
    fact::{
        outcome::{Answer, Outcome, Refusal},
        task::result,
        work,
    },
    id::{TaskId, WorkItemId},
    record::{
        Record,
        control::{
            AgentDescribed, ClockCorrected, ControlRecord, FORMAT, FormatRaised, ItemParked,
            Marker, ParkCause, PolicySet, WakeHint,
        },
        diagnostic,
        effect::Effect,
        event::{EventKind, EventRecord},
        text,
        turn::AbortReason,
    },
    state::State,
    time::Timestamp,
};
use wakeful_json::Readable;

/// The transition of `wake_hint_submitted`: the hint is pending until a tick names it. While
/// stopped it is ignored (contract 4.2, 5.21).
pub(crate) fn wake_hint(state: &State, hint: WakeHint) -> Outcome {
    if let Some(seq) = state.control.stopped {
        return Outcome::ignored(Refusal::Stopped, seq);
    }
    // contract 15.4: a hint that others submit is not a delivery and names no trigger of ours.
    let external_trigger_id = hint.external_trigger_id.filter(|id| !state.ingress.knows(id));
    let hint = WakeHint { delivery_id: None, external_trigger_id, ..hint };
    Outcome::accepted(record(ControlRecord::WakeHintPending(hint)))
}

/// The transition of `wake_hint_coalesced`: another runtime coalesced it into its pending hint, so
/// it is pending here too.
pub(crate) fn hint_coalesced(state: &State, hint: WakeHint, at: Timestamp) -> Outcome {
    let said = Record::Event(EventRecord::new(EventKind::WakeHintCoalesced, at, &hint));
    let mut outcome = wake_hint(state, hint);
    // A stopped agent ignores the hint, and then only the refusal is recorded (contract 4.2).
    if outcome.answer == Answer::Accepted {
        outcome.records.insert(0, said);
    }
    outcome
}

/// The transition of `wake_hint_ignored`: another runtime refused it, which is evidence only.
pub(crate) fn hint_ignored(hint: &WakeHint, at: Timestamp) -> Outcome {
    Outcome::accepted(Vec::from([Record::Event(EventRecord::new(
        EventKind::WakeHintIgnored,
        at,
        hint,
    ))]))
}

/// The transition of `start_requested`: it makes no message and starts no turn (contract 4.2).
pub(crate) fn start(_: &State) -> Outcome {
    Outcome::accepted(record(ControlRecord::StartRequested(Marker {})))
}

/// The transition of `stop_requested`: aborts the run, interrupts the tasks and makes the host
/// release what it holds. Hints stay (contract 4.2, 5.11, D26).
pub(crate) fn stop(state: &State, at: Timestamp) -> Outcome {
    let aborted = state.turns.run.as_ref().map(|run| Effect::AbortTurn {
        run_id: run.run_id.clone(),
        reason: AbortReason::AgentStopped,
    });
    let mut outcome = Outcome::accepted(record(ControlRecord::StopRequested(Marker {})));
    // contract 5.11 is live: an observer leaves tasks to the runtime that it observes.
    if state.control.live_from.is_some() {
        // The record of the stop comes first, so those of the tasks start one entry later.
        outcome.records.extend(result::interrupt(
            state,
            &[],
            text::AGENT_STOPPED,
            state.head.seq.plus(2),
            at,
        ));
    }
    outcome.effects.extend(aborted);
    outcome.effects.push(Effect::Release);
    outcome
}

/// The transition of `shutdown_requested`: the agent is closing until the next restart (contract
/// 4.3).
pub(crate) fn shutdown(state: &State) -> Outcome {
    let aborted = state.turns.run.as_ref().map(|run| Effect::AbortTurn {
        run_id: run.run_id.clone(),
        reason: AbortReason::DaemonShutdown,
    });
    let mut outcome = Outcome::accepted(record(ControlRecord::ShutdownRequested(Marker {})));
    outcome.effects.extend(aborted);
    outcome
}

/// Fact `runtime_restarted`: a driver takes over the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restarted {
    /// The active tasks that the host proves to be alive. The others are interrupted (contract
    /// 5.23).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alive_task_ids: Vec<TaskId>,
}

/// The transition of `runtime_restarted`: an open run and all tasks not proved alive become
/// interrupted (contract 5.11, 5.23). The message of the run replays.
pub(crate) fn restarted(state: &State, fact: &Restarted, at: Timestamp) -> Outcome {
    let mut records = record(ControlRecord::RuntimeRestarted(Marker {}));
    if let Some(run) = &state.turns.run {
        records.push(Record::Turn(run.interrupted(&state.control.agent_id, at)));
    }
    // The id of the message comes from the place of its entry, so the records so far count.
    let first = state.head.seq.plus(records.len() + 1);
    records.extend(result::interrupt(
        state,
        &fact.alive_task_ids,
        text::RUNTIME_RESTARTED,
        first,
        at,
    ));
    // After them, because their ids come from the positions of their entries.
    records.extend(waker::unreported(state).map(|diagnostic| {
        Record::Event(EventRecord::new(EventKind::SchedulerDiagnostic, at, &diagnostic))
    }));
    if state.control.format < FORMAT {
        records.extend(record(ControlRecord::FormatRaised(FormatRaised { format: FORMAT })));
    }
    Outcome::accepted(records)
}

/// Fact `clock_corrected`: the host's clock was ahead when the newest entry was made, and is right
/// again. Only a driver says it, and only if its clock is synchronised or the operator vouches for
/// it: a clock that is behind for another reason must not set the ledger back (contract 1.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockRight {
    /// The time that passed since the newest entry, in milliseconds of a clock that never jumps, if
    /// the host knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

/// The transition of `clock_corrected`. `now` is the host's clock, and becomes the time of the
/// batch.
pub(crate) fn clock_corrected(state: &State, fact: &ClockRight, now: Timestamp) -> Outcome {
    // Also if the same correction is said again: instants must not move twice.
    if !is_behind(state, now) || state.control.live_from.is_none() {
        return Outcome::ignored(Refusal::Stale, state.corrected.unwrap_or(state.head.seq));
    }
    Outcome::accepted(record(ControlRecord::ClockCorrected(ClockCorrected {
        last_at: state.at,
        elapsed_ms: fact.elapsed_ms,
    })))
}

/// Fact `owner_breach_reported`: the host found that something of an owner is broken, such as an
/// invariant that does not hold, or code of the host that panicked. The owner is parked, and
/// everything else goes on (contract 1.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnerBreach {
    /// The item concerned. None means the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What is broken, in a sentence for the operator.
    pub reason: String,
}

/// The transition of `owner_breach_reported`.
pub(crate) fn owner_breach(state: &State, fact: &OwnerBreach, at: Timestamp) -> Outcome {
    let owner = fact.work_item_id.as_ref();
    let parked = match owner {
        None => state.control.parked,
        Some(id) => match work::can_be_owned(state, id) {
            Err((reason, because)) => return Outcome::ignored(reason, because),
            Ok(()) => state.work.items.get(id).and_then(|item| item.progress.parked),
        },
    };
    // An owner that is parked already stays so: what comes after it says nothing new.
    if let Some(seq) = parked {
        return Outcome::ignored(Refusal::Duplicate, seq);
    }
    let parked = match fact.work_item_id.clone() {
        None => ControlRecord::AgentParked(Marker {}),
        Some(work_item_id) => {
            ControlRecord::ItemParked(ItemParked { work_item_id, cause: ParkCause::Breach })
        }
    };
    let diagnostic = diagnostic::owner_breach(owner, &fact.reason);
    let event = EventRecord::new(EventKind::SchedulerDiagnostic, at, &diagnostic);
    Outcome::accepted([record(parked), Vec::from([Record::Event(event)])].concat())
}

/// The transition of `policy_set`.
pub(crate) fn policy_set(fact: PolicySet) -> Outcome {
    Outcome::accepted(record(ControlRecord::PolicySet(fact)))
}

/// The transition of `agent_described`. A host may say it at each start, and only a change is
/// recorded.
pub(crate) fn described(state: &State, fact: AgentDescribed) -> Outcome {
    match &state.control.described {
        Some((before, seq)) if *before == fact => Outcome::ignored(Refusal::Duplicate, *seq),
        _ => Outcome::accepted(record(ControlRecord::AgentDescribed(fact))),
    }
}

fn record(control: ControlRecord) -> Vec<Record> {
    Vec::from([Record::Control(control)])
}
