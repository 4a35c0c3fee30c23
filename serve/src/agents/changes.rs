//! Which agents have new entries, for any number of readers. Each agent is in the list once, at its
//! newest change, so the list is as long as there are agents. A reader keeps one number.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::agenda::Number;

/// A place in the list, from 1. A reader that has seen nothing is at 0.
pub(crate) type Turn = u64;

#[derive(Default)]
pub(crate) struct Changes {
    list: Mutex<List>,
    rang: Condvar,
    /// Wakes those who wait for the next change and must not block.
    pub(crate) told: Notify,
}

#[derive(Default)]
struct List {
    newest: Turn,
    by_turn: BTreeMap<Turn, Number>,
    /// The newest change of each agent, by number; 0 if there is none.
    of: Vec<Turn>,
}

impl Changes {
    /// The agent has new entries.
    pub(crate) fn put(&self, number: Number) {
        let mut list = self.list();
        list.newest += 1;
        let newest = list.newest;
        if list.of.len() <= number {
            list.of.resize(number + 1, 0);
        }
        let before = std::mem::replace(&mut list.of[number], newest);
        list.by_turn.remove(&before);
        list.by_turn.insert(newest, number);
        drop(list);
        self.rang.notify_all();
        self.told.notify_waiters();
    }

    /// The next agent that changed after this one's turn.
    pub(crate) fn next(&self, after: Turn) -> Option<(Turn, Number)> {
        let list = self.list();
        list.by_turn.range(after + 1..).next().map(|(turn, number)| (*turn, *number))
    }

    /// Waits until there is a change after this turn or the bell rings, but not longer than this
    /// time. Returns the turn after which to look.
    pub(crate) fn wait(&self, after: Turn, longest: Duration) -> Turn {
        let waited =
            self.rang.wait_timeout_while(self.list(), longest, |list| list.newest <= after);
        let list = waited.unwrap_or_else(PoisonError::into_inner).0;
        match list.by_turn.range(after + 1..).next() {
            Some(_) => after,
            // Only the bell rang.
            None => list.newest,
        }
    }

    /// Wakes all readers, so that they see that something ends.
    pub(crate) fn ring(&self) {
        self.list().newest += 1;
        self.rang.notify_all();
        self.told.notify_waiters();
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // A panic between two statements would at most tell an agent twice.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_each_changed_agent_once_at_its_newest_change() {
        let changes = Changes::default();
        for number in [3, 1, 3, 3, 0] {
            changes.put(number);
        }
        let mut at = 0;
        let mut seen = Vec::new();
        while let Some((turn, number)) = changes.next(at) {
            at = turn;
            seen.push(number);
        }
        assert_eq!((seen, at), (vec![1, 3, 0], 5));
        changes.put(1);
        assert_eq!(changes.next(at), Some((6, 1)));
        assert_eq!(changes.list().by_turn.len(), 3, "one place for each agent");
    }

    #[test]
    fn a_wait_ends_at_the_next_change() {
        let changes = Changes::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                changes.put(0);
            });
            assert_eq!(changes.wait(0, Duration::from_mins(10)), 0);
        });
        assert_eq!(changes.next(0), Some((1, 0)));
        changes.ring();
        assert_eq!(changes.wait(1, Duration::from_mins(10)), 2, "nothing changed");
        assert_eq!(changes.next(2), None);
    }
}
