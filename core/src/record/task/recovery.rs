//! What a restart needs to know to recover a task (contract 12).

use alloc::string::String;

use serde::Serialize;

use crate::{
    record::queue::envelope::TrustLevel,
    tagged::{names, read_through, required},
};
use wakeful_json::Readable;

names! {
    /// The workspace of a child agent.
    pub enum ChildWorkspaceMode {
        /// The workspace of its parent.
        Inherit,
        /// A worktree of its own.
        Worktree,
    }
}

/// What a restart needs to know about a task. It is for the host; the scheduler reads only the kind
/// and whether the model is wanted at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskRecovery {
    /// A supervised child agent.
    ChildAgentTask {
        /// What the task does, in one line.
        summary: String,
        /// The instructions to the child.
        prompt: String,
        /// How far the requester of the task is trusted.
        trust: TrustLevel,
        /// The workspace of the child.
        workspace_mode: ChildWorkspaceMode,
    },
    /// Legacy spelling of a child agent that inherits the workspace.
    SubagentTask {
        /// What the task does, in one line.
        summary: String,
        /// The instructions to the child.
        prompt: String,
        /// How far the requester of the task is trusted.
        trust: TrustLevel,
    },
    /// Legacy spelling of a child agent with a worktree.
    WorktreeSubagentTask {
        /// What the task does, in one line.
        summary: String,
        /// The instructions to the child.
        prompt: String,
        /// How far the requester of the task is trusted.
        trust: TrustLevel,
    },
    /// A command.
    CommandTask {
        /// What the task does, in one line.
        summary: String,
        /// How the command runs.
        spec: CommandTaskSpec,
        /// How far the requester of the task is trusted.
        trust: TrustLevel,
        /// Whether it started as a foreground command.
        promoted_from_exec_command: bool,
    },
}

/// How a command runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandTaskSpec {
    /// The command line.
    pub cmd: String,
    /// The working directory.
    #[serde(default)]
    pub workdir: Option<String>,
    /// The shell that runs the command line.
    #[serde(default)]
    pub shell: Option<String>,
    /// Whether that shell is a login shell.
    pub login: bool,
    /// Whether the command has a terminal.
    #[serde(default)]
    pub tty: bool,
    /// The time that the command may run in the foreground, in milliseconds.
    pub yield_time_ms: u64,
    /// The part of the output that the model sees, in tokens.
    #[serde(default)]
    pub max_output_tokens: Option<u64>,
    /// Whether the command reads input.
    #[serde(default)]
    pub accepts_input: bool,
    /// Whether the creator wants the model to run when the command ends.
    #[serde(default, alias = "continue_on_result")]
    pub terminal_reentry: bool,
}

/// The fields of all recoveries together; [`TaskRecovery`] is read through it.
#[derive(Readable)]
struct RecoveryFields {
    kind: RecoveryKind,
    summary: String,
    trust: TrustLevel,
    prompt: Option<String>,
    workspace_mode: Option<ChildWorkspaceMode>,
    spec: Option<CommandTaskSpec>,
    promoted_from_exec_command: Option<bool>,
}

names! {
    enum RecoveryKind {
        ChildAgent = "child_agent_task",
        Subagent = "subagent_task",
        WorktreeSubagent = "worktree_subagent_task",
        Command = "command_task",
    }
}

impl TryFrom<RecoveryFields> for TaskRecovery {
    type Error = String;

    fn try_from(f: RecoveryFields) -> Result<Self, String> {
        let RecoveryFields { summary, trust, .. } = f;
        Ok(match f.kind {
            RecoveryKind::ChildAgent => Self::ChildAgentTask {
                summary,
                prompt: required(f.prompt, "prompt", "child_agent_task")?,
                trust,
                workspace_mode: required(f.workspace_mode, "workspace_mode", "child_agent_task")?,
            },
            RecoveryKind::Subagent => Self::SubagentTask {
                summary,
                prompt: required(f.prompt, "prompt", "subagent_task")?,
                trust,
            },
            RecoveryKind::WorktreeSubagent => Self::WorktreeSubagentTask {
                summary,
                prompt: required(f.prompt, "prompt", "worktree_subagent_task")?,
                trust,
            },
            RecoveryKind::Command => Self::CommandTask {
                summary,
                spec: required(f.spec, "spec", "command_task")?,
                trust,
                promoted_from_exec_command: required(
                    f.promoted_from_exec_command,
                    "promoted_from_exec_command",
                    "command_task",
                )?,
            },
        })
    }
}

read_through!(
    TaskRecovery,
    RecoveryFields,
    Self::SubagentTask {
        summary: String::new(),
        prompt: String::new(),
        trust: TrustLevel::TrustedOperator
    }
);

impl TaskRecovery {
    /// Whether this recovers a supervised child agent, in any spelling.
    #[must_use]
    pub fn is_child(&self) -> bool {
        !matches!(self, Self::CommandTask { .. })
    }

    /// Whether the creator wants the model to run when the task ends; always false for a child.
    #[must_use]
    pub fn terminal_reentry(&self) -> bool {
        matches!(self, Self::CommandTask { spec, .. } if spec.terminal_reentry)
    }

    /// The workspace of a child agent; `None` for a command (contract 12).
    #[must_use]
    pub fn workspace_mode(&self) -> Option<ChildWorkspaceMode> {
        match self {
            Self::ChildAgentTask { workspace_mode, .. } => Some(*workspace_mode),
            Self::SubagentTask { .. } => Some(ChildWorkspaceMode::Inherit),
            Self::WorktreeSubagentTask { .. } => Some(ChildWorkspaceMode::Worktree),
            Self::CommandTask { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakeful_json as json;

    #[test]
    fn a_recovery_without_its_field_says_which() {
        let why = json::read::<TaskRecovery>(
            r#"{"kind":"command_task","summary":"s","trust":"trusted_system"}"#,
        )
        .expect_err("no spec");
        assert_eq!(why.message, "missing field `spec` of `command_task`");
    }

    #[test]
    fn legacy_spellings_read_as_child_agents_with_their_workspace() {
        let of = |kind: &str| {
            let text = alloc::format!(
                r#"{{"kind":"{kind}","summary":"s","prompt":"p","trust":"trusted_system"}}"#
            );
            json::read::<TaskRecovery>(&text).expect("valid").workspace_mode()
        };
        assert_eq!(of("subagent_task"), Some(ChildWorkspaceMode::Inherit));
        assert_eq!(of("worktree_subagent_task"), Some(ChildWorkspaceMode::Worktree));
    }
}
