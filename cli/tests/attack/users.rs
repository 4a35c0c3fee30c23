//! The users as whom the rows run: the current one, and if that is root, `nobody` too.

use std::{
    any::Any,
    borrow::Cow,
    env, fs,
    os::unix::fs::chown,
    path::{Path, PathBuf},
    process::Command,
};

use crate::come::Came;

/// The variable with the file for the results of the process that was started again.
pub(crate) const RESULTS: &str = "WAKEFUL_ATTACK_RESULTS";

/// The variables with the folder for its scenes, and with the program.
const FOLDER: &str = "WAKEFUL_ATTACK_FOLDER";
const PROGRAM: &str = "WAKEFUL_ATTACK_PROGRAM";

/// The user and the group `nobody`.
const NOBODY: u32 = 65_534;

/// What the rows need, and the line that installs it.
const TOOLS: [&str; 5] = ["bwrap", "python3", "setpriv", "unshare", "git"];
const INSTALL: &str = "apt-get install bubblewrap python3 util-linux git";

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn name() -> &'static str {
    match (is_started_again(), is_root()) {
        (true, _) => "nobody",
        (_, true) => "root",
        _ => "this user",
    }
}

/// Whether root started this process as `nobody`.
pub(crate) fn is_started_again() -> bool {
    env::var_os(RESULTS).is_some()
}

/// Fails with the line that installs what is missing.
pub(crate) fn need_tools() {
    let is_there = |tool: &&str| Path::new("/usr/bin").join(tool).is_file();
    let missing: Vec<_> = TOOLS.into_iter().filter(|tool| !is_there(tool)).collect();
    assert!(missing.is_empty(), "{} not in /usr/bin: {INSTALL}", missing.join(", "));
}

/// The program that becomes the commands.
pub(crate) fn program() -> PathBuf {
    env::var_os(PROGRAM).map_or_else(|| env!("CARGO_BIN_EXE_wakeful").into(), PathBuf::from)
}

/// The folder for scenes. It is not below `/tmp`, because the walls treat that differently.
pub(crate) fn folder() -> PathBuf {
    env::var_os(FOLDER).map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from)
}

/// A command that runs as `nobody`.
fn setpriv() -> Command {
    let mut command = Command::new("/usr/bin/setpriv");
    let user = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    command.args(user).args(["--clear-groups", "--"]);
    command
}

/// Runs the rows once more as `nobody`, if this is root.
pub(crate) fn as_nobody() -> Vec<Came> {
    if !is_root() {
        return Vec::new();
    }
    let (test, program) = (env::current_exe().expect("this program"), program());
    let reaches = |path: &Path| {
        let tried = setpriv().args(["test", "-x"]).arg(path).status();
        tried.expect("setpriv starts").success()
    };
    // A tree below the home of root is closed to `nobody`.
    let is_open = reaches(&test) && reaches(&program) && reaches(&folder());
    let folder = match is_open {
        true => tempfile::tempdir_in(folder()),
        false => tempfile::tempdir(),
    };
    let folder = folder.expect("a folder");
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("root gives it away");
    let copy = |from: PathBuf, name: &str| {
        let to = folder.path().join(name);
        fs::copy(from, &to).expect("a copy");
        to
    };
    let (test, program) = match is_open {
        true => (test, program),
        false => (copy(test, "attack"), copy(program, "wakeful")),
    };
    let results = folder.path().join("results.json");
    let ran = setpriv()
        .arg(test)
        .args(["--exact", "--nocapture"])
        .arg("every_attack_succeeds_without_a_wall_and_comes_out_as_the_page_says_behind_one")
        .env(RESULTS, &results)
        .env(FOLDER, folder.path())
        .env(PROGRAM, program)
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .output()
        .expect("setpriv starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    eprint!("{said}");
    let text = fs::read_to_string(results)
        .unwrap_or_else(|why| panic!("the rows do not run as nobody ({why}): {said}"));
    serde_json::from_str(&text).expect("results are JSON")
}

/// The message of a panic.
pub(crate) fn panic_text(why: &(dyn Any + Send)) -> Cow<'_, str> {
    let text = why.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| why.downcast_ref::<&str>().copied()).unwrap_or("it panicked").into()
}
