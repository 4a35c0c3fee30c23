//! Appends to a file, alone or together with those of other threads: in one transaction, with one
//! fsync.

use rusqlite::{Connection, TransactionBehavior};
use wakeful_core::{AgentId, Head};

use super::{
    SqliteError, SqliteFile,
    ledger::{Appended, store},
};
use crate::ledger::{group, row::Row};

/// The queue of appends.
pub(super) type Group = group::Group<Append, Result<Appended, SqliteError>>;

/// One append.
#[derive(Debug)]
pub(super) struct Append {
    agent_id: AgentId,
    expected: Head,
    rows: Vec<Row>,
}

impl SqliteFile {
    /// Stores a batch after the expected head, possibly together with batches of other threads.
    pub(super) fn append(
        &self,
        agent_id: &AgentId,
        expected: &Head,
        rows: Vec<Row>,
    ) -> Result<Appended, SqliteError> {
        let append = Append { agent_id: agent_id.clone(), expected: *expected, rows };
        let appended = self.group.append(append, |group| {
            self.call("append to", |connection| together(connection, group))
        })?;
        // Again after the sync: work must not be acknowledged into a file that is gone.
        self.check()?;
        Ok(appended)
    }
}

fn together(connection: &mut Connection, group: &[&Append]) -> rusqlite::Result<Vec<Appended>> {
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
    use crate::ledger::{SqliteFile, row::rows};

    fn batch(after: Head, entries: usize) -> (Head, Vec<EntryBytes>) {
        let records = vec![Record::Control(ControlRecord::StartRequested(Marker {})); entries];
        let (entries, batch) = wakeful_core::seal_all(after, Timestamp::from_nanos(0), records);
        (entries.last().map_or(after, Entry::head), batch)
    }

    #[test]
    fn a_group_with_a_row_that_the_table_refuses_stores_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = SqliteFile::open(&folder.path().join("ledger.sqlite")).expect("it opens");
        let (head, first) = batch(Head::START, 2);
        let (_, second) = batch(head, 1);
        let append = |agent: &str, expected: Head, batch: &[EntryBytes]| Append {
            agent_id: agent.into(),
            expected,
            rows: rows(&expected, batch).expect("rows"),
        };
        let well = append("a", Head::START, &first);
        let mut broken = append("broken", Head::START, &first);
        // Its place is taken.
        broken.rows.iter_mut().for_each(|row| row.seq = 1);
        let group = [&well, &broken];
        assert!(file.call("append to", |connection| together(connection, &group)).is_err());
        assert!(file.agents().expect("agents").is_empty());
        let next = append("a", head, &second);
        let late = append("late", head, &second);
        let group = [&well, &next, &late];
        let stored = file.call("append to", |connection| together(connection, &group));
        assert!(matches!(
            stored.expect("it stores").as_slice(),
            [Appended::By(_), Appended::By(_), Appended::Conflict(found)] if *found == Head::START
        ));
        let ends =
            ["a", "broken", "late"].map(|agent| file.ledger(&agent.into()).head().expect("it").seq);
        assert_eq!(ends, [Seq(3), Seq(0), Seq(0)]);
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
            while file.group.waiting() < 15 {
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
        assert_eq!(file.group.waiting(), 0);
        for agent in file.agents().expect("agents") {
            assert_eq!(file.ledger(&agent).read(Seq(0), 10).expect("entries"), first);
        }
    }
}
