//! Small texts that a host keeps beside the ledgers, such as its tokens and cursors. No ledger and
//! no decision reads them.

use super::{PostgresError, PostgresStore};

impl PostgresStore {
    /// Keeps a text under a kind and a name, in the place of an earlier one.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn keep(&self, kind: &str, name: &str, value: &str) -> Result<(), PostgresError> {
        let kept = self.call("keep a text", async |connection| {
            connection
                .execute(
                    "INSERT INTO kept (kind, name, value) VALUES ($1, $2, $3)
                     ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value",
                    &[&kind, &name, &value],
                )
                .await
        });
        kept.map(drop)
    }

    /// The names and texts of a kind, sorted by name.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn kept(&self, kind: &str) -> Result<Vec<(String, String)>, PostgresError> {
        let rows = self.call("read a text", async |connection| {
            connection
                .rows("SELECT name, value FROM kept WHERE kind = $1 ORDER BY name", &[&kind])
                .await
        })?;
        rows.iter().map(|row| Ok((self.column(row, 0)?, self.column(row, 1)?))).collect()
    }

    /// The text of a name; `None` if there is none.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn kept_one(&self, kind: &str, name: &str) -> Result<Option<String>, PostgresError> {
        let row = self.call("read a text", async |connection| {
            connection
                .row("SELECT value FROM kept WHERE kind = $1 AND name = $2", &[&kind, &name])
                .await
        })?;
        row.map(|row| self.column(&row, 0)).transpose()
    }

    /// The texts of those of these names that have one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn kept_among(
        &self,
        kind: &str,
        names: &[&str],
    ) -> Result<Vec<(String, String)>, PostgresError> {
        let rows = self.call("read texts", async |connection| {
            connection
                .rows(
                    "SELECT name, value FROM kept WHERE kind = $1 AND name = ANY ($2)",
                    &[&kind, &names],
                )
                .await
        })?;
        rows.iter().map(|row| Ok((self.column(row, 0)?, self.column(row, 1)?))).collect()
    }

    /// Forgets the text of a name. Returns whether there was one; an attempt whose answer was lost
    /// may have forgotten it already.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn forget(&self, kind: &str, name: &str) -> Result<bool, PostgresError> {
        let forgotten = self.call("forget a text", async |connection| {
            connection
                .execute("DELETE FROM kept WHERE kind = $1 AND name = $2", &[&kind, &name])
                .await
        });
        forgotten.map(|rows| rows > 0)
    }
}
