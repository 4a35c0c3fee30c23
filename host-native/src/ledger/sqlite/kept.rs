//! Small texts that a host keeps beside the ledgers, such as its tokens and cursors. No ledger and
//! no decision reads them.

use rusqlite::OptionalExtension;

use super::{SqliteError, SqliteFile, schema};

impl SqliteFile {
    /// Keeps a text under a kind and a name, in the place of an earlier one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, kind: &str, name: &str, value: &str) -> Result<(), SqliteError> {
        self.call("keep a text in", |connection| {
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO kept (kind, name, value) VALUES (?1, ?2, ?3)",
                )?
                .execute([kind, name, value])
                .map(drop)
        })
    }

    /// The names and texts of a kind, sorted by name.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn kept(&self, kind: &str) -> Result<Vec<(String, String)>, SqliteError> {
        self.call("read a text in", |connection| {
            // An observer does not migrate, and older files keep nothing.
            if !schema::has_table(connection, "kept")? {
                return Ok(Vec::new());
            }
            let mut statement = connection
                .prepare_cached("SELECT name, value FROM kept WHERE kind = ?1 ORDER BY name")?;
            statement.query_map([kind], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    /// The text of a name; `None` if there is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn kept_one(&self, kind: &str, name: &str) -> Result<Option<String>, SqliteError> {
        self.call("read a text in", |connection| {
            if !schema::has_table(connection, "kept")? {
                return Ok(None);
            }
            connection
                .prepare_cached("SELECT value FROM kept WHERE kind = ?1 AND name = ?2")?
                .query_row([kind, name], |row| row.get(0))
                .optional()
        })
    }

    /// Forgets the text of a name. Returns whether there was one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn forget(&self, kind: &str, name: &str) -> Result<bool, SqliteError> {
        self.call("forget a text in", |connection| {
            connection
                .prepare_cached("DELETE FROM kept WHERE kind = ?1 AND name = ?2")?
                .execute([kind, name])
                .map(|rows| rows > 0)
        })
    }
}
