//! The host's three interfaces as the core's three traits.

use wakeful_core::{
    Clock, Effect, EntryBytes, Head, Ledger, LedgerError, Provider, ProviderError, Seq, TaskId,
    Timestamp, json,
};

use crate::bindings::wakeful::scheduler::{clock, ledger, provider};

/// The longest state of which the guest makes a snapshot. The state, its text, and the copies that
/// are made of it while it grows and crosses must fit into the guest's memory.
const SNAPSHOT_BYTES: usize = 32 << 20;

/// The ledger that the host imports.
pub(crate) struct HostLedger;

impl Ledger for HostLedger {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        let lines: Vec<String> = batch.iter().map(|entry| entry.as_str().to_owned()).collect();
        ledger::append(&head_of(expected), &lines).map_err(ledger_error)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        let lines = ledger::read(after.0, limit).map_err(ledger_error)?;
        Ok(lines.into_iter().map(EntryBytes::from_stored).collect())
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        ledger::load_snapshot().map_err(ledger_error)
    }

    fn snapshot_bytes(&self) -> usize {
        SNAPSHOT_BYTES
    }

    fn store_snapshot(
        &mut self,
        head: &Head,
        write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        ledger::store_snapshot(&head_of(head), &write()).map_err(ledger_error)
    }
}

fn head_of(head: &Head) -> ledger::Head {
    ledger::Head { seq: head.seq.0, chain: head.chain.to_string() }
}

fn ledger_error(why: ledger::LedgerError) -> LedgerError {
    match why {
        ledger::LedgerError::Conflict(found) => LedgerError::Conflict { found: Seq(found) },
        ledger::LedgerError::Failed(message) => LedgerError::Failed { message },
    }
}

/// The clock that the host imports.
pub(crate) struct HostClock;

impl Clock for HostClock {
    fn now(&mut self) -> Timestamp {
        Timestamp::from_nanos(clock::now())
    }
}

/// The provider that the host imports.
pub(crate) struct HostProvider;

impl Provider for HostProvider {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        // The released world has a function per effect, while the core has one method for all
        // (decision 001).
        let done = match effect {
            Effect::StartTurn(request) => provider::start_turn(&json::write(request)),
            Effect::Interject { run_id, message_id } => {
                provider::interject(run_id.as_str(), message_id.as_str())
            }
            Effect::YieldTurn { run_id } => provider::yield_turn(run_id.as_str()),
            Effect::AbortTurn { run_id, reason } => {
                provider::abort_turn(run_id.as_str(), &reason.to_string())
            }
            Effect::Release => provider::release(),
        };
        done.map_err(failed)
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        let active: Vec<String> = active.iter().map(ToString::to_string).collect();
        let alive = provider::alive(&active).map_err(failed)?;
        Ok(alive.into_iter().map(TaskId::from).collect())
    }
}

fn failed(message: String) -> ProviderError {
    ProviderError { message }
}
