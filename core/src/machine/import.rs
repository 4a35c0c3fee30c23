//! An import: the records that are made from another runtime's folder. The module `foreign` reads
//! the folder.

use alloc::vec::Vec;

use crate::{
    id::AgentId,
    record::{Record, control::TornLine},
};

/// The records of a folder, ready for a fresh ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    pub(crate) agent_id: AgentId,
    pub(crate) records: Vec<Record>,
    pub(crate) torn: Vec<TornLine>,
}

impl Import {
    /// The agent to which the folder belongs.
    #[must_use]
    pub fn agent_id(&self) -> &AgentId {
        &self.agent_id
    }

    /// The lines that were dropped: unterminated last lines of files that are not JSON (contract
    /// 3.5). The ledger notes them.
    #[must_use]
    pub fn torn(&self) -> &[TornLine] {
        &self.torn
    }

    /// The class of each line that is carried because the scheduler has no rules for it.
    pub fn carried(&self) -> impl Iterator<Item = &str> {
        self.records.iter().filter_map(|record| match record {
            Record::Carried(carried) => Some(carried.of_class.as_str()),
            _ => None,
        })
    }

    pub(crate) fn into_records(self) -> Vec<Record> {
        self.records
    }
}
