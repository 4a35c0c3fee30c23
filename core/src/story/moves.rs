//! Moves: what a provider does in a turn, in the words of the contract. Each has a verb, and fields
//! that go with it.

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::num::NonZeroU64;

use crate::{
    fact::{
        Fact,
        waiting::timer::{TimerCreated, TimerNamed},
        work::{WorkItemCompleted, WorkItemCreated, WorkItemNamed, WorkItemUpdated},
    },
    id::{ExternalTriggerId, TaskId, TimerId, WorkItemId},
    record::{
        context::{BriefKind, ToolExecutionStatus},
        queue::envelope::Priority,
        task::{TaskKind, TaskStatus},
        turn::TurnTerminalKind,
        waiting::WaitConditionKind,
        work::WorkItemPlanStatus,
    },
    story::fields::fields,
    tagged::read_through,
};
use wakeful_json::{RawJson, Readable};

/// One thing that a provider does in a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// A round: the model says something, or calls tools, or both.
    Round {
        /// What it says.
        says: Option<String>,
        /// The tools that it calls.
        calls: Vec<Call>,
    },
    /// A brief is written.
    Brief {
        /// Its text.
        text: String,
        /// What it tells.
        kind: BriefKind,
    },
    /// A fact that needs nothing of the run: an operation on a work item or a timer.
    Operation(Box<Fact>),
    /// An item is blocked.
    Block {
        /// The item.
        item: WorkItemId,
        /// What blocks it.
        by: String,
        /// When to look again, in milliseconds from now.
        recheck_ms: Option<u64>,
    },
    /// An owner waits (contract 5.17).
    WaitFor(WaitFor),
    /// A task is started.
    StartTask(TaskPlan),
    /// The runtime means a message for the model.
    Enqueue {
        /// What it says.
        text: String,
        /// Its lane; normal where nothing is said.
        lane: Option<Priority>,
        /// The item that it is about.
        item: Option<WorkItemId>,
    },
    /// Any fact; `$run` and `$message` stand for the ids of the run and of its message.
    Fact(RawJson),
    /// The turn takes this long, in milliseconds.
    Delay(u64),
    /// The turn ends.
    End {
        /// How.
        kind: TurnTerminalKind,
        /// Why.
        reason: Option<String>,
    },
    /// The host fails and gives the turn no terminal of its own (contract 5.5).
    HostError(String),
    /// The process ends at once.
    Crash,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// What goes in; nothing where nothing is said.
    pub input: Option<RawJson>,
    /// What comes out; nothing where nothing is said.
    pub output: Option<RawJson>,
    /// How it ends; well where nothing is said.
    pub status: Option<ToolExecutionStatus>,
    /// Both in a line; the name of the tool where nothing is said.
    pub summary: Option<String>,
}

/// What a wait is for.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitFor {
    /// What kind of thing.
    pub kind: WaitConditionKind,
    /// The item that waits; the agent where there is none.
    pub item: Option<WorkItemId>,
    /// The same in words.
    pub what: Option<String>,
    /// What can end it, where the kind alone does not say.
    pub on: Waker,
    /// Its deadline, in milliseconds from now.
    pub deadline_ms: Option<u64>,
}

/// What can end a wait, where its kind alone does not say.
#[derive(Clone, Debug, PartialEq)]
pub enum Waker {
    /// What its kind says.
    Kind,
    /// The result of this task.
    Task(TaskId),
    /// A delivery to this external trigger.
    Trigger(ExternalTriggerId),
    /// This many milliseconds from now, with the timer that stands for it.
    After(u64, Option<TimerId>),
    /// Nothing: no provider should say so.
    Nothing,
}

/// A task: what it is, and how and when it ends.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskPlan {
    /// Its id.
    pub id: TaskId,
    /// What it is; a command where nothing is said.
    pub kind: TaskKind,
    /// The item that it belongs to.
    pub item: Option<WorkItemId>,
    /// Whether the item waits for it.
    pub blocking: bool,
    /// What it does, in a line.
    pub summary: Option<String>,
    /// How it ends and after how many milliseconds; by itself it does not end.
    pub end: Option<(TaskStatus, u64)>,
    /// What comes out of it.
    pub result: Option<String>,
}

fields! {
    /// All fields that some move has; what [`Move`] is read through.
    MoveFields {
        says: String,
        calls: Vec<Call>,
        brief: String,
        create: WorkItemId,
        pick: WorkItemId,
        update: WorkItemId,
        block: WorkItemId,
        unblock: WorkItemId,
        complete: WorkItemId,
        wait_for: WaitConditionKind,
        start_task: TaskId,
        set_timer: TimerId,
        cancel_timer: TimerId,
        enqueue: String,
        fact: RawJson,
        delay_ms: u64,
        end: TurnTerminalKind,
        host_error: String,
        crash: bool,
        kind: RawJson,
        objective: String,
        plan: WorkItemPlanStatus,
        by: String,
        recheck_ms: u64,
        result: String,
        item: WorkItemId,
        what: String,
        task: TaskId,
        trigger: ExternalTriggerId,
        timer: TimerId,
        after_ms: u64,
        every_ms: NonZeroU64,
        deadline_ms: u64,
        blocking: bool,
        summary: String,
        ends: TaskStatus,
        lane: Priority,
        reason: String,
    }
}

impl TryFrom<MoveFields> for Move {
    type Error = String;

    fn try_from(mut f: MoveFields) -> Result<Self, String> {
        f.on_work_item().or_else(|| f.on_waits()).or_else(|| f.on_turn()).unwrap_or_else(|| {
            Err("a move has one of `says`, `calls`, `brief`, `create`, `pick`, `update`, `block`, \
                 `unblock`, `complete`, `wait_for`, `start_task`, `set_timer`, `cancel_timer`, \
                 `enqueue`, `fact`, `delay_ms`, `end`, `host_error` and `crash`"
                .into())
        })
    }
}

read_through!(Move, MoveFields, Self::Crash);

type Made = Option<Result<Move, String>>;

impl MoveFields {
    fn on_work_item(&mut self) -> Made {
        let operation = |fact| Move::Operation(Box::new(fact));
        Some(if let Some(work_item_id) = self.create.take() {
            let objective = self.objective.take().unwrap_or_else(|| work_item_id.as_str().into());
            let fact = Fact::WorkItemCreated(WorkItemCreated {
                work_item_id,
                objective,
                plan_status: self.plan.take(),
            });
            self.done("create", operation(fact))
        } else if let Some(work_item_id) = self.pick.take() {
            self.done("pick", operation(Fact::WorkItemPicked(WorkItemNamed { work_item_id })))
        } else if let Some(work_item_id) = self.update.take() {
            let (objective, plan_status) = (self.objective.take(), self.plan.take());
            let fact = WorkItemUpdated {
                work_item_id,
                objective,
                plan_status,
                plan: None,
                todo_list: None,
            };
            self.done("update", operation(Fact::WorkItemUpdated(fact)))
        } else if let Some(item) = self.block.take() {
            let recheck_ms = self.recheck_ms.take();
            let by = self.by.take().ok_or_else(|| needs("block", "by", "what blocks the item"));
            by.and_then(|by| self.done("block", Move::Block { item, by, recheck_ms }))
        } else if let Some(work_item_id) = self.unblock.take() {
            self.done("unblock", operation(Fact::WorkItemUnblocked(WorkItemNamed { work_item_id })))
        } else if let Some(work_item_id) = self.complete.take() {
            let fact = WorkItemCompleted { work_item_id, result_summary: self.result.take() };
            self.done("complete", operation(Fact::WorkItemCompleted(fact)))
        } else {
            return None;
        })
    }

    fn on_waits(&mut self) -> Made {
        let operation = |fact| Move::Operation(Box::new(fact));
        Some(if let Some(kind) = self.wait_for.take() {
            self.wait(kind)
        } else if let Some(id) = self.start_task.take() {
            self.task(id)
        } else if let Some(timer_id) = self.set_timer.take() {
            let (interval_ms, summary) = (self.every_ms.take(), self.summary.take());
            let first = self.after_ms.take().or(interval_ms.map(NonZeroU64::get));
            let first = first.ok_or_else(|| {
                needs("set_timer", "after_ms", "when it fires first, or `every_ms`")
            });
            let fact = first.map(|duration_ms| TimerCreated {
                timer_id,
                duration_ms,
                interval_ms,
                summary,
            });
            fact.and_then(|fact| self.done("set_timer", operation(Fact::TimerCreated(fact))))
        } else if let Some(timer_id) = self.cancel_timer.take() {
            self.done("cancel_timer", operation(Fact::TimerCancelled(TimerNamed { timer_id })))
        } else {
            return None;
        })
    }

    fn on_turn(&mut self) -> Made {
        Some(if self.says.is_some() || self.calls.is_some() {
            let read = Move::Round {
                says: self.says.take(),
                calls: self.calls.take().unwrap_or_default(),
            };
            self.done("says", read)
        } else if let Some(text) = self.brief.take() {
            let kind = self.kind("brief", BriefKind::Result);
            kind.and_then(|kind| self.done("brief", Move::Brief { text, kind }))
        } else if let Some(text) = self.enqueue.take() {
            let read = Move::Enqueue { text, lane: self.lane.take(), item: self.item.take() };
            self.done("enqueue", read)
        } else if let Some(fact) = self.fact.take() {
            self.done("fact", Move::Fact(fact))
        } else if let Some(ms) = self.delay_ms.take() {
            self.done("delay_ms", Move::Delay(ms))
        } else if let Some(kind) = self.end.take() {
            let reason = self.reason.take();
            self.done("end", Move::End { kind, reason })
        } else if let Some(why) = self.host_error.take() {
            self.done("host_error", Move::HostError(why))
        } else if let Some(crash) = self.crash.take() {
            match crash {
                true => self.done("crash", Move::Crash),
                false => Err("`crash` is `true`, or is not there".into()),
            }
        } else {
            return None;
        })
    }

    fn wait(&mut self, kind: WaitConditionKind) -> Result<Move, String> {
        let on = match kind {
            WaitConditionKind::Task => Waker::Task(
                self.task
                    .take()
                    .ok_or_else(|| needs("wait_for", "task", "whose result is waited for"))?,
            ),
            WaitConditionKind::Timer => {
                let after = self
                    .after_ms
                    .take()
                    .ok_or_else(|| needs("wait_for", "after_ms", "how long is waited"))?;
                Waker::After(after, self.timer.take())
            }
            WaitConditionKind::External => self.trigger.take().map_or(Waker::Kind, Waker::Trigger),
            WaitConditionKind::Operator | WaitConditionKind::System => Waker::Kind,
        };
        let (item, what, deadline_ms) =
            (self.item.take(), self.what.take(), self.deadline_ms.take());
        self.done(
            &format!("wait_for = \"{kind}\""),
            Move::WaitFor(WaitFor { kind, item, what, on, deadline_ms }),
        )
    }

    fn task(&mut self, id: TaskId) -> Result<Move, String> {
        let kind = self.kind("start_task", TaskKind::CommandTask)?;
        let end = match (self.ends.take(), self.after_ms.take()) {
            (Some(status), after_ms) if status.is_terminal() => {
                Some((status, after_ms.unwrap_or(0)))
            }
            (Some(status), _) => {
                return Err(format!(
                    "a task does not end as `{status}`: it ends `completed`, `failed`, \
                     `cancelled` or `interrupted`"
                ));
            }
            (None, Some(_)) => {
                return Err(needs("start_task", "ends", "how it ends after that time"));
            }
            (None, None) => None,
        };
        let (item, summary, result) = (self.item.take(), self.summary.take(), self.result.take());
        let blocking = self.blocking.take().unwrap_or_default();
        self.done(
            "start_task",
            Move::StartTask(TaskPlan { id, kind, item, blocking, summary, end, result }),
        )
    }

    /// The kind of what the verb makes; which kinds there are depends on the verb.
    fn kind<T: Readable>(&mut self, verb: &str, default: T) -> Result<T, String> {
        match self.kind.take() {
            None => Ok(default),
            Some(kind) => kind.read().map_err(|why| format!("`kind` of `{verb}`: {}", why.message)),
        }
    }
}

fn needs(verb: &str, field: &str, what: &str) -> String {
    format!("`{verb}` needs `{field}`: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakeful_json as json;

    fn refused(text: &str) -> String {
        json::read::<Move>(text).expect_err("no move").message
    }

    #[test]
    fn what_a_verb_needs_is_said() {
        assert_eq!(refused(r#"{"block":"w"}"#), "`block` needs `by`: what blocks the item");
        assert_eq!(
            refused(r#"{"wait_for":"task"}"#),
            "`wait_for` needs `task`: whose result is waited for"
        );
        assert_eq!(
            refused(r#"{"wait_for":"timer"}"#),
            "`wait_for` needs `after_ms`: how long is waited"
        );
        assert_eq!(
            refused(r#"{"set_timer":"t"}"#),
            "`set_timer` needs `after_ms`: when it fires first, or `every_ms`"
        );
        assert_eq!(
            refused(r#"{"start_task":"t","after_ms":5}"#),
            "`start_task` needs `ends`: how it ends after that time"
        );
    }

    #[test]
    fn what_a_verb_does_not_take_is_said() {
        assert_eq!(
            refused(r#"{"pick":"w","objective":"x"}"#),
            "`objective` does not go with `pick`"
        );
        assert_eq!(refused(r#"{"pick":"w","complete":"w"}"#), "`complete` does not go with `pick`");
        assert_eq!(
            refused(r#"{"wait_for":"operator","task":"t"}"#),
            "`task` does not go with `wait_for = \"operator\"`"
        );
        assert_eq!(refused(r#"{"says":"x","delay_ms":5}"#), "`delay_ms` does not go with `says`");
    }

    #[test]
    fn what_is_no_move_says_what_one_is() {
        assert!(refused("{}").starts_with("a move has one of `says`, `calls`"));
        assert_eq!(refused(r#"{"crash":false}"#), "`crash` is `true`, or is not there");
        assert!(
            refused(r#"{"start_task":"t","ends":"running"}"#)
                .starts_with("a task does not end as `running`")
        );
        assert!(
            refused(r#"{"start_task":"t","kind":"dance"}"#)
                .starts_with("`kind` of `start_task`: unknown variant `dance`")
        );
        assert!(
            refused(r#"{"end":"badly"}"#)
                .contains("unknown variant `badly`, expected one of `completed`")
        );
    }

    #[test]
    fn a_timer_that_only_says_how_often_fires_first_after_that_time() {
        let Ok(Move::Operation(fact)) = json::read(r#"{"set_timer":"t","every_ms":5}"#) else {
            panic!("no operation")
        };
        assert!(matches!(*fact, Fact::TimerCreated(TimerCreated { duration_ms: 5, .. })));
    }
}
