//! How a task is recovered after a restart: what its creator would need to know (contract 12).

use alloc::string::String;

use serde::Serialize;

use crate::{
    record::queue::envelope::TrustLevel,
    tagged::{names, read_through, required},
};
use wakeful_json::Readable;

names! {
    /// Where a child agent works.
    pub enum ChildWorkspaceMode {
        /// In the workspace of its parent.
        Inherit,
        /// In a worktree of its own.
        Worktree,
    }
}

/// What a restart needs to know about a task. A host reads it; the scheduler reads only of which
/// kind it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskRecovery {
    /// A supervised child agent.
    ChildAgentTask {
        /// What it does, in a line.
        summary: String,
        /// What it was told.
        prompt: String,
        /// How far whoever asked for it is trusted.
        trust: TrustLevel,
        /// Where it works.
        workspace_mode: ChildWorkspaceMode,
    },
    /// Legacy spelling of a child agent that inherits the workspace.
    SubagentTask {
        /// What it does, in a line.
        summary: String,
        /// What it was told.
        prompt: String,
        /// How far whoever asked for it is trusted.
        trust: TrustLevel,
    },
    /// Legacy spelling of a child agent with a worktree.
    WorktreeSubagentTask {
        /// What it does, in a line.
        summary: String,
        /// What it was told.
        prompt: String,
        /// How far whoever asked for it is trusted.
        trust: TrustLevel,
    },
    /// A command.
    CommandTask {
        /// What it does, in a line.
        summary: String,
        /// How it is run.
        spec: CommandTaskSpec,
        /// How far whoever asked for it is trusted.
        trust: TrustLevel,
        /// Whether it began as a foreground command.
        promoted_from_exec_command: bool,
    },
}

/// How a command is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandTaskSpec {
    /// The command line.
    pub cmd: String,
    /// Where it runs.
    #[serde(default)]
    pub workdir: Option<String>,
    /// The shell that runs it.
    #[serde(default)]
    pub shell: Option<String>,
    /// Whether that is a login shell.
    pub login: bool,
    /// Whether it has a terminal.
    #[serde(default)]
    pub tty: bool,
    /// How long it runs in the foreground, in milliseconds.
    pub yield_time_ms: u64,
    /// How much of its output the model sees, in tokens.
    #[serde(default)]
    pub max_output_tokens: Option<u64>,
    /// Whether it reads input.
    #[serde(default)]
    pub accepts_input: bool,
    /// Whether its creator asked for the model at its end.
    #[serde(default, alias = "continue_on_result")]
    pub terminal_reentry: bool,
}

/// All fields that some recovery has; what [`TaskRecovery`] is read through.
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
    /// Whether it recovers a supervised child agent, in any spelling.
    #[must_use]
    pub fn is_child(&self) -> bool {
        !matches!(self, Self::CommandTask { .. })
    }

    /// Whether the creator of the task asked for the model at its end; children never say so here.
    #[must_use]
    pub fn terminal_reentry(&self) -> bool {
        matches!(self, Self::CommandTask { spec, .. } if spec.terminal_reentry)
    }

    /// Where a child agent works; none for a command (contract 12).
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
