//! Git worktrees for tasks: created beside a repository, and removed only if nothing can be lost.
//!
//! A created worktree is a [`Worktree`], and the result of its cleanup is a [`Cleanup`]. Both are
//! parts of a task's detail, with the keys of the contract's observations (2.17). Cleanup itself
//! never fails: people remove worktrees, move branches and leave changes, and each of these is a
//! result.
//!
//! Git runs programs that the settings and filters of a repository name. Anything that can write to
//! the repository can choose them. So git itself runs under a [`Confinement`], and its hooks are
//! off.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde::{Deserialize, Serialize};

use crate::confine::{self, Confinement};

/// A worktree that was created for a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// The folder of the worktree.
    pub worktree_path: PathBuf,
    /// The branch that was created for it.
    pub worktree_branch: String,
    /// What the path is to the task.
    #[serde(default)]
    pub projection_kind: Projection,
    /// The folder from which it was created.
    pub original_cwd: PathBuf,
    /// The branch that was checked out in that folder.
    pub original_branch: String,
}

impl Worktree {
    /// Reads the worktree that a task's detail describes, as JSON.
    ///
    /// # Errors
    /// If the detail does not name the path and the branches. The cleanup has then failed.
    pub fn described(detail: &str) -> Result<Self, Cleanup> {
        let not_described = |why| Cleanup::Failed {
            error: format!("the task does not describe its worktree: {why}"),
        };
        serde_json::from_str(detail).map_err(not_described)
    }
}

/// What a path is to a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Projection {
    /// The root of a worktree.
    #[default]
    GitWorktreeRoot,
}

/// The folders of a repository and its worktrees. Commands in a worktree must be able to write to
/// `git`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The root of the repository.
    pub repository: PathBuf,
    /// Its `.git`, which all of its worktrees share.
    pub git: PathBuf,
    /// The folder beside the repository that holds the worktrees.
    pub worktrees: PathBuf,
}

/// Why there is no worktree.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// The id cannot be part of a path and of a branch.
    #[error(
        "`{0}` cannot name a worktree: use letters, digits, `-`, `_` and single dots, and begin \
         with a letter or a digit"
    )]
    TaskId(String),
    /// The folder is not in a repository.
    #[error("`{}` is not in a git repository with a working tree: {why}; use `workspace_mode = inherit`", folder.display())]
    NoRepository {
        /// The folder.
        folder: PathBuf,
        /// Git's message.
        why: String,
    },
    /// There is no branch from which a worktree could start.
    #[error("no branch with a commit is checked out in `{}`, or it cannot be read ({why}): check one out first", folder.display())]
    DetachedHead {
        /// The folder.
        folder: PathBuf,
        /// Git's message.
        why: String,
    },
    /// The folder for worktrees cannot be created.
    #[error("cannot create `{}`: {why}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// Git could not create the worktree.
    #[error("cannot create the worktree `{}`: {why}", path.display())]
    Git {
        /// The path of the worktree.
        path: PathBuf,
        /// Git's message.
        why: String,
    },
}

/// What became of a worktree whose task has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "Shape")]
pub enum Cleanup {
    /// It was removed, because nothing in it was changed.
    Cleaned {
        /// What became of its branch.
        branch: BranchCleanup,
    },
    /// It no longer existed, or disappeared during the removal.
    AlreadyRemoved {
        /// Whether it disappeared only during the removal.
        meanwhile: bool,
    },
    /// It was kept for review, because it has changes.
    ChangedFiles {
        /// The changed paths, relative to the worktree.
        changed_files: Vec<String>,
    },
    /// It was kept, because another branch is checked out in it.
    BranchMismatch {
        /// The branch that is checked out; `HEAD` if there is none.
        actual_branch: String,
    },
    /// It was kept, because git cannot read it.
    Unreadable {
        /// What could not be read.
        what: Inspection,
        /// Git's message.
        error: String,
    },
    /// It could not be removed, or the task does not describe it.
    Failed {
        /// What went wrong.
        error: String,
    },
}

/// What is read of a worktree before it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inspection {
    /// The branch that is checked out.
    Branch,
    /// Its changes.
    Changes,
}

/// What became of the branch of a removed worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchCleanup {
    /// It was deleted: all of its commits are on other branches too.
    Deleted,
    /// It no longer existed.
    AlreadyRemoved,
    /// It was kept, because its commits would be lost.
    Retained {
        /// Git's message.
        error: String,
    },
}

/// A cleanup in the form of a task's detail.
#[derive(Default, Serialize)]
struct Shape {
    cleanup_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleanup_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleanup_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_files: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retained_for_review: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_cleaned_up: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_cleanup_status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_cleanup_error: Option<String>,
}

impl From<Cleanup> for Shape {
    fn from(cleanup: Cleanup) -> Self {
        let of = |cleanup_status, cleanup_reason| Self {
            cleanup_status,
            cleanup_reason,
            ..Self::default()
        };
        let gone =
            |status, reason| Self { auto_cleaned_up: Some(true), ..of(status, Some(reason)) };
        match cleanup {
            Cleanup::Cleaned { branch } => {
                let (status, error) = match branch {
                    BranchCleanup::Deleted => ("deleted", None),
                    BranchCleanup::AlreadyRemoved => ("already_removed", None),
                    BranchCleanup::Retained { error } => ("retained", Some(error)),
                };
                Self {
                    branch_cleanup_status: Some(status),
                    branch_cleanup_error: error,
                    ..gone("cleaned", "clean_worktree")
                }
            }
            Cleanup::AlreadyRemoved { meanwhile: false } => {
                gone("already_removed", "worktree_path_missing")
            }
            Cleanup::AlreadyRemoved { meanwhile: true } => {
                gone("already_removed", "worktree_path_missing_after_remove")
            }
            Cleanup::ChangedFiles { changed_files } => Self {
                changed_files: Some(changed_files),
                retained_for_review: Some(true),
                ..of("retained", Some("changed_files"))
            },
            Cleanup::BranchMismatch { actual_branch } => Self {
                actual_branch: Some(actual_branch),
                ..of("retained", Some("branch_mismatch"))
            },
            Cleanup::Unreadable { what, error } => {
                let reason = match what {
                    Inspection::Branch => "branch_inspection_failed",
                    Inspection::Changes => "change_detection_failed",
                };
                Self { cleanup_error: Some(error), ..of("retained", Some(reason)) }
            }
            Cleanup::Failed { error } => Self { cleanup_error: Some(error), ..of("failed", None) },
        }
    }
}

/// Finds the folders for the worktrees of a repository, and creates the folder for them. All of
/// them must be writable under the [`Confinement`] that creates and removes worktrees.
///
/// # Errors
/// If the folder is not in a repository, or the folder for worktrees cannot be created.
pub fn layout(folder: &Path) -> Result<Layout, WorktreeError> {
    // These questions run no program of the repository, so git needs no confinement here.
    let ask = |question: &[&str]| {
        let no_repository = |why| WorktreeError::NoRepository { folder: folder.to_owned(), why };
        git(folder, None, &[&["rev-parse", "--path-format=absolute"], question].concat())
            .map(PathBuf::from)
            .map_err(no_repository)
    };
    let (repository, git) = (ask(&["--show-toplevel"])?, ask(&["--git-common-dir"])?);
    let name =
        repository.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let worktrees = repository.with_file_name(format!(".wakeful-worktrees-{name}"));
    // It must exist before git is confined: the confinement leaves out paths that do not exist.
    fs::create_dir_all(&worktrees)
        .map_err(|why| WorktreeError::Folder { path: worktrees.clone(), why })?;
    Ok(Layout { repository, git, worktrees })
}

/// Creates the worktree of a task, on a new branch that starts at the branch checked out in
/// `folder`.
///
/// # Errors
/// If there is no branch to start from, or the path or the branch name is taken.
pub fn create(
    folder: &Path,
    task_id: &str,
    confinement: Option<&Confinement>,
) -> Result<Worktree, WorktreeError> {
    if !is_name(task_id) {
        return Err(WorktreeError::TaskId(task_id.to_owned()));
    }
    let layout = layout(folder)?;
    let head = ["symbolic-ref", "--quiet", "--short", "HEAD"];
    let branch = git(folder, confinement, &head).and_then(|branch| {
        let commit = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        git(folder, confinement, &commit).map(|_| branch)
    });
    let original_branch =
        branch.map_err(|why| WorktreeError::DetachedHead { folder: folder.to_owned(), why })?;

    let worktree_branch = format!("task-{task_id}");
    let path = layout.worktrees.join(&worktree_branch);
    let failed = |why| WorktreeError::Git { path: path.clone(), why };
    let Some(text) = path.to_str() else {
        return Err(failed("its path is not valid UTF-8".to_owned()));
    };
    // Git still lists a worktree that was removed by hand, and then refuses its path.
    git(folder, confinement, &["worktree", "prune"]).map_err(failed)?;
    git(
        folder,
        confinement,
        &["worktree", "add", "--quiet", "-b", &worktree_branch, "--", text, "HEAD"],
    )
    .map_err(failed)?;
    Ok(Worktree {
        worktree_branch,
        projection_kind: Projection::GitWorktreeRoot,
        original_cwd: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
        original_branch,
        worktree_path: path,
    })
}

/// Removes a worktree that has no changes, and its branch if no commit would be lost. Returns what
/// became of them.
pub fn cleanup(worktree: &Worktree, confinement: Option<&Confinement>) -> Cleanup {
    let Worktree { worktree_path: path, worktree_branch: branch, original_cwd: origin, .. } =
        worktree;
    let is_gone =
        || fs::symlink_metadata(path).is_err_and(|why| why.kind() == io::ErrorKind::NotFound);
    // People remove worktrees by hand; cleanup tolerates that (contract 12).
    if is_gone() {
        // A failure is harmless: git only keeps a stale entry.
        let _untidy = git(origin, confinement, &["worktree", "prune"]);
        return Cleanup::AlreadyRemoved { meanwhile: false };
    }
    match git(path, confinement, &["rev-parse", "--abbrev-ref", "HEAD"]) {
        Err(error) => return Cleanup::Unreadable { what: Inspection::Branch, error },
        Ok(actual_branch) if actual_branch != *branch => {
            return Cleanup::BranchMismatch { actual_branch };
        }
        Ok(_) => {}
    }
    match git(
        path,
        confinement,
        // A rename would be two paths, which `changed` does not read.
        &["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"],
    ) {
        Err(error) => return Cleanup::Unreadable { what: Inspection::Changes, error },
        Ok(status) if !status.is_empty() => {
            return Cleanup::ChangedFiles { changed_files: changed(&status) };
        }
        Ok(_) => {}
    }
    match git(origin, confinement, &["worktree", "remove", "--", &path.to_string_lossy()]) {
        Ok(_) => Cleanup::Cleaned { branch: delete(branch, origin, confinement) },
        Err(_) if is_gone() => Cleanup::AlreadyRemoved { meanwhile: true },
        Err(error) => Cleanup::Failed { error },
    }
}

fn delete(branch: &str, origin: &Path, confinement: Option<&Confinement>) -> BranchCleanup {
    if git(
        origin,
        confinement,
        &["show-ref", "--verify", "--quiet", &format!("refs/heads/{branch}")],
    )
    .is_err()
    {
        return BranchCleanup::AlreadyRemoved;
    }
    // `-d` refuses to delete a branch whose commits would be lost.
    match git(origin, confinement, &["branch", "--quiet", "-d", "--", branch]) {
        Ok(_) => BranchCleanup::Deleted,
        Err(error) => BranchCleanup::Retained { error },
    }
}

/// The paths in the output of `git status -z`: two letters, a space and the path, each ended by a
/// NUL.
fn changed(status: &str) -> Vec<String> {
    status.split('\0').filter_map(|line| line.get(3..)).map(str::to_owned).collect()
}

/// Whether an id can be part of a path and of a branch.
fn is_name(id: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    // Git refuses branches with such names.
    let is_branch = !id.contains("..") && !id.ends_with('.') && !id.ends_with(".lock");
    id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(is_fit)
        && is_branch
        && id.len() <= 128
}

/// Runs git and returns its output without the final newline, or its error message.
fn git(
    folder: &Path,
    confinement: Option<&Confinement>,
    arguments: &[&str],
) -> Result<String, String> {
    let mut command = confine::command(confinement, "git");
    // Hooks and the file monitor are programs that the repository chooses.
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]).args(arguments);
    // A host that runs inside a git hook inherits variables that name another repository.
    let is_gits = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("GIT_");
    match confinement {
        Some(confinement) => command.env_clear().envs(confinement.environment(env::vars_os())),
        None => command.env_clear().envs(env::vars_os().filter(|(name, _)| !is_gits(name))),
    };
    command
        // Git must fail instead of asking for a password.
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .current_dir(folder)
        .stdin(Stdio::null());
    let output = command.output().map_err(|why| format!("cannot run git: {why}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(if said.is_empty() {
                format!("git {}: {}", arguments.join(" "), output.status)
            } else {
                said
            })
        }
    }
}
