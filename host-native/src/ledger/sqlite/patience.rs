//! Waiting for a file that cannot be used now but may be later: another process holds it, or its
//! disk is full.

use std::{
    fmt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{SqliteError, holder::Holder};
use crate::waiting;

/// How long SQLite itself waits for another process before the caller's patience is asked.
const SLICE: Duration = Duration::from_millis(100);

/// The pause between two attempts of SQLite.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// The pause between two attempts on a full disk.
const FULL_PAUSE: Duration = Duration::from_millis(100);

/// How long a call waits by default while another process holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a call waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Another process holds the file. It is `None` if the system does not say which one.
    Held(Option<Holder>),
    /// The disk is full.
    Full,
}

/// A call that waits.
#[derive(Clone, Debug)]
pub struct Wait<'a> {
    /// The file.
    pub path: &'a Path,
    /// What the call waits for.
    pub obstacle: Obstacle,
    /// How long it has waited so far.
    pub waited: Duration,
}

impl fmt::Display for Wait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.obstacle {
            Obstacle::Held(Some(holder)) => write!(f, "`{path}` is held by {holder}"),
            Obstacle::Held(None) => write!(f, "`{path}` is held by another process"),
            Obstacle::Full => write!(f, "`{path}` cannot grow, because the disk is full"),
        }
    }
}

/// Decides how long the calls on a file wait.
pub trait Patience: Send + Sync {
    /// Whether to go on waiting. Called about ten times per second during a wait.
    fn goes_on(&self, wait: &Wait<'_>) -> bool;

    /// Called when the call was done after a wait.
    fn done(&self, _wait: &Wait<'_>) {}
}

/// Waits 30 s for another process, and not at all for a full disk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounded;

impl Patience for Bounded {
    fn goes_on(&self, wait: &Wait<'_>) -> bool {
        wait.obstacle != Obstacle::Full && wait.waited < BUSY_TIMEOUT
    }
}

/// Repeats an attempt while patience lasts. A failed attempt must have changed nothing.
pub(super) fn insist<T>(
    path: &Path,
    patience: &dyn Patience,
    mut attempt: impl FnMut() -> Result<T, SqliteError>,
) -> Result<T, SqliteError> {
    let since = Instant::now();
    let mut last: Option<Wait<'_>> = None;
    loop {
        let began = Instant::now();
        let why = match attempt() {
            Ok(done) => {
                if let Some(wait) = &mut last {
                    wait.waited = since.elapsed();
                    patience.done(wait);
                }
                return Ok(done);
            }
            Err(why) => why,
        };
        let obstacle = match &why {
            SqliteError::Busy { .. } => Obstacle::Held(Holder::find(path)),
            SqliteError::Full(_) => Obstacle::Full,
            _ => return Err(why),
        };
        let pause = if obstacle == Obstacle::Full { FULL_PAUSE } else { BUSY_PAUSE };
        let wait = Wait { path, obstacle, waited: since.elapsed() };
        if !patience.goes_on(&wait) {
            return Err(wait.given_up());
        }
        last = Some(wait);
        thread::sleep(pause);
        waiting::add(began.elapsed());
    }
}

impl Wait<'_> {
    fn given_up(self) -> SqliteError {
        let path = self.path.to_owned();
        match self.obstacle {
            Obstacle::Held(by) => SqliteError::Busy { path, by, waited: self.waited },
            Obstacle::Full => SqliteError::Full(path),
        }
    }
}

/// SQLite's busy handler: returns whether to try again. SQLite's own handler sleeps up to 100 ms
/// between attempts, so a process that appends without pause could keep another one out for
/// seconds.
pub(super) fn wait_for_another() -> impl FnMut(i32) -> bool + Send + 'static {
    let mut since = Instant::now();
    move |tries| {
        if tries == 0 {
            since = Instant::now();
        }
        thread::sleep(BUSY_PAUSE);
        since.elapsed() < SLICE
    }
}
