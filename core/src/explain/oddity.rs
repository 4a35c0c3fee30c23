//! Oddities: the places of a history that an operator should look at. No decision reads them.

use alloc::{format, string::String, vec::Vec};

use serde::Serialize;

use crate::{
    explain::notice,
    id::Seq,
    record::{
        Record,
        control::ControlRecord,
        decision::IgnoredReason,
        diagnostic::DiagnosticKind,
        entry::Entry,
        event::{EventKind, EventRecord},
        queue::envelope::MessageKind,
        task::{TaskRecord, TaskStatus},
        turn::{RunStatus, TurnRecord},
        waiting::{WaitConditionRecord, recoverability::Recoverability},
    },
    state::State,
    tagged::names,
    time::Timestamp,
};

names! {
    /// What is odd.
    #[non_exhaustive]
    pub enum OddityKind {
        /// The agent woke itself many times in a row.
        TickBurst,
        /// The agent or an item was parked.
        Parked,
        /// A turn failed.
        TurnFailed,
        /// A task failed or was interrupted.
        TaskFailed,
        /// The host or the provider failed.
        RuntimeError,
        /// The process ended without a shutdown.
        Crash,
        /// Work could go on, but it was offered before.
        KeySpent,
        /// A wait has no deadline and no fallback.
        WaitWithoutDeadline,
        /// Something was due, and nothing was recorded for a while.
        Gap,
        /// The clock was set back, or is behind the ledger.
        ClockStep,
        /// A budget was used up.
        BudgetSpent,
        /// The scheduler recorded a diagnostic.
        Diagnostic,
    }
}

/// Something odd in a history: an entry to look at, or several in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Oddity {
    /// What is odd.
    pub kind: OddityKind,
    /// The first entry that shows it.
    pub seq: Seq,
    /// The last entry that shows it.
    pub last: Seq,
    /// How often it happened between them.
    pub count: u64,
    /// The instant of the first entry.
    pub at: Timestamp,
    /// The instant of the last entry.
    pub until: Timestamp,
    /// The oddity in a sentence.
    pub says: String,
}

/// The number of ticks in a row that makes a burst. An item that is worked on without outside input
/// takes a few.
const BURST: u64 = 5;

/// Ticks that are further apart, in milliseconds, are not of one burst.
const BURST_MS: u64 = 60_000;

/// A watch over a history: it sees each entry once, in order, and keeps what is odd.
#[derive(Default)]
pub(crate) struct Watch {
    found: Vec<Oddity>,
    /// The ticks since the newest input from outside.
    ticks: Option<Oddity>,
    /// The newest spent key that was told, so that it is told once.
    spent: String,
}

impl Watch {
    /// What was found since the last call. A burst that goes on is returned again by the next call,
    /// with the same first entry.
    pub(crate) fn take(&mut self) -> Vec<Oddity> {
        let burst = self.ticks.as_ref().filter(|ticks| ticks.count >= BURST).cloned();
        let mut found = core::mem::take(&mut self.found);
        found.extend(burst);
        found
    }

    fn add(&mut self, kind: OddityKind, entry: &Entry, says: String) {
        self.found.push(Oddity {
            kind,
            seq: entry.seq,
            last: entry.seq,
            count: 1,
            at: entry.at,
            until: entry.at,
            says,
        });
    }

    /// Sees an entry before it is folded into `state`.
    pub(crate) fn before(&mut self, state: &State, entry: &Entry) {
        // Entries of one batch have one instant, so this asks once per batch.
        if entry.at > state.at()
            && let Some(late) = notice::overdue(state, entry.at)
        {
            let says = format!(
                "{}, and nothing was recorded from {} to {}",
                late.says(state),
                state.at(),
                entry.at
            );
            self.add(OddityKind::Gap, entry, says);
        }
        let was_driven = state.is_driven() && state.control.closing.is_none();
        if was_driven && matches!(entry.record, Record::Control(ControlRecord::RuntimeRestarted(_)))
        {
            let says = match state.open_run() {
                Some(run) => {
                    format!("the process ended without a shutdown, in run `{}`", run.run_id)
                }
                None => "the process ended without a shutdown".into(),
            };
            self.add(OddityKind::Crash, entry, says);
        }
    }

    /// Sees an entry after it was folded into `state`.
    pub(crate) fn after(&mut self, state: &State, entry: &Entry) {
        match &entry.record {
            Record::Message(message) if message.kind == MessageKind::SystemTick => {
                self.ticked(entry);
            }
            // A result or an event gives the agent a reason to go on.
            Record::Message(_) => self.end_burst(),
            Record::Event(event) => self.event(state, entry, event),
            Record::Turn(turn) => self.turn(entry, turn),
            Record::Task(task) => self.task(entry, task),
            Record::WaitCondition(wait) => self.wait(entry, wait),
            Record::Control(ControlRecord::ClockCorrected(clock)) => {
                let says = format!("the clock was set back from {} to {}", clock.last_at, entry.at);
                self.add(OddityKind::ClockStep, entry, says);
            }
            _ => {}
        }
    }

    fn ticked(&mut self, entry: &Entry) {
        let is_next = |ticks: &Oddity| ticks.until.plus_ms(BURST_MS) >= entry.at;
        if !self.ticks.as_ref().is_some_and(is_next) {
            self.end_burst();
        }
        let ticks = self.ticks.get_or_insert_with(|| Oddity {
            kind: OddityKind::TickBurst,
            seq: entry.seq,
            last: entry.seq,
            count: 0,
            at: entry.at,
            until: entry.at,
            says: String::new(),
        });
        (ticks.last, ticks.until, ticks.count) = (entry.seq, entry.at, ticks.count + 1);
        ticks.says = format!("the agent woke itself {} times in a row", ticks.count);
    }

    fn end_burst(&mut self) {
        self.found.extend(self.ticks.take().filter(|ticks| ticks.count >= BURST));
    }

    fn event(&mut self, state: &State, entry: &Entry, event: &EventRecord) {
        match event.known() {
            Some(EventKind::SchedulerDecision) => self.decided(state, entry),
            Some(EventKind::RuntimeError) => {
                let why = ["error", "reason", "message"]
                    .into_iter()
                    .find_map(|field| event.particular::<String>(field));
                let says = match why {
                    Some(why) => format!("the host reported an error: {why}"),
                    None => "the host reported an error".into(),
                };
                self.add(OddityKind::RuntimeError, entry, says);
            }
            Some(EventKind::SchedulerDiagnostic) => {
                let kind = match event.particular("kind") {
                    Some(DiagnosticKind::Parked | DiagnosticKind::OwnerBreach) => {
                        OddityKind::Parked
                    }
                    Some(DiagnosticKind::BudgetExhausted) => OddityKind::BudgetSpent,
                    Some(DiagnosticKind::ClockBehind) => OddityKind::ClockStep,
                    _ => OddityKind::Diagnostic,
                };
                let mut says: String = event.particular("message").unwrap_or_default();
                let evidence: Vec<String> = event.particular("evidence").unwrap_or_default();
                if !evidence.is_empty() {
                    says = format!("{says} ({})", evidence.join(", "));
                }
                self.add(kind, entry, says);
            }
            _ => {}
        }
    }

    /// Work that could go on while the agent rests, because its key is spent.
    fn decided(&mut self, state: &State, entry: &Entry) {
        let Some(decided) = state.control.decided.as_ref().filter(|last| last.seq == entry.seq)
        else {
            return;
        };
        let spent = decided.decision.ignored.iter().find(|ignored| {
            ignored.reason == IgnoredReason::KeySpent && ignored.what != self.spent
        });
        if decided.decision.kind.rests_as().is_none() {
            return;
        }
        if let Some(ignored) = spent {
            self.spent.clone_from(&ignored.what);
            let says = format!(
                "the agent rests although work could go on: it was offered already (`{}`)",
                ignored.what
            );
            self.add(OddityKind::KeySpent, entry, says);
        }
    }

    fn turn(&mut self, entry: &Entry, turn: &TurnRecord) {
        // A crash is told by its restart.
        let is_terminal = turn.status == RunStatus::Terminal;
        if let Some(kind) = turn.kind.filter(|kind| is_terminal && kind.is_failure()) {
            let why = turn.reason.as_ref().map_or_else(String::new, |why| format!(", {why}"));
            let says = format!("turn {} failed: {kind}{why}", turn.turn_index);
            self.add(OddityKind::TurnFailed, entry, says);
        }
    }

    fn task(&mut self, entry: &Entry, task: &TaskRecord) {
        if matches!(task.status, TaskStatus::Failed | TaskStatus::Interrupted) {
            let why = task.summary.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let says = format!("task `{}` ended as {}{why}", task.id, task.status);
            self.add(OddityKind::TaskFailed, entry, says);
        }
    }

    fn wait(&mut self, entry: &Entry, wait: &WaitConditionRecord) {
        // Told once: a later record of the wait has another time.
        let is_new = wait.created_at == wait.updated_at;
        let is_endless = wait.expires_at.is_none()
            && wait.recoverability().is_some_and(|found| found != Recoverability::Recoverable);
        if is_new && is_endless {
            let says = format!(
                "the wait `{}` for {} has no deadline and no fallback",
                wait.id, wait.waiting_for
            );
            self.add(OddityKind::WaitWithoutDeadline, entry, says);
        }
    }
}
