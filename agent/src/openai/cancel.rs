//! Cancels a call that another thread waits for.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    time::Duration,
};

/// A cancellation signal. Clones share it, and it stays set once it is set.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_cancelled: bool,
    next_id: u64,
    listeners: Vec<(u64, Listener)>,
}

type Listener = Box<dyn FnOnce() + Send>;

impl Cancel {
    /// A signal that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the signal and wakes all threads that wait for it.
    pub fn cancel(&self) {
        // The lock is released before the listeners run: they are foreign code and may use this
        // signal.
        let listeners = {
            let mut state = self.state();
            state.is_cancelled = true;
            std::mem::take(&mut state.listeners)
        };
        for (_, listener) in listeners {
            listener();
        }
    }

    /// Whether the signal is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state().is_cancelled
    }

    /// Waits at most this long. Returns whether the signal is set.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> bool {
        let (cancelled, waiting) = mpsc::channel();
        let _listening = self.listen(move || {
            let _ = cancelled.send(()); // The waiting thread may have gone.
        });
        waiting.recv_timeout(at_most).is_ok()
    }

    /// Calls `listener` when the signal is set, or at once if it is set already. A drop of the
    /// returned value removes the listener; a call that has begun by then still ends.
    pub(crate) fn listen(&self, listener: impl FnOnce() + Send + 'static) -> Listening {
        let mut state = self.state();
        let id = state.next_id;
        state.next_id += 1;
        // The lock must not be held while foreign code runs.
        if state.is_cancelled {
            drop(state);
            listener();
        } else {
            state.listeners.push((id, Box::new(listener)));
        }
        Listening { cancel: self.clone(), id }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// Keeps a listener registered until it is dropped.
pub(crate) struct Listening {
    cancel: Cancel,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.cancel.state().listeners.retain(|(id, _)| *id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
        time::Instant,
    };

    use super::*;

    #[test]
    fn who_waits_hears_of_it_at_once() {
        let cancel = Cancel::new();
        let elsewhere = cancel.clone();
        let begun = Instant::now();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            elsewhere.cancel();
        });
        assert!(cancel.wait(Duration::from_mins(10)));
        assert!(begun.elapsed() < Duration::from_mins(1));
        assert!(cancel.wait(Duration::from_mins(10)), "and who comes later too");
        other.join().unwrap();
    }

    #[test]
    fn a_wait_that_nobody_cancels_ends_by_itself() {
        let cancel = Cancel::new();
        assert!(!cancel.wait(Duration::from_millis(5)));
        assert!(cancel.state().listeners.is_empty());
    }

    #[test]
    fn a_listener_is_called_once_and_not_after_it_left() {
        let cancel = Cancel::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = |calls: &Arc<AtomicUsize>| {
            let calls = Arc::clone(calls);
            move || {
                calls.fetch_add(1, Ordering::SeqCst);
            }
        };
        drop(cancel.listen(count(&calls)));
        let _stays = cancel.listen(count(&calls));
        cancel.cancel();
        cancel.cancel();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}
