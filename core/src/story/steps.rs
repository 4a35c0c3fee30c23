//! Steps: a turn of a story as a sequence of facts, delays, started tasks and crashes.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    fact::{
        Fact,
        context::{AssistantRoundRecorded, BriefRecorded, ToolExecutionRecorded},
        queue::{MessageQueued, NewMessage},
        task::TaskChanged,
        turn::{RoundCompleted, TurnAborted, TurnTerminal},
        waiting::condition::WaitConditionRegistered,
        work::WorkItemBlocked,
    },
    id::MessageId,
    record::{
        context::ToolExecutionStatus,
        queue::envelope::{
            AdmissionContext, DeliverySurface, MessageKind, MessageOrigin, TrustLevel,
        },
        task::{TaskKind, TaskStatus, TaskWaitPolicy},
        turn::{AbortReason, TurnTerminalKind},
        waiting::{WaitConditionKind, WakeSource},
    },
    story::{
        MESSAGE, RUN,
        moves::{Call, Move, TaskPlan, Used, WaitFor, Waker},
        said,
        turn::Cue,
    },
    time::Timestamp,
};
use wakeful_json::{self as json, RawJson};

/// One thing for a player to do while a run is open.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// A fact is reported.
    Fact(RawJson),
    /// This many milliseconds pass.
    Delay(u64),
    /// A task was started; its end is to be scheduled.
    Task(TaskPlan),
    /// The process ends.
    Crash,
}

/// The facts of a turn, with the ids of its run and message for [`RUN`] and [`MESSAGE`].
pub(super) fn of_facts(facts: &[RawJson], cue: &Cue) -> Vec<Step> {
    facts.iter().map(|fact| Step::Fact(with_ids(fact, cue))).collect()
}

/// The steps of a turn's moves, from `now` on. If the moves do not end the turn, it completes.
pub(super) fn of_moves(moves: &[Move], cue: &Cue, now: Timestamp) -> Vec<Step> {
    let mut turn = Telling {
        cue,
        now,
        rounds: 0,
        calls: 0,
        made: 0,
        said: None,
        ended: false,
        steps: Vec::new(),
    };
    moves.iter().for_each(|one| turn.tell(one));
    if !turn.ended {
        turn.end(TurnTerminalKind::Completed, None);
    }
    turn.steps
}

/// A turn whose moves are being turned into steps.
struct Telling<'a> {
    cue: &'a Cue,
    now: Timestamp,
    rounds: u64,
    calls: u64,
    made: u64,
    said: Option<String>,
    ended: bool,
    steps: Vec<Step>,
}

impl Telling<'_> {
    fn tell(&mut self, one: &Move) {
        match one {
            Move::Round { says, calls, used } => self.round(says.as_deref(), calls, *used),
            Move::Brief { text, kind } => {
                let brief_id = self.made_id("brief");
                self.say(&Fact::BriefRecorded(BriefRecorded {
                    brief_id,
                    kind: *kind,
                    text: text.clone(),
                }));
            }
            Move::Operation(fact) => self.say(fact),
            Move::Block { item, by, recheck_ms } => {
                self.say(&Fact::WorkItemBlocked(WorkItemBlocked {
                    work_item_id: item.clone(),
                    blocked_by: by.clone(),
                    recheck_at: None,
                    recheck_in_ms: *recheck_ms,
                }));
            }
            Move::WaitFor(wait) => self.wait(wait),
            Move::StartTask(task) => {
                self.say(&Fact::TaskRunning(started(task)));
                self.steps.push(Step::Task(task.clone()));
            }
            Move::Enqueue { text, lane, item } => {
                let id = self.made_id("message");
                self.say(&said::followup(id.into(), text.as_str(), *lane, item.clone()));
            }
            Move::Fact(fact) => {
                let fact = with_ids(fact, self.cue);
                self.ended |= ends(&fact);
                self.steps.push(Step::Fact(fact));
            }
            Move::Delay(ms) => {
                // Later instants of this turn count from the end of the delay.
                self.now = self.now.plus_ms(*ms);
                self.steps.push(Step::Delay(*ms));
            }
            Move::End { kind, reason } => self.end(*kind, reason.clone()),
            Move::HostError(why) => {
                self.ended = true;
                let run_id = self.cue.run_id.clone();
                self.say(&Fact::TurnAborted(TurnAborted {
                    run_id,
                    reason: AbortReason::RuntimeError,
                    error: Some(why.clone()),
                }));
            }
            Move::Crash => self.steps.push(Step::Crash),
        }
    }

    fn say(&mut self, fact: &Fact) {
        self.steps.push(Step::Fact(RawJson::from_value(fact)));
    }

    /// A new id. A replay of the turn makes the same one.
    fn made_id(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{}/{what}-{}", self.cue.message_id, self.made)
    }

    fn round(&mut self, says: Option<&str>, calls: &[Call], used: Used) {
        #[derive(Serialize)]
        struct Said<'a> {
            text: &'a str,
        }
        self.rounds += 1;
        let done = RoundCompleted::new(self.cue.run_id.clone(), self.rounds);
        self.say(&Fact::ProviderRoundCompleted(RoundCompleted {
            input_tokens: used.input_tokens,
            output_tokens: used.output_tokens,
            cost_micros: used.cost_micros,
            ..done.clone()
        }));
        if let Some(text) = says {
            self.said = Some(text.to_string());
            let data = RawJson::from_value(&Said { text });
            self.say(&Fact::AssistantRoundRecorded(AssistantRoundRecorded {
                run_id: self.cue.run_id.clone(),
                data,
                calls: Some(Vec::new()),
            }));
        }
        for call in calls {
            self.call(call);
        }
        if !calls.is_empty() {
            self.say(&Fact::ToolRoundCompleted(done));
        }
    }

    fn call(&mut self, call: &Call) {
        self.calls += 1;
        // Named after the message and not the run, so that a replay makes the same id.
        let id = format!("{}/tool-{}", self.cue.message_id, self.calls);
        let status = call.status.unwrap_or(ToolExecutionStatus::Success);
        let nothing = || RawJson::from_value(&());
        let fact = Fact::ToolExecutionRecorded(ToolExecutionRecorded {
            run_id: self.cue.run_id.clone(),
            tool_execution_id: id,
            tool_name: call.tool.clone(),
            status,
            input: call.input.clone().unwrap_or_else(nothing),
            output: call.output.clone().unwrap_or_else(nothing),
            summary: call.summary.clone().unwrap_or_else(|| call.tool.clone()),
            call_id: None,
        });
        self.say(&fact);
    }

    fn wait(&mut self, wait: &WaitFor) {
        let id = self.made_id("wait");
        let source = match &wait.on {
            Waker::Nothing => None,
            Waker::Task(task_id) => Some(WakeSource::TaskResult { task_id: task_id.clone() }),
            Waker::Trigger(id) => Some(WakeSource::ExternalIngress {
                external_trigger_id: Some(id.clone()),
                after: None,
            }),
            Waker::After(ms, timer_id) => Some(WakeSource::Timer {
                wake_at: self.now.plus_ms(*ms),
                wake_in_ms: Some(*ms),
                timer_id: timer_id.clone(),
            }),
            Waker::Kind => Some(match wait.kind {
                WaitConditionKind::Operator => WakeSource::OperatorInput,
                WaitConditionKind::System => WakeSource::SystemTick,
                _ => WakeSource::ExternalIngress { external_trigger_id: None, after: None },
            }),
        };
        self.say(&Fact::WaitConditionRegistered(WaitConditionRegistered {
            wait_condition_id: id.into(),
            work_item_id: wait.item.clone(),
            kind: wait.kind,
            waiting_for: wait.what.clone().unwrap_or_else(|| waited_for(wait)),
            wake_sources: source.into_iter().collect(),
            expires_at: None,
            expires_in_ms: wait.deadline_ms,
            source: None,
            subject_ref: None,
            continuation: None,
        }));
    }

    fn end(&mut self, kind: TurnTerminalKind, reason: Option<String>) {
        self.ended = true;
        let (run_id, last_assistant_message) = (self.cue.run_id.clone(), self.said.clone());
        self.say(&Fact::TurnTerminal(TurnTerminal {
            run_id,
            kind,
            reason,
            last_assistant_message,
            checkpoint: None,
        }));
    }
}

fn waited_for(wait: &WaitFor) -> String {
    match &wait.on {
        Waker::Task(id) => format!("the result of task {id}"),
        Waker::Trigger(id) => format!("a delivery to {id}"),
        Waker::After(_, Some(id)) => format!("timer {id}"),
        Waker::After(_, None) => "an instant".to_string(),
        Waker::Kind | Waker::Nothing => match wait.kind {
            WaitConditionKind::Operator => "the operator".to_string(),
            WaitConditionKind::System => "the runtime".to_string(),
            kind => format!("something {kind}"),
        },
    }
}

/// Whether this fact ends the run.
fn ends(fact: &RawJson) -> bool {
    let name = fact.field("fact").and_then(|name| name.read::<String>().ok());
    matches!(name.as_deref(), Some("turn_terminal" | "turn_aborted" | "turn_baseline_over_budget"))
}

/// The fact with the ids of the run and the message for their placeholders. Both are replaced as
/// whole JSON strings, so a placeholder inside a longer text stays.
fn with_ids(fact: &RawJson, cue: &Cue) -> RawJson {
    let text = fact.as_str().replace(&json::write(&RUN), &json::write(&cue.run_id));
    let text = text.replace(&json::write(&MESSAGE), &json::write(&cue.message_id));
    // Ids are written as JSON strings, so the text stays JSON.
    json::read(&text).unwrap_or_else(|_| fact.clone())
}

#[derive(Serialize)]
struct Policy {
    wait_policy: &'static str,
}

fn detail(task: &TaskPlan) -> RawJson {
    RawJson::from_value(&Policy {
        wait_policy: if task.blocking { "blocking" } else { "background" },
    })
}

fn started(task: &TaskPlan) -> TaskChanged {
    TaskChanged {
        task_id: task.id.clone(),
        task_kind: Some(task.kind),
        work_item_id: task.item.clone(),
        summary: task.summary.clone(),
        wait_policy: Some(if task.blocking {
            TaskWaitPolicy::Blocking
        } else {
            TaskWaitPolicy::Background
        }),
        detail: Some(detail(task)),
        recovery: None,
    }
}

/// The fact that queues the result of a task. Its transition also records the end of the task (I5).
pub(super) fn result_of(task: &TaskPlan, status: TaskStatus) -> RawJson {
    #[derive(Serialize)]
    struct Noted<'a> {
        task_id: &'a str,
        task_kind: TaskKind,
        task_status: TaskStatus,
        task_summary: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        work_item_id: Option<&'a str>,
        task_detail: RawJson,
    }
    let text = task.result.clone().unwrap_or_else(|| format!("task {} ended: {status}", task.id));
    let noted = Noted {
        task_id: task.id.as_str(),
        task_kind: task.kind,
        task_status: status,
        task_summary: &text,
        work_item_id: task.item.as_ref().map(|id| id.as_str()),
        task_detail: detail(task),
    };
    let origin = MessageOrigin::Task { task_id: task.id.clone() };
    // Named after the task, so that its result is recorded once, whichever process reports it.
    let id = MessageId::from(format!("{}/result", task.id));
    RawJson::from_value(&Fact::MessageQueued(MessageQueued {
        message: NewMessage {
            work_item_id: task.item.clone(),
            task_id: Some(task.id.clone()),
            delivery_surface: Some(DeliverySurface::TaskRejoin),
            admission_context: Some(AdmissionContext::RuntimeOwned),
            metadata: Some(RawJson::from_value(&noted)),
            ..said::message(
                id,
                MessageKind::TaskResult,
                origin,
                TrustLevel::TrustedSystem,
                text.as_str(),
            )
        },
    }))
}
