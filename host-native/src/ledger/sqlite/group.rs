//! Appends that share a commit: while one waits for the disk, others that come meanwhile queue up,
//! and then one of them stores all of them in one transaction, with one sync. Whoever is alone
//! waits for nobody.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Connection, TransactionBehavior};
use wakeful_core::{AgentId, Head};

use super::ledger::{Appended, Row, store};

/// Appends that are to be stored.
#[derive(Debug, Default)]
pub(super) struct Group {
    waiting: Mutex<Waiting>,
    /// Somebody has stored some.
    stored: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    appends: Vec<Arc<Append>>,
    /// Whether somebody is storing others.
    is_storing: bool,
}

/// One append, and what became of it.
#[derive(Debug)]
struct Append {
    agent_id: AgentId,
    expected: Head,
    rows: Vec<Row>,
    became: Mutex<Option<rusqlite::Result<Appended>>>,
}

/// What is guarded here is whole between two statements, also where a thread has panicked.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever stores lets the next one store when it is done, also where it panics.
struct Storing<'a>(&'a Group);

impl Drop for Storing<'_> {
    fn drop(&mut self) {
        held(&self.0.waiting).is_storing = false;
        self.0.stored.notify_all();
    }
}

impl Group {
    /// Stores a batch after the entry that is expected, perhaps together with those of others.
    pub(super) fn append(
        &self,
        connection: &Mutex<Connection>,
        agent_id: &AgentId,
        expected: &Head,
        rows: Vec<Row>,
    ) -> rusqlite::Result<Appended> {
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
                waiting = self.stored.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            waiting.is_storing = true;
            let mut group = mem::take(&mut waiting.appends);
            drop(waiting);
            if !group.iter().any(|append| Arc::ptr_eq(append, &own)) {
                // A thread that panicked had taken it along.
                group.push(Arc::clone(&own));
            }
            let storing = Storing(self);
            store_all(&mut held(connection), &group);
            drop(storing);
            waiting = held(&self.waiting);
        }
    }
}

fn store_all(connection: &mut Connection, group: &[Arc<Append>]) {
    match together(connection, group) {
        Ok(stored) => group
            .iter()
            .zip(stored)
            .for_each(|(append, stored)| *held(&append.became) = Some(Ok(stored))),
        Err(why) if group.len() == 1 => *held(&group[0].became) = Some(Err(why)),
        // Nothing of them is stored. What keeps one of them out must not keep out the others, so
        // each is told by itself.
        Err(_) => {
            group.iter().for_each(|append| store_all(connection, std::slice::from_ref(append)))
        }
    }
}

fn together(connection: &mut Connection, group: &[Arc<Append>]) -> rusqlite::Result<Vec<Appended>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let stored = group
        .iter()
        .map(|append| store(&transaction, &append.agent_id, &append.expected, &append.rows))
        .collect::<rusqlite::Result<Vec<_>>>()?;
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
        // As a row that the table refuses.
        let mut broken = Arc::into_inner(broken).expect("it is nobody else's");
        broken.rows.iter_mut().for_each(|row| row.stand_at(1));
        let group = [
            append("a", Head::START, &first),
            Arc::new(broken),
            append("a", head, &second),
            append("late", head, &second),
            append("b", Head::START, &first),
        ];
        store_all(&mut file.connection(), &group);
        let became = |at: usize| held(&group[at].became).take().expect("each is told");
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
                    // Two speak for each agent, so one of the two comes late.
                    let (mut ledger, first) =
                        (file.ledger(&format!("agent-{}", number / 2).as_str().into()), &first);
                    scope.spawn(move || ledger.append(&Head::START, first))
                })
                .collect();
            // One of them is about to store, and waits for the file itself.
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
