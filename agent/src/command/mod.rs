//! Commands as processes that are looked after.
//!
//! [`Running::start`] starts a shell with a command line, in a process group of its own or on a
//! terminal of its own. One thread tends each: it stores the output as it comes, feeds the input,
//! keeps the limits, and ends whatever the command leaves behind. A caller waits as long as it
//! likes and goes on with something else; what it holds is a receipt, and the command lives without
//! it.
//!
//! [`sweep`] ends what an earlier life of the host left running.

mod exit;
mod family;
mod input;
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

/// What is kept in memory of stdout and of stderr each, in bytes.
pub const STREAM_BYTES: usize = 256 * 1024;

/// What is run, and how.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The command line, as the shell reads it.
    pub cmd: String,
    /// The folder in which it runs.
    pub workdir: PathBuf,
    /// The shell, by name or path; `bash`, else `sh`, where there is none.
    pub shell: Option<String>,
    /// Whether the shell reads the user's profile first; where that is closed to the command there
    /// is none to read.
    pub login: bool,
    /// Whether it runs on a terminal, of 24 lines and 80 columns.
    pub tty: bool,
    /// Whether [`Running::write`] reaches it. Else it reads the end of input at once, or on a
    /// terminal nothing.
    pub accepts_input: bool,
    /// The whole environment of the command, besides its mark.
    pub environment: BTreeMap<String, String>,
    /// What marks its processes, in the variable [`MARK`]; no two commands that live at one time
    /// have the same.
    pub mark: String,
    /// Takes secrets out of its output before that is kept anywhere. The end of what came so far
    /// may wait for more, where it may begin one.
    pub redactor: Arc<Redactor>,
}

/// How much a command may write and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes of output are kept in its file, about; a command that writes more goes on.
    /// The default is 8 MiB.
    pub output_bytes: u64,
    /// How long it may run before it is stopped; as long as it likes by default.
    pub wall: Option<Duration>,
    /// How long a command that is told to end has for it before it is killed; five seconds by
    /// default.
    pub stop_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { output_bytes: 8 * 1024 * 1024, wall: None, stop_grace: Duration::from_secs(5) }
    }
}

/// A command that was started. Clones are the same command; it goes on when all of them are
/// dropped.
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

/// What the caller and the tending thread share.
struct Shared {
    /// Wakes the tending thread.
    waker: OwnedFd,
    output: PathBuf,
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    input: Input,
    /// How often it was told to stop.
    stops: u32,
    stdout: Kept,
    stderr: Kept,
    exit: Option<Exit>,
    listeners: Vec<Listener>,
}

type Listener = Box<dyn FnOnce(&Exit) + Send>;

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // It fails only where the count of wakes is full, and then the thread is about to wake.
        let _full = rustix::io::write(&self.waker, &1_u64.to_ne_bytes());
    }
}

impl Running {
    /// Waits until the command has ended, at most this long, and says how it ended. Any number of
    /// threads may wait.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Exit> {
        let until = Instant::now().checked_add(timeout);
        let mut state = self.shared.state();
        while state.exit.is_none() {
            let left = until
                .map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            state = self
                .shared
                .ended
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        state.exit.clone()
    }

    /// How it ended, where it has.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.wait(Duration::ZERO)
    }

    /// What it wrote to its standard output so far; on a terminal all that it wrote. At most
    /// [`STREAM_BYTES`].
    #[must_use]
    pub fn stdout(&self) -> Excerpt {
        self.shared.state().stdout.excerpt()
    }

    /// What it wrote to its standard error so far, at most [`STREAM_BYTES`]; empty on a terminal.
    #[must_use]
    pub fn stderr(&self) -> Excerpt {
        self.shared.state().stderr.excerpt()
    }

    /// The beginning and the end of its output so far, in the order in which it came.
    ///
    /// # Errors
    /// The output file cannot be read any more.
    pub fn preview(&self, max_bytes: usize) -> io::Result<Excerpt> {
        excerpt(self.output(), max_bytes)
    }

    /// The file of its output.
    #[must_use]
    pub fn output(&self) -> &Path {
        &self.shared.output
    }

    /// Hands bytes to its standard input, and gives how many: all of them. It reads them when it
    /// likes.
    ///
    /// # Errors
    /// It takes no input, not any more, or not so much at once; then nothing was handed over.
    pub fn write(&self, bytes: &[u8]) -> Result<usize, InputError> {
        let taken = self.shared.state().input.push(bytes)?;
        self.shared.wake();
        Ok(taken)
    }

    /// Ends its input behind what was written; on a terminal with the end-of-file character.
    ///
    /// # Errors
    /// It takes no input, or not any more.
    pub fn close_input(&self) -> Result<(), InputError> {
        self.shared.state().input.close()?;
        self.shared.wake();
        Ok(())
    }

    /// Tells all processes of the command to end (SIGTERM), and kills those that have not after the
    /// grace of its limits. Told a second time, it kills them at once. It does not wait; where the
    /// command has ended it does nothing.
    pub fn stop(&self) {
        self.shared.state().stops += 1;
        self.shared.wake();
    }

    /// Calls `listener` when the command has ended, from the tending thread; at once where it has
    /// ended already.
    pub fn on_exit(&self, listener: impl FnOnce(&Exit) + Send + 'static) {
        let mut state = self.shared.state();
        match state.exit.clone() {
            None => state.listeners.push(Box::new(listener)),
            Some(exit) => {
                drop(state);
                listener(&exit);
            }
        }
    }
}
