//! Wait conditions, which `WaitFor` records: a turn says what its item or agent waits for (contract
//! 5.17).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fact::{
        ingress,
        outcome::{Outcome, Refusal},
        work::can_be_owned,
    },
    id::{Seq, WaitConditionId, WorkItemId},
    record::{
        Record,
        waiting::{
            EndedBy, TimerStatus, WaitConditionKind, WaitConditionRecord, WaitConditionStatus,
            WakeSource,
        },
    },
    state::State,
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

/// Fact `wait_condition_registered`: an item or the agent waits, and this says what can end the
/// wait.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitConditionRegistered {
    /// Chosen by the host, unique within the agent.
    pub wait_condition_id: WaitConditionId,
    /// The item that waits; absent means the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What kind of thing is awaited.
    pub kind: WaitConditionKind,
    /// What is awaited, in words.
    pub waiting_for: String,
    /// What can end the wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wake_sources: Vec<WakeSource>,
    /// The deadline of the wait, as an instant that the host or the model named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The deadline of the wait, as a duration from now in milliseconds. It counts instead of
    /// `expires_at`, and a correction of the clock moves it (contract 1.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// The external system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The resource in that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_ref: Option<String>,
    /// Free data for the turn that continues after the wait, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<RawJson>,
}

/// Facts `wait_condition_resolved`, `wait_condition_cancelled` and `wait_condition_expired`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitConditionNamed {
    /// The condition that ended.
    pub wait_condition_id: WaitConditionId,
    /// What ended it; absent means a trigger, the model or the deadline, by the fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
}

/// The transition of `wait_condition_registered`: it supersedes the owner's other conditions, and
/// ends the turn after its round.
pub(crate) fn registered(state: &State, fact: WaitConditionRegistered, at: Timestamp) -> Outcome {
    let seen = state.waiting.seen_condition(&fact.wait_condition_id);
    if seen.is_none()
        && let Err((reason, because)) = admissible(state, &fact, at)
    {
        return Outcome::ignored(reason, because);
    }
    let owned = match &fact.work_item_id {
        Some(item) => state.conditions_of(item),
        None => state.own_waits().collect(),
    };
    // Mirrors follow their intents, and imported conditions are not superseded.
    let superseded = owned
        .into_iter()
        .filter(|wait| !wait.record.is_mirror() && state.control.is_live(wait.seq));
    let mut records: Vec<_> = superseded
        .map(|wait| wait.record.ended(WaitConditionStatus::Cancelled, EndedBy::Superseded, at))
        .collect();
    let condition = Record::WaitCondition(WaitConditionRecord {
        id: fact.wait_condition_id,
        agent_id: state.control.agent_id.clone(),
        work_item_id: fact.work_item_id,
        status: WaitConditionStatus::Active,
        kind: fact.kind,
        source: fact.source,
        subject_ref: fact.subject_ref,
        waiting_for: fact.waiting_for,
        wake_sources: fact.wake_sources.into_iter().map(|source| source.from(at)).collect(),
        continuation: fact.continuation,
        created_at: at,
        updated_at: at,
        expires_at: fact.expires_in_ms.map(|ms| at.plus_ms(ms)).or(fact.expires_at),
        expires_in_ms: fact.expires_in_ms,
        resolved_at: None,
        cancelled_at: None,
        ended_by: None,
    });
    if let Some(seen) = seen {
        return Outcome::repeated(state, &condition, seen);
    }
    records.push(condition);
    let mut outcome = Outcome::accepted(records);
    outcome.effects.extend(state.turns.yield_once());
    outcome
}

/// Whether a condition is accepted; if not, why, and the entry that decides this.
fn admissible(
    state: &State,
    fact: &WaitConditionRegistered,
    at: Timestamp,
) -> Result<(), (Refusal, Seq)> {
    let owner = fact.work_item_id.as_ref();
    owner.map_or(Ok(()), |item| can_be_owned(state, item))?;
    // contract 5.17 is live: an observer records what the other runtime waits for.
    if state.control.live_from.is_none() {
        return Ok(());
    }
    // contract 5.17: a wait for what cannot arrive, or is there already, is refused.
    let has_deadline = fact.expires_at.is_some() || fact.expires_in_ms.is_some();
    if fact.wake_sources.is_empty() && !has_deadline {
        return Err((Refusal::NoWaker, state.head.seq));
    }
    fact.wake_sources.iter().try_for_each(|source| can_come(state, source, owner, at))
}

fn can_come(
    state: &State,
    source: &WakeSource,
    owner: Option<&WorkItemId>,
    at: Timestamp,
) -> Result<(), (Refusal, Seq)> {
    match source {
        WakeSource::ExternalIngress { external_trigger_id: Some(id), after } => {
            ingress::can_come(state, id, owner, *after, at)
        }
        WakeSource::TaskResult { task_id } => match state.tasks.ended.get(task_id) {
            Some((_, seq)) => Err((Refusal::AlreadySatisfied, *seq)),
            None if state.tasks.active.contains_key(task_id) => Ok(()),
            None => Err((Refusal::Unknown, state.head.seq)),
        },
        WakeSource::Timer { timer_id: Some(timer_id), .. } => {
            match state.waiting.ended_timers.get(timer_id) {
                Some((TimerStatus::Completed, seq)) => Err((Refusal::AlreadySatisfied, *seq)),
                Some((_, seq)) => Err((Refusal::AlreadyTerminal, *seq)),
                None if state.waiting.timers.contains_key(timer_id) => Ok(()),
                None => Err((Refusal::Unknown, state.head.seq)),
            }
        }
        // The other sources name nothing that could be unknown or over.
        _ => Ok(()),
    }
}

/// The transitions of `wait_condition_resolved`, `wait_condition_cancelled` and
/// `wait_condition_expired`. The mirror of an intent ends only with its intent (contract 5.16).
pub(crate) fn ended(
    state: &State,
    fact: &WaitConditionNamed,
    status: WaitConditionStatus,
    at: Timestamp,
) -> Outcome {
    let waiting = &state.waiting;
    if let Some((_, seq)) = waiting.ended_conditions.get(&fact.wait_condition_id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, *seq);
    }
    let by = fact.ended_by.unwrap_or(match status {
        WaitConditionStatus::Resolved => EndedBy::Trigger,
        WaitConditionStatus::Expired => EndedBy::Deadline,
        WaitConditionStatus::Cancelled | WaitConditionStatus::Active => EndedBy::Model,
    });
    match waiting.conditions.get(&fact.wait_condition_id) {
        Some(wait) if wait.record.is_mirror() => {
            Outcome::ignored(Refusal::FollowsItsIntent, wait.seq)
        }
        Some(wait) if wait.record.kind == WaitConditionKind::Operator && by == EndedBy::Trigger => {
            // I13: no trigger satisfies a wait for the operator.
            Outcome::ignored(Refusal::OperatorOnly, wait.seq)
        }
        Some(wait) => Outcome::accepted(Vec::from([wait.record.ended(status, by, at)])),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}
