//! Invariants of waits: what ends them, how often, and what must not end them.

use alloc::{collections::BTreeSet, format, string::ToString};

use crate::{
    check::{Breach, driven, hold},
    record::{
        Record,
        decision::{Decision, IgnoredReason},
        entry::Entry,
        event::EventKind,
        ingress::ExternalTriggerRecord,
        waiting::{EndedBy, WaitConditionKind, WaitConditionStatus, WaitingIntentStatus},
    },
    state::State,
};

/// The decision that a batch records, if it records one.
pub(super) fn decision(batch: &[Entry]) -> Option<(Decision, &Entry)> {
    batch.iter().find_map(|entry| {
        let Record::Event(event) = &entry.record else { return None };
        let decision = Some(event)
            .filter(|event| event.known() == Some(EventKind::SchedulerDecision))?
            .particulars()?;
        Some((decision, entry))
    })
}

fn ended_by(record: &Record) -> Option<EndedBy> {
    match record {
        Record::WaitCondition(wait) => wait.ended_by,
        Record::WaitingIntent(intent) => intent.ended_by,
        _ => None,
    }
}

pub(super) fn i11(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    let Some((decision, entry)) = decision(batch).filter(|_| before.control.live_from.is_some())
    else {
        return Ok(());
    };
    let mismatched =
        decision.ignored.iter().any(|ignored| ignored.reason == IgnoredReason::MismatchedTrigger);
    let ends = batch.iter().find(|entry| {
        // The other ends of a wait need no trigger.
        ended_by(&entry.record).is_some_and(|by| matches!(by, EndedBy::Trigger | EndedBy::Operator))
    });
    hold("I11", !mismatched || ends.is_none(), Some(entry.seq), || {
        format!(
            "decision {} ignores a mismatched trigger, but entry {:?} ends a wait",
            entry.seq,
            ends.map(|entry| entry.seq)
        )
    })
}

pub(super) fn i12(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    let mut consumed = BTreeSet::new();
    driven(before, batch, |state, entry| {
        let (id, active) = match &entry.record {
            Record::WaitCondition(wait) if wait.status != WaitConditionStatus::Active => {
                (wait.id.to_string(), state.waiting.conditions.contains_key(&wait.id))
            }
            // contract 15.2: a delivery that is told again does not count again.
            Record::ExternalTrigger(trigger) => {
                let known = trigger
                    .last_delivery()
                    .filter(|_| counts_another(state, trigger))
                    .and_then(|key| state.ingress.delivered(&trigger.external_trigger_id, key));
                return hold("I12", known.is_none(), Some(entry.seq), || {
                    format!("entry {} counts a delivery again", entry.seq)
                });
            }
            Record::WaitingIntent(intent) if intent.status == WaitingIntentStatus::Cancelled => {
                (intent.id.to_string(), state.waiting.intents.contains_key(&intent.id))
            }
            _ => return Ok(()),
        };
        let once = active && consumed.insert(id.clone());
        hold("I12", once, Some(entry.seq), || {
            format!("entry {} ends the wait `{id}`, which has ended", entry.seq)
        })
    })
}

/// Whether this record counts one delivery more than the newest one of its trigger.
fn counts_another(state: &State, trigger: &ExternalTriggerRecord) -> bool {
    let open = state.ingress.open.get(&trigger.external_trigger_id);
    open.is_some_and(|open| trigger.delivery_count > open.record.delivery_count)
}

pub(super) fn i13(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |_, entry| {
        let Record::WaitCondition(wait) = &entry.record else { return Ok(()) };
        let by_trigger =
            wait.kind == WaitConditionKind::Operator && wait.ended_by == Some(EndedBy::Trigger);
        hold("I13", !by_trigger, Some(entry.seq), || {
            format!("a trigger ends `{}`, which waits for the operator", wait.id)
        })
    })
}
