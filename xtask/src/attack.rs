//! `cargo xtask attack`: commands try to reach what is not theirs, without a wall and behind
//! bubblewrap.

use std::{fs, process::ExitCode};

use crate::{
    call::{Call, Failure},
    native,
    needed::missing,
    paths::Paths,
    stage::stage,
    wall,
};

/// The test that is the suite. Without a wish in the environment it tries one way of each row.
const TEST: &str = "every_attack_succeeds_without_a_wall_and_comes_out_as_the_page_says_behind_one";

/// Let commands attack what is not theirs, without a wall and behind it
///
/// Files, processes, terminals, networks, calls of the kernel, limits, git of the host, secrets:
/// each attack is tried in several ways, without a wall and behind bubblewrap. Whether it succeeded
/// is seen from the host, such as by a file outside that changed or a process that is still there.
/// Without a wall each must succeed, so that the suite can fail. Behind bubblewrap each must be
/// held, or be open as SECURITY.md says; a test compares the page with the rows.
///
/// As root everything runs a second time as `nobody`. A row that does not apply to a user or a
/// machine is printed with the reason. Progress goes to standard error. `cargo xtask test` tries
/// the first way of each row, as the current user.
///
/// It needs bubblewrap, python3, util-linux and git.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Request {
    /// Run one row, by the name in the table
    #[arg(long, value_name = "NAME")]
    pub(crate) row: Option<String>,
    /// Print the rows as JSON, with what was seen for each way
    #[arg(long)]
    pub(crate) json: bool,
}

/// Builds the program and the suite, and runs it.
pub(crate) fn attack(paths: &Paths, request: &Request) -> Result<ExitCode, Failure> {
    anstream::eprintln!("attack: this needs {}", wall::INSTALL);
    let packages = wall::missing();
    if !packages.is_empty() {
        return Ok(missing(&packages.join(" and "), wall::INSTALL));
    }
    let tests = || {
        let call = Call::cargo(paths, "attack", "test").args(native::SELECTION);
        call.args(["--quiet", "--test", "attack"])
    };
    stage("native", "building the native host and the attacks", || {
        tests().arg("--no-run").build()
    })?;
    let mut call = tests().env("WAKEFUL_ATTACK_WHOLE", "1");
    if let Some(row) = &request.row {
        call = call.env("WAKEFUL_ATTACK_ROW", row.as_str());
    }
    let words = ["--", "--nocapture", "--exact", TEST];
    if !request.json {
        let status = call.args(words).pass_through()?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let rows = paths.target().join("attack.json");
    // Rows of an earlier run must not be taken for those of a run that failed before its end.
    let _missing = fs::remove_file(&rows);
    let (status, said) = call.env("WAKEFUL_ATTACK_JSON", &rows).args(words).told()?;
    let text = fs::read_to_string(&rows).map_err(|why| Failure {
        what: format!("the attacks wrote no rows to `{}`: {why}", rows.display()),
        printed: said,
    })?;
    anstream::println!("{text}");
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
