//! Jobs: commands and child agents that run beside the turns, one for each task. The ledger says
//! which should run; a job that runs but should not is ended, no matter who decided so (contract
//! 5.10, 5.11).

use std::{collections::BTreeMap, thread::JoinHandle};

use serde::Serialize;
use serde_json::{Map, Value, json};
use wakeful_core::{
    fact::{Fact, context::TranscriptAppended, task::TaskChanged},
    id::{TaskId, WorkItemId},
    json,
    record::{
        queue::envelope::TrustLevel,
        task::{
            TaskKind, TaskRecord, TaskStatus, TaskWaitPolicy,
            recovery::{CommandTaskSpec, TaskRecovery},
        },
        work::{DelegationCompleted, DelegationState},
    },
    state::State,
};

use crate::{
    actor::Actor,
    child::{self, ChildEnd},
    command::{Cause, Exit, Running},
    context::Context,
    cut,
    effects::Alive,
    handle::Handle,
    openai::Listening,
    supervision::{Supervision, WorktreeMismatch, delegation},
    tools::{ToolError, accepted, exec, noted},
};

/// The most output of a command that its task record keeps, in bytes.
const KEPT_OUTPUT: usize = 2_000;

/// The most of a child's last message that its task record keeps, in bytes.
const MOST_WORDS: usize = 64 << 10;

/// What runs for a task. `told` says whether it was asked to stop.
enum Job {
    Command { running: Running, told: bool, _lost: Listening },
    Child { handle: Handle, thread: JoinHandle<()>, told: bool },
}

/// Everything that runs beside the turns of an agent.
pub(crate) struct Jobs {
    by_task: BTreeMap<TaskId, Job>,
    /// The tasks that a driver keeps active when it opens the ledger.
    alive: Alive,
}

/// A command that runs longer than its turn waits for it.
pub(crate) struct Promoted {
    pub(crate) running: Running,
    pub(crate) spec: CommandTaskSpec,
    pub(crate) trust: TrustLevel,
    /// What it printed so far.
    pub(crate) initial_output: Option<String>,
    /// Whether it can be run again from the start without harm.
    pub(crate) restartable: bool,
}

/// The receipt of an operation that continues as a task (contract 12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TaskHandle {
    pub(crate) task_id: TaskId,
    pub(crate) task_kind: TaskKind,
    pub(crate) status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) initial_output: Option<String>,
}

impl Jobs {
    /// No jobs yet. Children whose ledger exists count as alive, and commands that are started
    /// again. Any other command does not survive the process that supervises it.
    pub(crate) fn new(context: &Context, state: &State) -> Self {
        let alive = Alive::default();
        let active = state.tasks().active.values().map(|task| &task.record);
        active
            .filter(|task| child::is_resumable(context, task) || recoverable(state, task).is_some())
            .for_each(|task| alive.add(&task.id));
        Self { by_task: BTreeMap::new(), alive }
    }

    /// The tasks that something runs for, or is about to.
    pub(crate) fn alive(&self) -> Alive {
        self.alive.clone()
    }

    /// Resumes the children that the ledger says are active, and starts commands again.
    pub(crate) fn resume(actor: &mut Actor) {
        let active: Vec<_> =
            actor.state().tasks().active.values().map(|task| task.record.clone()).collect();
        for record in &active {
            match record.kind {
                TaskKind::ChildAgentTask => child::resume(actor, record),
                TaskKind::CommandTask => start_again(actor, record),
                _ => {}
            }
        }
    }

    /// Adds the child that runs for a task.
    pub(crate) fn add_child(&mut self, task: TaskId, handle: Handle, thread: JoinHandle<()>) {
        self.add(task, Job::Child { handle, thread, told: false });
    }

    fn add(&mut self, task: TaskId, job: Job) {
        self.alive.add(&task);
        self.by_task.insert(task, job);
    }

    fn remove(&mut self, task: &TaskId) {
        self.alive.remove(task);
        self.by_task.remove(task);
    }

    /// Whether nothing runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_task.is_empty()
    }

    /// The command that runs for a task.
    pub(crate) fn command(&self, task: &TaskId) -> Option<Running> {
        match self.by_task.get(task)? {
            Job::Command { running, .. } => Some(running.clone()),
            Job::Child { .. } => None,
        }
    }

    /// The handle of the child that runs for a task.
    pub(crate) fn child(&self, task: &TaskId) -> Option<Handle> {
        match self.by_task.get(task)? {
            Job::Child { handle, .. } => Some(handle.clone()),
            Job::Command { .. } => None,
        }
    }

    /// Ends jobs that should not run. `wanted` says whether a task was asked to stop; `None` if it
    /// is no longer active.
    pub(crate) fn reconcile(&mut self, wanted: impl Fn(&TaskId) -> Option<bool>) {
        for (task, job) in &mut self.by_task {
            let ends = wanted(task).unwrap_or(true);
            match job {
                // Told once only: a second stop would kill the command at once, without its grace
                // period.
                Job::Command { running, told, .. } if ends && !*told => {
                    *told = true;
                    running.stop();
                }
                Job::Child { handle, told, .. } if ends && !*told => {
                    *told = true;
                    // A child that has ended needs no request.
                    let _ = handle.tell(child::stop);
                }
                Job::Command { .. } | Job::Child { .. } => {}
            }
        }
    }

    /// Stops everything because the host shuts down. Commands end with it, children rest on their
    /// ledgers.
    pub(crate) fn stop(&self) {
        for job in self.by_task.values() {
            match job {
                Job::Command { running, .. } => running.stop(),
                Job::Child { handle, .. } => drop(handle.tell(child::shut_down)),
            }
        }
    }

    /// Waits until all jobs have ended.
    pub(crate) fn join(&mut self) {
        for (_, job) in std::mem::take(&mut self.by_task) {
            match job {
                Job::Command { running, .. } => drop(running.wait(Context::LONGEST_WAIT)),
                // If it panicked, its ledger shows how far it got.
                Job::Child { thread, .. } => drop(thread.join()),
            }
        }
    }
}

/// Turns a running command into a managed task (contract 12: a task is a receipt and is never
/// created implicitly).
///
/// # Errors
/// If the scheduler does not accept the task. The caller must then stop the command.
pub(crate) fn promote(actor: &mut Actor, promoted: Promoted) -> Result<TaskHandle, ToolError> {
    let Promoted { running, spec, trust, initial_output, restartable } = promoted;
    let task_id = TaskId::from(format!("task-{}", actor.state().next_seq()));
    let summary = format!("Run command: {}", actor.context.line(&spec.cmd, 80));
    let detail = command_detail(&spec, &running, restartable.then_some(0));
    // Only a command that can be run again has something that a restart could do with it.
    let recovery = restartable.then(|| TaskRecovery::CommandTask {
        summary: summary.clone(),
        spec,
        trust,
        promoted_from_exec_command: true,
    });
    let change = TaskChanged {
        task_id: task_id.clone(),
        task_kind: Some(TaskKind::CommandTask),
        work_item_id: bound_item(actor.state()),
        summary: Some(summary),
        wait_policy: Some(TaskWaitPolicy::Background),
        detail: Some(raw(&Value::Object(detail.clone()))),
        recovery,
    };
    accepted(actor, &Fact::TaskCreated(change.clone()))?;
    supervise(actor, TaskChanged { recovery: None, ..change }, detail, running)?;
    Ok(TaskHandle {
        task_id,
        task_kind: TaskKind::CommandTask,
        status: TaskStatus::Running,
        initial_output,
    })
}

/// Makes a command the job of a task, and records that the task runs.
fn supervise(
    actor: &mut Actor,
    change: TaskChanged,
    detail: Map<String, Value>,
    running: Running,
) -> Result<(), ToolError> {
    let (task, summary) = (change.task_id.clone(), change.summary.clone().unwrap_or_default());
    // Before the fact: if the engine breaks down in it, the restart asks which tasks are alive
    // (contract 5.23).
    let lost = running.clone();
    let lost = actor.context.lost.listen(move || lost.stop());
    let job = Job::Command { running: running.clone(), told: false, _lost: lost };
    actor.jobs.add(task.clone(), job);
    accepted(actor, &Fact::TaskRunning(change)).inspect_err(|_| actor.jobs.remove(&task))?;
    let (handle, kept) = (actor.handle.clone(), running.clone());
    running.on_exit(move |exit| {
        let exit = exit.clone();
        // If the agent has ended, the next driver interrupts the task or starts it again.
        let _ =
            handle.tell(move |actor| command_ended(actor, task, &summary, detail, &kept, &exit));
    });
    Ok(())
}

/// How the command of an active task is started again after a restart; `None` if it is not. The
/// model has said that it may be, and neither the model nor the operator has asked it to end.
fn recoverable<'a>(state: &State, task: &'a TaskRecord) -> Option<&'a CommandTaskSpec> {
    let Some(TaskRecovery::CommandTask { spec, .. }) = &task.recovery else { return None };
    // Earlier versions recorded how every command runs, and did not ask whether it may run again.
    let may_run_again = noted(task, "restartable").unwrap_or(false);
    let is_wanted = task.status != TaskStatus::Cancelling && state.control().stopped.is_none();
    (may_run_again && is_wanted).then_some(spec)
}

/// Starts the command of a task again, from its beginning, because the host has restarted.
fn start_again(actor: &mut Actor, task: &TaskRecord) {
    let Some(spec) = recoverable(actor.state(), task).cloned() else { return };
    let restarts = noted::<u64>(task, "restarts").unwrap_or(0) + 1;
    let started = exec::start_again(&actor.context, &spec, &task.id, restarts);
    let running = match started {
        Ok(running) => running,
        Err(why) => return cannot_start_again(actor, task, &why),
    };
    let detail = command_detail(&spec, &running, Some(restarts));
    let change = TaskChanged {
        task_id: task.id.clone(),
        task_kind: None,
        work_item_id: None,
        summary: task.summary.clone(),
        wait_policy: None,
        detail: Some(raw(&Value::Object(detail.clone()))),
        recovery: None,
    };
    // Without a task the command has no supervisor.
    drop(supervise(actor, change, detail, running.clone()).inspect_err(|_| running.stop()));
}

/// Ends a task whose command cannot be started again.
fn cannot_start_again(actor: &mut Actor, task: &TaskRecord, why: &ToolError) {
    let summary = task.summary.as_deref().unwrap_or_default();
    let change = TaskChanged {
        task_id: task.id.clone(),
        task_kind: None,
        work_item_id: None,
        summary: Some(format!(
            "command task failed: {summary}; it could not be started again after a restart: {why}"
        )),
        wait_policy: None,
        detail: None,
        recovery: None,
    };
    end(actor, &task.id, TaskStatus::Failed, change);
}

fn command_ended(
    actor: &mut Actor,
    task: TaskId,
    summary: &str,
    detail: Map<String, Value>,
    running: &Running,
    exit: &Exit,
) {
    let asked = actor
        .state()
        .tasks()
        .active
        .get(&task)
        .is_some_and(|task| task.record.status == TaskStatus::Cancelling);
    let (status, how) = match (exit.cause, exit.code, exit.signal) {
        // A shutdown stops commands too, so only a task that was asked to stop counts as cancelled.
        (Cause::Stopped, ..) if asked => (TaskStatus::Cancelled, "was stopped".to_owned()),
        (cause, ..) if let Some(why) = cause.of_limits() => (TaskStatus::Failed, why.to_owned()),
        (_, Some(0), _) => (TaskStatus::Completed, "exited with status 0".to_owned()),
        (_, Some(code), _) => (TaskStatus::Failed, format!("exited with status {code}")),
        (_, None, Some(signal)) => (TaskStatus::Failed, format!("was ended by signal {signal}")),
        (_, None, None) => (TaskStatus::Failed, "ended in an unknown way".to_owned()),
    };
    let mut detail = detail;
    // The task must end even if its output can no longer be read.
    let output = running.preview(KEPT_OUTPUT).unwrap_or_default();
    detail.extend([
        ("task_status".to_owned(), json!(status.to_string())),
        ("exit_status".to_owned(), json!(exit.code)),
        ("signal".to_owned(), json!(exit.signal)),
        ("terminal_snapshot_ready".to_owned(), json!(true)),
        ("accepts_input".to_owned(), json!(false)),
        ("output_summary".to_owned(), json!(output.text)),
        ("output_bytes".to_owned(), json!(exit.output_bytes)),
        ("output_left_out_bytes".to_owned(), json!(exit.left_out_bytes)),
        (
            "duration_ms".to_owned(),
            json!(u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX)),
        ),
    ]);
    // What it did before the restart may be there twice, so the model must know.
    let again = match detail.get("restarts").and_then(Value::as_u64) {
        None | Some(0) => "",
        Some(_) => ", after a restart had started it again",
    };
    let change = TaskChanged {
        task_id: task.clone(),
        task_kind: None,
        work_item_id: None,
        summary: Some(format!("command task {status}: {summary}; it {how}{again}")),
        wait_policy: None,
        detail: Some(raw(&Value::Object(detail))),
        recovery: None,
    };
    end(actor, &task, status, change);
}

/// Records the end of a child.
pub(crate) fn child_ended(
    actor: &mut Actor,
    task: TaskId,
    summary: &str,
    detail: Supervision,
    end_of: &ChildEnd,
) {
    let known = actor.state().tasks().active.get(&task).map(|task| task.record.status);
    // The child may have finished before it saw the stop. Its task was asked to stop, and ends as
    // that says.
    let status =
        if known == Some(TaskStatus::Cancelling) { TaskStatus::Cancelled } else { end_of.status };
    let left = detail.left_behind().map_or_else(String::new, |left| format!("; {left}"));
    if known.is_none() && !left.is_empty() {
        // A stop or a restart has already interrupted the task, so its record does not mention the
        // worktree.
        actor
            .context
            .audience
            .notice(&actor.context.agent_id, &format!("the child of `{task}` has ended{left}"));
    }
    // In the ledger, because people did it by hand and nothing else tells of it later.
    if let Some(mismatch) = WorktreeMismatch::from_supervision(&detail) {
        let data = mismatch.data();
        // If it is not accepted, the actor has told the audience why. It blocks nothing.
        drop(actor.propose(&Fact::TranscriptAppended(TranscriptAppended { run_id: None, data })));
    }
    let detail = detail.saying(cut::beginning(&end_of.text, MOST_WORDS).into_owned());
    let change = TaskChanged {
        task_id: task.clone(),
        task_kind: None,
        work_item_id: None,
        summary: Some(format!("child agent task {status}: {summary}{left}")),
        wait_policy: None,
        detail: Some(json::RawJson::from_value(&detail)),
        recovery: None,
    };
    end(actor, &task, status, change);
    let delegation_id = delegation(&task);
    let delegations = &actor.state().work().delegations;
    if delegations.get(&delegation_id).is_some_and(|(state, _)| *state == DelegationState::Open) {
        let completed = DelegationCompleted { delegation_id };
        drop(actor.propose(&Fact::WorkItemDelegationCompleted(completed)));
    }
}

fn end(actor: &mut Actor, task: &TaskId, status: TaskStatus, change: TaskChanged) {
    let fact = match status {
        TaskStatus::Completed => Fact::TaskCompleted(change),
        TaskStatus::Cancelled => Fact::TaskCancelled(change),
        _ => Fact::TaskFailed(change),
    };
    // If it is not accepted, the actor has told the audience why.
    drop(actor.propose(&fact));
    actor.jobs.remove(task);
}

/// The item that a new task belongs to: the item of the turn, else the one in focus.
pub(crate) fn bound_item(state: &State) -> Option<WorkItemId> {
    let of_turn = state
        .turns()
        .run
        .as_ref()
        .and_then(|run| Some(run.work_item.as_ref()?.work_item_id.clone()));
    // The turn may have completed its own item already.
    let bound = of_turn.filter(|id| state.work().items.contains_key(id));
    bound.or_else(|| state.work().current().map(|item| item.record.id.clone()))
}

/// The detail of a command's task record (`observed-tasks-waits-storage.md` 1.12).
/// `restarts` says how often a restart has started it again; `None` if none may.
fn command_detail(
    spec: &CommandTaskSpec,
    running: &Running,
    restarts: Option<u64>,
) -> Map<String, Value> {
    let target = if spec.tty { Some("tty") } else { spec.accepts_input.then_some("stdin") };
    let detail = json!({
        "cmd": spec.cmd,
        "wait_policy": "background",
        "workdir": spec.workdir,
        "shell": spec.shell,
        "login": spec.login,
        "tty": spec.tty,
        "yield_time_ms": spec.yield_time_ms,
        "max_output_tokens": spec.max_output_tokens,
        "terminal_reentry": spec.terminal_reentry,
        "promoted_from_exec_command": true,
        "accepts_input": spec.accepts_input,
        "input_target": target,
        "output_path": running.output().display().to_string(),
        "terminal_snapshot_ready": false,
        "restartable": restarts.is_some(),
        "restarts": restarts,
    });
    match detail {
        Value::Object(detail) => detail,
        _ => Map::new(),
    }
}

/// Free JSON for a record.
pub(crate) fn raw(value: &Value) -> json::RawJson {
    json::RawJson::from_value(value)
}
