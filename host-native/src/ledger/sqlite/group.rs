//! Group commit: appends that arrive while another one waits for the disk queue up. One of them
//! then stores all of them in one transaction, with one fsync. A lone append waits for no other.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Connection, TransactionBehavior};
use wakeful_core::{AgentId, Head};

use super::{
    SqliteError, SqliteFile,
    ledger::{Appended, Row, store},
};
use crate::waiting;

/// The queue of appends.
#[derive(Debug, Default)]
pub(super) struct Group {
    waiting: Mutex<Waiting>,
    /// Signals that a group was stored.
    stored: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    appends: Vec<Arc<Append>>,
    /// Whether a thread is storing a group now.
    is_storing: bool,
}

/// One append and its result.
#[derive(Debug)]
struct Append {
    agent_id: AgentId,
    expected: Head,
    rows: Vec<Row>,
    became: Mutex<Option<Result<Appended, SqliteError>>>,
}

/// The guarded data is consistent between any two statements, so a panic elsewhere does not matter.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the next thread store once this one is done, even if it panics.
struct Storing<'a>(&'a Group);

impl Drop for Storing<'_> {
    fn drop(&mut self) {
        held(&self.0.waiting).is_storing = false;
        self.0.stored.notify_all();
    }
}

impl Group {
    /// Stores a batch after the expected head, possibly together with batches of other threads.
    pub(super) fn append(
        &self,
        file: &SqliteFile,
        agent_id: &AgentId,
        expected: &Head,
        rows: Vec<Row>,
    ) -> Result<Appended, SqliteError> {
        let own = Arc::new(Append {
            agent_id: agent_id.clone(),
            expected: *expected,
            rows,
            became: Mutex::new(None),
        });
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
            // Appends that arrive during the fsync must be able to queue, so this lock is not held
            // meanwhile.
            drop(waiting);
            if !group.iter().any(|append| Arc::ptr_eq(append, &own)) {
                // A thread that took this append along has panicked and left it without a result.
                group.push(Arc::clone(&own));
            }
            let storing = Storing(self);
            store_all(file, &group);
            drop(storing);
            waiting = held(&self.waiting);
        }
    }
}

fn store_all(file: &SqliteFile, group: &[Arc<Append>]) {
    match file.call("append to", |connection| together(connection, group)) {
        Ok(stored) => group
            .iter()
            .zip(stored)
            .for_each(|(append, stored)| *held(&append.became) = Some(Ok(stored))),
        Err(why) if group.len() == 1 => *held(&group[0].became) = Some(Err(why)),
        // The transaction stored nothing. One bad append must not fail the others, so each is
        // stored alone and gets its own result.
        Err(_) => group.iter().for_each(|append| store_all(file, std::slice::from_ref(append))),
    }
}

fn together(connection: &mut Connection, group: &[Arc<Append>]) -> rusqlite::Result<Vec<Appended>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let stored = group
        .iter()
        .map(|append| store(&transaction, &append.agent_id, &append.expected, &append.rows))
        .collect::<rusqlite::Result<Vec<_>>>()?;
    // If all of them met a conflict, there is nothing to sync.
    if stored.iter().any(|stored| matches!(stored, Appended::By(_))) {
        transaction.commit()?;
    }
    Ok(stored)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use wakeful_core::{
        ControlRecord, Entry, EntryBytes, Ledger, LedgerError, Marker, Record, Seq, Timestamp,
    };

    use super::*;
    use crate::ledger::{SqliteFile, sqlite::ledger::rows};

    fn batch(after: Head, entries: usize) -> (Head, Vec<EntryBytes>) {
        let records = vec![Record::Control(ControlRecord::StartRequested(Marker {})); entries];
        let (entries, batch) = wakeful_core::seal_all(after, Timestamp::from_nanos(0), records);
        (entries.last().map_or(after, Entry::head), batch)
    }

    fn append(agent: &str, expected: Head, batch: &[EntryBytes]) -> Arc<Append> {
        let rows = rows(&expected, batch).expect("rows");
        Arc::new(Append { agent_id: agent.into(), expected, rows, became: Mutex::new(None) })
    }

    #[test]
    fn what_keeps_one_append_out_keeps_out_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = SqliteFile::open(&folder.path().join("ledger.sqlite")).expect("it opens");
        let (head, first) = batch(Head::START, 2);
        let (_, second) = batch(head, 1);
        let twice: Vec<EntryBytes> = first.iter().chain(&first).cloned().collect();
        let broken = append("broken", Head::START, &twice);
        // A row that the table refuses, because its place is taken.
        let mut broken = Arc::into_inner(broken).expect("the only reference");
        broken.rows.iter_mut().for_each(|row| row.stand_at(1));
        let group = [
            append("a", Head::START, &first),
            Arc::new(broken),
            append("a", head, &second),
            append("late", head, &second),
            append("b", Head::START, &first),
        ];
        store_all(&file, &group);
        let became = |at: usize| held(&group[at].became).take().expect("a result for each");
        assert!(matches!(
            (became(0), became(2), became(4)),
            (Ok(Appended::By(_)), Ok(Appended::By(_)), Ok(Appended::By(_)))
        ));
        assert!(
            became(1).is_err()
                && matches!(became(3), Ok(Appended::Conflict(found)) if found == Head::START)
        );
        let ends = ["a", "b", "broken", "late"]
            .map(|agent| file.ledger(&agent.into()).head().expect("a head").seq);
        assert_eq!(ends, [Seq(3), Seq(2), Seq(0), Seq(0)]);
    }

    #[test]
    fn those_that_come_while_one_has_the_file_are_all_stored_and_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = SqliteFile::open(&folder.path().join("ledger.sqlite")).expect("it opens");
        let (head, first) = batch(Head::START, 3);
        let connection = file.connection();
        thread::scope(|scope| {
            let said: Vec<_> = (0..16)
                .map(|number| {
                    // Two threads write to each agent, so the second one of each pair gets a
                    // conflict.
                    let (mut ledger, first) =
                        (file.ledger(&format!("agent-{}", number / 2).as_str().into()), &first);
                    scope.spawn(move || ledger.append(&Head::START, first))
                })
                .collect();
            // One of them has taken the first group and waits for the file, so 15 are left.
            while held(&file.group.waiting).appends.len() < 15 {
                thread::yield_now();
            }
            drop(connection);
            let said: Vec<_> =
                said.into_iter().map(|thread| thread.join().expect("it ends")).collect();
            for pair in said.chunks(2) {
                let conflict = Err(LedgerError::Conflict { found: head.seq });
                assert!(pair.contains(&Ok(())) && pair.contains(&conflict), "{pair:?}");
            }
        });
        assert!(held(&file.group.waiting).appends.is_empty());
        for agent in file.agents().expect("agents") {
            assert_eq!(file.ledger(&agent).read(Seq(0), 10).expect("entries"), first);
        }
    }
}
