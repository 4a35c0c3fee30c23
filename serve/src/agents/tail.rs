//! The tail: it reads the new entries of all agents, each once and in order, for those who count or
//! trace them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

use wakeful_core::{
    host::{Ledger, LedgerError},
    id::Seq,
    record::{
        chain::Head,
        entry::{Entry, EntryBytes, EntryError},
    },
};
use wakeful_host::{
    driver::{self, DriveError},
    ledger::StoreLedger,
};

use super::{Agents, Cell, agenda::Number};
use crate::metrics::may_count;

/// The most entries that are read of one agent before others have their turn.
const PAGE: u32 = 256;

/// The time in which changes gather before they are read: each wake costs more than an entry.
const TOGETHER: Duration = Duration::from_millis(20);

/// The longest wait, after which a reader sees that it ends.
const LONGEST: Duration = Duration::from_secs(1);

/// Why a ledger cannot be read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// The store does not answer now.
    #[error(transparent)]
    Store(#[from] LedgerError),
    /// What it holds is not the next entry.
    #[error(transparent)]
    Broken(#[from] EntryError),
}

/// Reads the next entries of an agent after a head, which moves on with each of them. Those whose
/// text is not wanted are passed over, and neither parsed nor verified. Returns whether there may be
/// more.
pub(crate) fn read_on(
    agents: &Agents,
    cell: &Cell,
    head: &mut Head,
    wants: impl Fn(&str) -> bool,
    mut each: impl FnMut(&Entry, &EntryBytes),
) -> Result<bool, Stop> {
    let page = page_after(agents, cell, head.seq, PAGE)?;
    for bytes in &page {
        if !wants(bytes.as_str()) {
            let seq = head.seq.next();
            let chain = bytes.chain().ok_or(EntryError::BrokenChain { seq })?;
            *head = Head { seq, chain };
            continue;
        }
        let entry = bytes.open(head)?;
        *head = entry.head();
        each(&entry, bytes);
    }
    // A page of long entries ends before it is full.
    Ok(page.len() == PAGE as usize || !page.is_empty() && head.seq < cell.head())
}

/// The entries after one: from memory if they are there, otherwise up to `limit` of the store.
pub(crate) fn page_after(
    agents: &Agents,
    cell: &Cell,
    after: Seq,
    limit: u32,
) -> Result<VecDeque<Arc<EntryBytes>>, LedgerError> {
    match cell.recent.after(after) {
        Some(recent) => Ok(recent),
        None => {
            let page = agents.reading(cell).read(after, limit)?;
            Ok(page.into_iter().map(Arc::new).collect())
        }
    }
}

/// The head of a ledger at one of its entries.
pub(crate) fn head_at(ledger: &mut StoreLedger, seq: Seq) -> Result<Head, Stop> {
    driver::head_at(ledger, seq).map_err(|why| match why {
        DriveError::Ledger(why) => Stop::Store(why),
        _ => Stop::Broken(EntryError::BrokenChain { seq }),
    })
}

/// Wants every entry.
pub(crate) fn all(_text: &str) -> bool {
    true
}

impl Agents {
    /// Counts what is new until the end.
    pub(super) fn tail(&self, heads: Vec<Head>) {
        let has_ended = |_| self.has_ended.load(Ordering::Acquire);
        self.follow(heads, "counted", has_ended, may_count, |cell, entry| {
            // Of a shared store, its server counts it.
            if self.has(cell) {
                self.metrics.entry(&entry.record, cell.brief().model.as_deref());
            }
        });
    }

    /// Reads the new entries of all agents, each once and in the order of its agent. `heads` are
    /// those at which the server found its agents: what comes after them happens while it lives.
    /// `ends` is asked whether that was enough, and told whether everything was read. `done` says
    /// what is no longer done with the entries of a broken ledger.
    pub(crate) fn follow(
        &self,
        heads: Vec<Head>,
        done: &str,
        ends: impl Fn(bool) -> bool,
        wants: impl Fn(&str) -> bool,
        mut each: impl FnMut(&Cell, &Entry),
    ) {
        let mut heads: HashMap<Number, Option<Head>> =
            heads.into_iter().map(Some).enumerate().collect();
        let mut at = 0;
        while !ends(false) {
            let Some((turn, number)) = self.changes.next(at) else {
                if ends(true) {
                    return;
                }
                at = self.changes.wait(at, LONGEST);
                if !ends(false) {
                    thread::sleep(TOGETHER);
                }
                continue;
            };
            at = turn;
            let Some(cell) = self.numbered(number) else { continue };
            // One that came later is followed from where it was then.
            let kept = heads.entry(number).or_insert(Some(cell.began));
            let Some(head) = kept else { continue };
            loop {
                match read_on(self, &cell, head, &wants, |entry, _| each(&cell, entry)) {
                    Ok(true) if !ends(false) => {}
                    // What the store does not give now is read with the next entry.
                    Ok(_) | Err(Stop::Store(_)) => break,
                    Err(why @ Stop::Broken(_)) => {
                        self.tell(&format!(
                            "{}: its entries are no longer {done}: {why}",
                            cell.agent
                        ));
                        *kept = None;
                        break;
                    }
                }
            }
        }
    }
}
