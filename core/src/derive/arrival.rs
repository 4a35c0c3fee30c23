//! Arrivals: what is due and must become a message before anything is decided (contract 7.2).

use alloc::{format, string::ToString, vec::Vec};

use wakeful_json::sort::sort_by_key;

use crate::{
    derive::obligation::ObligationKind,
    id::Seq,
    record::{
        Record,
        diagnostic::{Diagnostic, DiagnosticKind, HOST_NOW},
        event::{EventKind, EventRecord},
        queue::{
            admission::{self, core_message},
            envelope::{DeliverySurface, MessageBody, MessageKind, MessageOrigin, Priority},
            message::MessageRecord,
            note::{self, DeadlineNote, NoteKey, RecheckNote},
        },
        waiting::{TimerRecord, WaitConditionRecord},
    },
    state::{
        State,
        arrival::Arrival,
        autonomy,
        turn::{OpenRun, Retry},
        work::Item,
    },
    time::Timestamp,
};

/// What arrives up to an instant and has no message that waits already, earliest first.
#[must_use]
pub fn due(state: &State, now: Timestamp) -> Vec<Arrival<'_>> {
    coming(state, now, usize::MAX)
}

/// When something arrives next, if anything does; it may be past.
#[must_use]
pub fn next(state: &State) -> Option<Timestamp> {
    coming(state, Timestamp::MAX, 1).first().map(Arrival::at)
}

/// The first that arrive up to an instant, this many and retries.
fn coming(state: &State, until: Timestamp, most: usize) -> Vec<Arrival<'_>> {
    let mut coming: Vec<_> =
        state.arrivals(until).filter(|arrival| arrives(state, arrival)).take(most).collect();
    for arrival in state.turns.retries.values().map(Arrival::Retry) {
        if arrival.at() <= until && arrives(state, &arrival) {
            coming.push(arrival);
        }
    }
    sort_by_key(&mut coming, |arrival| (arrival.at(), arrival.kind(), arrival.id()));
    coming
}

/// Whether it has no message that waits already, and is not held back by parking.
fn arrives(state: &State, arrival: &Arrival<'_>) -> bool {
    let message = match arrival {
        Arrival::Timer(timer) => timer.record.tick_message_id.as_ref(),
        Arrival::Deadline(wait) => state.waiting.deadlines_told.get(&wait.record.id),
        Arrival::Recheck(item) => item.recheck.as_ref().map(|told| &told.message_id),
        // The message of a retry is that of the run; it does not come back.
        Arrival::Retry(retry) => return retry.message_id.is_none() && !autonomy::is_parked(state),
    };
    let waits = message.is_some_and(|message| state.queue.is_queued(message));
    !waits && (arrival.is_from_outside() || !autonomy::is_parked(state))
}

/// When the open run is called stalled; none where it was, or where none is open (contract 5.8).
#[must_use]
pub fn stalls_at(state: &State) -> Option<Timestamp> {
    let run = state.turns.run.as_ref().filter(|run| !run.stalled)?;
    Some(run.heard_at.plus_ms(state.control.policy.run_lease_ms.get()))
}

/// The records that turn everything that has arrived into queued messages, and tell the operator
/// once that the host's clock is behind the ledger, or its run silent; empty where nothing has, or
/// nothing may arrive. `now` is what the host's clock says.
#[must_use]
pub fn records(state: &State, now: Timestamp) -> Vec<Record> {
    let control = &state.control;
    if control.live_from.is_none() {
        return Vec::new();
    }
    let behind = clock_behind(state, now).filter(|_| !state.clock_behind);
    // contract 1.3: nothing is due by a clock that ran backwards that was not due before.
    let now = now.max(state.at);
    let told = |diagnostic| {
        Record::Event(EventRecord::new(EventKind::SchedulerDiagnostic, now, &diagnostic))
    };
    let mut records: Vec<_> = behind.map(told).into_iter().collect();
    if control.stopped.is_some() || control.closing.is_some() {
        return records;
    }
    if let Some(run) =
        state.turns.run.as_ref().filter(|_| stalls_at(state).is_some_and(|at| at <= now))
    {
        records.push(told(stalled_run(run, control.policy.run_lease_ms.get())));
    }
    // contract 10: what one batch cannot hold arrives with the next step.
    let room = usize::try_from(control.policy.batch_arrivals.get()).unwrap_or(usize::MAX);
    for arrival in due(state, now).into_iter().take(room) {
        let seq = state.head.seq.plus(records.len() + 1);
        records.extend(arrival.records(state, seq, now));
    }
    records
}

fn timer_tick(state: &State, timer: &TimerRecord, seq: Seq, at: Timestamp) -> MessageRecord {
    MessageRecord {
        origin: MessageOrigin::Timer { timer_id: timer.id.clone() },
        delivery_surface: Some(DeliverySurface::TimerScheduler),
        ..core_message(
            &state.control.agent_id,
            seq,
            MessageKind::TimerTick,
            Priority::Next,
            MessageBody::text(timer.tick_text()),
            at,
        )
    }
}

fn deadline_tick(
    state: &State,
    wait: &WaitConditionRecord,
    deadline: Timestamp,
    seq: Seq,
    at: Timestamp,
) -> MessageRecord {
    let note = DeadlineNote { wait_condition_id: wait.id.clone(), deadline };
    let text = format!("Deadline reached, still waiting for: {}", wait.waiting_for);
    MessageRecord {
        work_item_id: wait.work_item_id.clone(),
        ..tick(state, seq, NoteKey::WaitDeadline, (Priority::Next, &text), &note, at)
    }
}

fn recheck_tick(
    state: &State,
    item: &Item,
    recheck_at: Timestamp,
    seq: Seq,
    at: Timestamp,
) -> MessageRecord {
    let record = &item.record;
    let note = RecheckNote {
        work_item_id: record.id.clone(),
        work_item_revision: record.revision,
        objective: record.objective.clone(),
        blocked_by: record.blocked_by.clone().unwrap_or_default(),
        recheck_at,
    };
    let text = format!(
        "Recheck is due, inspect the blocker and refresh or clear it: {}",
        record.objective
    );
    MessageRecord {
        work_item_id: Some(record.id.clone()),
        ..tick(state, seq, NoteKey::WorkItemRecheck, (Priority::Background, &text), &note, at)
    }
}

fn retry_of(state: &State, retry: &Retry, seq: Seq, at: Timestamp) -> MessageRecord {
    let text =
        format!("The turn failed ({}). Try again, attempt {}.", retry.failure, retry.attempt);
    MessageRecord {
        origin: MessageOrigin::System { subsystem: "turn_retry".to_string() },
        work_item_id: retry.work_item_id.clone(),
        causation_id: Some(retry.failed_message_id.to_string()),
        metadata: Some(note::metadata(NoteKey::TurnRetry, &retry.note())),
        ..core_message(
            &state.control.agent_id,
            seq,
            MessageKind::InternalFollowup,
            Priority::Next,
            MessageBody::text(text),
            at,
        )
    }
}

/// A tick of the core whose metadata says under the subsystem's name what it is about.
pub(crate) fn tick(
    state: &State,
    seq: Seq,
    key: NoteKey,
    (priority, text): (Priority, &str),
    note: &impl serde::Serialize,
    at: Timestamp,
) -> MessageRecord {
    MessageRecord {
        origin: MessageOrigin::System { subsystem: key.to_string() },
        metadata: Some(note::metadata(key, note)),
        ..core_message(
            &state.control.agent_id,
            seq,
            MessageKind::SystemTick,
            priority,
            MessageBody::text(text),
            at,
        )
    }
}

/// An open run of which no fact came for as long as the policy allows (contract 5.8).
#[must_use]
pub fn stalled_run(run: &OpenRun, lease_ms: u64) -> Diagnostic {
    let evidence = Vec::from([
        format!("run_id={}", run.run_id),
        format!("heard_at={}", run.heard_at),
        format!("run_lease_ms={lease_ms}"),
    ]);
    Diagnostic {
        work_item_id: run.work_item.as_ref().map(|binding| binding.work_item_id.clone()),
        ..Diagnostic::new(
            DiagnosticKind::StalledRun,
            "the open run says nothing any more",
            evidence,
        )
    }
}

/// How far the host's clock may be behind the ledger before that is told, in milliseconds (contract
/// 1.3).
const CLOCK_SLACK_MS: u64 = 60_000;

/// A host whose clock says `now`, where that is more than a minute below the newest entry; none
/// where it is not (contract 1.3).
#[must_use]
pub fn clock_behind(state: &State, now: Timestamp) -> Option<Diagnostic> {
    let evidence = Vec::from([format!("{HOST_NOW}{now}"), format!("ledger_at={}", state.at)]);
    let message = "the host's clock is behind the ledger: nothing is due before it has caught up; \
                   set it right, or wait";
    (now.plus_ms(CLOCK_SLACK_MS) < state.at)
        .then(|| Diagnostic::new(DiagnosticKind::ClockBehind, message, evidence))
}

impl<'a> Arrival<'a> {
    /// What kind of obligation it is until it arrives (contract 9.1).
    #[must_use]
    pub fn kind(&self) -> ObligationKind {
        match self {
            Self::Timer(_) => ObligationKind::Timer,
            Self::Deadline(_) => ObligationKind::Deadline,
            Self::Retry(_) => ObligationKind::Retry,
            Self::Recheck(_) => ObligationKind::Recheck,
        }
    }

    /// The records that turn it into a queued message; the entry at `seq` records the message.
    fn records(&self, state: &State, seq: Seq, at: Timestamp) -> Vec<Record> {
        match self {
            Self::Timer(timer) => {
                let message = timer_tick(state, &timer.record, seq, at);
                let fired = timer.record.fired(message.id.clone(), at);
                admission::records(message, at).into_iter().chain([Record::Timer(fired)]).collect()
            }
            Self::Deadline(wait) => {
                admission::records(deadline_tick(state, &wait.record, self.at(), seq, at), at)
                    .into()
            }
            Self::Retry(retry) => admission::records(retry_of(state, retry, seq, at), at).into(),
            Self::Recheck(item) => {
                admission::records(recheck_tick(state, item, self.at(), seq, at), at).into()
            }
        }
    }
}
