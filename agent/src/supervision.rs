//! What the ledger of a parent says about its children (contract 12): the detail of the task that
//! supervises a child, and what became of the child's worktree. It is plain data, on every system,
//! so that commands show the same as the model sees.

use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(all(target_os = "linux", feature = "linux"))]
use wakeful_core::id::DelegationId;
use wakeful_core::{
    id::{AgentId, TaskId},
    json::RawJson,
    record::{
        context::TranscriptRecord,
        task::{TaskRecord, recovery::ChildWorkspaceMode},
    },
};

/// The most changed files that an event names.
#[cfg(all(target_os = "linux", feature = "linux"))]
const MOST_NAMED: usize = 20;

/// The detail of the task that supervises a child (`observed-tasks-waits-storage.md` 1.13, 2.17).
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Supervision {
    pub(crate) child_agent_id: AgentId,
    pub(crate) supervision_task_id: TaskId,
    pub(crate) child_kind: String,
    pub(crate) child_visibility: String,
    pub(crate) child_ownership: String,
    pub(crate) child_profile_preset: String,
    pub(crate) wait_policy: String,
    pub(crate) workspace_mode: ChildWorkspaceMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<Value>,
    /// The child's last message, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output_summary: Option<String>,
}

impl Supervision {
    /// Reads the detail of a task; `None` if the task does not supervise a child.
    pub(crate) fn from_detail(detail: &RawJson) -> Option<Self> {
        serde_json::from_str(detail.as_str()).ok()
    }
}

/// The id of the child that a task supervises.
#[cfg(all(target_os = "linux", feature = "linux"))]
pub(crate) fn child_id(parent: &AgentId, task: &str) -> AgentId {
    // `Context::sweep` relies on this form: with an empty task it is the prefix of all children.
    AgentId::from(format!("{parent}.task-{}", task.trim_start_matches("task-")))
}

/// The parent in the id of a child.
#[cfg(all(target_os = "linux", feature = "linux"))]
pub(crate) fn parent_of(child: &AgentId) -> Option<AgentId> {
    child.as_str().rsplit_once(".task-").map(|(parent, _)| AgentId::from(parent))
}

/// The delegation of an item to the child of a task (contract 15.8).
#[cfg(all(target_os = "linux", feature = "linux"))]
pub(crate) fn delegation(task: &TaskId) -> DelegationId {
    DelegationId::from(format!("delegation-{task}"))
}

/// The task of `parent` that supervises an agent with this id, if it has the form of a child's id.
#[must_use]
pub fn supervising_task(parent: &AgentId, child: &AgentId) -> Option<TaskId> {
    let task = child.as_str().strip_prefix(parent.as_str())?.strip_prefix('.')?;
    task.starts_with("task-").then(|| TaskId::from(task))
}

/// What a parent may know of its child, for people and models. It does not include the child's
/// transcript.
#[derive(Clone, Debug, Serialize)]
pub struct ChildSupervision {
    /// The agent that supervises the child.
    pub parent_agent_id: AgentId,
    /// The child.
    pub child_agent_id: AgentId,
    /// The task of the parent that supervises it.
    pub supervision_task_id: TaskId,
    /// Whether the child works in its parent's workspace or in a worktree.
    pub workspace_mode: ChildWorkspaceMode,
    /// The worktree, with what its cleanup found once the child has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Value>,
    cleanup_owner: &'static str,
    /// What became of the worktree, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleanup_status: Option<Value>,
    followup_target: &'static str,
}

impl ChildSupervision {
    /// The supervision that a task records; `None` if it supervises no child.
    #[must_use]
    pub fn from_task(task: &TaskRecord) -> Option<Self> {
        let supervision = Supervision::from_detail(task.detail.as_ref()?)?;
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

    /// The path of the child's worktree, if it has one.
    #[must_use]
    pub fn worktree_path(&self) -> Option<&str> {
        self.worktree.as_ref()?.get("worktree_path")?.as_str()
    }
}

/// A worktree that its cleanup found otherwise than the host had made it. It is kept, and blocks
/// nothing (contract 12). The ledger has it as a transcript piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeMismatch {
    /// The task that supervised the child.
    pub task_id: TaskId,
    /// The child.
    pub child_agent_id: AgentId,
    /// The folder of the worktree.
    pub worktree_path: String,
    /// The branch that the host had made for it.
    pub worktree_branch: String,
    /// What differs: `branch_mismatch` or `changed_files`.
    pub reason: String,
    /// The branch that is checked out, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual_branch: Option<String>,
    /// The first changed files, relative to the worktree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// The number of all changed files.
    #[serde(default)]
    pub changed_file_count: usize,
}

/// The value of `kind` in its transcript piece.
const MISMATCH: &str = "worktree_mismatch";

impl WorktreeMismatch {
    /// The mismatch that the cleanup of a child's worktree found; `None` if it found none.
    #[cfg(all(target_os = "linux", feature = "linux"))]
    pub(crate) fn from_supervision(supervision: &Supervision) -> Option<Self> {
        /// The parts of a cleaned worktree that matter here.
        #[derive(Deserialize)]
        struct Cleaned {
            worktree_path: String,
            worktree_branch: String,
            cleanup_reason: String,
            actual_branch: Option<String>,
            #[serde(default)]
            changed_files: Vec<String>,
        }
        let cleaned = Cleaned::deserialize(supervision.worktree.as_ref()?).ok()?;
        if !["branch_mismatch", "changed_files"].contains(&cleaned.cleanup_reason.as_str()) {
            return None;
        }
        let changed_file_count = cleaned.changed_files.len();
        let mut changed_files = cleaned.changed_files;
        // A build folder can have more files than an entry should hold.
        changed_files.truncate(MOST_NAMED);
        Some(Self {
            task_id: supervision.supervision_task_id.clone(),
            child_agent_id: supervision.child_agent_id.clone(),
            worktree_path: cleaned.worktree_path,
            worktree_branch: cleaned.worktree_branch,
            reason: cleaned.cleanup_reason,
            actual_branch: cleaned.actual_branch,
            changed_files,
            changed_file_count,
        })
    }

    /// The mismatch that a transcript piece records; `None` if it records something else.
    #[must_use]
    pub fn from_transcript(piece: &TranscriptRecord) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        let text = piece.data.as_str();
        let Kind { kind } = serde_json::from_str(text).ok()?;
        // Read a second time: serde cannot read ids out of the value of a tagged enum.
        (kind == MISMATCH).then(|| serde_json::from_str(text).ok())?
    }

    /// The data of the transcript piece.
    #[cfg(all(target_os = "linux", feature = "linux"))]
    pub(crate) fn data(&self) -> RawJson {
        /// With its kind first, as every piece of the host.
        #[derive(Serialize)]
        struct Piece<'a> {
            kind: &'static str,
            #[serde(flatten)]
            mismatch: &'a WorktreeMismatch,
        }
        RawJson::from_value(&Piece { kind: MISMATCH, mismatch: self })
    }
}
