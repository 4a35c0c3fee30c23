//! Notices: what an operator must know before anything else, and the next act. No decision reads
//! them.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    id::Seq,
    ladder::{self, View, owed},
    record::{
        decision::{Decision, DecisionKind},
        turn::TurnTerminalKind,
    },
    state::{
        State, autonomy,
        readiness::{self, SchedulingState},
    },
    tagged::names,
    time::Timestamp,
};

names! {
    /// What a notice is about, in the order in which people should read them.
    #[non_exhaustive]
    pub enum NoticeKind {
        /// Something was due, and nothing was recorded since.
        Overdue,
        /// The process of the newest turn ended before the turn did.
        TurnInterrupted,
        /// The newest turn failed.
        TurnFailed,
        /// A budget is used up.
        BudgetSpent,
        /// The agent starts nothing on its own.
        AgentParked,
        /// Nothing looks at a work item until something moves it.
        ItemParked,
        /// A task that the agent waits for has not reported for long.
        TaskSilent,
        /// The agent was stopped.
        Stopped,
        /// The agent was shut down.
        ShutDown,
    }

    /// What an operator can do.
    #[non_exhaustive]
    pub enum ActKind {
        /// Answer what the agent asks.
        Answer,
        /// Say something to the agent.
        Speak,
        /// Start the agent, or its process.
        Start,
        /// Deliver to an external trigger.
        Deliver,
        /// Raise a budget, or grant more of it.
        Grant,
        /// Say that a task was lost, so that the agent goes on without its result.
        GiveUp,
        /// Look at an entry.
        Look,
    }
}

/// Something that an operator can do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Act {
    /// What to do.
    pub kind: ActKind,
    /// What to do it to: a work item, a task, an external trigger, or the number of an entry.
    /// `None` if it concerns the agent.
    pub id: Option<String>,
}

/// Something that an operator must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Notice {
    /// What is wrong.
    pub kind: NoticeKind,
    /// The notice in a sentence.
    pub says: String,
    /// The entries that show it. It holds since the first of them.
    pub seqs: Vec<Seq>,
    /// What to do about it.
    pub act: Act,
}

/// What to read first about an agent, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Headline {
    /// What is wrong, the most urgent first.
    pub notices: Vec<Notice>,
    /// What would let the agent go on; `None` if it goes on by itself, or if nothing is known.
    pub next: Option<Act>,
}

/// How long a process may take for what is due, in milliseconds. A live process needs far less, so
/// only a missing one takes longer.
const PATIENCE_MS: u64 = 60_000;

/// How long a task may be silent before an operator should look whether it still runs, in
/// milliseconds. A host that lost it reports nothing more.
const SILENCE_MS: u64 = 60 * 60_000;

/// What to read first about a state. `now` is the time of the reader; `None` for a reader who looks
/// at the past, for whom nothing is overdue.
#[must_use]
pub fn headline(state: &State, decision: &Decision, now: Option<Timestamp>) -> Headline {
    let mut notices = Vec::new();
    notices.extend(now.and_then(|now| overdue(state, now)).map(|late| late.notice(state)));
    notices.extend(interrupted(state));
    notices.extend(failed(state));
    notices.extend(budgets(state));
    notices.extend(parked(state));
    notices.extend(now.and_then(|now| silent(state, decision, now)));
    notices.extend(at_end(state));
    Headline { notices, next: next(state, decision) }
}

fn notice(kind: NoticeKind, says: String, seqs: impl Into<Vec<Seq>>, act: Act) -> Notice {
    Notice { kind, says, seqs: seqs.into(), act }
}

fn act(kind: ActKind) -> Act {
    Act { kind, id: None }
}

fn act_on(kind: ActKind, id: &impl ToString) -> Act {
    Act { kind, id: Some(id.to_string()) }
}

/// Something that was due long ago.
pub(super) enum Overdue {
    /// The open run has been silent since this instant.
    Run(Timestamp),
    /// The next step was due at this instant.
    Step(Timestamp),
}

/// What is overdue at `now`, if a process should have recorded something before.
pub(super) fn overdue(state: &State, now: Timestamp) -> Option<Overdue> {
    let is_late = |due: &Timestamp| due.plus_ms(PATIENCE_MS) < now;
    // Nothing is due before the newest entry, and this is cheap to ask. What nobody drives has no
    // process that could be late.
    if !is_late(&state.at) || !state.is_driven() || is_ended(state) {
        return None;
    }
    let lease = state.control.policy.run_lease_ms.get();
    let silent = state.turns.run.as_ref().map(|run| run.heard_at.max(state.at));
    silent
        .filter(|since| is_late(&since.plus_ms(lease)))
        .map(Overdue::Run)
        .or_else(|| due(state).filter(is_late).map(Overdue::Step))
}

fn is_ended(state: &State) -> bool {
    state.control.stopped.is_some() || state.control.closing.is_some()
}

/// When a process would take the next step.
fn due(state: &State) -> Option<Timestamp> {
    let view = View::to_decide(state, state.boundary(), state.at);
    let decision = ladder::decide(state.control.edition, &view).decision;
    // A rest and an open run wait for an instant; every other decision is carried out at once.
    if decision.kind.may_repeat() { owed::next_wake(state, state.at) } else { Some(state.at) }
}

impl Overdue {
    /// What is overdue, and what that means, as the end of a sentence.
    pub(super) fn says(&self, state: &State) -> String {
        match (self, &state.turns.run) {
            (Self::Run(since), Some(run)) => {
                format!("run `{}` has recorded nothing since {since}", run.run_id)
            }
            (Self::Run(at) | Self::Step(at), _) if *at <= state.at => {
                format!("the next step was due at {at}")
            }
            (Self::Run(at) | Self::Step(at), _) => format!("a wake was due at {at}"),
        }
    }

    fn notice(&self, state: &State) -> Notice {
        let says = format!(
            "Overdue: {}. Nothing was recorded since {}: no process drives this agent, or this is \
             an older copy of its ledger.",
            self.says(state),
            state.at
        );
        notice(NoticeKind::Overdue, says, [state.head.seq], act(ActKind::Start))
    }
}

fn interrupted(state: &State) -> Option<Notice> {
    // While a run is open, the message has its next try already.
    if state.turns.run.is_some() {
        return None;
    }
    let number = state.turns.turn_index;
    let (says, seq) = match state.turns.interrupted.last() {
        Some(run) if !run.message_id.as_str().is_empty() => (
            format!(
                "The process ended in the middle of a turn: run `{}` has no result, and its \
                 message `{}` is tried again.",
                run.run_id, run.message_id
            ),
            run.seq,
        ),
        _ if state.turns.newest_interrupted => (
            format!("The process ended in the middle of turn {number}: it has no result."),
            state.turns.settled.unwrap_or(state.head.seq),
        ),
        _ => return None,
    };
    Some(notice(NoticeKind::TurnInterrupted, says, [seq], act_on(ActKind::Look, &seq)))
}

fn failed(state: &State) -> Option<Notice> {
    let last = state.turns.last_terminal.as_ref().filter(|last| last.kind.is_failure())?;
    // A newer turn says more.
    if last.turn_index != state.turns.turn_index || state.turns.run.is_some() {
        return None;
    }
    let how = match last.kind {
        TurnTerminalKind::Aborted => "was aborted",
        TurnTerminalKind::BaselineOverBudget => "failed: its prompt no longer fits",
        TurnTerminalKind::DeferredToFallback => "failed before the model answered",
        _ => "failed while the model answered",
    };
    let retry = state.turns.retries.values().find(|retry| retry.seq == last.seq);
    let why = retry.map_or_else(String::new, |retry| {
        let why = retry.error.as_ref().unwrap_or(&retry.failure);
        format!(" ({why})")
    });
    let then = match retry {
        Some(retry) if retry.message_id.is_none() => {
            format!("it is tried again at {}", retry.due_at)
        }
        Some(_) => "it is tried again".into(),
        None => "it is not tried again".into(),
    };
    let says = format!("Turn {} {how}{why}; {then}.", last.turn_index);
    Some(notice(NoticeKind::TurnFailed, says, [last.seq], act_on(ActKind::Look, &last.seq)))
}

fn budgets(state: &State) -> impl Iterator<Item = Notice> {
    state.budgets.exhausted().filter_map(|(owner, account, seq)| {
        let reached = account.reached()?;
        let named = owner.map_or_else(|| "the agent".into(), |item| format!("item `{item}`"));
        let until = match state.budgets.renews_at.filter(|_| reached.is_of_a_day) {
            Some(at) => format!("until {at}"),
            None => "until it gets a higher budget or a grant".into(),
        };
        let says = format!(
            "The budget of {named} is spent ({} of {} {}): it rests {until}.",
            reached.used, reached.of, reached.limit
        );
        let grant = owner.map_or_else(|| act(ActKind::Grant), |item| act_on(ActKind::Grant, item));
        Some(notice(NoticeKind::BudgetSpent, says, [seq], grant))
    })
}

fn parked(state: &State) -> Vec<Notice> {
    let mut all = Vec::new();
    if autonomy::is_parked(state) {
        let why = match state.control.parked {
            Some(_) => "its host found that something of it is broken".to_string(),
            None => format!("it started {} turns in a row by itself", state.turns.autonomous),
        };
        let says = format!("The agent is parked: {why}. It waits for input from outside.");
        let seqs: Vec<_> = state.control.parked.or(state.turns.settled).into_iter().collect();
        all.push(notice(NoticeKind::AgentParked, says, seqs, act(ActKind::Speak)));
    }
    let items = state.work.items.values().filter(|item| {
        // An item with a blocker is blocked by its owner, and not parked.
        item.record.blocked_by.is_none()
            && readiness::standing(state, item).state == SchedulingState::Blocked
    });
    all.extend(items.map(|item| {
        let says = format!(
            "Item `{}` ({}) is parked: nothing looks at it until something moves it.",
            item.record.id, item.record.objective
        );
        let speak = act_on(ActKind::Speak, &item.record.id);
        notice(NoticeKind::ItemParked, says, [item.seq], speak)
    }));
    all
}

/// The task that the agent waits for, if it has been silent for long.
fn silent(state: &State, decision: &Decision, now: Timestamp) -> Option<Notice> {
    if !state.is_driven() || decision.kind != DecisionKind::WaitForTask {
        return None;
    }
    let item = decision.work_item_id.as_ref()?;
    let task = state.blocking_tasks(item).next()?;
    if task.record.updated_at.plus_ms(SILENCE_MS) >= now {
        return None;
    }
    let what = task.record.summary.as_ref().map_or_else(String::new, |what| format!(" ({what})"));
    let says = format!(
        "No news of task `{}`{what}: look whether it still runs, and say so if it was lost.",
        task.record.id
    );
    let give_up = act_on(ActKind::GiveUp, &task.record.id);
    Some(notice(NoticeKind::TaskSilent, says, [task.seq], give_up))
}

fn at_end(state: &State) -> Option<Notice> {
    let control = &state.control;
    if let Some(seq) = control.stopped {
        let says = "Stopped: nothing runs until the agent is started.".into();
        return Some(notice(NoticeKind::Stopped, says, [seq], act(ActKind::Start)));
    }
    let seq = control.closing?;
    let says = match state.turns.run {
        Some(_) => "Shutting down: its run still ends, and nothing starts after it.",
        None => "Shut down: nothing runs until its process is started again.",
    };
    Some(notice(NoticeKind::ShutDown, says.into(), [seq], act(ActKind::Start)))
}

/// What would let the agent go on.
fn next(state: &State, decision: &Decision) -> Option<Act> {
    let item = decision.work_item_id.as_ref();
    match decision.kind {
        DecisionKind::Stop => Some(act(ActKind::Start)),
        DecisionKind::WaitForOperator => {
            Some(item.map_or_else(|| act(ActKind::Answer), |item| act_on(ActKind::Answer, item)))
        }
        DecisionKind::WaitForExternalChange => {
            let is_meant =
                |seq: &Seq| decision.because.iter().any(|because| because.seqs.contains(seq));
            let intents = state.waiting.intents.values().filter(|wait| is_meant(&wait.seq));
            let conditions = readiness::conditions(state).filter(|wait| is_meant(&wait.seq));
            let mut triggers = intents.map(|wait| &wait.record.external_trigger_id).chain(
                conditions.flat_map(|wait| &wait.record.wake_sources).filter_map(|w| w.trigger()),
            );
            triggers.next().map(|id| act_on(ActKind::Deliver, id))
        }
        // A parked agent waits for a person who speaks to it.
        _ if autonomy::is_parked(state) => Some(act(ActKind::Speak)),
        _ => None,
    }
}
