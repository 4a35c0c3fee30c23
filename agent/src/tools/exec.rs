//! `ExecCommand`: runs a command, and turns it into a managed task if it takes longer than the turn
//! waits for it.

use std::{
    env,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::{
    id::TaskId,
    record::task::{TaskKind, TaskRecord, recovery::CommandTaskSpec},
};

use super::{Caller, Success, Tool, ToolError, said, task::noted};
use crate::{
    actor::Actor,
    command::{Excerpt, Exit, Running, Spec},
    confine::{INSTEAD, Refusal},
    context::Context,
    jobs::{self, Promoted, TaskHandle},
};

/// How often a turn that waits for a command checks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// The approximate bytes of output per token.
const BYTES_PER_TOKEN: u64 = 4;

/// The most tokens of output that one call shows.
const MOST_TOKENS: u64 = 64_000;

/// Arguments of `ExecCommand`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecCommand {
    /// The command line, as a shell reads it.
    cmd: String,
    /// The folder in which it runs, inside the workspace. By default the workspace itself.
    #[serde(default)]
    workdir: Option<String>,
    /// The shell that runs it. By default bash, or sh if there is no bash.
    #[serde(default)]
    shell: Option<String>,
    /// Whether the shell is a login shell.
    #[serde(default)]
    login: bool,
    /// Whether it runs on a terminal.
    #[serde(default)]
    tty: bool,
    /// What to do if the same command is already running.
    #[serde(default)]
    duplicate_policy: DuplicatePolicy,
    /// Whether it reads input, which TaskInput sends. By default the value of `tty`.
    #[serde(default)]
    accepts_input: Option<bool>,
    /// Whether it can be run again from the start without harm. If the machine restarts, its task
    /// then goes on with a new start of the command. By default its task ends as interrupted.
    #[serde(default)]
    restartable: bool,
    /// How long to wait for it, in milliseconds. After that it continues as a task.
    #[serde(default = "default_yield")]
    yield_time_ms: u64,
    /// How much of its output to show, in tokens.
    #[serde(default = "default_tokens")]
    max_output_tokens: u64,
}

/// What to do if the same command is already running.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DuplicatePolicy {
    /// Answer with the task that runs it.
    #[default]
    ReuseRunning,
    /// Start another one.
    StartNew,
}

fn default_yield() -> u64 {
    10_000
}

fn default_tokens() -> u64 {
    8_000
}

/// What became of a command.
#[derive(Serialize)]
#[serde(tag = "disposition", rename_all = "snake_case")]
enum Disposition {
    Completed {
        exit_status: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        stdout_preview: Option<String>,
        stderr_preview: Option<String>,
        truncated: bool,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<Artifact>,
    },
    PromotedToTask {
        task_handle: TaskHandle,
        initial_output_truncated: bool,
    },
    AlreadyRunning {
        task_handle: TaskHandle,
    },
}

#[derive(Serialize)]
struct Artifact {
    path: String,
}

impl Tool for ExecCommand {
    const NAME: &'static str = "ExecCommand";
    const ABOUT: &'static str = "Runs a command line in the workspace and answers with its \
                                 output. If it takes longer than yield_time_ms, it continues as a \
                                 managed task whose result wakes you: end the turn or WaitFor it, \
                                 and do not poll.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let cmd = said(&self.cmd, "cmd")?;
        let workdir = folder(&caller.context, &cmd, self.workdir.as_deref())?;
        let accepts_input = self.accepts_input.unwrap_or(self.tty);
        let task_spec = CommandTaskSpec {
            cmd,
            workdir: Some(workdir.display().to_string()),
            shell: self.shell.clone(),
            login: self.login,
            tty: self.tty,
            yield_time_ms: self.yield_time_ms,
            max_output_tokens: Some(self.max_output_tokens),
            accepts_input,
            terminal_reentry: false,
        };
        if self.duplicate_policy == DuplicatePolicy::ReuseRunning
            && let Some(task_handle) = already_running(caller, task_spec.clone())?
        {
            let summary = format!("command already running as {}", task_handle.task_id);
            return Ok(Success::new(summary, &Disposition::AlreadyRunning { task_handle }));
        }
        // The number keeps apart the output files and the marks of commands of one run.
        let number = caller.ask(Actor::count_command)?;
        let running = start(&caller.context, &task_spec, workdir, caller.run.as_str(), number)?;
        match self.wait(caller, &running) {
            Some(exit) => Ok(self.completed(caller, &running, &exit)),
            None => self.promoted(caller, running, task_spec),
        }
    }
}

impl ExecCommand {
    /// Waits as long as the model asked for; `None` if the command still runs then. If the turn is
    /// cancelled, the command is stopped.
    fn wait(&self, caller: &Caller, running: &Running) -> Option<Exit> {
        let until =
            Instant::now() + Duration::from_millis(self.yield_time_ms).min(Context::LONGEST_WAIT);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if let Some(exit) = running.wait(left.min(LOOK)) {
                return Some(exit);
            }
            // A command must not outlive its cancelled turn: it has no task that would supervise
            // it.
            if caller.cancel.is_cancelled() {
                running.stop();
                return running.wait(Context::LONGEST_WAIT);
            }
            if left.is_zero() {
                return None;
            }
        }
    }

    fn shown(&self) -> usize {
        // No output at all would help no model, so 0 counts as not given.
        let tokens = if self.max_output_tokens == 0 {
            default_tokens()
        } else {
            self.max_output_tokens.min(MOST_TOKENS)
        };
        usize::try_from(tokens * BYTES_PER_TOKEN).unwrap_or(usize::MAX)
    }

    fn completed(&self, caller: &Caller, running: &Running, exit: &Exit) -> Success {
        let (stdout, stderr) = (running.stdout(), running.stderr());
        let streams = usize::from(!stdout.text.is_empty()) + usize::from(!stderr.text.is_empty());
        let each = self.shown() / streams.max(1);
        let (out, err) = (stdout.shortened(each), stderr.shortened(each));
        let truncated = out.is_cut() || err.is_cut();
        let artifacts = if truncated {
            vec![Artifact { path: running.output().display().to_string() }]
        } else {
            Vec::new()
        };
        let shown = |text: String| Some(text).filter(|text| !text.is_empty());
        let cmd = caller.context.line(&self.cmd, 80);
        let summary = match (exit.code, exit.signal) {
            _ if let Some(why) = exit.cause.of_limits() => format!("command {why}: {cmd}"),
            (Some(code), _) => format!("command exited with status {code}: {cmd}"),
            (None, Some(signal)) => format!("command was ended by signal {signal}: {cmd}"),
            (None, None) => format!("command ended: {cmd}"),
        };
        let done = Disposition::Completed {
            exit_status: exit.code,
            signal: exit.signal,
            stdout_preview: shown(out.text),
            stderr_preview: shown(err.text),
            truncated,
            artifacts,
        };
        Success::new(summary, &done)
    }

    fn promoted(
        &self,
        caller: &Caller,
        running: Running,
        spec: CommandTaskSpec,
    ) -> Result<Success, ToolError> {
        let preview = running.preview(self.shown()).ok();
        let initial_output_truncated = preview.as_ref().is_some_and(Excerpt::is_cut);
        let initial_output = preview.map(|preview| preview.text).filter(|text| !text.is_empty());
        let promoted = Promoted {
            running: running.clone(),
            spec,
            trust: caller.trust,
            initial_output,
            restartable: self.restartable,
        };
        let promoted =
            caller.ask(move |actor| jobs::promote(actor, promoted)).and_then(|promoted| promoted);
        // Without a task the command has no supervisor.
        let task_handle = promoted.inspect_err(|_| running.stop())?;
        let summary = format!(
            "command promoted to the managed task {}: {}",
            task_handle.task_id,
            caller.context.line(&self.cmd, 80)
        );
        Ok(Success::new(
            summary,
            &Disposition::PromotedToTask { task_handle, initial_output_truncated },
        ))
    }
}

/// The folder in which a command runs. A command with the mark of a removed secret is refused.
fn folder(context: &Context, cmd: &str, workdir: Option<&str>) -> Result<PathBuf, ToolError> {
    without_mark(context, &[Some(cmd), workdir])?;
    let refused = |why: Refusal| ToolError::new(why.code(), why.to_string());
    context.workspace.resolve(workdir).map_err(refused)
}

/// Starts a command. `of` and `number` keep apart the output files and the marks of
/// an agent's commands.
fn start(
    context: &Context,
    spec: &CommandTaskSpec,
    workdir: PathBuf,
    of: &str,
    number: u64,
) -> Result<Running, ToolError> {
    let output = context.output_file(&format!("{of}-{number}"));
    let spec = Spec {
        cmd: spec.cmd.clone(),
        workdir,
        shell: spec.shell.clone(),
        login: spec.login,
        tty: spec.tty,
        accepts_input: spec.accepts_input,
        environment: context.confinement.environment(env::vars_os()),
        mark: format!("{}{of}/{number}", context.mark()),
        redactor: Arc::clone(&context.redactor),
    };
    Running::start(&spec, &context.limits, Some(&context.confinement), &output)
        .map_err(|why| ToolError::new("command_spawn_failed", why.to_string()))
}

/// Starts the command of a task again after a restart. Its folder is looked up again, because the
/// workspace may be another one now.
///
/// # Errors
/// If its folder is gone, or it cannot be started.
pub(crate) fn start_again(
    context: &Context,
    spec: &CommandTaskSpec,
    task: &TaskId,
    restarts: u64,
) -> Result<Running, ToolError> {
    let workdir = folder(context, &spec.cmd, spec.workdir.as_deref())?;
    start(context, spec, workdir, &format!("{task}-again"), restarts)
}

/// The task that runs the same command in the same way, if there is one.
fn already_running(
    caller: &Caller,
    mut wanted: CommandTaskSpec,
) -> Result<Option<TaskHandle>, ToolError> {
    // The ledger has the command without secrets.
    let clean = |text: &mut String| *text = caller.context.redactor.redact(text).into_owned();
    clean(&mut wanted.cmd);
    [&mut wanted.workdir, &mut wanted.shell].into_iter().flatten().for_each(clean);
    caller.ask(move |actor| {
        let is_same = |task: &TaskRecord| {
            task.kind == TaskKind::CommandTask
                && noted(task, "cmd").as_ref() == Some(&wanted.cmd)
                && noted(task, "workdir") == wanted.workdir
                && noted(task, "shell") == wanted.shell
                && noted(task, "login") == Some(wanted.login)
                && noted(task, "tty") == Some(wanted.tty)
        };
        let active = actor.state().tasks().active.values().map(|task| &task.record);
        let mut same = active.filter(|task| is_same(task));
        same.next().map(|task| TaskHandle {
            task_id: task.id.clone(),
            task_kind: task.kind,
            status: task.status,
            initial_output: None,
        })
    })
}

/// Refuses texts with the mark of a secret that was removed. The model saw it in the place of a
/// key, and a command would mean something else with it.
pub(super) fn without_mark(context: &Context, texts: &[Option<&str>]) -> Result<(), ToolError> {
    let has_mark = texts.iter().flatten().any(|text| text.contains(INSTEAD));
    if !has_mark || context.redactor.is_empty() {
        return Ok(());
    }
    let message = format!(
        "`{INSTEAD}` stands for a key that was removed before you read the text; nothing was \
         executed"
    );
    Err(ToolError::new("secret_removed", message).hinting(
        "Do it without the key, or ask the operator for another name that does not contain it.",
    ))
}
