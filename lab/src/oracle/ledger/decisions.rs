//! The decisions, asked row by row as the reference runtime asks.

use serde::Serialize;

use crate::oracle::{
    asked::{IDLE_ROWS, Ladder, MESSAGE_ROWS, Said},
    continuation::Resolved,
    trigger::{self, Payload, Read},
};
use wakeful_core::{
    id::{MessageId, WorkItemId},
    ladder::{
        View,
        view::{self, KeyView},
    },
    record::{control::AgentStatus, decision::Boundary},
    state::{State, recheck, trigger::Trigger},
    time::Timestamp,
};

/// The rows of system waits and of the other waits of contract 7.2.
const WAITS: &[&str] = &["7.", "8."];

/// The rows that offer a tick.
const TICKS: &[&str] = &["4.", "5.", "6."];

/// The rows above every tick.
const GATE: [&str; 2] = ["1.", "2."];

pub(super) struct Asked<'a> {
    pub(super) ladder: Ladder<'a>,
    pub(super) state: &'a State,
    pub(super) pending: u64,
}

/// The tick that goes first, and the decision about it.
#[derive(Serialize)]
pub(super) struct IdleTick {
    trigger: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    work_item_id: Option<WorkItemId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    work_item_ids: Vec<WorkItemId>,
    decision: Option<Said>,
}

/// What the run loop finds first.
#[derive(Serialize)]
#[serde(tag = "poll", rename_all = "snake_case")]
pub(super) enum Poll {
    Stopped { decision: Option<Said> },
    Message { message_id: MessageId, plan: Box<Plan>, decision: Option<Said> },
    Idle,
}

#[derive(Serialize)]
pub(super) struct Plan {
    model_turn_allowed: bool,
    trigger: Option<Read>,
    task: Option<Payload>,
    resolution: Option<Resolved>,
}

impl Asked<'_> {
    /// The view at a boundary, with the queue length of the agent's state and no spent keys: the
    /// vectors ask the reference runtime without the duplicates that spend keys.
    fn view(&self, boundary: Boundary) -> View {
        let mut view =
            View { queue_len: self.pending, ..View::new(self.state, boundary, self.state.at()) };
        let unspend = |key: &mut KeyView| key.spent_by = None;
        view.hint.iter_mut().for_each(|hint| unspend(&mut hint.key));
        view.current.iter_mut().for_each(|(item, _)| unspend(&mut item.key));
        view.queued.iter_mut().for_each(|item| unspend(&mut item.key));
        view.system_waits.iter_mut().for_each(|wait| unspend(&mut wait.key));
        view
    }

    fn asked(&self, rows: &[&str], view: &View) -> Option<Said> {
        self.ladder.asked(rows, view).map(Said::from_decision)
    }

    /// The decision to wait, if there is something to wait for. Rules above the waits are not
    /// asked.
    pub(super) fn wait(&self) -> Option<Said> {
        Some(self.asked(WAITS, &self.view(Boundary::RunLoopIdle))?.at(None))
    }

    pub(super) fn idle(&self) -> Option<Said> {
        self.asked(IDLE_ROWS, &self.view(Boundary::RunLoopIdle))
    }

    /// The decision at the idle boundary without the reference runtime's gate for stopped agents.
    /// For a stopped agent its evidence then has the queue length too.
    pub(super) fn idle_past_the_gate(&self) -> Option<Said> {
        let mut said = self.idle()?.at(Some("fixture"));
        if self.view(Boundary::RunLoopIdle).status == AgentStatus::Stopped {
            said.evidence.push(std::format!("queue_len={}", self.pending));
        }
        Some(said)
    }

    pub(super) fn tick(&self, now: Timestamp) -> IdleTick {
        let view = self.view(Boundary::IdleTick);
        // The reference runtime asks about the first trigger only (`observed-decisions.md` 4.9.2).
        if let Some(offered) = self.ladder.asked(TICKS, &view) {
            let rows = [GATE[0], GATE[1], offered.rule.as_str()];
            return IdleTick {
                trigger: Some(offered.reason),
                work_item_id: offered.work_item_id,
                work_item_ids: Vec::new(),
                decision: self.asked(&rows, &view),
            };
        }
        let due: Vec<_> =
            recheck::due(self.state, now).into_iter().map(|item| item.record.id.clone()).collect();
        IdleTick {
            trigger: (!due.is_empty()).then(|| "blocked_recheck".into()),
            work_item_id: None,
            // It records no decision about a recheck (`observed-decisions.md` 4.9.4).
            decision: if due.is_empty() { self.asked(WAITS, &view) } else { None },
            work_item_ids: due,
        }
    }

    /// The first thing that the run loop finds. Unlike [`Asked::view`], it reads the queue that was
    /// recovered from the records.
    pub(super) fn poll(&self) -> Poll {
        let mut view = View {
            queue_len: self.state.queue().len() as u64,
            ..View::new(self.state, Boundary::RunLoop, self.state.at())
        };
        if view.status == AgentStatus::Stopped {
            return Poll::Stopped { decision: self.asked(&GATE[..1], &view) };
        }
        let Some(held) = self.state.queue().head(self.state.control().policy.lane_burst) else {
            return Poll::Idle;
        };
        // Our ladder takes no message while a run is open, but the reference runtime still asks
        // about it.
        let head = view::head_view(self.state, held);
        let plan = Box::new(Plan {
            model_turn_allowed: view.turns_allowed,
            trigger: Trigger::from_held(self.state, held).map(Read::from),
            task: trigger::task(&held.record),
            resolution: head.resolution.clone().map(Resolved::from),
        });
        view.head = Some(head);
        Poll::Message {
            message_id: held.record.id.clone(),
            plan,
            decision: self.asked(MESSAGE_ROWS, &view),
        }
    }
}
