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

/// What the suite is asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The only row to run.
    pub(crate) row: Option<String>,
    /// Whether to print the rows as JSON instead of a table.
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
