//! The tools of the task plane: list, status, output, input and stop (contract 12).

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wakeful_core::{
    fact::{Fact, task::TaskChanged},
    id::{MessageId, TaskId},
    json::Readable,
    record::{
        Record,
        task::{self, TaskKind, TaskRecord},
    },
    time::Timestamp,
};

use super::{Caller, Success, Tool, ToolError, exec::without_mark};
use crate::{actor::Actor, child, command, context::Context, supervision::ChildSupervision};

/// How often a task that is waited for is checked.
const LOOK: Duration = Duration::from_millis(50);

/// The most bytes of output that one call shows.
const SHOWN: usize = 8_000;

/// Arguments of `TaskList`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskList {}

#[derive(Serialize)]
struct Listed {
    id: TaskId,
    kind: TaskKind,
    status: task::TaskStatus,
    summary: Option<String>,
    updated_at: Timestamp,
    wait_policy: task::TaskWaitPolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Value>,
}

impl Tool for TaskList {
    const NAME: &'static str = "TaskList";
    const ABOUT: &'static str = "Lists the active tasks, newest first.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let mut tasks: Vec<_> = caller.ask(|actor| {
            let active = actor.state().tasks().active.values().map(|task| &task.record);
            active
                .map(|task| Listed {
                    id: task.id.clone(),
                    kind: task.kind,
                    status: task.status,
                    summary: task.summary.clone(),
                    updated_at: task.updated_at,
                    wait_policy: task.wait_policy(),
                    command: command_of(
                        task,
                        &["cmd", "workdir", "shell", "login", "tty", "promoted_from_exec_command"],
                    ),
                })
                .collect()
        })?;
        tasks.sort_by(|a, b| (b.updated_at, &a.id).cmp(&(a.updated_at, &b.id)));
        Ok(Success::new(format!("{} active tasks", tasks.len()), &tasks))
    }
}

/// Arguments of `TaskStatus`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskStatus {
    /// The id of the task.
    task_id: String,
}

#[derive(Serialize)]
struct Status {
    task: Snapshot,
}

/// The compact status of a task.
#[derive(Serialize)]
struct Snapshot {
    task_id: TaskId,
    kind: TaskKind,
    status: task::TaskStatus,
    running: bool,
    terminal: bool,
    accepts_input: bool,
    can_be_stopped: bool,
    output_available: bool,
    summary: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    wait_policy: task::TaskWaitPolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_message_id: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    child_agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    child_supervision: Option<ChildSupervision>,
}

impl Snapshot {
    fn from_task(task: &TaskRecord) -> Self {
        let supervision = ChildSupervision::from_task(task);
        let active = !task.status.is_terminal();
        let open = active && task.status != task::TaskStatus::Cancelling;
        Self {
            task_id: task.id.clone(),
            kind: task.kind,
            status: task.status,
            running: task.status == task::TaskStatus::Running,
            terminal: !active,
            accepts_input: open
                && (supervision.is_some() || noted(task, "accepts_input").unwrap_or(false)),
            // Also while it is cancelling, because a second stop kills it.
            can_be_stopped: active,
            output_available: output_path(task).is_some() || !active,
            summary: task.summary.clone(),
            created_at: task.created_at,
            updated_at: task.updated_at,
            wait_policy: task.wait_policy(),
            parent_message_id: task.parent_message_id.clone(),
            command: command_of(
                task,
                &[
                    "cmd",
                    "workdir",
                    "shell",
                    "login",
                    "tty",
                    "promoted_from_exec_command",
                    "output_path",
                    "exit_status",
                    "input_target",
                    "restartable",
                    "restarts",
                ],
            ),
            child_agent_id: supervision
                .as_ref()
                .map(|supervision| supervision.child_agent_id.to_string()),
            child_supervision: supervision,
        }
    }
}

impl Tool for TaskStatus {
    const NAME: &'static str = "TaskStatus";
    const ABOUT: &'static str =
        "Reports the status of a task: whether it runs, takes input, can be stopped, has output.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let task = find(caller, &self.task_id)?;
        Ok(Success::new(
            format!("task {} is {}", task.id, task.status),
            &Status { task: Snapshot::from_task(&task) },
        ))
    }
}

/// Arguments of `TaskOutput`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskOutput {
    /// The id of the task.
    task_id: String,
    /// Whether to wait until the task ends.
    #[serde(default = "yes")]
    block: bool,
    /// The longest wait, in milliseconds.
    #[serde(default = "half_a_minute")]
    timeout_ms: u64,
}

fn yes() -> bool {
    true
}

fn half_a_minute() -> u64 {
    30_000
}

#[derive(Serialize)]
struct Output {
    retrieval_status: &'static str,
    task: TaskResult,
}

#[derive(Serialize)]
struct TaskResult {
    task_id: TaskId,
    kind: TaskKind,
    status: task::TaskStatus,
    summary: Option<String>,
    output_preview: String,
    output_truncated: bool,
    exit_status: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    child_supervision: Option<ChildSupervision>,
}

impl Tool for TaskOutput {
    const NAME: &'static str = "TaskOutput";
    const ABOUT: &'static str = "Shows what a task printed, or what a child answered. By default \
                                 it waits a while for the task to end.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let until =
            Instant::now() + Duration::from_millis(self.timeout_ms).min(Context::LONGEST_WAIT);
        let mut task = find(caller, &self.task_id)?;
        let mut waited = false;
        while self.block && !task.status.is_terminal() && Instant::now() < until {
            waited = true;
            // A wait for the cancel signal, so that an abort of the turn takes effect at once.
            if caller.cancel.wait(LOOK) {
                break;
            }
            task = find(caller, &self.task_id)?;
        }
        let retrieval_status = match (task.status.is_terminal(), waited) {
            (true, _) => "success",
            (false, true) => "timeout",
            (false, false) => "not_ready",
        };
        let path = output_path(&task);
        // The file shows more than the record, which keeps only a short part of the output.
        let excerpt = path.as_ref().and_then(|path| command::excerpt(path.as_ref(), SHOWN).ok());
        let (truncated, preview) = match excerpt {
            Some(excerpt) => (excerpt.is_cut(), excerpt.text),
            // A child has no output file, and that of a command may have been deleted.
            None => (
                false,
                noted(&task, "output_summary").or_else(|| task.summary.clone()).unwrap_or_default(),
            ),
        };
        let exit_status = noted(&task, "exit_status");
        let summary = format!("output of task {} ({}, {retrieval_status})", task.id, task.status);
        let result = TaskResult {
            child_supervision: ChildSupervision::from_task(&task),
            task_id: task.id,
            kind: task.kind,
            status: task.status,
            summary: task.summary,
            output_preview: preview,
            output_truncated: truncated,
            exit_status,
            output_path: path,
        };
        Ok(Success::new(summary, &Output { retrieval_status, task: result }))
    }
}

/// Arguments of `TaskInput`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskInput {
    /// The id of the task.
    task_id: String,
    /// What to send: bytes for a command, unchanged, or a message for a child.
    input: String,
}

#[derive(Serialize)]
struct InputReport {
    task: Snapshot,
    accepted_input: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_target: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_written: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Tool for TaskInput {
    const NAME: &'static str = "TaskInput";
    const ABOUT: &'static str = "Sends input to a task: standard input or keys to a command that \
                                 accepts input, or a follow-up message to a child agent.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let task = find(caller, &self.task_id)?;
        let id = task.id.clone();
        let (running, child) =
            caller.ask(move |actor| (actor.jobs.command(&id), actor.jobs.child(&id)))?;
        let snapshot = Snapshot::from_task(&task);
        let sent = match (running, child) {
            // First of all: a command that was asked to stop may still run.
            _ if task.status.is_terminal() || task.status == task::TaskStatus::Cancelling => {
                Err("it no longer accepts input".to_owned())
            }
            (Some(running), _) => {
                without_mark(&caller.context, &[Some(&self.input)])?;
                let target = if noted(&task, "tty").unwrap_or(false) { "tty" } else { "stdin" };
                running
                    .write(self.input.as_bytes())
                    .map(|bytes| (target, bytes))
                    .map_err(|why| why.to_string())
            }
            (None, Some(child)) => {
                let (task, text) = (task.id.clone(), self.input.clone());
                let trust = caller.trust;
                // Asked from this thread: the parent's actor must not wait for the actor of its
                // child.
                let sent = child.ask(move |actor| child::follow_up(actor, &task, &text, trust));
                sent.map_err(ToolError::from)
                    .and_then(|sent| sent)
                    .map_err(|why| why.to_string())
                    .map(|()| ("child_followup", self.input.len()))
            }
            (None, None) => Err("it does not run on this host".to_owned()),
        };
        let (summary, report) = match sent {
            Ok((target, bytes)) => (
                format!("{bytes} bytes to the {} of task {}", target.replace('_', " "), task.id),
                InputReport {
                    task: snapshot,
                    accepted_input: true,
                    input_target: Some(target),
                    bytes_written: Some(bytes),
                    reason: None,
                },
            ),
            Err(why) => (
                format!("task {} did not accept input: {why}", task.id),
                InputReport {
                    task: snapshot,
                    accepted_input: false,
                    input_target: None,
                    bytes_written: None,
                    reason: Some(why),
                },
            ),
        };
        Ok(Success::new(summary, &report))
    }
}

/// Arguments of `TaskStop`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskStop {
    /// The id of the task.
    task_id: String,
}

#[derive(Serialize)]
struct Stopped {
    task: Snapshot,
    stop_requested: bool,
    force_stop_requested: bool,
}

impl Tool for TaskStop {
    const NAME: &'static str = "TaskStop";
    const ABOUT: &'static str = "Stops a task. Its processes are asked to end, and killed after a \
                                 while; a second call kills them at once. The result arrives as a \
                                 message.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let task = find(caller, &self.task_id)?;
        if task.status.is_terminal() {
            return Err(ToolError::new(
                "already_terminal",
                format!("task {} is already {}", task.id, task.status),
            ));
        }
        let force = task.status == task::TaskStatus::Cancelling;
        let id = task.id.clone();
        // The record cannot say more than `cancelling` (contract 5.10), so the second request goes
        // to the command itself.
        if force {
            if let Some(running) = caller.ask(move |actor| actor.jobs.command(&id))? {
                running.stop();
            }
        } else {
            let changed = TaskChanged {
                task_id: id,
                task_kind: None,
                work_item_id: None,
                summary: None,
                wait_policy: None,
                detail: None,
                recovery: None,
            };
            // The fact alone is enough: `Jobs::reconcile` stops the job when the state says so.
            caller.say(Fact::TaskCancelling(changed))?;
        }
        let task = find(caller, &self.task_id)?;
        let summary = format!("task {} was asked to stop", task.id);
        Ok(Success::new(
            summary,
            &Stopped {
                task: Snapshot::from_task(&task),
                stop_requested: true,
                force_stop_requested: force,
            },
        ))
    }
}

/// The newest record of a task. A task that has ended is read from the ledger.
fn find(caller: &Caller, id: &str) -> Result<TaskRecord, ToolError> {
    let id = TaskId::from(id);
    let wanted = id.clone();
    let found = caller.ask(move |actor: &mut Actor| {
        let state = actor.state();
        if let Some(task) = state.tasks().active.get(&wanted) {
            return Some(task.record.clone());
        }
        let (_, seq) = *state.tasks().ended.get(&wanted)?;
        match actor.record(seq)? {
            Record::Task(task) => Some(task),
            _ => None,
        }
    })?;
    found.ok_or_else(|| {
        ToolError::new("task_not_found", format!("task {id} not found"))
            .hinting("Call TaskList for the active tasks.")
    })
}

/// The value of this key in the detail of a task.
pub(crate) fn noted<T: Readable>(task: &TaskRecord, key: &str) -> Option<T> {
    task.detail.as_ref()?.field(key)?.read().ok()
}

fn output_path(task: &TaskRecord) -> Option<String> {
    noted(task, "output_path")
}

/// The values of these keys in the detail of a command's task.
fn command_of(task: &TaskRecord, keys: &[&str]) -> Option<Value> {
    if task.kind != TaskKind::CommandTask {
        return None;
    }
    let detail: Value = serde_json::from_str(task.detail.as_ref()?.as_str()).ok()?;
    let kept = keys.iter().filter_map(|key| Some(((*key).to_owned(), detail.get(*key)?.clone())));
    Some(Value::Object(kept.filter(|(_, value)| !value.is_null()).collect()))
}
