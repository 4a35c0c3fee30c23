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
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::{
    confine::{self, Confinement},
    openai::Cancel,
};

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

impl Layout {
    /// The path of the worktree of a task.
    pub(crate) fn path_of(&self, task_id: &str) -> PathBuf {
        self.worktrees.join(format!("task-{task_id}"))
    }

    /// What git in a worktree writes of the repository's `.git`: objects, its own branch, and what
    /// is kept about this worktree. All else stays closed: the parent and the operator obey it, and
    /// they follow links there. A link in place of one of these is left out.
    pub(crate) fn of_worktree(&self, worktree: &Worktree) -> Vec<PathBuf> {
        let name = worktree.worktree_path.file_name().unwrap_or_default();
        let branch = self.git.join("refs/heads").join(name);
        let places = [self.git.join("objects"), branch, self.git.join("worktrees").join(name)];
        let is_here = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real == *path);
        places.into_iter().filter(is_here).collect()
    }
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
/// The host decides where the repository is: the nearest folder with a `.git` that is a folder. The
/// settings of a repository are not asked, because commands can write them.
///
/// # Errors
/// If the folder is not in a repository, or the folder for worktrees cannot be created.
pub fn layout(folder: &Path) -> Result<Layout, WorktreeError> {
    let no_repository =
        |why: String| WorktreeError::NoRepository { folder: folder.to_owned(), why };
    let real = folder.canonicalize().map_err(|why| no_repository(why.to_string()))?;
    let repository = real
        .ancestors()
        .find(|ancestor| fs::symlink_metadata(ancestor.join(".git")).is_ok())
        .ok_or_else(|| no_repository("no folder above it has a `.git`".to_owned()))?;
    let git = repository.join(".git");
    // A file or a link leads to a place that a command may have chosen.
    if !fs::symlink_metadata(&git).is_ok_and(|metadata| metadata.is_dir()) {
        return Err(no_repository(format!(
            "`{}` is not a folder; start the agent in the main worktree",
            git.display()
        )));
    }
    let name =
        repository.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let worktrees = repository.with_file_name(format!(".wakeful-worktrees-{name}"));
    // It must exist before git is confined: the confinement leaves out paths that do not exist.
    fs::create_dir_all(&worktrees)
        .map_err(|why| WorktreeError::Folder { path: worktrees.clone(), why })?;
    Ok(Layout { repository: repository.to_owned(), git, worktrees })
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
    cancel: &Cancel,
) -> Result<Worktree, WorktreeError> {
    let git = |folder: &Path, arguments: &[&str]| git(folder, confinement, arguments, cancel);
    if !is_name(task_id) {
        return Err(WorktreeError::TaskId(task_id.to_owned()));
    }
    let layout = layout(folder)?;
    let head = ["symbolic-ref", "--quiet", "--short", "HEAD"];
    let branch = git(folder, &head).and_then(|branch| {
        let commit = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        git(folder, &commit).map(|_| branch)
    });
    let original_branch =
        branch.map_err(|why| WorktreeError::DetachedHead { folder: folder.to_owned(), why })?;

    // In a folder of its own, which is all that a child may write of the branches.
    let worktree_branch = format!("task-{task_id}/work");
    let path = layout.path_of(task_id);
    let failed = |why| WorktreeError::Git { path: path.clone(), why };
    let Some(text) = path.to_str() else {
        return Err(failed("its path is not valid UTF-8".to_owned()));
    };
    // Git still lists a worktree that was removed by hand, and then refuses its path.
    git(folder, &["worktree", "prune"]).map_err(failed)?;
    git(folder, &["worktree", "add", "--quiet", "-b", &worktree_branch, "--", text, "HEAD"])
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
///
/// What is in the worktree, git reads behind the wall of the commands that worked there, because
/// they could choose what git runs for it.
pub fn cleanup(
    worktree: &Worktree,
    of_commands: Option<&Confinement>,
    confinement: Option<&Confinement>,
) -> Cleanup {
    let never = Cancel::new();
    let inspect = |folder: &Path, arguments: &[&str]| git(folder, of_commands, arguments, &never);
    let git = |folder: &Path, arguments: &[&str]| git(folder, confinement, arguments, &never);
    let Worktree { worktree_path: path, worktree_branch: branch, original_cwd: origin, .. } =
        worktree;
    // People remove worktrees by hand; cleanup tolerates that (contract 12).
    if is_gone(path) {
        // A failure is harmless: git only keeps a stale entry.
        let _untidy = git(origin, &["worktree", "prune"]);
        return Cleanup::AlreadyRemoved { meanwhile: false };
    }
    match inspect(path, &["rev-parse", "--abbrev-ref", "HEAD"]) {
        Err(error) => return Cleanup::Unreadable { what: Inspection::Branch, error },
        Ok(actual_branch) if actual_branch != *branch => {
            return Cleanup::BranchMismatch { actual_branch };
        }
        Ok(_) => {}
    }
    match inspect(path, &CHANGES) {
        Err(error) => return Cleanup::Unreadable { what: Inspection::Changes, error },
        Ok(status) if !status.is_empty() => {
            return Cleanup::ChangedFiles { changed_files: changed(&status) };
        }
        Ok(_) => {}
    }
    discard(worktree, confinement, &never)
}

/// Removes a worktree with all that is in it, and its branch if no commit would be lost.
pub(crate) fn discard(
    worktree: &Worktree,
    confinement: Option<&Confinement>,
    cancel: &Cancel,
) -> Cleanup {
    let git = |folder: &Path, arguments: &[&str]| git(folder, confinement, arguments, cancel);
    let Worktree { worktree_path: path, worktree_branch: branch, original_cwd: origin, .. } =
        worktree;
    // By force, because without it git would read the worktree again, with more rights.
    let removed = git(origin, &["worktree", "remove", "--force", "--", &path.to_string_lossy()]);
    // Behind the wall the folder is a mount, so git can only empty it.
    let is_emptied = removed.is_err() && fs::remove_dir(path).is_ok();
    match removed {
        Err(_) if !is_emptied && is_gone(path) => Cleanup::AlreadyRemoved { meanwhile: true },
        Err(error) if !is_emptied => Cleanup::Failed { error },
        _ => Cleanup::Cleaned { branch: delete(branch, &|arguments| git(origin, arguments)) },
    }
}

/// What would be lost with a worktree that was kept; `None` if nothing would be. `of_commands` is
/// as in [`cleanup`].
///
/// # Errors
/// If git cannot read it.
pub(crate) fn loss(
    worktree: &Worktree,
    of_commands: &Confinement,
    confinement: &Confinement,
    cancel: &Cancel,
) -> Result<Option<String>, String> {
    let inspect =
        |arguments: &[&str]| git(&worktree.worktree_path, Some(of_commands), arguments, cancel);
    let origin =
        |arguments: &[&str]| git(&worktree.original_cwd, Some(confinement), arguments, cancel);
    let changes = changed(&inspect(&CHANGES)?).len();
    if changes > 0 {
        return Ok(Some(format!("{changes} of its files are changed and not committed")));
    }
    // Its own branch does not count: it is removed with the worktree.
    let exclude = format!("--exclude={}", worktree.worktree_branch);
    let elsewhere = ["--not", &exclude, "--branches", "--remotes"];
    let branch = format!("refs/heads/{}", worktree.worktree_branch);
    let count = |of: &str, git: &dyn Fn(&[&str]) -> Result<String, String>| {
        git(&[&["rev-list", "--count", of][..], &elsewhere].concat())
    };
    let mut counts = vec![count("HEAD", &inspect)?];
    // The branch may be gone, or another one may be checked out.
    if origin(&["show-ref", "--verify", "--quiet", &branch]).is_ok() {
        counts.push(count(&branch, &origin)?);
    }
    let unmerged = counts.into_iter().find(|count| count != "0");
    Ok(unmerged.map(|count| format!("{count} of its commits are on no other branch")))
}

/// How git is asked for changes. A rename would be two paths, which `changed` does not read.
const CHANGES: [&str; 5] =
    ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"];

fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|why| why.kind() == io::ErrorKind::NotFound)
}

fn delete(branch: &str, git: &dyn Fn(&[&str]) -> Result<String, String>) -> BranchCleanup {
    if git(&["show-ref", "--verify", "--quiet", &format!("refs/heads/{branch}")]).is_err() {
        return BranchCleanup::AlreadyRemoved;
    }
    // `-d` refuses to delete a branch whose commits would be lost.
    match git(&["branch", "--quiet", "-d", "--", branch]) {
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
    cancel: &Cancel,
) -> Result<String, String> {
    // Not by `PATH`: it may have a folder of the workspace, where a command could put a program.
    let program = match confinement {
        Some(confinement) => confinement
            .program("git")
            .ok_or("git is not installed outside the folders that commands can write")?,
        None => PathBuf::from("git"),
    };
    let program = program.to_str().ok_or("the path of git is not valid UTF-8")?;
    let (mut command, _inherited) = confine::command(confinement, program, false);
    // Hooks and the file monitor are programs that the repository chooses.
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
    // Commands may have another user than the host, which has decided whose the repository is.
    command.args(["-c", "safe.directory=*"]);
    // A child could make a link of the log of its branch, and git would write through it.
    command.args(["-c", "core.logAllRefUpdates=false"]).args(arguments);
    // A host that runs inside a git hook inherits variables that name another repository.
    let is_gits = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("GIT_");
    match confinement {
        Some(confinement) => command.env_clear().envs(confinement.environment(env::vars_os())),
        None => command.env_clear().envs(env::vars_os().filter(|(name, _)| !is_gits(name))),
    };
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("PATH", confine::USUAL_PATH)
        // Git must fail instead of asking for a password.
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .current_dir(folder)
        .stdin(Stdio::null());
    let output =
        within(command, PATIENCE, cancel).map_err(|why| format!("cannot run git: {why}"))?;
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

/// The longest time that git may take. A repository can make it wait for ever, such as with a named
/// pipe in place of its settings.
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs a command to its end. Kills it after this time, or when this is cancelled.
fn within(mut command: Command, patience: Duration, cancel: &Cancel) -> io::Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn()?;
    let leader = Pid::from_child(&child);
    // What comes first counts: the end of the command, or `None` for the cancellation.
    let (ended, ends) = mpsc::channel();
    let cancelled = ended.clone();
    // Only the first is awaited here, so a send that nobody receives is harmless.
    let _listening = cancel.listen(move || drop(cancelled.send(None)));
    thread::Builder::new()
        .name("git".to_owned())
        .spawn(move || drop(ended.send(Some(child.wait_with_output()))))?;
    let first = ends.recv_timeout(patience);
    if let Ok(Some(output)) = first {
        return output;
    }
    // With a wall its own process is the end of all; without one, its group is.
    let _gone = kill_process_group(leader, Signal::KILL);
    Err(match first {
        Ok(_) => io::Error::new(io::ErrorKind::Interrupted, "it was told to stop and was killed"),
        Err(_) => io::Error::new(
            io::ErrorKind::TimedOut,
            format!("it took longer than {} s and was killed", patience.as_secs()),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_waits_for_ever_is_killed() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 | cat"]);
        let never = Cancel::new();
        let why = within(command, Duration::from_millis(50), &never).expect_err("it is killed");
        assert_eq!(why.kind(), io::ErrorKind::TimedOut);
        let mut quick = Command::new("sh");
        quick.args(["-c", "echo out; echo err >&2; exit 3"]);
        let output = within(quick, PATIENCE, &never).expect("it ends");
        assert_eq!(
            (output.status.code(), output.stdout, output.stderr),
            (Some(3), b"out\n".to_vec(), b"err\n".to_vec())
        );
    }

    #[test]
    fn a_git_that_is_told_to_stop_stops_at_once() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 | cat"]);
        let cancel = Cancel::new();
        let from_elsewhere = cancel.clone();
        let told = thread::spawn(move || from_elsewhere.cancel());
        let why = within(command, PATIENCE, &cancel).expect_err("it is killed");
        assert_eq!(why.kind(), io::ErrorKind::Interrupted);
        assert!(told.join().is_ok());
    }
}
