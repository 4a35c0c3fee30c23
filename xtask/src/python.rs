//! Python with wasmtime's package, for the engine of the cross-check that is hosted there: an environment in target/python.

use std::{fs, path::PathBuf};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// Makes the environment, unless it was made for these very requirements.
pub(crate) fn set_up(paths: &Paths) -> Result<(), Failure> {
    let requirements = paths.at("wasm/python/requirements.txt");
    let wanted = fs::read_to_string(&requirements).map_err(|why| Failure::new(format!("cannot read {}: {why}", requirements.display())))?;
    let folder = paths.target().join("python");
    let made_for = folder.join("requirements.txt");
    if fs::read_to_string(&made_for).is_ok_and(|then| then == wanted) {
        return Ok(());
    }
    let how = |failure: Failure| Failure {
        what: format!("{}; install Python 3.10 or newer with venv (Debian: apt-get install python3-venv)", failure.what),
        ..failure
    };
    Call::new(paths, "python-venv", "python3").args(["-m", "venv", "--clear"]).arg(&folder).build().map_err(how)?;
    Call::new(paths, "python-pip", program(&folder))
        .args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(&requirements)
        .build()?;
    fs::write(&made_for, wanted).map_err(|why| Failure::new(format!("cannot write {}: {why}", made_for.display())))
}

fn program(folder: &std::path::Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}
