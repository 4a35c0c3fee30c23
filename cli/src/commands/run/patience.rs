//! How long a running agent waits for its ledger file: as long as it takes, until it is told to
//! end.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use wakeful_core::{host::Clock, time::Timestamp};
use wakeful_host::{
    clock::SystemClock,
    ledger::{Obstacle, Patience, Wait},
};

/// How long another process may hold the file before the agent says so. Two writers keep each other
/// out for milliseconds.
const WORTH_SAYING: Duration = Duration::from_secs(1);

/// How long the file is still waited for after the agent was told to end, so that its shutdown can
/// be recorded.
const GRACE: Duration = Duration::from_secs(2);

/// Whether the agent was told to end, and when. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Hurry(Arc<OnceLock<Instant>>);

impl Hurry {
    /// The agent was told to end.
    pub(super) fn up(&self) {
        self.0.get_or_init(Instant::now);
    }

    fn is_over(&self) -> bool {
        self.0.get().is_some_and(|since| since.elapsed() >= GRACE)
    }
}

/// The patience of a running agent.
pub(super) struct Endless<F> {
    hurry: Hurry,
    /// Prints a notice.
    notice: F,
    /// Whether the current wait was announced.
    told: AtomicBool,
}

impl<F: Fn(&str)> Endless<F> {
    pub(super) fn new(hurry: Hurry, notice: F) -> Self {
        Self { hurry, notice, told: AtomicBool::new(false) }
    }
}

impl<F: Fn(&str) + Send + Sync> Patience for Endless<F> {
    fn goes_on(&self, wait: &Wait<'_>) -> bool {
        let is_worth_saying = wait.obstacle == Obstacle::Full || wait.waited >= WORTH_SAYING;
        if is_worth_saying && !self.told.swap(true, Ordering::SeqCst) {
            let waited = i64::try_from(wait.waited.as_nanos()).unwrap_or(i64::MAX);
            let since = Timestamp::from_nanos(SystemClock.now().as_nanos().saturating_sub(waited));
            let then = match wait.obstacle {
                Obstacle::Held(_) => "the agent goes on when the file is free",
                Obstacle::Full => "the agent goes on when there is space",
            };
            (self.notice)(&format!("{wait} since {since}; {then}"));
        }
        !(self.hurry.is_over() && wait.waited >= GRACE)
    }

    fn done(&self, wait: &Wait<'_>) {
        if self.told.swap(false, Ordering::SeqCst) {
            let path = wait.path.display();
            (self.notice)(&format!(
                "`{path}` can be written again after {} s; the agent goes on",
                wait.waited.as_secs()
            ));
        }
    }
}
