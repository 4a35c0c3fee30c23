//! Moves: what a provider does in a turn, in the words of the contract. Each has a verb, and the
//! fields that go with it.

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
        ingress::ExternalTrust,
        queue::envelope::Priority,
        task::{TaskKind, TaskStatus},
        turn::TurnTerminalKind,
        waiting::{CallbackDeliveryMode, WaitConditionKind},
        work::WorkItemPlanStatus,
    },
    story::{external::trigger_words, fields::fields},
    tagged::read_through,
};
use wakeful_json::{RawJson, Readable};

/// One thing that a provider does in a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Completes a round: the model says something, calls tools, or both.
    Round {
        /// What the model says.
        says: Option<String>,
        /// The tool calls of the model.
        calls: Vec<Call>,
        /// What the round used, as its provider counts it.
        used: Used,
    },
    /// Records a brief.
    Brief {
        /// The text of the brief.
        text: String,
        /// What the brief reports.
        kind: BriefKind,
    },
    /// A fact that does not depend on the run: an operation on a work item, a timer or an external
    /// trigger.
    Operation(Box<Fact>),
    /// Blocks an item.
    Block {
        /// The item that is blocked.
        item: WorkItemId,
        /// What blocks it.
        by: String,
        /// The time until the recheck, in milliseconds.
        recheck_ms: Option<u64>,
    },
    /// Registers a wait of an item or the agent (contract 5.17).
    WaitFor(WaitFor),
    /// Starts a task.
    StartTask(TaskPlan),
    /// Queues a message of the runtime for the model.
    Enqueue {
        /// The text of the message.
        text: String,
        /// The lane of the message; absent means normal.
        lane: Option<Priority>,
        /// The item that the message is about.
        item: Option<WorkItemId>,
    },
    /// Any fact. `$run` and `$message` stand for the ids of the run and of its message.
    Fact(RawJson),
    /// Lets this many milliseconds pass.
    Delay(u64),
    /// Ends the turn.
    End {
        /// How the turn ends.
        kind: TurnTerminalKind,
        /// Why it ends so.
        reason: Option<String>,
    },
    /// Fails the host with this error, so that the turn gets no terminal of its own (contract 5.5).
    HostError(String),
    /// Ends the process at once.
    Crash,
}

/// What a round used. Absent means that nobody counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Tokens that went in.
    pub input_tokens: Option<u64>,
    /// Tokens that came out.
    pub output_tokens: Option<u64>,
    /// The cost, in millionths.
    pub cost_micros: Option<u64>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The name of the tool.
    pub tool: String,
    /// The input of the call; absent means null.
    pub input: Option<RawJson>,
    /// The output of the call; absent means null.
    pub output: Option<RawJson>,
    /// How the call ends; absent means successfully.
    pub status: Option<ToolExecutionStatus>,
    /// The call in a line; absent means the name of the tool.
    pub summary: Option<String>,
}

/// A wait, and what can end it.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitFor {
    /// What kind of thing is awaited.
    pub kind: WaitConditionKind,
    /// The item that waits; `None` means the agent.
    pub item: Option<WorkItemId>,
    /// What is awaited, in words.
    pub what: Option<String>,
    /// What can end the wait.
    pub on: Waker,
    /// The time until the deadline, in milliseconds.
    pub deadline_ms: Option<u64>,
}

/// What can end a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum Waker {
    /// What follows from the kind of the wait.
    Kind,
    /// The result of this task.
    Task(TaskId),
    /// A delivery to this external trigger.
    Trigger(ExternalTriggerId),
    /// The end of this many milliseconds, or the timer of this id.
    After(u64, Option<TimerId>),
    /// Nothing. Only a faulty provider does this.
    Nothing,
}

/// A task, and how and when it ends.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskPlan {
    /// The id of the task.
    pub id: TaskId,
    /// The kind of the task; a command by default.
    pub kind: TaskKind,
    /// The item that it belongs to.
    pub item: Option<WorkItemId>,
    /// Whether the item waits for it.
    pub blocking: bool,
    /// What it does, in a line.
    pub summary: Option<String>,
    /// How it ends, and after how many milliseconds; `None` if it does not end on its own.
    pub end: Option<(TaskStatus, u64)>,
    /// The text of its result.
    pub result: Option<String>,
}

fields! {
    /// The fields of all moves. [`Move`] is read through this type.
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
        create_trigger: ExternalTriggerId,
        rotate_trigger: ExternalTriggerId,
        revoke_trigger: ExternalTriggerId,
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
        input_tokens: u64,
        output_tokens: u64,
        cost_micros: u64,
        mode: CallbackDeliveryMode,
        trust: ExternalTrust,
        once: bool,
        expires_ms: u64,
        token: String,
    }
}

impl TryFrom<MoveFields> for Move {
    type Error = String;

    fn try_from(mut f: MoveFields) -> Result<Self, String> {
        f.on_work_item()
            .or_else(|| f.on_waits())
            .or_else(|| f.on_triggers())
            .or_else(|| f.on_turn())
            .unwrap_or_else(|| {
                Err("a move has one of `says`, `calls`, `brief`, `create`, `pick`, `update`, \
                     `block`, `unblock`, `complete`, `wait_for`, `start_task`, `set_timer`, \
                     `cancel_timer`, `create_trigger`, `rotate_trigger`, `revoke_trigger`, \
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
            // A timer with only an interval fires first after that interval.
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
                used: Used {
                    input_tokens: self.input_tokens.take(),
                    output_tokens: self.output_tokens.take(),
                    cost_micros: self.cost_micros.take(),
                },
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
                false => Err("`crash` is `true` or absent".into()),
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
                    .ok_or_else(|| needs("wait_for", "task", "the task to wait for"))?,
            ),
            WaitConditionKind::Timer => {
                let after = self
                    .after_ms
                    .take()
                    .ok_or_else(|| needs("wait_for", "after_ms", "how long to wait"))?;
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

    /// The kind of what the verb makes. It is read late, because its type depends on the verb.
    fn kind<T: Readable>(&mut self, verb: &str, default: T) -> Result<T, String> {
        match self.kind.take() {
            None => Ok(default),
            Some(kind) => kind.read().map_err(|why| format!("`kind` of `{verb}`: {}", why.message)),
        }
    }
}

trigger_words!(MoveFields => Move);

fn needs(verb: &str, field: &str, what: &str) -> String {
    format!("`{verb}` needs `{field}`: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakeful_json as json;

    fn refused(text: &str) -> String {
        json::read::<Move>(text).expect_err("not a move").message
    }

    #[test]
    fn what_a_verb_needs_is_said() {
        assert_eq!(refused(r#"{"block":"w"}"#), "`block` needs `by`: what blocks the item");
        assert_eq!(
            refused(r#"{"wait_for":"task"}"#),
            "`wait_for` needs `task`: the task to wait for"
        );
        assert_eq!(
            refused(r#"{"wait_for":"timer"}"#),
            "`wait_for` needs `after_ms`: how long to wait"
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
        assert_eq!(refused(r#"{"crash":false}"#), "`crash` is `true` or absent");
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
            panic!("not an operation")
        };
        assert!(matches!(*fact, Fact::TimerCreated(TimerCreated { duration_ms: 5, .. })));
    }
}
