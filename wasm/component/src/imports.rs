//! The host's three interfaces as the core's three traits.

use wakeful_core::{
    host::{Clock, Ledger, LedgerError, Provider, ProviderError},
    id::{MessageId, RunId, Seq, TaskId},
    json,
    record::{chain::Head, effect::TurnRequest, entry::EntryBytes, turn::AbortReason},
    time::Timestamp,
};

use crate::bindings::wakeful::scheduler::{clock, ledger, provider};

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

    fn store_snapshot(&mut self, head: &Head, write: &dyn Fn() -> String) -> Result<(), LedgerError> {
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
    fn start_turn(&mut self, request: &TurnRequest) -> Result<(), ProviderError> {
        done(provider::start_turn(&json::write(request)))
    }

    fn interject(&mut self, run: &RunId, message: &MessageId) -> Result<(), ProviderError> {
        done(provider::interject(run.as_str(), message.as_str()))
    }

    fn yield_turn(&mut self, run: &RunId) -> Result<(), ProviderError> {
        done(provider::yield_turn(run.as_str()))
    }

    fn abort_turn(&mut self, run: &RunId, reason: AbortReason) -> Result<(), ProviderError> {
        done(provider::abort_turn(run.as_str(), &reason.to_string()))
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        let active: Vec<String> = active.iter().map(ToString::to_string).collect();
        let alive = provider::alive(&active).map_err(failed)?;
        Ok(alive.into_iter().map(TaskId::from).collect())
    }

    fn release(&mut self) -> Result<(), ProviderError> {
        done(provider::release())
    }
}

fn done(answer: Result<(), String>) -> Result<(), ProviderError> {
    answer.map_err(failed)
}

fn failed(message: String) -> ProviderError {
    ProviderError { message }
}
