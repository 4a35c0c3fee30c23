//! Snapshots beside the entries: the newest two of each agent (contract 3.5).

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

/// How many snapshots of an agent are kept: the newest, and the one before it for whoever looks
/// into a file that was damaged.
const KEPT: u32 = 2;

/// The newest snapshot, wherever it stands: that one stands beyond the head is for the core to see
/// (contract 3.4).
pub(super) fn newest(connection: &Connection, agent: i64) -> rusqlite::Result<Option<String>> {
    let mut statement = connection
        .prepare_cached("SELECT text FROM snapshots WHERE agent = ?1 ORDER BY seq DESC LIMIT 1")?;
    statement.query_row([agent], |row| row.get(0)).optional()
}

/// Keeps a snapshot made at `seq`. What says to stand beyond the newest entry goes, as do all but
/// the newest.
pub(super) fn store(
    connection: &mut Connection,
    agent: i64,
    seq: i64,
    text: &str,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction
        .prepare_cached(
            "DELETE FROM snapshots WHERE agent = ?1 AND seq > (SELECT max(seq) FROM entries WHERE \
             agent = ?1)",
        )?
        .execute([agent])?;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO snapshots (agent, seq, text) VALUES (?1, ?2, ?3)")?
        .execute(params![agent, seq, text])?;
    transaction
        .prepare_cached(
            "DELETE FROM snapshots WHERE agent = ?1
             AND seq NOT IN (SELECT seq FROM snapshots WHERE agent = ?1 ORDER BY seq DESC LIMIT ?2)",
        )?
        .execute(params![agent, KEPT])?;
    transaction.commit()
}
