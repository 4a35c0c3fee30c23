//! An agent in short: what stays in memory while its state does not. It is made anew after each
//! entry, so it cannot differ from the ledger for long.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use wakeful_core::{
    derive::{posture::Posture, summary::AgentListEntry},
    host::{Clock, Ledger, Provider, Scheduler},
    id::{AgentId, ExternalTriggerId},
    ladder::owed,
    record::{chain::Head, control::AgentKind, queue::envelope::Priority},
    state::{State, autonomy},
    time::Timestamp,
};

use super::{Cell, Turns};
use crate::problem::Problem;

/// The hash of a token, in bytes.
pub(crate) type Digest = [u8; 32];

/// An agent in short.
#[derive(Clone, Debug)]
pub(crate) struct Brief {
    /// The newest entry that it includes.
    pub(crate) head: Head,
    /// Whether the agent was read; otherwise nothing else is known.
    pub(crate) is_read: bool,
    pub(crate) posture: Posture,
    pub(crate) is_parked: bool,
    /// Whether something is to be done now, or a run or a task is open that only its driver knows.
    pub(crate) is_unfinished: bool,
    /// Whether a run is open.
    pub(crate) has_open_run: bool,
    /// Whether only a restart lets it go on: it was shut down, or never driven.
    pub(crate) is_closed: bool,
    /// When the scheduler next has something to do on its own.
    pub(crate) next_wake: Option<Timestamp>,
    /// When the oldest wait began.
    pub(crate) oldest_wait: Option<Timestamp>,
    /// The number of waiting messages in each lane, the most urgent first.
    pub(crate) lanes: [u32; 4],
    /// The number of reasons not to rest whose time has come.
    pub(crate) overdue: u32,
    /// The model that it says it uses.
    pub(crate) model: Option<Arc<str>>,
    /// Whether a parent supervises it, which drives it too.
    pub(crate) is_child: bool,
    /// The triggers that can be delivered to, by the hashes of their tokens.
    pub(crate) triggers: Box<[(Digest, ExternalTriggerId)]>,
    /// Why the agent cannot be read or driven.
    pub(crate) problem: Option<Box<Problem>>,
}

/// An agent in the list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The agent.
    agent_id: AgentId,
    /// Who runs its turns; absent if this server only observes it.
    turns: Option<Turns>,
    /// The agent in short; absent if it cannot be read.
    summary: Option<AgentListEntry>,
    /// The newest entry.
    head: Head,
    /// Whether it is parked: it goes on after input from outside.
    is_parked: bool,
    /// When the scheduler next has something to do on its own.
    next_wake: Option<Timestamp>,
    /// When the oldest wait began.
    oldest_wait: Option<Timestamp>,
    /// Why it cannot be read or driven now.
    problem: Option<Problem>,
}

impl Listed {
    /// An agent by its brief; `summary` comes from its state.
    pub(crate) fn new(
        cell: &Cell,
        brief: &Brief,
        summary: Result<AgentListEntry, Problem>,
    ) -> Self {
        let known = brief.problem.as_deref().cloned();
        let (summary, problem) = match summary {
            Ok(summary) => (Some(summary), known),
            Err(problem) => (None, Some(problem)),
        };
        Self {
            agent_id: cell.agent.clone(),
            turns: cell.turns(),
            summary,
            head: brief.head,
            is_parked: brief.is_parked,
            next_wake: brief.next_wake,
            oldest_wait: brief.oldest_wait,
            problem,
        }
    }
}

impl Brief {
    pub(crate) fn of<L: Ledger, C: Clock, P: Provider>(scheduler: &mut Scheduler<L, C, P>) -> Self {
        let next_wake = scheduler.next_wake();
        let state = scheduler.state();
        let posture = AgentListEntry::new(state).scheduling_posture.posture;
        let is_parked = state.control().parked.is_some() || autonomy::is_parked(state);
        let oldest_wait = oldest_wait(state);
        let owed = owed::all(state);
        let due = owed.iter().filter(|owed| owed.enabled_at.is_none() && owed.held_by.is_none());
        let overdue = u32::try_from(due.count()).unwrap_or(u32::MAX);
        let is_stopped = state.control().stopped.is_some();
        let is_busy = state.turns().run.is_some() || !state.tasks().active.is_empty();
        let is_closed = state.control().closing.is_some() || !state.is_driven();
        let head = state.head();
        Self {
            head,
            is_read: true,
            posture,
            is_parked,
            is_unfinished: is_busy || (overdue > 0 && !is_stopped),
            has_open_run: state.turns().run.is_some(),
            is_closed,
            next_wake,
            oldest_wait,
            lanes: lanes(state),
            overdue,
            model: state
                .control()
                .described
                .as_ref()
                .and_then(|(described, _)| described.model.as_deref().map(Arc::from)),
            is_child: state
                .control()
                .described
                .as_ref()
                .is_some_and(|(described, _)| described.kind == AgentKind::Child),
            triggers: triggers(state),
            problem: None,
        }
    }

    /// An agent that cannot be read or driven, and why. What was known of it before stays.
    pub(crate) fn broken(self, problem: Problem) -> Self {
        Self { is_read: true, problem: Some(Box::new(problem)), ..self }
    }

    /// An agent that was not read yet.
    pub(crate) fn unread(head: Head) -> Self {
        Self {
            head,
            is_read: false,
            posture: Posture::Idle,
            is_parked: false,
            is_unfinished: false,
            has_open_run: false,
            is_closed: false,
            next_wake: None,
            oldest_wait: None,
            lanes: [0; 4],
            overdue: 0,
            model: None,
            is_child: false,
            triggers: Box::default(),
            problem: None,
        }
    }
}

fn oldest_wait(state: &State) -> Option<Timestamp> {
    let conditions = state.waiting().conditions.values().map(|wait| wait.record.created_at);
    let intents = state.waiting().intents.values().map(|wait| wait.record.created_at);
    conditions.chain(intents).min()
}

fn lanes(state: &State) -> [u32; 4] {
    let mut lanes = [0; 4];
    for message in state.queued_messages() {
        let lane = match message.priority {
            Priority::Interject => 0,
            Priority::Next => 1,
            Priority::Normal => 2,
            Priority::Background => 3,
        };
        lanes[lane] += 1;
    }
    lanes
}

fn triggers(state: &State) -> Box<[(Digest, ExternalTriggerId)]> {
    state
        .external_triggers()
        .filter_map(|trigger| {
            Some((digest(&trigger.token_hash)?, trigger.external_trigger_id.clone()))
        })
        .collect()
}

/// The bytes of a hash that is written as hexadecimal digits; `None` if it is not one.
pub(crate) fn digest(hash: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    if hash.len() != 64 || !hash.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hash[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}
