//! Arrivals that are due: they must become messages before anything is decided (contract 7.2).

use alloc::{format, string::ToString, vec::Vec};

use wakeful_json::sort::sort_by_key;

use crate::{
    derive::{hint, obligation::ObligationKind},
    id::{ExternalTriggerId, Seq},
    record::{
        Record,
        control::{ControlRecord, Marker},
        diagnostic::{Diagnostic, DiagnosticKind, HOST_NOW},
        event::{EventKind, EventRecord},
        queue::{
            admission::{self, core_message},
            envelope::{DeliverySurface, MessageBody, MessageKind, MessageOrigin, Priority},
            message::MessageRecord,
            note::{self, DeadlineNote, NoteKey, RecheckNote},
        },
        text,
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

/// The arrivals up to `now` that have no waiting message yet, earliest first.
#[must_use]
pub fn due(state: &State, now: Timestamp) -> Vec<Arrival<'_>> {
    coming(state, now, usize::MAX)
}

/// The instant of the next arrival, if there is one; it may be in the past.
#[must_use]
pub fn next(state: &State) -> Option<Timestamp> {
    if hint::arrives(state) {
        return Some(state.at);
    }
    let first = coming(state, Timestamp::MAX, 1).first().map(Arrival::at);
    first.into_iter().chain(state.budgets.renews_at).min()
}

/// The arrivals up to an instant: the first `most`, and those of the same instant as the last.
fn coming(state: &State, until: Timestamp, most: usize) -> Vec<Arrival<'_>> {
    let mut coming: Vec<Arrival<'_>> = Vec::new();
    for arrival in state.arrivals(until).filter(|arrival| arrives(state, arrival)) {
        if coming.len() >= most && coming.last().is_some_and(|last| last.at() < arrival.at()) {
            break;
        }
        coming.push(arrival);
    }
    sort_by_key(&mut coming, |arrival| (arrival.at(), arrival.kind(), arrival.id()));
    coming
}

/// Whether it has no waiting message yet, and parking does not hold it back.
fn arrives(state: &State, arrival: &Arrival<'_>) -> bool {
    let message = match arrival {
        Arrival::Timer(timer) => timer.record.tick_message_id.as_ref(),
        // contract 15.6: what was delivered before its trigger ended ends the wait first.
        Arrival::Deadline(wait, _) if is_still_met(state, &wait.record) => return false,
        Arrival::Deadline(wait, _) => state.waiting.deadlines_told.get(&wait.record.id),
        Arrival::Recheck(item) => item.recheck.as_ref().map(|told| &told.message_id),
        Arrival::Retry(_) => return !autonomy::is_held(state),
    };
    // contract 5.20: only one message about it waits. One that a run has taken holds nothing back.
    let waits = message.is_some_and(|message| state.queue.is_queued(message));
    !waits && (arrival.is_from_outside() || !autonomy::is_parked(state))
}

/// When the open run counts as stalled. `None` if no run is open, or if it was reported already
/// (contract 5.8).
#[must_use]
pub fn stalls_at(state: &State) -> Option<Timestamp> {
    let run = state.turns.run.as_ref().filter(|run| !run.stalled)?;
    Some(run.heard_at.plus_ms(state.control.policy.run_lease_ms.get()))
}

/// The records that queue everything that has arrived as messages. They also report, once each, a
/// clock behind the ledger and a stalled run. Empty if nothing has arrived or nothing may arrive.
/// `now` is the host's clock.
#[must_use]
pub fn records(state: &State, now: Timestamp) -> Vec<Record> {
    let control = &state.control;
    // contract 7.2 is live: an observer makes no messages.
    if control.live_from.is_none() {
        return Vec::new();
    }
    // Compared with the host's clock itself, which is raised to the ledger's time below.
    let behind = clock_behind(state, now).filter(|_| !state.clock_behind);
    // contract 1.3: a clock that ran backwards makes nothing due that was not due before.
    let now = now.max(state.at);
    let told = |diagnostic| {
        Record::Event(EventRecord::new(EventKind::SchedulerDiagnostic, now, &diagnostic))
    };
    let mut records: Vec<_> = behind.map(told).into_iter().collect();
    // contract 7.2: nothing arrives while stopped or closing, so only the clock is reported.
    if control.stopped.is_some() || control.closing.is_some() {
        return records;
    }
    if let Some(run) =
        state.turns.run.as_ref().filter(|_| stalls_at(state).is_some_and(|at| at <= now))
    {
        records.push(told(stalled_run(run, control.policy.run_lease_ms.get())));
    }
    // contract 16.4: the entry itself begins the day, and what was held back is decided on.
    if state.budgets.renews_at.is_some_and(|at| at <= now) {
        records.push(Record::Control(ControlRecord::BudgetDayBegun(Marker {})));
    }
    if let Some(pending) = state.control.hint.as_ref().filter(|_| hint::arrives(state)) {
        let seq = state.head.seq.plus(records.len() + 1);
        records.extend(hint::records(state, pending, seq, now));
    }
    // contract 10: arrivals beyond the limit of a batch follow in the next step.
    let room = usize::try_from(control.policy.batch_arrivals.get()).unwrap_or(usize::MAX);
    for arrival in coming(state, now, room).into_iter().take(room) {
        // The id of a message comes from the place of its entry, so the records before it count.
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
    let trigger = last_trigger(state, wait);
    let text = match trigger {
        Some(_) => text::trigger_ended(&wait.waiting_for),
        None => text::deadline(&wait.waiting_for),
    };
    let note = DeadlineNote {
        wait_condition_id: wait.id.clone(),
        deadline,
        external_trigger_id: trigger.cloned(),
    };
    MessageRecord {
        work_item_id: wait.work_item_id.clone(),
        ..tick(state, seq, NoteKey::WaitDeadline, (Priority::Next, &text), &note, at)
    }
}

/// The trigger whose end leaves nothing that ends this wait (contract 15.6).
fn last_trigger<'a>(state: &State, wait: &'a WaitConditionRecord) -> Option<&'a ExternalTriggerId> {
    wait.only_triggers()?.into_iter().max_by_key(|id| state.ingress.ends_at(id))
}

/// Whether something was delivered that will still end this wait.
fn is_still_met(state: &State, wait: &WaitConditionRecord) -> bool {
    let triggers = wait.only_triggers();
    triggers.into_iter().flatten().any(|id| state.is_delivering(id, None))
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
    let text = text::recheck(&record.objective);
    MessageRecord {
        work_item_id: Some(record.id.clone()),
        ..tick(state, seq, NoteKey::WorkItemRecheck, (Priority::Background, &text), &note, at)
    }
}

fn retry_of(state: &State, retry: &Retry, seq: Seq, at: Timestamp) -> MessageRecord {
    let text = text::retry(&retry.failure, retry.attempt);
    MessageRecord {
        origin: MessageOrigin::System { subsystem: "turn_retry".to_string() },
        work_item_id: retry.work_item_id.clone(),
        // By this id the fold knows the message as the retry (`State::fold_followup`).
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

/// A tick of the core. `key` names its subsystem, and its metadata has the note under that key.
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

/// The diagnostic of an open run that recorded no fact for as long as the policy allows (contract
/// 5.8).
#[must_use]
pub fn stalled_run(run: &OpenRun, lease_ms: u64) -> Diagnostic {
    let evidence = Vec::from([
        format!("run_id={}", run.run_id),
        format!("heard_at={}", run.heard_at),
        format!("run_lease_ms={lease_ms}"),
    ]);
    Diagnostic {
        work_item_id: run.work_item.as_ref().map(|binding| binding.work_item_id.clone()),
        ..Diagnostic::new(DiagnosticKind::StalledRun, text::STALLED_RUN, evidence)
    }
}

/// How far the host's clock may be behind the ledger before that is reported, in milliseconds
/// (contract 1.3).
pub(crate) const CLOCK_SLACK_MS: u64 = 60_000;

/// Whether the host's clock is more than a minute behind the newest entry (contract 1.3).
#[must_use]
pub(crate) fn is_behind(state: &State, now: Timestamp) -> bool {
    now.plus_ms(CLOCK_SLACK_MS) < state.at
}

/// The diagnostic of a host's clock that is more than a minute behind the newest entry; `None` if
/// it is not (contract 1.3).
#[must_use]
pub fn clock_behind(state: &State, now: Timestamp) -> Option<Diagnostic> {
    let evidence = Vec::from([format!("{HOST_NOW}{now}"), format!("ledger_at={}", state.at)]);
    is_behind(state, now)
        .then(|| Diagnostic::new(DiagnosticKind::ClockBehind, text::CLOCK_BEHIND, evidence))
}

impl<'a> Arrival<'a> {
    /// The kind of obligation that it is until it arrives (contract 9.1).
    #[must_use]
    pub fn kind(&self) -> ObligationKind {
        match self {
            Self::Timer(_) => ObligationKind::Timer,
            Self::Deadline(..) => ObligationKind::Deadline,
            Self::Retry(_) => ObligationKind::Retry,
            Self::Recheck(_) => ObligationKind::Recheck,
        }
    }

    /// The records that turn it into a queued message. The entry at `seq` records the message.
    fn records(&self, state: &State, seq: Seq, at: Timestamp) -> Vec<Record> {
        match self {
            Self::Timer(timer) => {
                let message = timer_tick(state, &timer.record, seq, at);
                let fired = timer.record.fired(message.id.clone(), at);
                // The message goes first, because its id names the entry at `seq`.
                admission::records(message, at).into_iter().chain([Record::Timer(fired)]).collect()
            }
            Self::Deadline(wait, deadline) => {
                admission::records(deadline_tick(state, &wait.record, *deadline, seq, at), at)
                    .into()
            }
            Self::Retry(retry) => admission::records(retry_of(state, retry, seq, at), at).into(),
            Self::Recheck(item) => {
                admission::records(recheck_tick(state, item, self.at(), seq, at), at).into()
            }
        }
    }
}
