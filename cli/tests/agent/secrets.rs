//! Keys: which are removed, which are refused, what a command with a removed key does, and who can
//! read the memory that holds one.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serde_json::json;

use super::{
    place::{KEY, Place, eventually},
    turns::{calls, output},
};
use crate::{openai::answer::Answer, program::arg};

fn bytes_below(folder: &Path) -> Vec<u8> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(bytes_below(&path));
        } else if path.is_file() {
            found.extend(fs::read(path).expect("a file"));
        }
    }
    found
}

#[test]
fn a_key_is_kept_out_as_soon_as_it_can_be_told_apart() {
    // The usual key of a well-known proxy, and a shortest one.
    for key in ["sk-1234", "a1b2c3d", KEY] {
        let place = Place::scripted(move |asked| match asked.rounds() {
            0 => Answer::calls(&[("ExecCommand", json!({ "cmd": format!("echo {key}") }))]),
            _ => Answer::says(&format!("The key is {key}.")),
        });
        let ran = place.run_in(&["--prompt", "go", "--until-rest"], &[("WAKEFUL_API_KEY", key)]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("The key is [secret]."), "{}", ran.out);
        assert!(!(ran.out + &ran.err).contains(key));
        let below = bytes_below(place.folder());
        assert!(!below.windows(key.len()).any(|bytes| bytes == key.as_bytes()), "{key}");
    }
}

#[test]
fn a_placeholder_for_a_key_is_named_as_one_and_changes_nothing() {
    for key in ["k", "none", "ollama", "default", "completed", "00000000"] {
        let place = Place::scripted(move |asked| match asked.rounds() {
            0 => Answer::calls(&[("ExecCommand", json!({ "cmd": format!("mkdir x-{key}") }))]),
            _ => Answer::says("Done."),
        });
        let ran = place.run_in(&["--prompt", "go", "--until-rest"], &[("WAKEFUL_API_KEY", key)]);
        assert_eq!(ran.code, 0, "{key}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("the key is taken for a placeholder"), "{key}: {}", ran.out);
        assert!(!ran.out.contains("[secret]"), "{key}: {}", ran.out);
        assert!(place.workspace().join(format!("x-{key}")).is_dir());
    }
}

#[test]
fn a_key_that_cannot_be_told_apart_is_refused_for_a_server_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = folder.path().join("agents.sqlite");
    let workspace = folder.path().join("work");
    std::fs::create_dir(&workspace).expect("a folder");
    for (key, is_refused) in [("sk-12", true), ("password", true), ("sk-1234", false)] {
        let output = Command::new(env!("CARGO_BIN_EXE_wakeful"))
            .args(["run", "--provider", "openai", "--model", "m", "--ledger", &arg(&ledger)])
            .args(["--workspace", &arg(&workspace), "--until-rest"])
            // An address that is reserved for documentation: nothing may be sent to it.
            .args(["--base-url", "http://192.0.2.1/v1"])
            .env("WAKEFUL_API_KEY", key)
            .env_remove("WAKEFUL_GUEST")
            .stdin(Stdio::null())
            .output()
            .expect("wakeful starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said.contains("the key cannot be kept out of the ledger"), is_refused, "{said}");
        assert!(!said.contains(key), "{said}");
        assert_eq!(output.status.code(), Some(if is_refused { 2 } else { 0 }), "{said}");
        assert_eq!(ledger.exists(), !is_refused);
    }
}

#[test]
fn a_command_with_the_mark_of_a_removed_key_is_refused() {
    let place = Place::scripted(|asked| match asked.rounds() {
        // The model saw the mark in the place of the key, and repeats it.
        0 => Answer::calls(&[
            ("ExecCommand", json!({ "cmd": "mkdir -p [secret]/models" })),
            ("ExecCommand", json!({ "cmd": "pwd", "workdir": "[secret]" })),
            ("ExecCommand", json!({ "cmd": "mkdir done" })),
        ]),
        _ => Answer::says("Done."),
    });
    place.rest(&["--prompt", &format!("Make the folder {KEY}/models.")]);
    let entries = place.entries("default");
    let answers: Vec<_> = calls(&entries)
        .iter()
        .map(|call| {
            let output = output(call);
            (output["status"].clone(), output["error"]["kind"].clone())
        })
        .collect();
    let refused = (json!("error"), json!("secret_removed"));
    assert_eq!(answers, [refused.clone(), refused, (json!("success"), json!(null))]);
    let made: Vec<_> = fs::read_dir(place.workspace())
        .expect("the workspace")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name != ".git" && name != "README.md")
        .collect();
    assert_eq!(made, ["done"]);
}

#[test]
fn without_a_key_the_mark_is_an_ordinary_word() {
    let place = Place::scripted(|asked| match asked.rounds() {
        0 => Answer::calls(&[("ExecCommand", json!({ "cmd": "mkdir -p '[secret]'" }))]),
        _ => Answer::says("Done."),
    });
    let ran = place.run_in(&["--prompt", "go", "--until-rest"], &[("WAKEFUL_API_KEY", "none")]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(place.workspace().join("[secret]").is_dir());
}

/// The user as whom the processes of the test run: root could read everything.
fn ordinary_user() -> u32 {
    match fs::metadata("/proc/self").expect("this process").uid() {
        0 => 65_534,
        uid => uid,
    }
}

fn give(path: &Path, uid: u32) {
    if fs::metadata("/proc/self").expect("this process").uid() == 0 {
        chown(path, Some(uid), Some(uid)).expect("it is given away");
        if path.is_dir() {
            for entry in fs::read_dir(path).expect("a folder") {
                give(&entry.expect("an entry").path(), uid);
            }
        }
    }
}

/// Reads the beginning of a file of a process, as another process of the same user.
fn read_as(uid: u32, path: &str) -> Output {
    let mut read = Command::new("head");
    read.args(["-c", "1", path]);
    if fs::metadata("/proc/self").expect("this process").uid() == 0 {
        read.uid(uid).gid(uid);
    }
    read.output().expect("head starts")
}

/// Ends a process when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_process_of_the_same_user_can_read_the_memory_of_an_agent() {
    let place = Place::scripted(|_| Answer::says("Done."));
    let uid = ordinary_user();
    give(place.folder(), uid);
    let (program, args) = place.words(&["--prompt", "go"]);
    let start = |program: &str, args: &[String]| {
        let mut command = Command::new(program);
        command.args(args).env("WAKEFUL_API_KEY", KEY).env("HOME", place.folder());
        if fs::metadata("/proc/self").expect("this process").uid() == 0 {
            command.uid(uid).gid(uid);
        }
        // An open input, so that the agent goes on.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Process(command.spawn().expect("it starts"))
    };
    // Another program with the same environment: what its user can read of it.
    let other = start("sleep", &["3600".to_owned()]);
    let agent = start(program, &args);
    eventually("the agent starts", || !place.entries("default").is_empty());
    for file in ["environ", "maps", "auxv"] {
        let of = |process: &Process| format!("/proc/{}/{file}", process.0.id());
        let readable = read_as(uid, &of(&other));
        assert!(readable.status.success(), "{file}: {readable:?}");
        let hidden = read_as(uid, &of(&agent));
        assert!(!hidden.status.success(), "{file}: {hidden:?}");
        assert!(String::from_utf8_lossy(&hidden.stderr).contains("denied"), "{hidden:?}");
    }
    // The kernel gives the files of a process that it dumps to the process's user.
    let owner = |process: &Process| {
        fs::metadata(format!("/proc/{}/mem", process.0.id())).expect("its memory").uid()
    };
    assert_eq!((owner(&other), owner(&agent)), (uid, 0));
}
