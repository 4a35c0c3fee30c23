//! The web guest in Node: a process that answers one line per case.

use std::{
    env,
    ffi::OsString,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde::{Deserialize, Serialize};

use super::{Trace, TraceError};
use crate::{
    case::{Case, CaseKind},
    source,
};

/// A running Node process with the web guest loaded.
pub struct Node {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

#[derive(Serialize)]
struct Request<'a> {
    id: u64,
    case: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a wakeful_core::foreign::Folder>,
}

#[derive(Deserialize)]
struct Answer {
    /// The trace as text in a string: Node never parses it.
    trace: Option<String>,
    failure: Option<String>,
}

impl Node {
    /// Starts Node with the engine of the source tree and the web guest of its build folder.
    ///
    /// # Errors
    /// Where either is missing, or Node does not start; the message says what to do.
    pub fn start() -> Result<Self, TraceError> {
        let missing = |what: &str| TraceError::Process(format!("{what} is missing: run `cargo xtask run` in the source tree first"));
        let guest = source::find("target/guest/web/wakeful_web.js").ok_or_else(|| missing("target/guest/web"))?;
        let engine = source::find("wasm/web/js/engine.mjs").ok_or_else(|| missing("wasm/web/js/engine.mjs"))?;
        let node = env::var_os("NODE").unwrap_or_else(|| OsString::from("node"));
        let mut child = Command::new(&node)
            .arg(engine)
            .arg(guest.parent().unwrap_or(Path::new(".")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| {
                TraceError::Process(format!("`{}` does not start: {why}; install Node 20 or name it with NODE", node.display()))
            })?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (requests, answers) = pipes.ok_or_else(|| TraceError::Process("its pipes are gone".to_owned()))?;
        Ok(Self { child, requests, answers: BufReader::new(answers) })
    }

    pub(super) fn trace(&mut self, case: &Case) -> Result<Trace, TraceError> {
        let (story, files) = match &case.kind {
            CaseKind::Story(_, text) => (Some(text.as_str()), None),
            CaseKind::Fixture(folder) => (None, Some(folder)),
        };
        let mut line = serde_json::to_string(&Request { id: 1, case: &case.name, story, files })?;
        line.push('\n');
        let broken = |why: std::io::Error| TraceError::Process(why.to_string());
        self.requests.write_all(line.as_bytes()).and_then(|()| self.requests.flush()).map_err(broken)?;
        let mut answer = String::new();
        if self.answers.read_line(&mut answer).map_err(broken)? == 0 {
            return Err(TraceError::Process("the process ended without an answer".to_owned()));
        }
        let answer: Answer = serde_json::from_str(&answer)?;
        match answer.trace {
            Some(text) => Ok(serde_json::from_str(&text)?),
            None => Err(TraceError::Process(answer.failure.unwrap_or_else(|| "neither trace nor failure".to_owned()))),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The process has nothing to lose; where it already ended there is nothing to kill.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
