//! Worktrees of git for tasks: made beside a repository, and cleaned up only where nothing can be
//! lost.
//!
//! What was made is a [`Worktree`], and what became of it a [`Cleanup`]; both are parts of a task's
//! detail, in the keys that the contract's observations have (2.17). Cleaning up never fails as
//! such: people remove worktrees, move branches and leave changes, and each of that is a result.
//!
//! The settings and filters of a repository are programs that git runs. Whoever may write there can
//! choose them, so git itself takes a [`Confinement`], and its hooks are off.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde::{Deserialize, Serialize};

use crate::confine::{self, Confinement};

/// A worktree that was made for a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// Where it is.
    pub worktree_path: PathBuf,
    /// The branch that was made for it.
    pub worktree_branch: String,
    /// What the path is to the task.
    #[serde(default)]
    pub projection_kind: Projection,
    /// The folder from which it was made.
    pub original_cwd: PathBuf,
    /// The branch that was checked out there.
    pub original_branch: String,
}

impl Worktree {
    /// The worktree that a task's detail describes, as JSON.
    ///
    /// # Errors
    /// It does not say where it is, or which branch it has; then cleaning up has failed.
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

/// Where the worktrees of a repository go, and what their commands must be able to write besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The root of the repository.
    pub repository: PathBuf,
    /// Its `.git`, which all of its worktrees share.
    pub git: PathBuf,
    /// The folder beside it that holds the worktrees.
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
    /// The folder is in no repository.
    #[error("`{}` is in no git repository with a working folder: {why}; use `workspace_mode = inherit`", folder.display())]
    NoRepository {
        /// The folder.
        folder: PathBuf,
        /// What git said.
        why: String,
    },
    /// No branch is checked out from which a worktree could go off.
    #[error("no branch with a commit is checked out in `{}`, or it cannot be read ({why}): check one out first", folder.display())]
    DetachedHead {
        /// The folder.
        folder: PathBuf,
        /// What git said.
        why: String,
    },
    /// The folder for worktrees cannot be made.
    #[error("cannot make `{}`: {why}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// Git could not make it.
    #[error("cannot make the worktree `{}`: {why}", path.display())]
    Git {
        /// Where it would be.
        path: PathBuf,
        /// What git said.
        why: String,
    },
}

/// What became of a worktree whose task has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "Shape")]
pub enum Cleanup {
    /// It was removed, since nothing was changed in it.
    Cleaned {
        /// What became of its branch.
        branch: BranchCleanup,
    },
    /// It was gone already, or went while it was removed.
    AlreadyRemoved {
        /// Whether it went only then.
        meanwhile: bool,
    },
    /// It is there with changes, for someone to look at.
    ChangedFiles {
        /// What is changed, relative to it.
        changed_files: Vec<String>,
    },
    /// It is there, with another branch than its own.
    BranchMismatch {
        /// That branch; `HEAD` where there is none.
        actual_branch: String,
    },
    /// It is there, and cannot be looked into.
    Unreadable {
        /// What could not be read of it.
        what: Inspection,
        /// What git said.
        error: String,
    },
    /// It could not be removed, or was never described.
    Failed {
        /// Why.
        error: String,
    },
}

/// What is read of a worktree before it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inspection {
    /// Its branch.
    Branch,
    /// Its changes.
    Changes,
}

/// What became of the branch of a worktree that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchCleanup {
    /// It was deleted: all of its commits are elsewhere too.
    Deleted,
    /// It was gone already.
    AlreadyRemoved,
    /// It is there, since its commits would be lost.
    Retained {
        /// What git said.
        error: String,
    },
}

/// A cleanup as it stands in a task's detail.
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

/// Where the worktrees of the repository of a folder go; the folder for them is made. All of it
/// belongs among the writable places of the [`Confinement`] with which they are made and cleaned
/// up.
///
/// # Errors
/// It is in no repository, or the folder cannot be made.
pub fn layout(folder: &Path) -> Result<Layout, WorktreeError> {
    // Only where things are is asked, and that runs no program of the repository.
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
    fs::create_dir_all(&worktrees)
        .map_err(|why| WorktreeError::Folder { path: worktrees.clone(), why })?;
    Ok(Layout { repository, git, worktrees })
}

/// Makes the worktree of a task from the branch that is checked out in a folder, on a branch of its
/// own.
///
/// # Errors
/// There is nothing to make it from, or something is in its place.
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
    let Some(text) = path.to_str() else { return Err(failed("its path is no text".to_owned())) };
    // One that someone removed by hand is still known to git, and in the way.
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

/// Removes a worktree in which nothing is changed, and its branch where no commit is lost by that;
/// says what became of it.
pub fn cleanup(worktree: &Worktree, confinement: Option<&Confinement>) -> Cleanup {
    let Worktree { worktree_path: path, worktree_branch: branch, original_cwd: origin, .. } =
        worktree;
    let is_gone =
        || fs::symlink_metadata(path).is_err_and(|why| why.kind() == io::ErrorKind::NotFound);
    if is_gone() {
        // That git still knows it is untidy, and no more.
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
    // The small `d` refuses where commits would be lost.
    match git(origin, confinement, &["branch", "--quiet", "-d", "--", branch]) {
        Ok(_) => BranchCleanup::Deleted,
        Err(error) => BranchCleanup::Retained { error },
    }
}

/// The paths in git's answer about changes: two letters, a space, and the path, each with an end of
/// its own.
fn changed(status: &str) -> Vec<String> {
    status.split('\0').filter_map(|line| line.get(3..)).map(str::to_owned).collect()
}

/// Whether an id is fit for a path and a branch.
fn is_name(id: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_branch = !id.contains("..") && !id.ends_with('.') && !id.ends_with(".lock");
    id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(is_fit)
        && is_branch
        && id.len() <= 128
}

/// What git says, without the end of the line; or why it cannot.
fn git(
    folder: &Path,
    confinement: Option<&Confinement>,
    arguments: &[&str],
) -> Result<String, String> {
    let mut command = confine::command(confinement, "git");
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]).args(arguments);
    let is_gits = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("GIT_");
    match confinement {
        Some(confinement) => command.env_clear().envs(confinement.environment(env::vars_os())),
        None => command.env_clear().envs(env::vars_os().filter(|(name, _)| !is_gits(name))),
    };
    command
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
