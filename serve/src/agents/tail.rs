//! The tail: it reads the new entries of all agents, each once and in order, for what counts them.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use wakeful_core::{
    host::{Ledger, LedgerError},
    record::{
        chain::Head,
        entry::{Entry, EntryBytes, EntryError},
    },
};

use super::{Agents, Cell, agenda::Number};

/// The most entries that are read of one agent before others have their turn.
const PAGE: u32 = 256;

/// The longest wait, after which the tail sees that the server ends.
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

/// Reads the next entries of an agent after a head, which moves on with each of them. Returns
/// whether there may be more.
pub(crate) fn read_on(
    agents: &Agents,
    cell: &Cell,
    head: &mut Head,
    mut each: impl FnMut(&Entry, &EntryBytes),
) -> Result<bool, Stop> {
    let page = agents.reading(cell).read(head.seq, PAGE)?;
    for bytes in &page {
        let entry = bytes.open(head)?;
        *head = entry.head();
        each(&entry, bytes);
    }
    Ok(page.len() == PAGE as usize)
}

impl Agents {
    /// Reads what is new until the end. `heads` are those at which the server found its agents:
    /// what comes after them happens while it lives.
    pub(super) fn tail(self: &Arc<Self>, heads: Vec<Head>) {
        let mut heads: HashMap<Number, Option<Head>> =
            heads.into_iter().map(Some).enumerate().collect();
        let mut at = 0;
        while !self.has_ended.load(Ordering::Acquire) {
            let Some((turn, number)) = self.changes.next(at) else {
                at = self.changes.wait(at, LONGEST);
                continue;
            };
            at = turn;
            let Some(cell) = self.numbered(number) else { continue };
            // An agent that came later began while this process lives.
            let kept = heads.entry(number).or_insert(Some(Head::START));
            let Some(head) = kept else { continue };
            let model = cell.brief().model.clone();
            loop {
                let read = read_on(self, &cell, head, |entry, _| {
                    self.metrics.entry(&entry.record, model.as_deref());
                });
                match read {
                    Ok(true) if !self.has_ended.load(Ordering::Acquire) => {}
                    // What the store does not give now is read with the next entry.
                    Ok(_) | Err(Stop::Store(_)) => break,
                    Err(why @ Stop::Broken(_)) => {
                        (self.notice)(&format!(
                            "{}: its entries are not counted: {why}",
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
