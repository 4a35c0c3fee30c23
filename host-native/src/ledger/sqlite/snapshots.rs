//! Snapshots beside the entries: the newest two of each agent (contract 3.5).

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

/// Snapshots stored per agent: the newest, and the one before it for the analysis of a damaged
/// file.
const KEPT: u32 = 2;

/// The newest snapshot, even one beyond the head: the core detects that case (contract 3.4).
pub(super) fn newest(connection: &Connection, agent: i64) -> rusqlite::Result<Option<String>> {
    let mut statement = connection
        .prepare_cached("SELECT text FROM snapshots WHERE agent = ?1 ORDER BY seq DESC LIMIT 1")?;
    statement.query_row([agent], |row| row.get(0)).optional()
}

/// Stores a snapshot made at `seq`. Removes snapshots beyond the newest entry, and all but the
/// newest [`KEPT`].
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
