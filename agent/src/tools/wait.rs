//! The tools of the waiting plane: `WaitFor` records a wait and ends the turn, `Sleep` rests
//! (contract 5.17, 5.20).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::{
    fact::{
        Fact,
        outcome::{Answer, Refusal},
        waiting::{
            condition::{WaitConditionNamed, WaitConditionRegistered},
            timer::TimerCreated,
        },
    },
    id::{ExternalTriggerId, TaskId, TimerId, WaitConditionId, WorkItemId},
    record::waiting::{WaitConditionKind, WakeSource},
    time::Timestamp,
};

use super::{Caller, Success, Tool, ToolError, accepted, said, trigger};
use crate::jobs::bound_item;

/// Arguments of `WaitFor`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitFor {
    /// What you wait for, in words. It is shown to people who ask why you wait.
    reason: String,
    /// What ends the wait.
    wake: Wake,
    /// The work item that waits. By default the item of this turn.
    #[serde(default)]
    work_item_id: Option<String>,
    /// For task_result the id of the task. For external the id of an external trigger; if there is
    /// none with that id it is made. Leave it out for any event.
    #[serde(default)]
    resource: Option<String>,
    /// For timer: the time to wait, in milliseconds.
    #[serde(default)]
    duration_ms: Option<u64>,
    /// The time in milliseconds after which to wake anyway and look again.
    #[serde(default)]
    recheck_after_ms: Option<u64>,
}

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Wake {
    /// A message of the operator.
    OperatorInput,
    /// The end of a task.
    TaskResult,
    /// An external event.
    External,
    /// A point in time.
    Timer,
}

#[derive(Serialize)]
struct Waiting {
    waiting: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_condition_id: Option<WaitConditionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    work_item_id: Option<WorkItemId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wakes_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl WaitFor {
    fn kind(&self) -> WaitConditionKind {
        match self.wake {
            Wake::OperatorInput => WaitConditionKind::Operator,
            Wake::TaskResult => WaitConditionKind::Task,
            Wake::External => WaitConditionKind::External,
            Wake::Timer => WaitConditionKind::Timer,
        }
    }

    fn source(&self, now: Timestamp) -> Result<WakeSource, ToolError> {
        let missing = |what: &str| ToolError::new("invalid_tool_input", what);
        Ok(match self.wake {
            Wake::OperatorInput => WakeSource::OperatorInput,
            Wake::TaskResult => {
                let task = self.resource.as_deref().ok_or_else(|| {
                    missing("wake = task_result needs the task's id as `resource`")
                })?;
                WakeSource::TaskResult { task_id: TaskId::from(task) }
            }
            Wake::External => WakeSource::ExternalIngress {
                external_trigger_id: self.resource.as_deref().map(ExternalTriggerId::from),
                after: None,
            },
            Wake::Timer => {
                let after = self
                    .duration_ms
                    .filter(|ms| *ms > 0)
                    .ok_or_else(|| missing("wake = timer needs a `duration_ms` above 0"))?;
                WakeSource::Timer {
                    wake_at: now.plus_ms(after),
                    wake_in_ms: Some(after),
                    timer_id: None,
                }
            }
        })
    }
}

impl Tool for WaitFor {
    const NAME: &'static str = "WaitFor";
    const ABOUT: &'static str = "Waits: records what you wait for and ends your turn. What ends \
                                 the wait wakes you. It replaces an earlier wait of the same work \
                                 item.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let waiting_for = said(&self.reason, "reason")?;
        if self.recheck_after_ms == Some(0) {
            return Err(ToolError::new("invalid_tool_input", "`recheck_after_ms` must be above 0"));
        }
        // All in one request: the id is the position of the next entry, which no other fact may
        // take first.
        caller.ask(move |actor| {
            let now = actor.now();
            let source = self.source(now)?;
            let named = self.work_item_id.as_deref().map(WorkItemId::from);
            let work_item_id = named.or_else(|| bound_item(actor.state()));
            let expires_at = self.recheck_after_ms.map(|ms| now.plus_ms(ms));
            let wakes_at = match &source {
                WakeSource::Timer { wake_at, .. } => {
                    Some(expires_at.map_or(*wake_at, |expires| expires.min(*wake_at)))
                }
                _ => expires_at,
            };
            let summary = format!("waits for {}: {waiting_for}", self.kind());
            // A name that is new: without a trigger nothing outside could end the wait.
            if let Some(id) = source.trigger().filter(|id| !actor.state().ingress().knows(id)) {
                let (id, owner) = (id.as_str(), work_item_id.clone());
                trigger::create(actor, trigger::wanted(id, waiting_for.clone(), owner))?;
            }
            let wait_condition_id =
                WaitConditionId::from(format!("wait-{}", actor.state().next_seq()));
            let fact = Fact::WaitConditionRegistered(WaitConditionRegistered {
                wait_condition_id: wait_condition_id.clone(),
                work_item_id: work_item_id.clone(),
                kind: self.kind(),
                waiting_for,
                wake_sources: vec![source],
                expires_at: None,
                expires_in_ms: self.recheck_after_ms,
                source: None,
                subject_ref: self.resource.clone(),
                continuation: None,
            });
            match actor.propose(&fact) {
                Ok(Answer::Accepted) => {
                    let waiting = Waiting {
                        waiting: true,
                        wait_condition_id: Some(wait_condition_id),
                        work_item_id,
                        wakes_at,
                        note: None,
                    };
                    // It does not set `sleeps`: registering the condition yields the turn by itself
                    // (contract 5.17).
                    Ok(Success::new(summary, &waiting))
                }
                // Not an error: nothing is waited for, and the turn does not yield (contract 5.17).
                Ok(Answer::Ignored { reason: Refusal::AlreadySatisfied, .. }) => {
                    let note =
                        Some("it has already happened, so there is nothing to wait for: continue");
                    let waiting = Waiting {
                        waiting: false,
                        wait_condition_id: None,
                        work_item_id,
                        wakes_at: None,
                        note,
                    };
                    Ok(Success::new("already happened: there is nothing to wait for", &waiting))
                }
                Ok(Answer::Ignored { reason, because }) => {
                    Err(ToolError::refused(reason, because.0))
                }
                Err(why) => Err(ToolError::new("tool_execution_failed", why)),
            }
        })?
    }
}

/// Arguments of `EndWait`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndWait {
    /// The wait to end.
    wait_condition_id: String,
}

#[derive(Serialize)]
struct Ended {
    ended: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    work_item_id: Option<WorkItemId>,
}

impl Tool for EndWait {
    const NAME: &'static str = "EndWait";
    const ABOUT: &'static str = "Ends a wait because what it waits for is known, such as the \
                                 operator's answer. The work item that waited can continue.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let id = WaitConditionId::from(self.wait_condition_id.trim());
        caller.ask(move |actor| {
            let wait = actor.state().waiting().conditions.get(&id);
            let work_item_id = wait.and_then(|wait| wait.record.work_item_id.clone());
            let summary = wait.map_or_else(String::new, |wait| {
                format!("no longer waits for: {}", wait.record.waiting_for)
            });
            accepted(
                actor,
                &Fact::WaitConditionCancelled(WaitConditionNamed {
                    wait_condition_id: id,
                    ended_by: None,
                }),
            )?;
            Ok(Success::new(summary, &Ended { ended: true, work_item_id }))
        })?
    }
}

/// Arguments of `Sleep`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sleep {
    /// Why you rest, in words.
    #[serde(default)]
    reason: Option<String>,
    /// How long to rest, in milliseconds. By default until something wakes you.
    #[serde(default)]
    duration_ms: Option<u64>,
}

#[derive(Serialize)]
struct Asleep {
    reason: Option<String>,
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timer_id: Option<TimerId>,
}

impl Tool for Sleep {
    const NAME: &'static str = "Sleep";
    const ABOUT: &'static str = "Ends your turn without an answer. With duration_ms you are woken \
                                 after that time. Open work items that wait for nothing wake you \
                                 anyway.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let Self { reason, duration_ms } = self;
        if duration_ms == Some(0) {
            return Err(ToolError::new("invalid_tool_input", "`duration_ms` must be above 0"));
        }
        let summary = reason.clone();
        let timer_id = match duration_ms {
            None => None,
            Some(duration_ms) => Some(caller.ask(move |actor| {
                let timer_id = TimerId::from(format!("sleep-{}", actor.state().next_seq()));
                let fact = TimerCreated {
                    timer_id: timer_id.clone(),
                    duration_ms,
                    interval_ms: None,
                    summary,
                };
                accepted(actor, &Fact::TimerCreated(fact)).map(|()| timer_id)
            })??),
        };
        let said =
            duration_ms.map_or_else(|| "rests".to_owned(), |ms| format!("rests for {ms} ms"));
        Ok(Success {
            sleeps: true,
            ..Success::new(said, &Asleep { reason, duration_ms, timer_id })
        })
    }
}
