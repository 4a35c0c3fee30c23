//! The tools of the agent plane: `SpawnAgent` creates a child, `AgentGet` reports the status of
//! this agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wakeful_core::{
    id::{AgentId, TaskId},
    record::task::recovery::ChildWorkspaceMode,
};

use super::{Caller, Success, Tool, ToolError, said};
use crate::{
    child::{self, Wanted},
    jobs::TaskHandle,
    supervision::ChildSupervision,
};

/// Arguments of `SpawnAgent`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SpawnAgent {
    /// The child's task. It is the child's first message, so it must make sense on its own.
    initial_message: String,
    /// The kind of agent.
    #[serde(default)]
    preset: Preset,
    /// The folder of the child: your workspace, or its own git worktree. The worktree is removed
    /// when the child ends, unless it has changes.
    #[serde(default)]
    workspace_mode: Mode,
}

/// The kind of a child agent.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Preset {
    /// A child that you supervise and that only you talk to.
    #[default]
    PrivateChild,
}

/// The folder of a child.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// In the workspace of its parent.
    #[default]
    Inherit,
    /// In a git worktree of its own.
    Worktree,
}

#[derive(Serialize)]
struct Spawned {
    agent_id: AgentId,
    child_agent_id: AgentId,
    supervision_task_id: TaskId,
    task_handle: TaskHandle,
    #[serde(skip_serializing_if = "Option::is_none")]
    child_supervision: Option<ChildSupervision>,
}

impl Tool for SpawnAgent {
    const NAME: &'static str = "SpawnAgent";
    const ABOUT: &'static str = "Creates a child agent that works on its own, in the background. \
                                 Its result wakes you. TaskInput sends it a follow-up, TaskStop \
                                 ends it.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        // The only preset. A new one fails to compile here until it is handled.
        let Preset::PrivateChild = self.preset;
        let message = said(&self.initial_message, "initial_message")?;
        let workspace_mode = match self.workspace_mode {
            Mode::Inherit => ChildWorkspaceMode::Inherit,
            Mode::Worktree => ChildWorkspaceMode::Worktree,
        };
        // The child is trusted as far as the message that started this turn, and no further.
        let wanted = Wanted { message, workspace_mode, trust: caller.trust };
        // The worktree comes before the task, because the task's detail describes it.
        let worktree = match workspace_mode {
            ChildWorkspaceMode::Inherit => None,
            ChildWorkspaceMode::Worktree => {
                let name = caller.ask(child::name_of_worktree)?;
                Some(child::make_worktree(&caller.context, &name, &caller.cancel)?)
            }
        };
        let made = worktree.clone();
        let spawned = caller.ask(move |actor| -> Result<_, ToolError> {
            let (task_handle, child_agent_id) = child::spawn(actor, &wanted, made.as_ref())?;
            let record =
                actor.state().tasks().active.get(&task_handle.task_id).map(|task| &task.record);
            let child_supervision = record.and_then(ChildSupervision::from_task);
            let supervision_task_id = task_handle.task_id.clone();
            Ok(Spawned {
                agent_id: child_agent_id.clone(),
                child_agent_id,
                supervision_task_id,
                task_handle,
                child_supervision,
            })
        });
        // If the agent has ended, nothing supervises the worktree.
        if let (Err(_), Some(worktree)) = (&spawned, &worktree) {
            child::unmake_worktree(&caller.context, worktree);
        }
        let spawned = spawned??;
        Ok(Success::new(
            format!(
                "child {} runs as task {}",
                spawned.child_agent_id, spawned.supervision_task_id
            ),
            &spawned,
        ))
    }
}

/// Arguments of `AgentGet`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentGet {}

#[derive(Serialize)]
struct Got {
    agent: Value,
    active_children: Vec<ChildSupervision>,
}

impl Tool for AgentGet {
    const NAME: &'static str = "AgentGet";
    const ABOUT: &'static str =
        "Reports your status: posture, what you wait for, active tasks and children.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let (summary, active_children) = caller.ask(|actor| {
            let children = actor
                .state()
                .tasks()
                .active
                .values()
                .filter_map(|task| ChildSupervision::from_task(&task.record))
                .collect();
            (actor.summary(), children)
        })?;
        let summary = summary.map_err(|why| ToolError::new("tool_execution_failed", why))?;
        let agent: Value = serde_json::from_str(&summary)
            .map_err(|why| ToolError::new("tool_execution_failed", why.to_string()))?;
        Ok(Success::new("the status of the agent", &Got { agent, active_children }))
    }
}
