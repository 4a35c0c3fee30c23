//! Child agents: agents of the same host, each with a ledger and a scheduler of its own, supervised
//! by a task of the parent (contract 12). The task is a handle, never the child's identity; what
//! the child made in a worktree is cleaned up with the task.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wakeful_core::{
    fact::{
        Fact,
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
            TaskKind, TaskRecord, TaskStatus,
            recovery::{ChildWorkspaceMode, TaskRecovery},
        },
        waiting::WaitConditionKind,
    },
    story::Request,
};

use crate::{
    Agent, Ending, Until,
    actor::Actor,
    confine::{Confinement, Workspace},
    context::{Context, Setup},
    cut,
    handle::{Handle, Mailbox},
    jobs::{self, TaskHandle, bound_item},
    tools::{ToolError, accepted},
    worktree::{self, Cleanup, Worktree},
};

/// What a parent asks a child to do.
pub(crate) struct Wanted {
    pub(crate) message: String,
    pub(crate) workspace_mode: ChildWorkspaceMode,
    pub(crate) trust: TrustLevel,
}

/// How a child came to its end.
pub(crate) struct ChildEnd {
    pub(crate) status: TaskStatus,
    /// What it said last, or what went wrong.
    pub(crate) text: String,
}

/// What the task of a child says about it (`observed-tasks-waits-storage.md` 1.13, 2.17).
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Supervision {
    child_agent_id: AgentId,
    supervision_task_id: TaskId,
    child_kind: String,
    child_visibility: String,
    child_ownership: String,
    child_profile_preset: String,
    wait_policy: String,
    workspace_mode: ChildWorkspaceMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worktree: Option<Value>,
    /// What the child said last, when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_summary: Option<String>,
}

impl Supervision {
    /// What this detail of a task says, where it says that.
    fn from_detail(detail: &RawJson) -> Option<Self> {
        serde_json::from_str(detail.as_str()).ok()
    }

    /// The same, with what the child said last.
    pub(crate) fn saying(self, words: String) -> Self {
        Self { output_summary: Some(words), ..self }
    }

    /// What became of a worktree that is still there.
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

/// What a parent knows of its child: the boundary between the two, for people and models. It is no
/// transcript.
#[derive(Serialize)]
pub(crate) struct ChildSupervision {
    parent_agent_id: AgentId,
    child_agent_id: AgentId,
    supervision_task_id: TaskId,
    workspace_mode: ChildWorkspaceMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<Value>,
    cleanup_owner: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleanup_status: Option<Value>,
    followup_target: &'static str,
}

impl ChildSupervision {
    /// What a task says about a child; none where it supervises none.
    pub(crate) fn from_task(task: &TaskRecord) -> Option<Self> {
        let supervision: Supervision = task.detail.as_ref().and_then(Supervision::from_detail)?;
        let cleanup_status = supervision
            .worktree
            .as_ref()
            .and_then(|worktree| worktree.get("cleanup_status").cloned());
        Some(Self {
            parent_agent_id: task.agent_id.clone(),
            child_agent_id: supervision.child_agent_id,
            supervision_task_id: task.id.clone(),
            workspace_mode: supervision.workspace_mode,
            worktree: supervision.worktree,
            cleanup_owner: "supervision_task",
            cleanup_status,
            followup_target: "parent_supervisor",
        })
    }

    /// The child.
    pub(crate) fn child_agent_id(&self) -> &AgentId {
        &self.child_agent_id
    }
}

/// Whether a new life of the host can go on with what this task supervises.
pub(crate) fn is_resumable(context: &Context, task: &TaskRecord) -> bool {
    let Some(supervision) = task.detail.as_ref().and_then(Supervision::from_detail) else {
        return false;
    };
    let has_begun = context
        .file
        .ledger(&supervision.child_agent_id)
        .read(Seq(0), 1)
        .is_ok_and(|entries| !entries.is_empty());
    let has_place =
        worktree_of(&supervision).is_none_or(|worktree| worktree.worktree_path.is_dir());
    has_begun && has_place
}

/// The id of the child that a task supervises.
pub(crate) fn id_of(parent: &AgentId, task: &str) -> AgentId {
    AgentId::from(format!("{parent}.task-{}", task.trim_start_matches("task-")))
}

/// Makes a child and the task that supervises it.
///
/// # Errors
/// Where there is no worktree or no thread for it, or the scheduler does not take the task; then
/// nothing of it is left.
pub(crate) fn spawn(
    actor: &mut Actor,
    wanted: &Wanted,
) -> Result<(TaskHandle, AgentId), ToolError> {
    let task_id = TaskId::from(format!("task-{}", actor.state().next_seq()));
    let child_agent_id = id_of(&actor.context.agent_id, task_id.as_str());
    let summary = cut::line(&wanted.message, 120);
    let failed = |why: String| ToolError::new("task_spawn_failed", why);
    let worktree = match wanted.workspace_mode {
        ChildWorkspaceMode::Inherit => None,
        ChildWorkspaceMode::Worktree => Some(make_worktree(actor, &task_id).map_err(failed)?),
    };
    let supervision = Supervision {
        child_agent_id: child_agent_id.clone(),
        supervision_task_id: task_id.clone(),
        child_kind: "child".to_owned(),
        child_visibility: "private".to_owned(),
        child_ownership: "parent_supervised".to_owned(),
        child_profile_preset: "private_child".to_owned(),
        wait_policy: "background".to_owned(),
        workspace_mode: wanted.workspace_mode,
        worktree: worktree.as_ref().map(|worktree| json!(worktree)),
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
        detail: Some(RawJson::from_value(&supervision)),
        recovery: Some(recovery),
    };
    let first = first_message(&task_id, &wanted.message, wanted.trust);
    let started = accepted(actor, &Fact::TaskCreated(change.clone()))
        .and_then(|()| start(actor, &task_id, &summary, &supervision, Some(first)).map_err(failed));
    if let Err(why) = started {
        let supervision = supervision.cleaned_up(&actor.context);
        if actor.state().tasks().active.contains_key(&task_id) {
            let end = ChildEnd { status: TaskStatus::Failed, text: why.to_string() };
            jobs::child_ended(actor, task_id, &summary, supervision, &end);
        }
        return Err(why);
    }
    accepted(actor, &Fact::TaskRunning(TaskChanged { recovery: None, ..change }))?;
    let handle = TaskHandle {
        task_id,
        task_kind: TaskKind::ChildAgentTask,
        status: TaskStatus::Running,
        initial_output: None,
    };
    Ok((handle, child_agent_id))
}

/// Goes on with a child on its ledger.
pub(crate) fn resume(actor: &mut Actor, task: &TaskRecord) {
    let Some(supervision) = task.detail.as_ref().and_then(Supervision::from_detail) else { return };
    let summary = task.summary.clone().unwrap_or_default();
    // A death between the task's record and the child's first entry leaves a child that was told
    // nothing: it is told again, once.
    let first = match &task.recovery {
        Some(TaskRecovery::ChildAgentTask { prompt, trust, .. }) => {
            Some(first_message(&task.id, prompt, *trust))
        }
        _ => None,
    };
    if let Err(why) = start(actor, &task.id, &summary, &supervision, first) {
        actor.context.audience.notice(
            &actor.context.agent_id,
            &format!("the child of `{}` cannot go on: {why}", task.id),
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
        // A child that panics ends too: else its parent would wait for it.
        let lived = catch_unwind(AssertUnwindSafe(|| live(setup, (own, mailbox), first)));
        let panicked =
            || Some(ChildEnd { status: TaskStatus::Failed, text: "Its host panicked.".to_owned() });
        let Some(end) = lived.unwrap_or_else(|_| panicked()) else { return };
        let supervision = supervision.cleaned_up(&context);
        // Where the parent has ended, its next life goes on with this child, which then rests at
        // once.
        let _ = parent
            .tell(move |actor| jobs::child_ended(actor, task_id, &summary, supervision, &end));
    });
    actor.jobs.add_child(
        task.clone(),
        handle,
        thread.map_err(|why| format!("a thread for the child: {why}"))?,
    );
    Ok(())
}

/// Lets a child live to its end; none where its host goes down before.
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
        Ok((Ending::Rested, words)) => {
            let status = if words.failed { TaskStatus::Failed } else { TaskStatus::Completed };
            Some(ChildEnd { status, text: words.text })
        }
        Err(why) => Some(ChildEnd { status: TaskStatus::Failed, text: why.to_string() }),
    }
}

fn setup_of(context: &Context, supervision: &Supervision) -> Result<Setup, String> {
    let home: PathBuf =
        context.home.join("children").join(supervision.supervision_task_id.as_str());
    let inherited =
        Setup { agent_id: supervision.child_agent_id.clone(), home, ..context.setup().clone() };
    let Some(worktree) = worktree_of(supervision) else { return Ok(inherited) };
    let workspace = Workspace::new(&worktree.worktree_path).map_err(|why| why.to_string())?;
    let layout = worktree::layout(&worktree.original_cwd).map_err(|why| why.to_string())?;
    Ok(Setup {
        workspace,
        also_write: [context.also_write.clone(), vec![layout.git]].concat(),
        ..inherited
    })
}

/// A worktree for the child of a task, from the branch on which its parent works. Its name is that
/// of no other history.
fn make_worktree(actor: &Actor, task: &TaskId) -> Result<Worktree, String> {
    let chain = actor.state().head().chain.to_string();
    let name = format!("{}-{}", task.as_str().trim_start_matches("task-"), &chain[..8]);
    let folder = actor.context.workspace.root();
    let confinement = confinement_of(&actor.context, folder)?;
    worktree::create(folder, &name, Some(&confinement)).map_err(|why| why.to_string())
}

impl Supervision {
    /// The same, with what became of the child's worktree when it was cleaned up.
    fn cleaned_up(mut self, context: &Context) -> Self {
        self.worktree = self.worktree.map(|described| cleaned(context, described));
        self
    }
}

/// What is said of a worktree, with what became of it when it was cleaned up.
fn cleaned(context: &Context, described: Value) -> Value {
    let cleanup = match serde_json::from_value::<Worktree>(described.clone()) {
        Ok(worktree) => match confinement_of(context, &worktree.original_cwd) {
            Ok(confinement) => worktree::cleanup(&worktree, Some(&confinement)),
            Err(error) => Cleanup::Failed { error },
        },
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

/// The confinement of git where it makes and removes worktrees.
fn confinement_of(context: &Context, folder: &Path) -> Result<Confinement, String> {
    let layout = worktree::layout(folder).map_err(|why| why.to_string())?;
    context
        .confinement_with(vec![layout.repository, layout.git, layout.worktrees])
        .map_err(|why| why.to_string())
}

fn worktree_of(supervision: &Supervision) -> Option<Worktree> {
    serde_json::from_value(supervision.worktree.clone()?).ok()
}

/// What a parent says first to its child.
fn first_message(task: &TaskId, text: &str, trust: TrustLevel) -> Fact {
    message(MessageId::from(format!("{task}-initial")), task, text, trust)
}

/// A parent says something more to its child.
pub(crate) fn follow_up(
    actor: &mut Actor,
    task: &TaskId,
    text: &str,
    trust: TrustLevel,
) -> Result<(), ToolError> {
    let id = MessageId::from(format!("{task}-input-{}", actor.state().next_seq()));
    accepted(actor, &message(id, task, text, trust))
}

/// A child begins a turn about this. Nobody but its parent speaks to a child, so what the parent
/// says ends what it waits for from its operator.
pub(crate) fn heeds(actor: &mut Actor, message: &MessageRecord) {
    let is_from_parent =
        actor.context.is_child && matches!(message.origin, MessageOrigin::Task { .. });
    if !is_from_parent || message.kind != MessageKind::InternalFollowup {
        return;
    }
    let waits = actor.state().waiting().conditions.values().map(|wait| &wait.record);
    let of_operator: Vec<_> = waits
        .filter(|wait| wait.kind == WaitConditionKind::Operator)
        .map(|wait| wait.id.clone())
        .collect();
    for wait_condition_id in of_operator {
        // Where it is not taken the actor has said why.
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

/// A parent stops its child.
pub(crate) fn stop(actor: &mut Actor) {
    // Where it is not taken the actor has said why.
    drop(actor.propose(&Request::Stop.fact()));
}

/// The host of a child goes down.
pub(crate) fn shut_down(actor: &mut Actor) {
    drop(actor.propose(&Request::Shutdown.fact()));
}
