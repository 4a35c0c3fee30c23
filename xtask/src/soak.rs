//! `cargo xtask soak`: a live agent over a virtual month, against a server with random quirks and
//! in a world that stops, kills and restarts it.

use std::{fs, path::PathBuf, process::ExitCode};

use crate::{
    call::{Call, Failure},
    debian, native,
    needed::missing,
    paths::Paths,
    run,
    stage::stage,
};

/// The test that is the soak. It is short unless the environment asks for more.
const TEST: &str = "an_agent_among_random_quirks_loses_no_turn_and_does_nothing_twice";

/// What a soak is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) turns: u64,
    pub(crate) seed: u64,
    pub(crate) engine: String,
}

impl Default for Request {
    fn default() -> Self {
        Self { turns: 10_000, seed: 1, engine: "native".to_owned() }
    }
}

/// Builds the program and the soak, and runs it.
pub(crate) fn soak(paths: &Paths, request: &Request) -> Result<ExitCode, Failure> {
    let Some(library) = faketime(paths) else {
        return Ok(missing(
            "libfaketime, which moves the agent's clock,",
            "apt-get install faketime",
        ));
    };
    if request.engine != "native" {
        run::build(paths)?;
    }
    let tests = || {
        let call = Call::cargo(paths, "soak", "test").args(native::SELECTION);
        call.args(["--quiet", "--test", "soak"])
    };
    stage("native", "building the native host and the soak", || tests().arg("--no-run").build())?;
    let status = tests()
        .env("WAKEFUL_SOAK_TURNS", request.turns.to_string())
        .env("WAKEFUL_SOAK_SEED", request.seed.to_string())
        .env("WAKEFUL_SOAK_ENGINE", request.engine.as_str())
        .env("WAKEFUL_SOAK_FAKETIME", library)
        .args(["--", "--nocapture", "--exact", TEST])
        .pass_through()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The library, which is installed if it is missing and may be installed.
fn faketime(paths: &Paths) -> Option<PathBuf> {
    find().or_else(|| {
        // A failure says only what the caller says too.
        debian::install(paths, "soak", &["faketime"], "libfaketime is missing").ok()?;
        find()
    })
}

/// The variant for programs with threads. Its folder has the name of the machine's architecture.
fn find() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|it| it.path());
    folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|file| file.is_file())
}
