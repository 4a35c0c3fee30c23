//! Engines in other processes: a program that reports that it is ready, and then answers line by
//! line.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, de::IgnoredAny};
use wakeful_host::engine::EngineError;

/// How long a program may take to end after its input was closed.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A running program.
pub(crate) struct Process {
    engine: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The program of an engine failed, or does not follow the protocol.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct ProcessError {
    why: String,
}

impl ProcessError {
    pub(super) fn new(why: String) -> Self {
        Self { why }
    }
}

impl From<ProcessError> for EngineError {
    fn from(why: ProcessError) -> Self {
        Self::Other(Box::new(why))
    }
}

/// The first line of a program.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum First {
    Ready(IgnoredAny),
    CannotRun(String),
}

impl Process {
    /// Starts the program of an engine and waits until it is ready.
    ///
    /// # Errors
    /// If it does not start, or reports that it cannot run.
    pub(crate) fn start(engine: &'static str, command: &mut Command) -> Result<Self, ProcessError> {
        let program = command.get_program().display().to_string();
        let failed = |why: String| ProcessError { why };
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|why| {
                failed(format!(
                    "`{program}` does not start: {why}; install it, or set NODE or PYTHON to its \
                     path"
                ))
            })?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| failed(format!("`{program}` has no pipes")))?;
        let mut process =
            Self { engine, child, input: Some(input), output: BufReader::new(output) };
        let first = process.hear()?;
        match serde_json::from_str(&first) {
            Ok(First::Ready(_)) => Ok(process),
            Ok(First::CannotRun(why)) => Err(failed(why)),
            Err(_) => Err(failed(format!(
                "`{program}` did not report that it is ready; it printed `{}`",
                first.trim_end()
            ))),
        }
    }

    /// The name of the engine.
    pub(crate) fn engine(&self) -> &'static str {
        self.engine
    }

    /// Writes a line, which must not contain a line break, and reads the next one.
    pub(crate) fn ask(&mut self, line: &str) -> Result<String, ProcessError> {
        if let Some(input) = &mut self.input {
            let said = input
                .write_all(line.as_bytes())
                .and_then(|()| input.write_all(b"\n"))
                .and_then(|()| input.flush());
            said.map_err(|why| ProcessError {
                why: format!("cannot write to the engine {}: {why}", self.engine),
            })?;
        }
        self.hear()
    }

    /// Reads the next line.
    fn hear(&mut self) -> Result<String, ProcessError> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(ProcessError {
                why: format!("the process of the engine {} ended without an answer", self.engine),
            }),
            Ok(_) => Ok(line),
            Err(why) => Err(ProcessError {
                why: format!("cannot read from the engine {}: {why}", self.engine),
            }),
        }
    }
}

impl Drop for Process {
    /// Closing the input asks the program to end, together with what it started. A program that
    /// continues is killed: it has nothing to lose.
    fn drop(&mut self) {
        self.input = None;
        let until = Instant::now() + LAST_WORDS;
        // The standard library cannot wait for a process with a limit.
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
