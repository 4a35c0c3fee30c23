//! The core's three traits as the guest's three imports.

use wakeful_core::{
    AbortReason, Chain, Clock, Effect, EntryBytes, Head, Ledger, LedgerError, Provider,
    ProviderError, Seq, TaskId, TurnRequest, json,
};
use wasmtime::component::Linker;

use super::{
    bindings::wakeful::scheduler::{clock, ledger, provider},
    limits::Limits,
    meter::{Meter, Metered, refuel},
    world::IMPORTS,
};

/// How often the guest called each of its imports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// `ledger.append`.
    pub append: u64,
    /// `ledger.read`.
    pub read: u64,
    /// `ledger.load-snapshot` and `ledger.store-snapshot`.
    pub snapshot: u64,
    /// `clock.now`.
    pub now: u64,
    /// All functions of `provider`.
    pub provider: u64,
}

/// The most entries per page, whatever the guest asks for: the host must not load a whole ledger
/// for a guest that asks for all of it.
const PAGE: u32 = 1024;

/// What one instance can reach.
pub(super) struct Lent<L, C, P> {
    pub(super) ledger: L,
    pub(super) clock: C,
    pub(super) provider: P,
    pub(super) calls: Calls,
    meter: Meter,
}

impl<L, C, P> Lent<L, C, P> {
    pub(super) fn new(ledger: L, clock: C, provider: P, limits: Limits) -> Self {
        Self { ledger, clock, provider, calls: Calls::default(), meter: Meter::new(limits) }
    }

    /// Ends a page before it is longer than the guest's limit on texts. Its first entry stays.
    fn cut(&self, page: &mut Vec<EntryBytes>) {
        let mut bytes = 0_usize;
        let fits = page.iter().take_while(|entry| {
            bytes = bytes.saturating_add(entry.as_str().len());
            self.meter.payload(bytes).is_ok()
        });
        let fits = fits.count().max(1);
        page.truncate(fits);
    }

    /// Calls the provider, under the limits.
    fn provider<T>(
        &mut self,
        call: impl FnOnce(&mut P) -> Result<T, String>,
    ) -> wasmtime::Result<Result<T, String>> {
        self.meter.host_call()?;
        self.calls.provider += 1;
        let answer = call(&mut self.provider);
        self.meter.host_returned()?;
        Ok(answer)
    }

    /// Passes an effect to the provider.
    fn carry_out(&mut self, effect: &Effect) -> wasmtime::Result<Result<(), String>>
    where
        P: Provider,
    {
        self.provider(|provider| done(provider.carry_out(effect)))
    }
}

/// Links functions of an interface to the methods of the trait that was generated for it.
macro_rules! link {
    ($linked:ident, $host:path { $($name:literal = $method:ident($($arg:ident),*);)* }) => {
        $(
            $linked.func_wrap($name, |mut store, ($($arg,)*)| {
                Ok((<_ as $host>::$method(store.data_mut(), $($arg),*)?,))
            })?;
        )*
    };
}

/// Links everything that a guest may import.
pub(super) fn link<L: Ledger, C: Clock, P: Provider>(
    linker: &mut Linker<Lent<L, C, P>>,
) -> wasmtime::Result<()> {
    let [clock, ledger, provider] = IMPORTS;
    let mut linked = linker.instance(clock)?;
    link!(linked, clock::Host { "now" = now(); });
    let mut linked = linker.instance(ledger)?;
    link!(linked, ledger::Host {
        "append" = append(expected, batch);
        "load-snapshot" = load_snapshot();
        "store-snapshot" = store_snapshot(head, snapshot);
    });
    // A page adds fuel, which belongs to the store and not to the trait.
    linked.func_wrap("read", |mut store, (after, limit)| {
        let answer = ledger::Host::read(store.data_mut(), after, limit)?;
        // An empty page has nothing to fold, so it brings no fuel.
        if answer.as_ref().is_ok_and(|page| !page.is_empty()) {
            refuel(store, after)?;
        }
        Ok((answer,))
    })?;
    let mut linked = linker.instance(provider)?;
    link!(linked, provider::Host {
        "start-turn" = start_turn(request);
        "interject" = interject(run_id, message_id);
        "yield-turn" = yield_turn(run_id);
        "abort-turn" = abort_turn(run_id, reason);
        "alive" = alive(task_ids);
        "release" = release();
    });
    Ok(())
}

impl<L, C, P> Metered for Lent<L, C, P> {
    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

impl<L: Ledger, C, P> ledger::Host for Lent<L, C, P> {
    fn append(
        &mut self,
        expected: ledger::Head,
        batch: Vec<String>,
    ) -> wasmtime::Result<Result<(), ledger::LedgerError>> {
        self.meter.host_call()?;
        self.meter.append(batch.iter().map(String::len).sum())?;
        self.calls.append += 1;
        let head = match head_of(&expected) {
            Ok(head) => head,
            Err(why) => return Ok(Err(why)),
        };
        let batch: Vec<EntryBytes> = batch.into_iter().map(EntryBytes::from_stored).collect();
        let answer = self.ledger.append(&head, &batch).map_err(ledger_error);
        self.meter.host_returned()?;
        Ok(answer)
    }

    fn read(
        &mut self,
        after: u64,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<String>, ledger::LedgerError>> {
        self.meter.page(after)?;
        self.calls.read += 1;
        let mut page = match self.ledger.read(Seq(after), limit.min(PAGE)) {
            Ok(page) => page,
            Err(why) => return Ok(Err(ledger_error(why))),
        };
        self.cut(&mut page);
        // A read beyond the end returns no new page, so it counts as a host call.
        if page.is_empty() {
            self.meter.host_call()?;
        }
        self.meter.payload(page.iter().map(|entry| entry.as_str().len()).sum())?;
        self.meter.host_returned()?;
        Ok(Ok(page.iter().map(|entry| entry.as_str().to_owned()).collect()))
    }

    fn load_snapshot(&mut self) -> wasmtime::Result<Result<Option<String>, ledger::LedgerError>> {
        self.meter.host_call()?;
        self.calls.snapshot += 1;
        let stored = self.ledger.load_snapshot().map_err(ledger_error);
        self.meter.host_returned()?;
        // If the snapshot is too long to cross, the guest reads its ledger instead, which crosses
        // in pages. The agent must not fail for it.
        Ok(stored.map(|stored| stored.filter(|text| self.meter.payload(text.len()).is_ok())))
    }

    fn store_snapshot(
        &mut self,
        head: ledger::Head,
        snapshot: String,
    ) -> wasmtime::Result<Result<(), ledger::LedgerError>> {
        self.meter.host_call()?;
        // A snapshot only saves time, so one that is too long does not end the instance.
        if let Err(breach) = self.meter.payload(snapshot.len()) {
            return Ok(Err(ledger::LedgerError::Failed(format!(
                "the snapshot would reach {breach}"
            ))));
        }
        self.calls.snapshot += 1;
        let answer = head_of(&head).and_then(|head| {
            self.ledger.store_snapshot(&head, &|| snapshot.clone()).map_err(ledger_error)
        });
        self.meter.host_returned()?;
        Ok(answer)
    }
}

fn head_of(head: &ledger::Head) -> Result<Head, ledger::LedgerError> {
    let chain = Chain::parse(&head.chain).ok_or_else(|| {
        ledger::LedgerError::Failed(format!(
            "the guest names a head whose chain `{}` is malformed",
            head.chain
        ))
    })?;
    Ok(Head { seq: Seq(head.seq), chain })
}

fn ledger_error(why: LedgerError) -> ledger::LedgerError {
    match why {
        LedgerError::Conflict { found } => ledger::LedgerError::Conflict(found.0),
        LedgerError::Failed { message } => ledger::LedgerError::Failed(message),
    }
}

impl<L, C: Clock, P> clock::Host for Lent<L, C, P> {
    fn now(&mut self) -> wasmtime::Result<i64> {
        self.meter.host_call()?;
        self.calls.now += 1;
        let now = self.clock.now().as_nanos();
        self.meter.host_returned()?;
        Ok(now)
    }
}

impl<L, C, P: Provider> provider::Host for Lent<L, C, P> {
    fn start_turn(&mut self, request: String) -> wasmtime::Result<Result<(), String>> {
        self.meter.payload(request.len())?;
        self.provider(|provider| {
            let request: TurnRequest =
                json::read(&request).map_err(|why| format!("the guest's turn request: {why}"))?;
            done(provider.carry_out(&Effect::StartTurn(request)))
        })
    }

    fn interject(
        &mut self,
        run_id: String,
        message_id: String,
    ) -> wasmtime::Result<Result<(), String>> {
        self.carry_out(&Effect::Interject { run_id: run_id.into(), message_id: message_id.into() })
    }

    fn yield_turn(&mut self, run_id: String) -> wasmtime::Result<Result<(), String>> {
        self.carry_out(&Effect::YieldTurn { run_id: run_id.into() })
    }

    fn abort_turn(
        &mut self,
        run_id: String,
        reason: String,
    ) -> wasmtime::Result<Result<(), String>> {
        self.provider(|provider| {
            let reason: AbortReason =
                // The name crosses as plain text, and the core reads names from JSON.
                json::read(&json::write(&reason)).map_err(|why| why.to_string())?;
            done(provider.carry_out(&Effect::AbortTurn { run_id: run_id.into(), reason }))
        })
    }

    fn alive(&mut self, task_ids: Vec<String>) -> wasmtime::Result<Result<Vec<String>, String>> {
        self.meter.payload(task_ids.iter().map(String::len).sum())?;
        let active = task_ids.into_iter().map(TaskId::from).collect();
        let alive = self.provider(|provider| provider.alive(active).map_err(|why| why.message))?;
        Ok(alive.map(|alive| alive.iter().map(ToString::to_string).collect()))
    }

    fn release(&mut self) -> wasmtime::Result<Result<(), String>> {
        self.carry_out(&Effect::Release)
    }
}

fn done(answer: Result<(), ProviderError>) -> Result<(), String> {
    answer.map_err(|why| why.message)
}
