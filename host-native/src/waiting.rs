//! The time that a thread has waited for something outside this program. The time limit of a
//! guest's call does not count it.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

thread_local! {
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Runs `wait`, and counts its time as waiting. A ledger, clock or provider calls this if it waits
/// for another process inside a guest's call.
pub fn during<T>(wait: impl FnOnce() -> T) -> T {
    let since = Instant::now();
    let done = wait();
    add(since.elapsed());
    done
}

/// Counts time that has passed already.
pub(crate) fn add(time: Duration) {
    WAITED.set(WAITED.get().saturating_add(time));
}

/// The time that this thread has waited so far.
#[cfg(feature = "sandbox")]
pub(crate) fn so_far() -> Duration {
    WAITED.get()
}
