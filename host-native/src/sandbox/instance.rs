//! One instance of the guest: the scheduler of one agent behind the engine trait.

use wakeful_core::{
    Boundary, Clock, DecisionKind, ErrorReport, Ledger, Options, Provider, Seq, Timestamp, json,
};
use wasmtime::{Store, component::Linker};

use super::{
    bindings::{Scheduler, SchedulerPre, exports::wakeful::scheduler::agent},
    guest::{Guest, GuestError},
    imports::{Calls, Lent, link},
    limits::Limits,
    meter::{Metered, begin, limit, used},
    world::EXPORT,
};
use crate::engine::{Engine, EngineError, Mode};

/// A guest linked to one kind of host. All work that instances have in common is done, so an
/// instance starts in microseconds.
pub struct Plugin<L: 'static, C: 'static, P: 'static> {
    guest: Guest,
    linked: SchedulerPre<Lent<L, C, P>>,
}

impl<L: Ledger, C: Clock, P: Provider> Plugin<L, C, P> {
    /// Links a guest to hosts with these types of ledger, clock and provider.
    ///
    /// # Errors
    /// If the guest does not export what a scheduler must.
    pub fn new(guest: &Guest) -> Result<Self, GuestError> {
        let mut linker = Linker::new(guest.engine());
        link(&mut linker).map_err(GuestError::from_setup)?;
        let linked = linker
            .instantiate_pre(guest.component())
            .and_then(SchedulerPre::new)
            .map_err(|why| GuestError::WrongWorld { world: EXPORT, why: format!("{why:#}") })?;
        Ok(Self { guest: guest.clone(), linked })
    }

    /// Starts an instance over what the host provides.
    ///
    /// # Errors
    /// If the pool is full, or the instance needs more than its limits to start.
    pub fn instance(
        &self,
        ledger: L,
        clock: C,
        provider: P,
        limits: Limits,
    ) -> Result<Sandbox<L, C, P>, GuestError> {
        let mut store = Store::new(self.guest.engine(), Lent::new(ledger, clock, provider, limits));
        limit(&mut store);
        // Code that runs at instantiation is under the limits too.
        begin(&mut store)?;
        let world = self
            .linked
            .instantiate(&mut store)
            .map_err(|why| GuestError::from_start(&why, &self.guest, limits))?;
        Ok(Sandbox {
            running: Some(Running { store, world }),
            guest: self.guest.clone(),
            limits,
            calls: Calls::default(),
            fuel: 0,
            spent: 0,
        })
    }
}

/// The scheduler of one agent in the sandbox.
pub struct Sandbox<L: 'static, C: 'static, P: 'static> {
    /// `None` after the instance broke down: its memory and its place in the pool are free again.
    running: Option<Running<L, C, P>>,
    guest: Guest,
    limits: Limits,
    /// The calls of the guest's imports so far.
    calls: Calls,
    /// The fuel of the newest call.
    fuel: u64,
    /// The fuel of all calls so far.
    spent: u64,
}

/// An instance that can be entered.
struct Running<L: 'static, C: 'static, P: 'static> {
    store: Store<Lent<L, C, P>>,
    world: Scheduler,
}

impl<L: Ledger, C: Clock, P: Provider> Sandbox<L, C, P> {
    /// Starts one instance of a guest. Use [`Plugin`] for many.
    ///
    /// # Errors
    /// As [`Plugin::new`] and [`Plugin::instance`].
    pub fn new(
        guest: &Guest,
        ledger: L,
        clock: C,
        provider: P,
        limits: Limits,
    ) -> Result<Self, GuestError> {
        Plugin::new(guest)?.instance(ledger, clock, provider, limits)
    }

    /// How often the guest called each of its imports.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// The fuel that the newest call used; the same on every run.
    #[must_use]
    pub fn fuel(&self) -> u64 {
        self.fuel
    }

    /// Calls the guest under fresh limits. `text` is what crosses, for the limit on its length.
    fn call<T: Crossing>(
        &mut self,
        text: &str,
        call: impl FnOnce(&agent::Guest, &mut Store<Lent<L, C, P>>) -> Answer<T>,
    ) -> Result<T, EngineError> {
        let Some(Running { store, world }) = &mut self.running else {
            return Err(GuestError::Gone.into());
        };
        // Check before the guest is entered, so that a refusal leaves the instance unchanged.
        store.data_mut().meter().payload(text.len()).map_err(GuestError::TooLong)?;
        begin(store)?;
        let answer = call(world.wakeful_scheduler_agent(), store)
            .map(|answer| answer.map_err(ErrorReport::from));
        // Also after a failure: the next call refills the fuel, and this number would be lost.
        self.fuel = used(store);
        self.spent = self.spent.saturating_add(self.fuel);
        self.calls = store.data().calls;
        let met = answer
            .map_err(|why| GuestError::from_call(&why, &self.guest, self.limits))
            .and_then(|answer| {
                let bytes = answer.as_ref().map_or_else(|why| why.message.len(), Crossing::bytes);
                let fits = store.data_mut().meter().payload(bytes);
                fits.map(|()| answer).map_err(GuestError::Breach)
            });
        // After a trap or a breach the guest's memory may be inconsistent, so nothing enters it
        // again. Its memory is given back now: a host may keep broken instances for a while.
        if met.is_err() {
            self.running = None;
        }
        met?.map_err(EngineError::Refused)
    }
}

/// What a call of the guest answers: a trap, or the answer of the scheduler.
type Answer<T> = wasmtime::Result<Result<T, agent::Error>>;

/// An answer that crosses from the guest.
trait Crossing {
    /// Its length in bytes, for the limit on texts; 0 if it is not a text.
    fn bytes(&self) -> usize;
}

impl Crossing for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Crossing for u64 {
    fn bytes(&self) -> usize {
        0
    }
}

impl Crossing for Option<i64> {
    fn bytes(&self) -> usize {
        0
    }
}

impl<L: Ledger, C: Clock, P: Provider> Engine for Sandbox<L, C, P> {
    fn open(&mut self, options: &Options, mode: Mode) -> Result<String, EngineError> {
        let options = json::write(options);
        self.call(&options, |world, store| world.call_open(store, &options, mode.into()))
    }

    fn catch_up(&mut self) -> Result<u64, EngineError> {
        self.call("", |world, store| world.call_catch_up(store))
    }

    fn propose(&mut self, fact: &str) -> Result<String, EngineError> {
        self.call(fact, |world, store| world.call_propose(store, fact))
    }

    fn step(&mut self, boundary: Boundary) -> Result<String, EngineError> {
        self.call("", |world, store| world.call_step(store, &boundary.to_string()))
    }

    fn run_until_rest(&mut self) -> Result<String, EngineError> {
        self.call("", |world, store| world.call_run_until_rest(store))
    }

    fn replay(&mut self, folder: &str) -> Result<String, EngineError> {
        self.call(folder, |world, store| world.call_replay(store, folder))
    }

    fn explain(&mut self, boundary: Boundary) -> Result<String, EngineError> {
        self.call("", |world, store| world.call_explain(store, &boundary.to_string()))
    }

    fn explain_at(&mut self, boundary: Boundary, seq: Seq) -> Result<String, EngineError> {
        self.call("", |world, store| world.call_explain_at(store, &boundary.to_string(), seq.0))
    }

    fn why_not(&mut self, boundary: Boundary, asked: DecisionKind) -> Result<String, EngineError> {
        self.call("", |world, store| {
            world.call_why_not(store, &boundary.to_string(), &asked.to_string())
        })
    }

    fn why_not_at(
        &mut self,
        boundary: Boundary,
        asked: DecisionKind,
        seq: Seq,
    ) -> Result<String, EngineError> {
        self.call("", |world, store| {
            world.call_why_not_at(store, &boundary.to_string(), &asked.to_string(), seq.0)
        })
    }

    fn summary(&mut self) -> Result<String, EngineError> {
        self.call("", |world, store| world.call_summary(store))
    }

    fn state(&mut self) -> Result<String, EngineError> {
        self.call("", |world, store| world.call_state(store))
    }

    fn state_at(&mut self, seq: Seq) -> Result<String, EngineError> {
        self.call("", |world, store| world.call_state_at(store, seq.0))
    }

    fn snapshot(&mut self) -> Result<String, EngineError> {
        self.call("", |world, store| world.call_snapshot(store))
    }

    fn next_wake(&mut self) -> Result<Option<Timestamp>, EngineError> {
        let at = self.call("", |world, store| world.call_next_wake(store))?;
        Ok(at.map(Timestamp::from_nanos))
    }

    fn schema_version(&mut self) -> Result<String, EngineError> {
        self.call("", |world, store| world.call_schema_version(store).map(Ok))
    }

    fn fuel_spent(&self) -> Option<u64> {
        self.guest.compiler().counts_as_cranelift().then_some(self.spent)
    }
}
