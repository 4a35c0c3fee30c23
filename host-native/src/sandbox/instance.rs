//! One instance of the guest: the scheduler of one agent behind the engine trait.

use wakeful_core::{
    host::{Clock, ErrorCode, ErrorPlace, ErrorReport, Ledger, Provider},
    json,
    ladder::Boundary,
    machine::Options,
    time::Timestamp,
};
use wasmtime::{
    Store,
    component::{HasSelf, Linker},
};

use super::{
    bindings::{Scheduler as World, exports::wakeful::scheduler::agent},
    guest::{Guest, GuestError},
    imports::{Calls, Lent},
    limits::Limits,
};
use crate::engine::{Engine, EngineError, Mode};

/// The scheduler of one agent in the sandbox.
pub struct Sandbox<L: 'static, C: 'static, P: 'static> {
    store: Store<Lent<L, C, P>>,
    world: World,
    limits: Limits,
}

impl<L: Ledger, C: Clock, P: Provider> Sandbox<L, C, P> {
    /// Instantiates a guest over what the host lends.
    ///
    /// # Errors
    /// Where the guest does not offer what a scheduler offers.
    pub fn new(guest: &Guest, ledger: L, clock: C, provider: P, limits: Limits) -> Result<Self, GuestError> {
        let setup = |why: wasmtime::Error| GuestError::Setup { why: format!("{why:#}") };
        let mut linker = Linker::new(guest.engine());
        World::add_to_linker::<_, HasSelf<Lent<L, C, P>>>(&mut linker, |lent| lent).map_err(setup)?;
        let mut store = Store::new(guest.engine(), Lent::new(ledger, clock, provider, &limits));
        store.limiter(|lent| &mut lent.limits);
        store.set_fuel(limits.fuel_per_call).map_err(setup)?;
        let world = World::instantiate(&mut store, guest.component(), &linker)
            .map_err(|why| GuestError::WrongWorld { world: "wakeful:scheduler/agent@0.1.0", why: format!("{why:#}") })?;
        Ok(Self { store, world, limits })
    }

    /// How often the guest called each of its imports.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.store.data().calls
    }

    /// Calls the guest with a full tank.
    fn call<T>(
        &mut self,
        call: impl FnOnce(&agent::Guest, &mut Store<Lent<L, C, P>>) -> wasmtime::Result<Result<T, agent::Error>>,
    ) -> Result<T, EngineError> {
        let limit = self.limits.fuel_per_call;
        self.store.set_fuel(limit).map_err(|why| GuestError::Setup { why: format!("{why:#}") })?;
        match call(self.world.wakeful_scheduler_agent(), &mut self.store) {
            Ok(answer) => answer.map_err(|why| EngineError::Refused(report(why))),
            Err(why) => Err(GuestError::of_call(&why, self.limits).into()),
        }
    }
}

fn report(why: agent::Error) -> ErrorReport {
    ErrorReport {
        code: match why.code {
            agent::ErrorCode::CannotOpen => ErrorCode::CannotOpen,
            agent::ErrorCode::Malformed => ErrorCode::Malformed,
            agent::ErrorCode::TooLarge => ErrorCode::TooLarge,
            agent::ErrorCode::WrongState => ErrorCode::WrongState,
            agent::ErrorCode::Conflict => ErrorCode::Conflict,
            agent::ErrorCode::LedgerFailed => ErrorCode::LedgerFailed,
            agent::ErrorCode::Restless => ErrorCode::Restless,
        },
        message: why.message,
        place: why.place.map(|place| ErrorPlace { file: place.file, line: place.line, column: place.column, path: place.path }),
    }
}

impl<L: Ledger, C: Clock, P: Provider> Engine for Sandbox<L, C, P> {
    fn open(&mut self, options: &Options, mode: Mode) -> Result<String, EngineError> {
        let mode = match mode {
            Mode::Drive => agent::Mode::Drive,
            Mode::Observe => agent::Mode::Observe,
        };
        let options = json::write(options);
        self.call(|agent, store| agent.call_open(store, &options, mode))
    }

    fn propose(&mut self, fact: &str) -> Result<String, EngineError> {
        self.call(|agent, store| agent.call_propose(store, fact))
    }

    fn step(&mut self, boundary: Boundary) -> Result<String, EngineError> {
        self.call(|agent, store| agent.call_step(store, &boundary.to_string()))
    }

    fn run_until_rest(&mut self) -> Result<String, EngineError> {
        self.call(|agent, store| agent.call_run_until_rest(store))
    }

    fn replay(&mut self, folder: &str) -> Result<String, EngineError> {
        self.call(|agent, store| agent.call_replay(store, folder))
    }

    fn explain(&mut self, boundary: Boundary) -> Result<String, EngineError> {
        self.call(|agent, store| agent.call_explain(store, &boundary.to_string()))
    }

    fn state(&mut self) -> Result<String, EngineError> {
        self.call(|agent, store| agent.call_state(store))
    }

    fn next_wake(&mut self) -> Result<Option<Timestamp>, EngineError> {
        let at = self.call(|agent, store| agent.call_next_wake(store))?;
        Ok(at.map(Timestamp::from_nanos))
    }
}
