//! The time of the agent's processes: the machine's, moved on by a file that libfaketime reads.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use wakeful_core::time::Timestamp;

/// The wall clock that the agent sees. Its monotonic clock stays the machine's, so the timeouts of
/// HTTP and of commands are real.
pub(crate) struct Clock {
    file: PathBuf,
    /// The library; without it the clock cannot be moved.
    library: Option<PathBuf>,
    ahead: Duration,
}

impl Clock {
    pub(crate) fn new(folder: &Path, library: Option<PathBuf>) -> io::Result<Self> {
        let clock = Self { file: folder.join("ahead"), library, ahead: Duration::ZERO };
        clock.write()?;
        Ok(clock)
    }

    /// Whether this clock can be moved.
    pub(crate) fn can_move(&self) -> bool {
        self.library.is_some()
    }

    /// How far it is ahead of the machine's.
    pub(crate) fn ahead(&self) -> Duration {
        self.ahead
    }

    /// Moves the clock, if it can be moved, so far ahead of the machine's; never back.
    pub(crate) fn move_to(&mut self, ahead: Duration) -> io::Result<()> {
        // Whole seconds, as the library reads them.
        let ahead = Duration::from_secs(ahead.as_secs());
        if self.can_move() && ahead > self.ahead {
            self.ahead = ahead;
            self.write()?;
        }
        Ok(())
    }

    fn write(&self) -> io::Result<()> {
        // A rename, so that no process reads half of a number.
        let new = self.file.with_extension("new");
        fs::write(&new, format!("+{}\n", self.ahead.as_secs()))?;
        fs::rename(new, &self.file)
    }

    /// What the clock shows now.
    pub(crate) fn now(&self) -> Timestamp {
        let real = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = i64::try_from((real + self.ahead).as_nanos()).unwrap_or(i64::MAX);
        Timestamp::from_nanos(nanos)
    }

    /// Lets a process see this clock.
    pub(crate) fn lend<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let Some(library) = &self.library else { return command };
        command
            .env("LD_PRELOAD", library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            // Otherwise a process would hear of a move ten seconds later.
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("DONT_FAKE_MONOTONIC", "1")
            .env("NO_FAKE_STAT", "1")
    }
}
