//! Processes of our own: a test runs itself again in a child, with a role, so that it can be killed
//! or race another.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const ROLE: &str = "WAKEFUL_TEST_ROLE";
const LEDGER: &str = "WAKEFUL_TEST_LEDGER";

/// What this process is told to be; none in the test itself.
pub(crate) struct Role {
    pub(crate) name: String,
    pub(crate) ledger: PathBuf,
}

impl Role {
    /// The role of this process, if it is a child.
    pub(crate) fn here() -> Option<Self> {
        let name = env::var(ROLE).ok()?;
        Some(Self { name, ledger: env::var_os(LEDGER)?.into() })
    }

    /// Says something to the parent.
    pub(crate) fn say(&self, what: &str, about: impl std::fmt::Display) {
        println!("{}:{what}:{about}", self.name);
    }
}

/// How the test `name` of this executable is run as a child in a role; it can be changed before it
/// is started.
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

/// What a child said about `what`, after it has ended.
pub(crate) fn said(output: &str, role: &str, what: &str) -> Vec<String> {
    let start = format!("{role}:{what}:");
    // The test harness writes on the same stream, and a line that the child was killed over has no
    // end.
    let whole = output.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    whole
        .filter_map(|line| line.find(&start).map(|at| line[at + start.len()..].to_owned()))
        .collect()
}

/// All that a child wrote, after it has ended by itself; a child that failed has said why.
pub(crate) fn finished(child: Child) -> String {
    let output = child.wait_with_output().expect("it ends");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {out}\n{err}", output.status);
    out.into_owned()
}
