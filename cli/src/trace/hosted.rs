//! The guest component in a host that is written in another language: a program that answers calls.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, sandbox};

use super::{TraceError, play::Stage};
use crate::{
    engine::{Process, Remote},
    provider::ScriptedProvider,
    source,
};

/// A running program that has loaded the guest.
pub struct Hosted {
    name: &'static str,
    program: Arc<Mutex<Process>>,
}

impl Hosted {
    /// Starts the Python engine of the source tree with a guest: the named one, otherwise the one
    /// that the other engines find.
    ///
    /// # Errors
    /// If the engine or the guest is missing, or if Python does not start or lacks the package. The
    /// message says what to do.
    pub fn python(guest: Option<&Path>) -> Result<Self, TraceError> {
        let guest = sandbox::file(guest).ok_or_else(|| {
            TraceError::Missing("there is no guest file: run `cargo xtask run` first".to_owned())
        })?;
        let missing = || {
            TraceError::Missing(
                "`wasm/python/engine.py` is missing: run this in the source tree".to_owned(),
            )
        };
        let program = source::find("wasm/python/engine.py").ok_or_else(missing)?;
        // The environment that `cargo xtask python` creates has the package; another Python may
        // have it.
        let made = || {
            ["target/python/bin/python", "target/python/Scripts/python.exe"]
                .into_iter()
                .find_map(source::find)
        };
        let python = env::var_os("PYTHON")
            .map(PathBuf::from)
            .or_else(made)
            .unwrap_or_else(|| PathBuf::from("python3"));
        let process = Process::start("python", Command::new(python).arg(program).arg(guest))?;
        Ok(Self { name: process.engine(), program: Arc::new(Mutex::new(process)) })
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Starts a fresh instance over a stage.
    pub(super) fn over(
        &self,
        stage: &Stage,
    ) -> Result<Remote<MemoryLedger, VirtualClock, ScriptedProvider>, TraceError> {
        Ok(Remote::new(
            Arc::clone(&self.program),
            stage.ledger.clone(),
            stage.clock.clone(),
            stage.provider.clone(),
        )?)
    }
}
