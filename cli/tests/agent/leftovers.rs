//! What ended tasks leave on the disk: `wakeful list leftovers` removes it, and a live host does
//! the same. Files and worktrees are real.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant, SystemTime},
};

use serde_json::{Value, json};
use wakeful_core::record::{Record, task::TaskStatus};

use super::{
    children::{in_worktree, workspace},
    place::Place,
    tasks::tasks,
};
use crate::{
    openai::answer::Answer,
    program::{Ran, arg, wakeful},
};

/// An agent that has run a command as a task, and a child that has left a file in its worktree.
fn with_leftovers() -> Place {
    let place = Place::scripted(|asked| {
        let is_goal = asked.trigger().starts_with("[operator]");
        match (asked.is_child(), is_goal, asked.rounds()) {
            (true, _, 0) => {
                Answer::calls(&[("ExecCommand", json!({ "cmd": "echo new > new.txt" }))])
            }
            (true, ..) => Answer::says("Done."),
            (_, true, 0) => {
                let cmd = "echo begun; sleep 0.3";
                let command = ("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": 50 }));
                Answer::calls(&[command, in_worktree("Change.")])
            }
            _ => Answer::says("So be it."),
        }
    });
    place.rest(&["--prompt", "go"]);
    place
}

fn gc(place: &Place, extra: &[&str]) -> Ran {
    let ledger = arg(&place.ledger());
    wakeful([&["list", "leftovers", &ledger], extra].concat())
}

/// The leftovers of a kind as `wakeful list leftovers --json` prints them.
fn rows(place: &Place, kind: &str, extra: &[&str]) -> Vec<Value> {
    let ran = gc(place, &[&["--json"], extra].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let rows = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.filter(|row| row["kind"] == kind).collect()
}

fn path(row: &Value) -> PathBuf {
    row["path"].as_str().expect("a path").into()
}

/// The output file of the newest task of the agent that ran a command.
fn output_of_task(place: &Place) -> PathBuf {
    let all = tasks(&place.entries("default"));
    let details = all.iter().rev().filter_map(|task| {
        let detail: Value = serde_json::from_str(task.detail.as_ref()?.as_str()).ok()?;
        Some(PathBuf::from(detail["output_path"].as_str()?))
    });
    details.into_iter().next().expect("a command")
}

fn git(folder: &Path, args: &[&str]) -> String {
    let who = ["-c", "user.name=T", "-c", "user.email=t@e.org", "-c", "safe.directory=*"];
    let output = Command::new("git").arg("-C").arg(folder).args(who).args(args).output();
    let output = output.expect("git starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

#[test]
fn nothing_is_removed_before_it_is_confirmed_and_nothing_young_at_all() {
    let place = with_leftovers();
    let file = output_of_task(&place);
    let young = gc(&place, &["--yes"]);
    assert!(young.out.starts_with("nothing to remove; "), "{}", young.out);
    let listed = gc(&place, &["--older-than", "0s"]);
    assert_eq!(listed.code, 0, "{}", listed.err);
    assert!(
        listed.out.starts_with("would be removed\n")
            && listed.out.contains("nothing was removed; --yes removes 1 leftover, 6 bytes"),
        "{}",
        listed.out
    );
    assert!(listed.out.contains(&format!("    {}\n", file.display())), "{}", listed.out);
    assert!(file.is_file());
    let done = gc(&place, &["--older-than", "0s", "--yes"]);
    assert!(done.out.contains("\nremoved 1 leftover, 6 bytes; "), "{}", done.out);
    assert!(!file.exists());
    let network = place.folder().join("agents.sqlite.home/output");
    assert!(network.is_dir(), "the folder stays");
}

#[test]
fn the_oldest_go_until_the_rest_has_room() {
    let place = with_leftovers();
    let output = place.folder().join("agents.sqlite.home/output");
    // Files of commands that ended within their turns.
    for (name, hours) in [("old", 30), ("older", 40), ("young", 20)] {
        let path = output.join(format!("{name}.log"));
        fs::write(&path, "x".repeat(1_000)).expect("a file");
        let then = SystemTime::now() - Duration::from_secs(hours * 3_600);
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_modified(then))
            .expect("set");
    }
    let sizes =
        rows(&place, "output", &[]).iter().map(|row| row["bytes"].as_u64()).sum::<Option<u64>>();
    let worktrees = rows(&place, "worktree", &[]);
    let worktrees = worktrees.iter().map(|row| row["bytes"].as_u64()).sum::<Option<u64>>();
    let all = sizes.and_then(|sizes| Some(sizes + worktrees?)).expect("sizes");
    // Room for all but 1,500 bytes, so two of these go.
    let keep = (all - 1_500).to_string();
    let gone: Vec<_> = rows(&place, "output", &["--keep-bytes", &keep, "--yes"])
        .into_iter()
        .filter(|row| row["fate"] == "removed")
        .map(|row| path(&row).file_name().expect("a name").to_owned())
        .collect();
    assert_eq!(gone, ["older.log", "old.log"]);
    assert!(output.join("young.log").is_file() && !output.join("older.log").exists());
}

#[test]
fn a_worktree_goes_only_if_nothing_is_lost_with_it() {
    let place = with_leftovers();
    let old = ["--older-than", "0s", "--yes"];
    let [kept] = &rows(&place, "worktree", &old)[..] else { panic!("one was kept") };
    let (folder, why) = (path(kept), kept["why"].as_str().expect("a reason"));
    assert_eq!(kept["fate"], "held");
    assert_eq!(why, "1 of its files are changed and not committed");
    let branch = git(&folder, &["rev-parse", "--abbrev-ref", "HEAD"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-q", "-m", "new"]);
    let [kept] = &rows(&place, "worktree", &old)[..] else { panic!("it is still there") };
    assert_eq!(kept["why"], "1 of its commits are on no other branch");
    assert!(folder.join("new.txt").is_file());
    git(&place.workspace(), &["merge", "-q", &branch]);
    let [gone] = &rows(&place, "worktree", &old)[..] else { panic!("it was there") };
    assert_eq!((&gone["fate"], &gone["why"]), (&json!("removed"), &Value::Null));
    assert!(!folder.exists());
    assert_eq!(git(&place.workspace(), &["branch", "--list", &branch]), "");
    assert!(place.workspace().join("new.txt").is_file(), "it is merged");
}

#[test]
fn force_removes_a_worktree_but_never_a_commit() {
    let place = with_leftovers();
    let [kept] = &rows(&place, "worktree", &["--older-than", "0s"])[..] else { panic!("one") };
    let folder = path(kept);
    let branch = git(&folder, &["rev-parse", "--abbrev-ref", "HEAD"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-q", "-m", "new"]);
    fs::write(folder.join("more.txt"), "not committed").expect("a file");
    let [dry] = &rows(&place, "worktree", &["--older-than", "0s", "--force"])[..] else {
        panic!("one")
    };
    assert_eq!(dry["fate"], "would_go");
    assert!(folder.is_dir());
    let [gone] = &rows(&place, "worktree", &["--older-than", "0s", "--force", "--yes"])[..] else {
        panic!("one")
    };
    assert_eq!(gone["fate"], "removed");
    assert!(!folder.exists());
    assert_eq!(git(&place.workspace(), &["log", "-1", "--format=%s", &branch]), "new");
}

#[test]
fn a_worktree_in_which_people_work_on_a_branch_of_their_own_goes_and_their_branch_stays() {
    let place = Place::scripted(|asked| {
        let is_goal = asked.trigger().starts_with("[operator]");
        match (asked.is_child(), is_goal, asked.rounds()) {
            (true, ..) => {
                let folder = workspace(asked);
                git(&folder, &["checkout", "-q", "-b", "by-hand"]);
                git(&folder, &["commit", "-q", "--allow-empty", "-m", "own"]);
                Answer::says("Done.")
            }
            (_, true, 0) => Answer::calls(&[in_worktree("Move.")]),
            _ => Answer::says("So be it."),
        }
    });
    place.rest(&["--prompt", "go"]);
    let [gone] = &rows(&place, "worktree", &["--older-than", "0s", "--yes"])[..] else {
        panic!("it was kept, because it has another branch")
    };
    assert_eq!((&gone["fate"], &gone["why"]), (&json!("removed"), &Value::Null));
    assert!(!path(gone).exists());
    assert_eq!(git(&place.workspace(), &["log", "-1", "--format=%s", "by-hand"]), "own");
    assert_eq!(git(&place.workspace(), &["branch", "--list", "task-*"]), "");
}

#[test]
fn what_an_active_task_needs_is_never_touched() {
    let place = Place::scripted(|asked| {
        let is_goal = asked.trigger().starts_with("[operator]");
        match (asked.is_child(), is_goal, asked.rounds()) {
            (true, _, 0) => {
                let wait = json!({ "reason": "a word", "wake": "operator_input" });
                Answer::calls(&[("WaitFor", wait)])
            }
            (_, true, 0) => Answer::calls(&[
                (
                    "ExecCommand",
                    json!({ "cmd": "echo on; exec sleep 408.0417", "yield_time_ms": 200 }),
                ),
                ("SpawnAgent", json!({ "initial_message": "Wait.", "workspace_mode": "worktree" })),
            ]),
            _ => Answer::says("So be it."),
        }
    });
    let live = place.start(&["--prompt", "go"]);
    let folder = place.wait_for("default", "child", |entry| {
        let Record::Task(task) = &entry.record else { return None };
        let detail: Value = serde_json::from_str(task.detail.as_ref()?.as_str()).ok()?;
        let path = detail["worktree"]["worktree_path"].as_str()?;
        (task.status == TaskStatus::Running).then(|| PathBuf::from(path))
    });
    let file = tasks(&place.entries("default")).iter().find_map(|task| {
        let detail: Value = serde_json::from_str(task.detail.as_ref()?.as_str()).ok()?;
        Some(PathBuf::from(detail["output_path"].as_str()?))
    });
    let file = file.expect("a command");
    let ran =
        gc(&place, &["--older-than", "0s", "--keep-bytes", "0", "--force", "--yes", "--json"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert!(file.is_file() && folder.is_dir());
    // Once both have ended, they may go.
    place.tell(&["stop"]);
    let until = Instant::now() + Duration::from_secs(30);
    while tasks(&place.entries("default")).iter().filter(|task| task.status.is_terminal()).count()
        < 2
    {
        assert!(Instant::now() < until, "the tasks end");
        thread::sleep(Duration::from_millis(20));
    }
    place.tell(&["shutdown"]);
    assert_eq!(live.end(), 0);
    gc(&place, &["--older-than", "0s", "--force", "--yes"]);
    assert!(!file.exists() && !folder.exists());
}

#[test]
fn a_link_in_the_place_of_an_output_file_leads_to_nothing() {
    let place = with_leftovers();
    let precious = place.folder().join("precious.log");
    fs::write(&precious, "precious").expect("a file");
    File::options()
        .write(true)
        .open(&precious)
        .and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH))
        .expect("set");
    let link = place.folder().join("agents.sqlite.home/output/link.log");
    std::os::unix::fs::symlink(&precious, &link).expect("a link");
    gc(&place, &["--older-than", "0s", "--keep-bytes", "0", "--force", "--yes"]);
    assert!(precious.is_file());
}

#[test]
fn a_live_host_collects_while_it_is_idle_and_at_most_once_an_hour() {
    let place = with_leftovers();
    let file = output_of_task(&place);
    let policy = place.folder().join("policy.toml");
    fs::write(&policy, "[leftovers]\ndays = 0\n").expect("a file");
    let run = || place.rest(&["--policy", &arg(&policy)]);
    // The first run has collected a moment ago.
    run();
    assert!(file.is_file());
    let stamp = place.folder().join("agents.sqlite.home/collected");
    let then = SystemTime::now() - Duration::from_secs(2 * 3_600);
    File::options().write(true).open(&stamp).and_then(|file| file.set_modified(then)).expect("set");
    let live = place.start(&["--policy", &arg(&policy)]);
    let until = Instant::now() + Duration::from_secs(30);
    while file.exists() {
        assert!(Instant::now() < until, "it is collected: {}", place.shown());
        thread::sleep(Duration::from_millis(20));
    }
    while !place.shown().contains("removed 1 leftover of ended tasks") {
        assert!(Instant::now() < until, "people are told: {}", place.shown());
        thread::sleep(Duration::from_millis(20));
    }
    place.tell(&["shutdown"]);
    assert_eq!(live.end(), 0);
    let [kept] = &rows(&place, "worktree", &["--older-than", "0s"])[..] else { panic!("one") };
    assert!(path(kept).join("new.txt").is_file(), "with changes it stays");
}
