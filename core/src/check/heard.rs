//! Invariants of what an operator hears, and of the time after a bad clock.

use alloc::format;

use crate::{
    check::{Breach, driven, hold},
    derive::obligation::{Obligation, ObligationKind},
    ladder::owed,
    record::{
        Record,
        control::ClockCorrected,
        diagnostic::{self, DiagnosticKind},
        entry::Entry,
        turn::{RunStatus, TurnRecord},
        waiting::{WaitConditionRecord, WakeSource},
    },
    state::{State, failing},
    time::Timestamp,
};

/// Three turns of one owner that fail in a row for one cause have a diagnostic.
pub(super) fn i26(before: &State, batch: &[Entry], _: &State) -> Result<(), Breach> {
    driven(before, batch, |state, entry| {
        let Record::Turn(turn) = &entry.record else { return Ok(()) };
        // Programs that wrote format 1 did not report this.
        let is_checked = turn.status == RunStatus::Terminal && state.control.format >= 2;
        let told = || {
            batch.iter().any(|entry| {
                let Record::Event(event) = &entry.record else { return false };
                [DiagnosticKind::TurnsFail, DiagnosticKind::RetriesExhausted]
                    .iter()
                    .any(|kind| diagnostic::is_recorded(event, *kind))
            })
        };
        let holds = !is_checked || failed_before(state, turn) + 1 < failing::MOST || told();
        hold("I26", holds, Some(entry.seq), || {
            format!("turn {} fails as those before it, and nobody is told", turn.turn_index)
        })
    })
}

/// The number of turns before this one that failed for the same cause since the last report; 0 if
/// this one did not fail.
fn failed_before(state: &State, turn: &TurnRecord) -> u64 {
    let Some(cause) = failing::cause(turn) else { return 0 };
    let owner = turn.work_item.as_ref().map(|binding| &binding.work_item_id);
    let failing = state.turns.failing.iter();
    failing
        .filter(|failing| failing.work_item_id.as_ref() == owner && failing.cause == cause)
        .map(|failing| failing.count)
        .sum()
}

/// A correction of the clock makes nothing later than the bad clock made it, and nothing that was
/// derived from the bad clock later than by a right one. Nothing else sets the time back.
pub(super) fn i27(before: &State, batch: &[Entry], after: &State) -> Result<(), Breach> {
    let correction = batch.iter().find_map(corrected);
    let mut at = before.at;
    for entry in batch {
        let may_go_back = corrected(entry).is_some() || before.control.live_from.is_none();
        hold("I27", may_go_back || entry.at >= at, Some(entry.seq), || {
            format!("entry {} is earlier than the one before it", entry.seq)
        })?;
        at = entry.at;
    }
    let Some(_) = correction else { return Ok(()) };
    let owed_after = owed::all(after);
    for was in owed::all(before) {
        let Some(due) = was.enabled_at else { continue };
        let found = owed_after.iter().find(|is| (is.kind, &is.id) == (was.kind, &was.id));
        // It may have become enabled, and then it has no instant.
        let Some(is_due) = found.and_then(|is| is.enabled_at) else { continue };
        let latest = latest(before, &was, due, after.at);
        hold("I27", is_due <= latest, None, || {
            format!("{:?} is due at {is_due} after the correction, not by {latest}", was)
        })?;
    }
    Ok(())
}

fn corrected(entry: &Entry) -> Option<&ClockCorrected> {
    match &entry.record {
        Record::Control(crate::record::control::ControlRecord::ClockCorrected(record)) => {
            Some(record)
        }
        _ => None,
    }
}

/// The latest instant at which an obligation may be enabled once the clock shows `now` again.
fn latest(before: &State, owed: &Obligation, due: Timestamp, now: Timestamp) -> Timestamp {
    let waiting = &before.waiting;
    let base = match owed.kind {
        ObligationKind::Timer => {
            let Some(timer) = waiting.timers.get(&owed.id.as_str().into()) else { return due };
            if let Some(step) = timer.record.interval_ms.filter(|_| timer.record.repeat) {
                return due.min(now.plus_ms(step));
            }
            Some(timer.record.created_at)
        }
        ObligationKind::Deadline => waiting
            .conditions
            .get(&owed.id.as_str().into())
            .filter(|wait| is_derived(&wait.record))
            .filter(|wait| !waiting.deadlines_told.contains_key(&wait.record.id))
            .map(|wait| wait.record.created_at),
        ObligationKind::Retry => {
            before.turns.retries.get(&owed.id.as_str().into()).map(|retry| retry.from)
        }
        _ => None,
    };
    // What an earlier correction has moved stays (contract 1.3).
    let is_new = before.corrected.is_none_or(|seq| owed.seq > seq);
    match base.filter(|base| *base > now && is_new) {
        Some(_) => now.max(due.minus_nanos(before.at.nanos_since(now))),
        None => due.max(now),
    }
}

/// Whether every deadline of a condition was derived from a duration.
fn is_derived(record: &WaitConditionRecord) -> bool {
    let sources = record.wake_sources.iter().all(|source| {
        !matches!(source, WakeSource::Timer { wake_in_ms: None, timer_id: None, .. })
    });
    sources && (record.expires_at.is_none() || record.expires_in_ms.is_some())
}
