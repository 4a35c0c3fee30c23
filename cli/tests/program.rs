//! Runs the `wakeful` program.

use std::{ffi::OsStr, path::Path, process::Command};

use serde_json::Value;
use wakeful::{case, trace::Tracer};

pub(crate) use crate::shared::{guest, product, prompt, source};

/// The result of a run of the program.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `wakeful` with these arguments, without a guest from the environment.
pub(crate) fn wakeful<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_wakeful"))
        .args(args)
        .env_remove("WAKEFUL_GUEST")
        .output()
        .expect("wakeful starts");
    Ran {
        code: output.status.code().expect("wakeful ends with an exit code"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs a command of one or two words, such as `list tasks`.
pub(crate) fn command(words: &str, args: &[&str]) -> Ran {
    wakeful(words.split(' ').chain(args.iter().copied()))
}

/// A path as an argument.
pub(crate) fn arg(path: &Path) -> String {
    path.display().to_string()
}

/// The trace of a story or a fixture, from an engine.
pub(crate) fn trace(path: &Path, engine: &mut Tracer) -> Value {
    let case = case::load_one(path).expect("a case");
    serde_json::to_value(engine.trace(&case).expect("a trace")).expect("JSON")
}
