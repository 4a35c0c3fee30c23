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

/// Run a live agent for a virtual month against a server with random quirks
///
/// Runs `wakeful run --provider openai` against a scripted server, which draws each answer, refusal
/// and fault of docs/providers.md at random. The world types, sends, repeats ids, interjects,
/// stops, starts, shuts down, kills (SIGKILL) and restarts at random. The agent's clock moves on by
/// thirty days; libfaketime moves it, and only its wall clock. Each command of the model appends a
/// token of its own to a file, so that a call that is executed twice shows.
///
/// At the end each message has exactly one end, each run has one, each prompt has a turn that says
/// how it ended, no token is there twice, and each recorded command has its effect. The agent rests
/// with nothing owed, and `wakeful doctor` finds nothing. Resident memory at the end is at most 1.1
/// times that after a tenth of the turns, and the measured bytes of each new tombstone. The seed
/// draws the same numbers again, but real processes decide which request comes first. `cargo xtask
/// test` runs 150 turns, by the machine's clock.
///
/// As root it installs libfaketime with apt-get, unless WAKEFUL_NO_INSTALL=1 is set.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub(crate) struct Request {
    /// The number of turns; below 2000 memory is not compared
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) turns: u64,
    /// The seed of the numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The engine of the agent
    #[arg(long, value_name = "NAME", default_value = "native", value_parser = ["native", "wasmtime"])]
    pub(crate) engine: String,
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
