//! Child agents: agents of the same host, each with its own ledger and scheduler, supervised by a
//! task of the parent (contract 12). The task is a handle, never the child's identity. A worktree
//! that was made for the child is cleaned up when its task ends.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use serde_json::{Value, json};
use wakeful_core::{
    fact::{
        Fact,
        control::OwnerBreach,
        queue::{MessageQueued, NewMessage},
        task::TaskChanged,
        waiting::condition::WaitConditionNamed,
    },
    host::Ledger,
    id::{AgentId, MessageId, Seq, TaskId},
    json::RawJson,
    record::{
        queue::{
            envelope::{
                AdmissionContext, DeliverySurface, MessageBody, MessageKind, MessageOrigin,
                Priority, TrustLevel,
            },
            message::MessageRecord,
        },
        task::{
            TaskKind, TaskRecord, TaskStatus, TaskWaitPolicy,
            recovery::{ChildWorkspaceMode, TaskRecovery},
        },
        waiting::WaitConditionKind,
        work::WorkItemDelegated,
    },
    story::Request,
};

use crate::{
    Agent, Ending, Until,
    actor::Actor,
    context::{Context, Setup},
    ground::Ground,
    handle::{Handle, Mailbox},
    jobs::{self, TaskHandle, bound_item},
    openai::Cancel,
    supervision::{Supervision, child_id, delegation},
    tools::{ToolError, accepted},
    worktree::{self, Cleanup, Worktree},
};

/// What a parent asks a child to do.
pub(crate) struct Wanted {
    pub(crate) message: String,
    pub(crate) workspace_mode: ChildWorkspaceMode,
    pub(crate) trust: TrustLevel,
}

/// How a child ended.
pub(crate) struct ChildEnd {
    pub(crate) status: TaskStatus,
    /// Its last message, or what went wrong.
    pub(crate) text: String,
}

impl Supervision {
    /// The same, with the child's last message.
    pub(crate) fn saying(self, words: String) -> Self {
        Self { output_summary: Some(words), ..self }
    }

    /// What became of a worktree that still exists; `None` if it was removed.
    pub(crate) fn left_behind(&self) -> Option<String> {
        let worktree = self.worktree.as_ref()?;
        let said = |key: &str| worktree.get(key).and_then(Value::as_str).unwrap_or("unknown");
        let is_gone = ["cleaned", "already_removed"].contains(&said("cleanup_status"));
        (!is_gone).then(|| {
            format!(
                "its worktree `{}` is {}: {}",
                said("worktree_path"),
                said("cleanup_status"),
                said("cleanup_reason")
            )
        })
    }
}

/// Whether this host can resume the child that a task supervises: its ledger has entries and its
/// worktree exists.
pub(crate) fn is_resumable(context: &Context, task: &TaskRecord) -> bool {
    let Some(supervision) = task.detail.as_ref().and_then(Supervision::from_detail) else {
        return false;
    };
    let has_begun = context
        .store
        .ledger(&supervision.child_agent_id)
        .read(Seq(0), 1)
        .is_ok_and(|entries| !entries.is_empty());
    let has_place =
        worktree_of(&supervision).is_none_or(|worktree| worktree.worktree_path.is_dir());
    has_begun && has_place
}

/// The name of the worktree of the next child. It contains a part of the parent's head, so that it
/// differs between histories with the same task ids.
pub(crate) fn name_of_worktree(actor: &mut Actor) -> String {
    let chain = actor.state().head().chain.to_string();
    format!("{}-{}", actor.state().next_seq(), &chain[..8])
}

/// Creates the worktree of a child, from the parent's branch. Git may take long, so this must not
/// run on the thread that owns the agent. If the turn is cancelled, git is killed.
///
/// # Errors
/// If it cannot be created.
pub(crate) fn make_worktree(
    context: &Context,
    name: &str,
    cancel: &Cancel,
) -> Result<Worktree, ToolError> {
    let folder = context.workspace.root();
    let layout = worktree::layout(folder).map_err(|why| failed(why.to_string()))?;
    let path = layout.path_of(name);
    // It must exist before git is confined to it: what does not exist is left out.
    fs::create_dir(&path)
        .map_err(|why| failed(format!("cannot create `{}`: {why}", path.display())))?;
    let made = context.ground().of_git(&layout, &path).map_err(|why| why.to_string()).and_then(
        |confinement| {
            worktree::create(folder, name, Some(&confinement), cancel)
                .map_err(|why| why.to_string())
        },
    );
    // Only if it is empty: then git has not begun with it.
    made.inspect_err(|_| drop(fs::remove_dir(&path))).map_err(failed)
}

/// Removes a worktree in which no child has begun.
pub(crate) fn unmake_worktree(context: &Context, worktree: &Worktree) {
    let confinement = worktree::layout(&worktree.original_cwd)
        .map_err(|why| why.to_string())
        .and_then(|layout| {
            let path = &worktree.worktree_path;
            context.ground().of_git(&layout, path).map_err(|why| why.to_string())
        });
    // It is empty of work, so one that stays is only untidy.
    if let Ok(confinement) = confinement {
        drop(worktree::cleanup(worktree, Some(&confinement), Some(&confinement)));
    }
}

fn failed(why: String) -> ToolError {
    ToolError::new("task_spawn_failed", why)
}

/// Creates a child and the task that supervises it.
///
/// # Errors
/// If the thread cannot be created, or the scheduler does not accept the task. Nothing of the child
/// is left then.
pub(crate) fn spawn(
    actor: &mut Actor,
    wanted: &Wanted,
    worktree: Option<&Worktree>,
) -> Result<(TaskHandle, AgentId), ToolError> {
    let task_id = TaskId::from(format!("task-{}", actor.state().next_seq()));
    let child_agent_id = child_id(&actor.context.agent_id, task_id.as_str());
    let summary = actor.context.line(&wanted.message, 120);
    let supervision = Supervision {
        child_agent_id: child_agent_id.clone(),
        supervision_task_id: task_id.clone(),
        child_kind: "child".to_owned(),
        child_visibility: "private".to_owned(),
        child_ownership: "parent_supervised".to_owned(),
        child_profile_preset: "private_child".to_owned(),
        wait_policy: "background".to_owned(),
        workspace_mode: wanted.workspace_mode,
        worktree: worktree.map(|worktree| json!(worktree)),
        output_summary: None,
    };
    let recovery = TaskRecovery::ChildAgentTask {
        summary: summary.clone(),
        prompt: wanted.message.clone(),
        trust: wanted.trust,
        workspace_mode: wanted.workspace_mode,
    };
    let change = TaskChanged {
        task_id: task_id.clone(),
        task_kind: Some(TaskKind::ChildAgentTask),
        work_item_id: bound_item(actor.state()),
        summary: Some(summary.clone()),
        wait_policy: Some(TaskWaitPolicy::Background),
        detail: Some(RawJson::from_value(&supervision)),
        recovery: Some(recovery),
    };
    let first = first_message(&task_id, &wanted.message, wanted.trust);
    let started = accepted(actor, &Fact::TaskCreated(change.clone()))
        .and_then(|()| start(actor, &task_id, &summary, &supervision, Some(first)).map_err(failed));
    if let Err(why) = started {
        let supervision = supervision.cleaned_up(&actor.context);
        // The task may have been accepted before the thread failed. Then its record must end too.
        if actor.state().tasks().active.contains_key(&task_id) {
            let end = ChildEnd { status: TaskStatus::Failed, text: why.to_string() };
            jobs::child_ended(actor, task_id, &summary, supervision, &end);
        }
        return Err(why);
    }
    // A record without `recovery` inherits it from the one before (contract 3.3), so it is stored
    // once.
    accepted(actor, &Fact::TaskRunning(TaskChanged { recovery: None, ..change }))?;
    if let Some(work_item_id) = bound_item(actor.state()) {
        let delegated = WorkItemDelegated {
            delegation_id: delegation(&task_id),
            work_item_id,
            child_agent_id: child_agent_id.clone(),
            child_work_item_id: None,
        };
        // If it is not accepted, the actor has told the audience why. The child works all the same.
        drop(actor.propose(&Fact::WorkItemDelegated(delegated)));
    }
    let handle = TaskHandle {
        task_id,
        task_kind: TaskKind::ChildAgentTask,
        status: TaskStatus::Running,
        initial_output: None,
    };
    Ok((handle, child_agent_id))
}

/// Resumes a child on its ledger.
pub(crate) fn resume(actor: &mut Actor, task: &TaskRecord) {
    let Some(supervision) = task.detail.as_ref().and_then(Supervision::from_detail) else { return };
    let summary = task.summary.clone().unwrap_or_default();
    // If the process died between the task's record and the child's first entry, the child knows
    // nothing. The first message is queued again; a duplicate is ignored.
    let first = match &task.recovery {
        Some(TaskRecovery::ChildAgentTask { prompt, trust, .. }) => {
            Some(first_message(&task.id, prompt, *trust))
        }
        _ => None,
    };
    if let Err(why) = start(actor, &task.id, &summary, &supervision, first) {
        actor.context.audience.notice(
            &actor.context.agent_id,
            &format!("cannot resume the child of `{}`: {why}", task.id),
        );
        let end = ChildEnd { status: TaskStatus::Failed, text: why };
        let supervision = supervision.cleaned_up(&actor.context);
        jobs::child_ended(actor, task.id.clone(), &summary, supervision, &end);
    }
}

fn start(
    actor: &mut Actor,
    task: &TaskId,
    summary: &str,
    supervision: &Supervision,
    first: Option<Fact>,
) -> Result<(), String> {
    let setup = setup_of(&actor.context, supervision)?;
    let context = Arc::clone(&actor.context);
    let (handle, mailbox) = Handle::new();
    let (parent, own) = (actor.handle.clone(), handle.clone());
    let (task_id, summary, supervision) = (task.clone(), summary.to_owned(), supervision.clone());
    let name = supervision.child_agent_id.to_string();
    let thread = thread::Builder::new().name(name).spawn(move || {
        // A panic must end the child too: otherwise its parent would wait for it.
        let again = setup.clone();
        let lived = catch_unwind(AssertUnwindSafe(|| live(setup, (own, mailbox), first)));
        // Its host shuts down: the task stays active, and the next process resumes the child.
        let Some(end) = lived.unwrap_or_else(|_| Some(broken(again))) else { return };
        let supervision = supervision.cleaned_up(&context);
        // If the parent has ended, it resumes this child when it is opened again, and the child
        // then ends at once.
        let _ = parent
            .tell(move |actor| jobs::child_ended(actor, task_id, &summary, supervision, &end));
    });
    actor.jobs.add_child(
        task.clone(),
        handle,
        thread.map_err(|why| format!("cannot start a thread for the child: {why}"))?,
    );
    Ok(())
}

/// Runs a child until it ends; `None` if its host shuts down first.
fn live(setup: Setup, handle: (Handle, Mailbox), first: Option<Fact>) -> Option<ChildEnd> {
    let lived = Agent::open_child(setup, handle).and_then(|mut agent| {
        if let Some(first) = first {
            agent.say(&first);
        }
        let ending = agent.live(Until::Done)?;
        Ok((ending, agent.last_words()))
    });
    match lived {
        Ok((Ending::ShutDown, _)) => None,
        Ok((Ending::Stopped, _)) => {
            Some(ChildEnd { status: TaskStatus::Cancelled, text: "It was stopped.".to_owned() })
        }
        Ok((Ending::Rested | Ending::Failed, words)) => {
            let status = if words.failed { TaskStatus::Failed } else { TaskStatus::Completed };
            Some(ChildEnd { status, text: words.text })
        }
        Err(why) => Some(ChildEnd { status: TaskStatus::Failed, text: why.to_string() }),
    }
}

/// Ends a child whose host panicked. Its own ledger says so too, and opening it ends the processes
/// that the child left (contract 1.5).
fn broken(setup: Setup) -> ChildEnd {
    let reason = "Its host panicked.";
    let breach = OwnerBreach { work_item_id: None, reason: reason.to_owned() };
    let audience = Arc::clone(&setup.audience);
    let agent_id = setup.agent_id.clone();
    // What broke may break again here, and the parent must hear of the end in any case.
    let recorded = catch_unwind(AssertUnwindSafe(|| {
        Agent::open_child(setup, Handle::new())
            .map(|mut agent| agent.say(&Fact::OwnerBreachReported(breach)))
    }));
    let why = match recorded {
        Ok(Ok(())) => None,
        Ok(Err(why)) => Some(why.to_string()),
        Err(_) => Some("its host panicked again".to_owned()),
    };
    if let Some(why) = why {
        audience.notice(&agent_id, &format!("cannot record that the child broke: {why}"));
    }
    ChildEnd { status: TaskStatus::Failed, text: reason.to_owned() }
}

fn setup_of(context: &Context, supervision: &Supervision) -> Result<Setup, String> {
    let Ground { workspace, home, policy, wall, launcher, also_read, also_write } =
        ground_of(context, supervision)?;
    Ok(Setup {
        agent_id: supervision.child_agent_id.clone(),
        workspace,
        home,
        policy,
        wall,
        launcher,
        also_read,
        also_write,
        ..context.setup().clone()
    })
}

fn ground_of(context: &Context, supervision: &Supervision) -> Result<Ground, String> {
    let worktree = worktree_of(supervision);
    context.ground().of_child(&supervision.supervision_task_id, worktree.as_ref())
}

impl Supervision {
    /// Cleans up the child's worktree, and adds the result to the detail.
    fn cleaned_up(mut self, context: &Context) -> Self {
        if let Some(described) = self.worktree.clone() {
            self.worktree = Some(cleaned(context, &self, described));
        }
        self
    }
}

/// Cleans up the worktree that `described` names, and adds the result to it.
fn cleaned(context: &Context, supervision: &Supervision, described: Value) -> Value {
    let cleanup = match serde_json::from_value::<Worktree>(described.clone()) {
        Ok(worktree) => cleanup(context, supervision, &worktree)
            .unwrap_or_else(|error| Cleanup::Failed { error }),
        Err(why) => Cleanup::Failed { error: why.to_string() },
    };
    match (described, json!(cleanup)) {
        (Value::Object(mut described), Value::Object(cleanup)) => {
            described.extend(cleanup);
            Value::Object(described)
        }
        (_, cleanup) => cleanup,
    }
}

fn cleanup(
    context: &Context,
    supervision: &Supervision,
    worktree: &Worktree,
) -> Result<Cleanup, String> {
    let layout = worktree::layout(&worktree.original_cwd).map_err(|why| why.to_string())?;
    let confinement =
        context.ground().of_git(&layout, &worktree.worktree_path).map_err(|why| why.to_string())?;
    // Without its folder there is nothing that its commands could have left for git.
    let of_commands = match worktree.worktree_path.is_dir() {
        true => Some(
            ground_of(context, supervision)?.without_network().map_err(|why| why.to_string())?,
        ),
        false => None,
    };
    let of_commands = of_commands.as_ref().unwrap_or(&confinement);
    Ok(worktree::cleanup(worktree, Some(of_commands), Some(&confinement)))
}

fn worktree_of(supervision: &Supervision) -> Option<Worktree> {
    serde_json::from_value(supervision.worktree.clone()?).ok()
}

/// The first message of a parent to its child.
fn first_message(task: &TaskId, text: &str, trust: TrustLevel) -> Fact {
    message(MessageId::from(format!("{task}-initial")), task, text, trust)
}

/// Queues a further message of a parent to its child.
pub(crate) fn follow_up(
    actor: &mut Actor,
    task: &TaskId,
    text: &str,
    trust: TrustLevel,
) -> Result<(), ToolError> {
    let id = MessageId::from(format!("{task}-input-{}", actor.state().next_seq()));
    accepted(actor, &message(id, task, text, trust))
}

/// Called when a child's turn starts. Only its parent speaks to a child, so a message of the parent
/// cancels what the child waits for from its operator.
pub(crate) fn heeds(actor: &mut Actor, message: &MessageRecord) {
    let is_from_parent =
        actor.context.is_child && matches!(message.origin, MessageOrigin::Task { .. });
    // Results of the child's own tasks have a task as their origin too, but they are of another
    // kind.
    if !is_from_parent || message.kind != MessageKind::InternalFollowup {
        return;
    }
    let waits = actor.state().waiting().conditions.values().map(|wait| &wait.record);
    let of_operator: Vec<_> = waits
        .filter(|wait| wait.kind == WaitConditionKind::Operator)
        .map(|wait| wait.id.clone())
        .collect();
    for wait_condition_id in of_operator {
        // If it is not accepted, the actor has told the audience why.
        drop(actor.propose(&Fact::WaitConditionCancelled(WaitConditionNamed {
            wait_condition_id,
            ended_by: None,
        })));
    }
}

fn message(id: MessageId, task: &TaskId, text: &str, trust: TrustLevel) -> Fact {
    Fact::MessageQueued(MessageQueued {
        message: NewMessage {
            id,
            // This kind re-enters the model under any wait (contract 6.3), so the child hears its
            // parent in every state.
            kind: MessageKind::InternalFollowup,
            origin: MessageOrigin::Task { task_id: task.clone() },
            trust,
            priority: Priority::Normal,
            work_item_id: None,
            task_id: None,
            body: MessageBody::text(text),
            delivery_surface: Some(DeliverySurface::RuntimeSystem),
            admission_context: Some(AdmissionContext::RuntimeOwned),
            metadata: Some(RawJson::from_value(
                &json!({ "supervision_task_id": task, "parent_supervised": true }),
            )),
            correlation_id: None,
            causation_id: None,
        },
    })
}

/// Stops a child.
pub(crate) fn stop(actor: &mut Actor) {
    // If it is not accepted, the actor has told the audience why.
    drop(actor.propose(&Request::Stop.fact()));
}

/// Shuts a child down, because its host shuts down.
pub(crate) fn shut_down(actor: &mut Actor) {
    drop(actor.propose(&Request::Shutdown.fact()));
}
