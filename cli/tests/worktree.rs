//! Worktrees of tasks, with a real git. They are created, and cleaned up no matter what people did
//! to them meanwhile.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use wakeful_agent::{
    confine::{Confinement, Policy, Surroundings, Workspace},
    openai::Cancel,
    worktree::{self, Cleanup, Worktree, WorktreeError},
};

/// A repository with one commit on `main`, in its own folder.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir_all(repository.path("project/src")).expect("a folder");
        fs::write(repository.path("project/src/a"), "a\n").expect("it is written");
        fs::write(repository.path("project/.gitignore"), "/target\n").expect("it is written");
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["add", "."]);
        repository.git(&["commit", "-qm", "one"]);
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.path("project"), arguments)
    }

    fn create(&self, id: &str) -> Worktree {
        worktree::create(&self.path("project"), id, None, &Cancel::new()).expect("a worktree")
    }
}

/// Runs git as a person does.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let person = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"];
    let output = Command::new("git")
        .args(person)
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git runs");
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// A cleanup in the form that a task's detail has.
fn detail(cleanup: &Cleanup) -> Value {
    serde_json::to_value(cleanup).expect("it can be written")
}

#[test]
fn a_worktree_is_beside_its_repository_and_on_its_own_branch() {
    let repository = Repository::new();
    let made = repository.create("7f3a");
    let expected = json!({
        "worktree_path": repository.path(".wakeful-worktrees-project/task-7f3a"),
        "worktree_branch": "task-7f3a/work",
        "projection_kind": "git_worktree_root",
        "original_cwd": repository.path("project"),
        "original_branch": "main",
    });
    assert_eq!(serde_json::to_value(&made).expect("it can be written"), expected);
    assert_eq!(Worktree::described(&expected.to_string()), Ok(made.clone()));
    assert_eq!(
        fs::read_to_string(made.worktree_path.join("src/a")).expect("it is checked out"),
        "a\n"
    );
    assert_eq!(git(&made.worktree_path, &["branch", "--show-current"]), "task-7f3a/work");
    assert_eq!(repository.git(&["branch", "--show-current"]), "main");
}

#[test]
fn a_worktree_is_made_from_a_folder_below_and_not_from_another_worktree() {
    let repository = Repository::new();
    let below = worktree::create(&repository.path("project/src"), "1", None, &Cancel::new())
        .expect("a worktree");
    assert_eq!(
        (below.worktree_path, below.original_cwd),
        (repository.path(".wakeful-worktrees-project/task-1"), repository.path("project/src"))
    );
    let inner = worktree::create(
        &repository.path(".wakeful-worktrees-project/task-1"),
        "2",
        None,
        &Cancel::new(),
    );
    let why = inner.expect_err("its `.git` is a file that a command could write").to_string();
    assert!(why.contains("is not a folder; start the agent in the main worktree"), "{why}");
}

#[test]
fn what_a_repository_says_about_its_place_is_not_believed() {
    let repository = Repository::new();
    let (project, elsewhere) = (repository.path("project"), repository.path("elsewhere"));
    fs::create_dir(&elsewhere).expect("a folder");
    repository.git(&["config", "core.worktree", elsewhere.to_str().expect("text")]);
    let layout = worktree::layout(&project).expect("a repository");
    assert_eq!((layout.repository, layout.git), (project.clone(), project.join(".git")));
    fs::rename(project.join(".git"), elsewhere.join("moved")).expect("moved");
    std::os::unix::fs::symlink(elsewhere.join("moved"), project.join(".git")).expect("a link");
    worktree::layout(&project).expect_err("a link leads anywhere");
}

#[test]
fn where_there_is_nothing_to_go_off_from_the_reason_is_told() {
    let repository = Repository::new();
    let create = |folder: &str, id: &str| {
        worktree::create(&repository.path(folder), id, None, &Cancel::new()).expect_err("refused")
    };
    for id in ["", "-d", "a/b", "..", "a..b", ".hidden", "x.lock", "a b", "a\n", &"x".repeat(200)] {
        assert!(
            matches!(create("project", id), WorktreeError::TaskId(told) if told == id),
            "{id:?}"
        );
    }
    fs::create_dir(repository.path("plain")).expect("a folder");
    let none = create("plain", "1");
    assert!(
        matches!(
            &none,
            WorktreeError::NoRepository { why, .. } if why.contains("no folder above it has a `.git`")
        ),
        "{none}"
    );

    repository.create("taken");
    let taken = create("project", "taken");
    assert!(
        matches!(&taken, WorktreeError::Git { why, .. } if why.contains("already exists")),
        "{taken}"
    );

    repository.git(&["checkout", "-q", "--detach"]);
    assert!(matches!(create("project", "1"), WorktreeError::DetachedHead { .. }));
    fs::create_dir(repository.path("empty")).expect("a folder");
    git(&repository.path("empty"), &["init", "-q"]);
    assert!(matches!(create("empty", "1"), WorktreeError::DetachedHead { .. }));
}

#[test]
fn a_clean_worktree_goes_with_its_branch() {
    let repository = Repository::new();
    let made = repository.create("1");
    fs::create_dir(made.worktree_path.join("target")).expect("a folder");
    fs::write(made.worktree_path.join("target/built"), "what git ignores").expect("it is written");
    let cleaned = worktree::cleanup(&made, None, None);
    let expected = json!({
        "cleanup_status": "cleaned",
        "cleanup_reason": "clean_worktree",
        "auto_cleaned_up": true,
        "branch_cleanup_status": "deleted",
    });
    assert_eq!(detail(&cleaned), expected);
    assert!(!made.worktree_path.exists());
    assert_eq!(repository.git(&["branch", "--list"]), "* main");
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(repository.create("1"), made, "its path is free again");
}

#[test]
fn a_branch_with_commits_of_its_own_stays() {
    let repository = Repository::new();
    let made = repository.create("1");
    git(&made.worktree_path, &["commit", "-q", "--allow-empty", "-m", "work"]);
    let cleaned = detail(&worktree::cleanup(&made, None, None));
    assert_eq!(
        (&cleaned["cleanup_status"], &cleaned["branch_cleanup_status"]),
        (&json!("cleaned"), &json!("retained"))
    );
    assert!(
        cleaned["branch_cleanup_error"]
            .as_str()
            .is_some_and(|why| why.contains("not fully merged")),
        "{cleaned}"
    );
    assert_eq!(repository.git(&["log", "-1", "--format=%s", "task-1/work"]), "work");
}

#[test]
fn a_worktree_with_changes_stays_for_review() {
    let repository = Repository::new();
    let made = repository.create("1");
    let write =
        |name: &str| fs::write(made.worktree_path.join(name), "changed").expect("it is written");
    write("src/a");
    write("new file");
    fs::create_dir(made.worktree_path.join("folder")).expect("a folder");
    write("folder/inner");
    let expected = json!({
        "cleanup_status": "retained",
        "cleanup_reason": "changed_files",
        "retained_for_review": true,
        "changed_files": ["src/a", "folder/inner", "new file"],
    });
    assert_eq!(detail(&worktree::cleanup(&made, None, None)), expected);
    assert!(made.worktree_path.join("new file").exists());
}

#[test]
fn a_worktree_that_was_removed_by_hand_is_no_error_and_not_in_the_way() {
    let repository = Repository::new();
    let made = repository.create("1");
    fs::remove_dir_all(&made.worktree_path).expect("it is removed");
    let expected = json!({
        "cleanup_status": "already_removed",
        "cleanup_reason": "worktree_path_missing",
        "auto_cleaned_up": true,
    });
    assert_eq!(detail(&worktree::cleanup(&made, None, None)), expected);
    assert_eq!(detail(&worktree::cleanup(&made, None, None)), expected, "and again");
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1, "git no longer knows it");

    let other = repository.create("2");
    fs::remove_dir_all(&other.worktree_path).expect("it is removed");
    repository.git(&["worktree", "prune"]);
    repository.git(&["branch", "-D", "task-2/work"]);
    assert_eq!(repository.create("2"), other, "its path is free");
}

#[test]
fn a_worktree_on_another_branch_stays() {
    let repository = Repository::new();
    let made = repository.create("1");
    for (arguments, actual) in [
        (["checkout", "-q", "-b", "moved"], "moved"),
        (["checkout", "-q", "--detach", "HEAD"], "HEAD"),
    ] {
        git(&made.worktree_path, &arguments);
        let expected = json!({
            "cleanup_status": "retained",
            "cleanup_reason": "branch_mismatch",
            "actual_branch": actual,
        });
        assert_eq!(detail(&worktree::cleanup(&made, None, None)), expected);
        assert!(made.worktree_path.exists());
    }
}

#[test]
fn a_branch_that_was_deleted_by_hand_is_gone_already() {
    let repository = Repository::new();
    let made = repository.create("1");
    // Git does not delete a branch that a worktree has checked out, so the test detaches it first.
    git(&made.worktree_path, &["checkout", "-q", "--detach"]);
    repository.git(&["branch", "-q", "-D", "task-1/work"]);
    git(&made.worktree_path, &["symbolic-ref", "HEAD", "refs/heads/task-1/work"]);
    let cleanup = detail(&worktree::cleanup(&made, None, None));
    assert_eq!(
        (&cleanup["cleanup_status"], &cleanup["cleanup_reason"]),
        (&json!("retained"), &json!("branch_inspection_failed"))
    );
    assert!(cleanup["cleanup_error"].is_string());
}

#[test]
fn what_is_no_worktree_any_more_stays_untouched() {
    let repository = Repository::new();
    let made = repository.create("1");
    fs::remove_file(made.worktree_path.join(".git")).expect("it is removed");
    let cleanup = detail(&worktree::cleanup(&made, None, None));
    assert_eq!(
        (&cleanup["cleanup_status"], &cleanup["cleanup_reason"]),
        (&json!("retained"), &json!("branch_inspection_failed"))
    );
    assert!(made.worktree_path.join("src/a").exists());

    let other = repository.create("2");
    let index =
        git(&other.worktree_path, &["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    fs::write(index, "no index").expect("it is written");
    let cleanup = detail(&worktree::cleanup(&other, None, None));
    assert_eq!(
        (&cleanup["cleanup_status"], &cleanup["cleanup_reason"]),
        (&json!("retained"), &json!("change_detection_failed"))
    );
    assert!(other.worktree_path.join("src/a").exists());
}

#[test]
fn a_worktree_that_cannot_be_removed_is_told() {
    let repository = Repository::new();
    let made = repository.create("1");
    repository.git(&["worktree", "lock", made.worktree_path.to_str().expect("text")]);
    let cleanup = detail(&worktree::cleanup(&made, None, None));
    assert_eq!(cleanup["cleanup_status"], "failed");
    assert!(cleanup["cleanup_error"].as_str().is_some_and(|why| why.contains("lock")), "{cleanup}");
    assert!(cleanup.get("cleanup_reason").is_none());
}

#[test]
fn a_task_that_does_not_describe_its_worktree_has_failed_to_clean_up() {
    for lacking in
        [json!({ "worktree_path": "/x" }), json!({ "worktree_branch": "task-1" }), json!(null)]
    {
        let cleanup =
            detail(&Worktree::described(&lacking.to_string()).expect_err("it lacks something"));
        assert_eq!(cleanup["cleanup_status"], "failed");
        assert!(
            cleanup["cleanup_error"]
                .as_str()
                .is_some_and(|why| why.contains("does not describe its worktree")),
            "{cleanup}"
        );
    }
}

#[test]
fn a_worktree_that_goes_while_it_is_removed_is_gone_already() {
    let expected = json!({
        "cleanup_status": "already_removed",
        "cleanup_reason": "worktree_path_missing_after_remove",
        "auto_cleaned_up": true,
    });
    assert_eq!(detail(&Cleanup::AlreadyRemoved { meanwhile: true }), expected);
}

#[test]
fn what_git_runs_for_a_repository_is_confined_too() {
    let repository = Repository::new();
    let folder = repository.path("project");
    let layout = worktree::layout(&folder).expect("a repository");
    assert_eq!((&layout.repository, &layout.git), (&folder, &folder.join(".git")));
    let scratch = repository.path("scratch");
    fs::create_dir(&scratch).expect("a folder");
    let around = Surroundings {
        wall: wakeful_agent::confine::Wall::default(),
        launcher: env!("CARGO_BIN_EXE_wakeful").into(),
        home: std::env::home_dir(),
        scratch,
        output: repository.path("records"),
        also_read: Vec::new(),
        also_write: vec![layout.git.clone(), layout.worktrees.clone()],
    };
    let workspace = Workspace::new(&folder).expect("it is there");
    let confinement = Confinement::new(Policy::default(), workspace, &around)
        .unwrap_or_else(|why| panic!("this test needs bubblewrap: {why}"));

    // A hook, and a filter that git runs for each file. A command that may write to the repository
    // could leave them there.
    let victim = repository.path("victim");
    let hook = folder.join(".git/hooks/post-checkout");
    fs::create_dir_all(folder.join(".git/hooks")).expect("a folder");
    fs::write(&hook, format!("#!/bin/sh\necho hook >> {}\n", victim.display()))
        .expect("it is written");
    Command::new("chmod").arg("+x").arg(&hook).status().expect("chmod runs");
    repository.git(&[
        "config",
        "filter.odd.smudge",
        &format!("sh -c 'echo filter >> {}; cat'", victim.display()),
    ]);
    fs::write(folder.join(".git/info/attributes"), "* filter=odd\n").expect("it is written");

    let made =
        worktree::create(&folder, "held", Some(&confinement), &Cancel::new()).expect("a worktree");
    assert!(!victim.exists(), "neither the hook nor the filter wrote outside");
    fs::remove_file(folder.join(".git/info/attributes")).expect("it was there");
    assert_eq!(
        detail(&worktree::cleanup(&made, Some(&confinement), Some(&confinement)))["cleanup_status"],
        "cleaned"
    );

    fs::write(folder.join(".git/info/attributes"), "* filter=odd\n").expect("it is written");
    worktree::create(&folder, "free", None, &Cancel::new()).expect("a worktree");
    assert_eq!(
        fs::read_to_string(&victim).expect("the filter wrote"),
        "filter\nfilter\n",
        "without confinement the filter writes, and the hook is off"
    );
}
