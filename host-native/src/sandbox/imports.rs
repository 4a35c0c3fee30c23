//! The core's three traits as the guest's three imports.

use wakeful_core::{
    effect::TurnRequest,
    entry::{Chain, EntryBytes, Head},
    host::{Clock, Ledger, LedgerError, Provider, ProviderError},
    id::{MessageId, RunId, Seq},
    json,
    plane::turn::AbortReason,
};
use wasmtime::{StoreLimits, StoreLimitsBuilder};

use super::{
    bindings::wakeful::scheduler::{clock, ledger, provider},
    limits::Limits,
};

/// How often the guest called each of its imports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// `ledger.append`.
    pub append: u64,
    /// `ledger.read`.
    pub read: u64,
    /// `clock.now`.
    pub now: u64,
    /// All functions of `provider`.
    pub provider: u64,
}

/// What one instance can reach.
pub(super) struct Lent<L, C, P> {
    pub(super) ledger: L,
    pub(super) clock: C,
    pub(super) provider: P,
    pub(super) calls: Calls,
    pub(super) limits: StoreLimits,
}

impl<L, C, P> Lent<L, C, P> {
    pub(super) fn new(ledger: L, clock: C, provider: P, limits: &Limits) -> Self {
        let limits = StoreLimitsBuilder::new().memory_size(limits.memory_bytes).trap_on_grow_failure(true).build();
        Self { ledger, clock, provider, calls: Calls::default(), limits }
    }
}

impl<L: Ledger, C, P> ledger::Host for Lent<L, C, P> {
    fn append(&mut self, expected: ledger::Head, batch: Vec<String>) -> Result<(), ledger::LedgerError> {
        self.calls.append += 1;
        let Some(chain) = Chain::parse(&expected.chain) else {
            let message = format!("the guest expects a head with the chain `{}`, which is none", expected.chain);
            return Err(ledger::LedgerError::Failed(message));
        };
        let head = Head { seq: Seq(expected.seq), chain };
        let batch: Vec<EntryBytes> = batch.into_iter().map(EntryBytes::from_stored).collect();
        self.ledger.append(&head, &batch).map_err(ledger_error)
    }

    fn read(&mut self, after: u64, limit: u32) -> Result<Vec<String>, ledger::LedgerError> {
        self.calls.read += 1;
        let page = self.ledger.read(Seq(after), limit).map_err(ledger_error)?;
        Ok(page.iter().map(|entry| entry.as_str().to_owned()).collect())
    }
}

fn ledger_error(why: LedgerError) -> ledger::LedgerError {
    match why {
        LedgerError::Conflict { found } => ledger::LedgerError::Conflict(found.0),
        LedgerError::Failed { message } => ledger::LedgerError::Failed(message),
    }
}

impl<L, C: Clock, P> clock::Host for Lent<L, C, P> {
    fn now(&mut self) -> i64 {
        self.calls.now += 1;
        self.clock.now().as_nanos()
    }
}

impl<L, C, P: Provider> provider::Host for Lent<L, C, P> {
    fn start_turn(&mut self, request: String) -> Result<(), String> {
        self.calls.provider += 1;
        let request: TurnRequest = json::read(&request).map_err(|why| format!("the guest's turn request: {why}"))?;
        done(self.provider.start_turn(&request))
    }

    fn interject(&mut self, run_id: String, message_id: String) -> Result<(), String> {
        self.calls.provider += 1;
        done(self.provider.interject(&RunId::from(run_id), &MessageId::from(message_id)))
    }

    fn yield_turn(&mut self, run_id: String) -> Result<(), String> {
        self.calls.provider += 1;
        done(self.provider.yield_turn(&RunId::from(run_id)))
    }

    fn abort_turn(&mut self, run_id: String, reason: String) -> Result<(), String> {
        self.calls.provider += 1;
        let reason: AbortReason = json::read(&json::write(&reason)).map_err(|why| why.to_string())?;
        done(self.provider.abort_turn(&RunId::from(run_id), reason))
    }

    fn release(&mut self) -> Result<(), String> {
        self.calls.provider += 1;
        done(self.provider.release())
    }
}

fn done(answer: Result<(), ProviderError>) -> Result<(), String> {
    answer.map_err(|why| why.message)
}
