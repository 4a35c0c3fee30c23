//! The web guest, in Node or in a browser: a process that answers one line per case.

use std::{env, ffi::OsString, path::Path, process::Command};

use serde::{Deserialize, Serialize};
use wakeful_core::json;

use super::{Trace, TraceError};
use crate::{
    case::{Case, CaseKind},
    engine::Process,
    scenario::Scenario,
    source,
};

/// A running process that has loaded the web guest.
pub struct Web {
    process: Process,
    asked: u64,
}

#[derive(Serialize)]
struct Request<'a> {
    id: u64,
    case: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a wakeful_core::foreign::Folder>,
    /// The acts of a scenario's host, each as the text that the trace has.
    #[serde(skip_serializing_if = "Option::is_none")]
    acts: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Answer {
    id: Option<u64>,
    /// The trace as text in a string, so that JavaScript does not parse and rewrite it.
    trace: Option<String>,
    failure: Option<String>,
}

impl Web {
    /// Starts Node with the engine from the source tree and the web guest from its build folder.
    ///
    /// # Errors
    /// If the engine or the guest is missing, or if Node does not start. The message says what to
    /// do.
    pub fn node() -> Result<Self, TraceError> {
        Self::start("node", "wasm/web/js/engine.mjs")
    }

    /// Starts a headless Chromium with the same guest in a page. Node drives it.
    ///
    /// # Errors
    /// As for [`Web::node`], and if the browser or its driver is missing.
    pub fn chromium() -> Result<Self, TraceError> {
        Self::start("chromium", "wasm/web/js/chromium.mjs")
    }

    fn start(engine: &'static str, program: &str) -> Result<Self, TraceError> {
        let missing = |what: &str| {
            TraceError::Missing(format!(
                "`{what}` is missing: run `cargo xtask run` in the source tree first"
            ))
        };
        let guest = source::find("target/guest/web/wakeful_web.js")
            .ok_or_else(|| missing("target/guest/web"))?;
        let program = source::find(program).ok_or_else(|| missing(program))?;
        let node = env::var_os("NODE").unwrap_or_else(|| OsString::from("node"));
        let mut command = Command::new(node);
        command.arg(program).arg(guest.parent().unwrap_or(Path::new(".")));
        Ok(Self { process: Process::start(engine, &mut command)?, asked: 0 })
    }

    pub(super) fn name(&self) -> &'static str {
        self.process.engine()
    }

    pub(super) fn trace(&mut self, case: &Case) -> Result<Trace, TraceError> {
        let (story, files) = match &case.kind {
            CaseKind::Story(_, text) => (Some(text.as_str()), None),
            CaseKind::Fixture(folder) => (None, Some(folder)),
        };
        self.ask(Request { id: 0, case: &case.name, story, files, acts: None })
    }

    pub(super) fn perform(&mut self, scenario: &Scenario) -> Result<Trace, TraceError> {
        let acts = scenario.acts.iter().map(json::write).collect();
        self.ask(Request {
            id: 0,
            case: &scenario.name,
            story: None,
            files: None,
            acts: Some(acts),
        })
    }

    fn ask(&mut self, request: Request<'_>) -> Result<Trace, TraceError> {
        self.asked += 1;
        let line = serde_json::to_string(&Request { id: self.asked, ..request })?;
        let answer: Answer = serde_json::from_str(&self.process.ask(&line)?)?;
        match answer.trace {
            // An answer to an earlier request would be compared with the wrong case.
            _ if answer.id != Some(self.asked) => Err(TraceError::Failed(
                "the engine answered another request than the last one".to_owned(),
            )),
            Some(text) => Ok(serde_json::from_str(&text)?),
            None => Err(TraceError::Failed(answer.failure.unwrap_or_else(|| {
                "the engine's answer has neither a trace nor a failure".to_owned()
            }))),
        }
    }
}
