//! Commands: processes that are supervised from start to end.
//!
//! [`Running::start`] starts a shell with a command line, in a process group of its own or on a
//! terminal of its own. One thread tends each command. It stores the output as it arrives, feeds
//! the input, enforces the limits, and ends everything that the command leaves behind. A caller
//! waits as long as it likes and then continues. What it holds is a handle; the command does not
//! depend on it.
//!
//! [`sweep`] ends what an earlier process of the host left running.

mod disk;
mod exit;
mod family;
mod input;
mod keeper;
mod kept;
mod output;
mod start;
mod tend;

use std::{
    collections::BTreeMap,
    fmt, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use input::Input;
use kept::Kept;

use crate::confine::Redactor;

pub use exit::{Cause, Exit};
pub use family::{MARK, sweep};
pub use input::InputError;
pub use kept::Excerpt;
pub use output::excerpt;
pub use start::StartError;

/// The most bytes of stdout and of stderr that are kept in memory, each.
pub const STREAM_BYTES: usize = 256 * 1024;

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The command line, as the shell reads it.
    pub cmd: String,
    /// The folder in which it runs.
    pub workdir: PathBuf,
    /// The shell, by name or path. By default `bash`, or `sh` if there is no `bash`.
    pub shell: Option<String>,
    /// Whether the shell reads the user's profile first. It does not if the confinement hides the
    /// home folder.
    pub login: bool,
    /// Whether the command runs on a terminal, of 24 lines and 80 columns.
    pub tty: bool,
    /// Whether [`Running::write`] reaches the command. If not, it reads the end of input at once;
    /// on a terminal it reads nothing.
    pub accepts_input: bool,
    /// The whole environment of the command, except its mark.
    pub environment: BTreeMap<String, String>,
    /// The value of the variable [`MARK`] in its processes. Two commands that live at the same time
    /// must have different marks.
    pub mark: String,
    /// Removes secrets from the output before it is stored anywhere. Bytes that may begin a secret
    /// are held back until more output arrives.
    pub redactor: Arc<Redactor>,
}

/// How much a command may write, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The approximate number of output bytes that its file keeps. A command that writes more keeps
    /// running. 8 MiB by default.
    pub output_bytes: u64,
    /// How long it may run before it is stopped. `None`, the default, means no limit.
    pub wall: Option<Duration>,
    /// The bytes that it may add to its working folder and its folder for temporary files before it
    /// is killed. `None` means no limit; 16 GiB by default.
    pub disk_bytes: Option<u64>,
    /// The bytes that it must leave free in the file systems of these folders; 256 MiB by default.
    pub disk_free_bytes: u64,
    /// The time between the request to end and the kill; five seconds by default.
    pub stop_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 8 << 20,
            wall: None,
            disk_bytes: Some(16 << 30),
            disk_free_bytes: 256 << 20,
            stop_grace: Duration::from_secs(5),
        }
    }
}

/// A command that was started. Clones refer to the same command, which keeps running when all of
/// them are dropped.
#[derive(Clone)]
pub struct Running {
    shared: Arc<Shared>,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("output", &self.shared.output)
            .field("exit", &self.exit())
            .finish_non_exhaustive()
    }
}

/// The state shared by the callers and the tending thread.
struct Shared {
    /// An eventfd that wakes the tending thread.
    waker: OwnedFd,
    output: PathBuf,
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    input: Input,
    /// How often the command was told to stop.
    stops: u32,
    stdout: Kept,
    stderr: Kept,
    exit: Option<Exit>,
    listeners: Vec<Listener>,
}

type Listener = Box<dyn FnOnce(&Exit) + Send>;

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change under the lock is complete, so a panic leaves the state consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // It fails only if the counter is full. Then a wake is already pending.
        let _full = rustix::io::write(&self.waker, &1_u64.to_ne_bytes());
    }
}

impl Running {
    /// Waits until the command has ended, at most for `timeout`, and returns how it ended. Any
    /// number of threads may wait.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Exit> {
        // A timeout beyond the range of the clock, such as `Duration::MAX`, does not limit.
        let until = Instant::now().checked_add(timeout);
        let mut state = self.shared.state();
        while state.exit.is_none() {
            let left = until
                .map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            // The condition variable may wake up without a reason, so the loop checks the exit
            // again.
            state = self
                .shared
                .ended
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        state.exit.clone()
    }

    /// How the command ended; `None` if it still runs.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.wait(Duration::ZERO)
    }

    /// The standard output so far; on a terminal, all output. At most [`STREAM_BYTES`].
    #[must_use]
    pub fn stdout(&self) -> Excerpt {
        self.shared.state().stdout.excerpt()
    }

    /// The standard error so far, at most [`STREAM_BYTES`]; empty on a terminal.
    #[must_use]
    pub fn stderr(&self) -> Excerpt {
        self.shared.state().stderr.excerpt()
    }

    /// The beginning and the end of its output so far, in the order of arrival.
    ///
    /// # Errors
    /// If the output file can no longer be read.
    pub fn preview(&self, max_bytes: usize) -> io::Result<Excerpt> {
        excerpt(self.output(), max_bytes)
    }

    /// The file with its output.
    #[must_use]
    pub fn output(&self) -> &Path {
        &self.shared.output
    }

    /// Queues bytes for the standard input and returns their number. The command reads them in its
    /// own time.
    ///
    /// # Errors
    /// If the command takes no input, takes no more, or has too much waiting. Nothing was queued
    /// then.
    pub fn write(&self, bytes: &[u8]) -> Result<usize, InputError> {
        let taken = self.shared.state().input.push(bytes)?;
        self.shared.wake();
        Ok(taken)
    }

    /// Ends the input after the queued bytes; on a terminal with the end-of-file character.
    ///
    /// # Errors
    /// If the command takes no input, or takes no more.
    pub fn close_input(&self) -> Result<(), InputError> {
        self.shared.state().input.close()?;
        self.shared.wake();
        Ok(())
    }

    /// Tells all processes of the command to end (SIGTERM), and kills those that remain after the
    /// grace period of its limits. A second call kills them at once. Returns immediately; does
    /// nothing if the command has ended.
    pub fn stop(&self) {
        self.shared.state().stops += 1;
        self.shared.wake();
    }

    /// Calls `listener` when the command has ended, from the tending thread. If it has already
    /// ended, calls it at once.
    pub fn on_exit(&self, listener: impl FnOnce(&Exit) + Send + 'static) {
        let mut state = self.shared.state();
        match state.exit.clone() {
            None => state.listeners.push(Box::new(listener)),
            Some(exit) => {
                // The lock must not be held while foreign code runs.
                drop(state);
                listener(&exit);
            }
        }
    }
}
