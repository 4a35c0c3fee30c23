//! A ledger that begins with a snapshot, so that an agent beside many things is opened quickly.

use std::{cell::RefCell, fs, io, path::Path, rc::Rc};

use wakeful_core::{EntryBytes, Head, Ledger, LedgerError, Seq};

/// A ledger in memory, of which all but the end may be left out. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Kept(Rc<RefCell<Parts>>);

#[derive(Debug, Default)]
struct Parts {
    /// The number of entries that are left out.
    before: u64,
    snapshot: Option<String>,
    lines: Vec<EntryBytes>,
}

impl Kept {
    /// The same ledger with this snapshot, which its newest entry has, and of its entries that one
    /// alone.
    #[must_use]
    pub fn shortened(&self, snapshot: String) -> Self {
        let parts = self.0.borrow();
        let last = parts.lines.last().cloned();
        let before = parts.before + (parts.lines.len() as u64).saturating_sub(1);
        Self::of(Parts { before, snapshot: Some(snapshot), lines: last.into_iter().collect() })
    }

    /// The same ledger, which is not shared with this one.
    #[must_use]
    pub fn copied(&self) -> Self {
        let Parts { before, snapshot, lines } = &*self.0.borrow();
        Self::of(Parts { before: *before, snapshot: snapshot.clone(), lines: lines.clone() })
    }

    fn of(parts: Parts) -> Self {
        Self(Rc::new(RefCell::new(parts)))
    }

    /// Writes it to a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let parts = self.0.borrow();
        let snapshot = parts.snapshot.clone().unwrap_or_default();
        let lines = parts.lines.iter().map(|line| line.as_str().to_owned());
        let all: Vec<_> = [parts.before.to_string(), snapshot].into_iter().chain(lines).collect();
        fs::write(file, all.join("\n"))
    }

    /// Reads it from a file that [`Kept::write`] wrote.
    ///
    /// # Errors
    /// If the file cannot be read, or is of another kind.
    pub fn read(file: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(file)?;
        let mut lines = text.split('\n');
        let before = lines.next().unwrap_or_default().parse().map_err(io::Error::other)?;
        let snapshot = lines.next().filter(|text| !text.is_empty()).map(str::to_owned);
        let lines = lines.map(|line| EntryBytes::from_stored(line.to_owned())).collect();
        Ok(Self::of(Parts { before, snapshot, lines }))
    }
}

impl Ledger for Kept {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        let mut parts = self.0.borrow_mut();
        let found = Seq(parts.before + parts.lines.len() as u64);
        if found != expected.seq {
            return Err(LedgerError::Conflict { found });
        }
        parts.lines.extend_from_slice(batch);
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        let parts = self.0.borrow();
        let skip = usize::try_from(after.0.saturating_sub(parts.before)).unwrap_or(usize::MAX);
        Ok(parts.lines.iter().skip(skip).take(limit as usize).cloned().collect())
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        Ok(self.0.borrow().snapshot.clone())
    }
}
