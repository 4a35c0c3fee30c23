//! Child processes: a test runs itself again with a role, so that it can be killed or race another
//! process.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const ROLE: &str = "WAKEFUL_TEST_ROLE";
const LEDGER: &str = "WAKEFUL_TEST_LEDGER";

/// The role of a child process.
pub(crate) struct Role {
    pub(crate) name: String,
    pub(crate) ledger: PathBuf,
}

impl Role {
    /// The role of this process; `None` in the test itself.
    pub(crate) fn here() -> Option<Self> {
        let name = env::var(ROLE).ok()?;
        Some(Self { name, ledger: env::var_os(LEDGER)?.into() })
    }

    /// Reports something to the parent.
    pub(crate) fn say(&self, what: &str, about: impl std::fmt::Display) {
        println!("{}:{what}:{about}", self.name);
    }
}

/// The command that runs the test `name` of this executable as a child with a role. It can be
/// changed before it is started.
pub(crate) fn command(name: &str, role: &str, ledger: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("this test has a path"));
    as_child(&mut command, name, role, ledger);
    command
}

/// The arguments and variables of a child.
pub(crate) fn as_child(command: &mut Command, name: &str, role: &str, ledger: &Path) {
    command
        .args([name, "--exact", "--nocapture"])
        .env(ROLE, role)
        .env(LEDGER, ledger)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

/// What a child reported about `what`, after it has ended.
pub(crate) fn said(output: &str, role: &str, what: &str) -> Vec<String> {
    let start = format!("{role}:{what}:");
    // The test harness writes to the same stream. A line that was cut off by a kill has no newline.
    let whole = output.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    whole
        .filter_map(|line| line.find(&start).map(|at| line[at + start.len()..].to_owned()))
        .collect()
}

/// All output of a child that ended on its own. Panics with its output if it failed.
pub(crate) fn finished(child: Child) -> String {
    let output = child.wait_with_output().expect("it ends");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {out}\n{err}", output.status);
    out.into_owned()
}
