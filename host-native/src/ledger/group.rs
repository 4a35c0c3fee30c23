//! Group commit: appends that arrive while another one waits for the store queue up. One of them
//! then stores all of them at once. A lone append waits for no other.

use std::{
    mem, slice,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use crate::waiting;

/// A queue of appends `A`, of which each becomes an `R`.
#[derive(Debug)]
pub(super) struct Group<A, R> {
    waiting: Mutex<Waiting<A, R>>,
    /// Signals that a group was stored.
    stored: Condvar,
}

impl<A, R> Default for Group<A, R> {
    fn default() -> Self {
        let waiting = Waiting { appends: Vec::new(), is_storing: false };
        Self { waiting: Mutex::new(waiting), stored: Condvar::new() }
    }
}

#[derive(Debug)]
struct Waiting<A, R> {
    appends: Vec<Arc<Append<A, R>>>,
    /// Whether a thread is storing a group now.
    is_storing: bool,
}

/// One append and its result.
#[derive(Debug)]
struct Append<A, R> {
    asked: A,
    became: Mutex<Option<R>>,
}

/// The guarded data is consistent between any two statements, so a panic elsewhere does not matter.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the next thread store once this one is done, even if it panics.
struct Storing<'a, A, R>(&'a Group<A, R>);

impl<A, R> Drop for Storing<'_, A, R> {
    fn drop(&mut self) {
        held(&self.0.waiting).is_storing = false;
        self.0.stored.notify_all();
    }
}

impl<A, R, E> Group<A, Result<R, E>> {
    /// Stores an append, possibly together with those of other threads. `together` stores all of
    /// them, or fails and has stored nothing; it returns a result for each.
    pub(super) fn append(
        &self,
        asked: A,
        together: impl Fn(&[&A]) -> Result<Vec<R>, E>,
    ) -> Result<R, E> {
        let own = Arc::new(Append { asked, became: Mutex::new(None) });
        let mut waiting = held(&self.waiting);
        waiting.appends.push(Arc::clone(&own));
        loop {
            if let Some(became) = held(&own.became).take() {
                return became;
            }
            if waiting.is_storing {
                let stored = waiting::during(|| self.stored.wait(waiting));
                waiting = stored.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            waiting.is_storing = true;
            let mut group = mem::take(&mut waiting.appends);
            // Appends that arrive meanwhile must be able to queue, so this lock is not held.
            drop(waiting);
            if !group.iter().any(|append| Arc::ptr_eq(append, &own)) {
                // A thread that took this append along has panicked and left it without a result.
                group.push(Arc::clone(&own));
            }
            let storing = Storing(self);
            store_all(&group, &together);
            drop(storing);
            waiting = held(&self.waiting);
        }
    }

    /// The number of appends that wait and that no thread has taken along.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        held(&self.waiting).appends.len()
    }
}

fn store_all<A, R, E>(
    group: &[Arc<Append<A, Result<R, E>>>],
    together: &impl Fn(&[&A]) -> Result<Vec<R>, E>,
) {
    let asked: Vec<&A> = group.iter().map(|append| &append.asked).collect();
    match together(&asked) {
        Ok(stored) => group
            .iter()
            .zip(stored)
            .for_each(|(append, stored)| *held(&append.became) = Some(Ok(stored))),
        Err(why) if group.len() == 1 => *held(&group[0].became) = Some(Err(why)),
        // Nothing was stored. One bad append must not fail the others, so each is stored alone and
        // gets its own result.
        Err(_) => group.iter().for_each(|append| store_all(slice::from_ref(append), together)),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn what_keeps_one_append_out_keeps_out_no_other() {
        let group = Group::<u32, Result<u32, u32>>::default();
        let calls = AtomicUsize::new(0);
        let gate = Mutex::new(());
        let together = |asked: &[&u32]| {
            drop(held(&gate));
            calls.fetch_add(1, Ordering::Relaxed);
            if asked.iter().any(|number| **number == 7) {
                Err(asked.len() as u32)
            } else {
                Ok(asked.iter().map(|number| **number * 2).collect())
            }
        };
        let closed = held(&gate);
        thread::scope(|scope| {
            let (group, together) = (&group, &together);
            let first = scope.spawn(move || group.append(100, together));
            while group.waiting() > 0 || !held(&group.waiting).is_storing {
                thread::yield_now();
            }
            let threads: Vec<_> = (0..10_u32)
                .map(|number| scope.spawn(move || (number, group.append(number, together))))
                .collect();
            while group.waiting() < 10 {
                thread::yield_now();
            }
            drop(closed);
            assert_eq!(first.join().expect("it ends"), Ok(200));
            for thread in threads {
                let (number, became) = thread.join().expect("it ends");
                let expected = if number == 7 { Err(1) } else { Ok(number * 2) };
                assert_eq!(became, expected);
            }
        });
        // The first, all others together, and each of them alone.
        assert_eq!(calls.load(Ordering::Relaxed), 1 + 1 + 10);
    }
}
