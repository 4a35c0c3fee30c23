//! A ledger in memory, for tests, replays and cross-checks.

use std::{cell::RefCell, mem, rc::Rc};

use wakeful_core::{EntryBytes, Head, Ledger, LedgerError, Seq};

use super::PAGE_BYTES;

/// A ledger in memory. Clones share the entries.
#[derive(Clone, Debug, Default)]
pub struct MemoryLedger {
    lines: Rc<RefCell<Lines>>,
}

/// All stored lines in one text. Separate strings would be scattered among short-lived allocations.
#[derive(Debug, Default)]
struct Lines {
    text: String,
    /// The end of each line, in bytes.
    ends: Vec<usize>,
    /// The head after the last line.
    head: Head,
}

impl Lines {
    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.ends.push(self.text.len());
    }

    /// The lines from position `from` on, counted from 0.
    fn from(&self, from: usize) -> impl Iterator<Item = &str> {
        let begin =
            from.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end);
        let ends = self.ends.get(from..).unwrap_or_default();
        ends.iter().scan(begin, |begin, end| Some(&self.text[mem::replace(begin, *end)..*end]))
    }
}

impl MemoryLedger {
    /// The stored lines from position `from` on, counted from 0.
    #[must_use]
    pub fn lines_from(&self, from: usize) -> Vec<String> {
        self.lines.borrow().from(from).map(str::to_owned).collect()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.borrow().ends.len()
    }

    /// Whether the ledger has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Ledger for MemoryLedger {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        let mut lines = self.lines.borrow_mut();
        // The whole head and not only its position: another history may have the same length.
        if lines.head != *expected {
            return Err(LedgerError::Conflict { found: lines.head.seq });
        }
        let Some(last) = batch.last() else { return Ok(()) };
        let chain = last.chain().ok_or_else(|| LedgerError::Failed {
            message: "the batch does not end with a chain".to_owned(),
        })?;
        batch.iter().for_each(|entry| lines.push(entry.as_str()));
        lines.head = Head { seq: expected.seq.plus(batch.len()), chain };
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        let skip = usize::try_from(after.0).unwrap_or(usize::MAX);
        let lines = self.lines.borrow();
        let mut bytes = 0_usize;
        let in_page = |(at, line): &(usize, &str)| {
            bytes = bytes.saturating_add(line.len());
            *at == 0 || bytes <= PAGE_BYTES
        };
        let page = lines.from(skip).take(limit as usize).enumerate().take_while(in_page);
        Ok(page.map(|(_, line)| EntryBytes::from_stored(line.to_owned())).collect())
    }
}
