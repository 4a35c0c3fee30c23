//! Who answers: the core in this program, or the oracle component in the sandbox.

use std::path::Path;

use wakeful_core::oracle;
use wasmtime::{Store, component::Linker};

use crate::sandbox::{self, Guest, GuestError, Limits, Meter, NoGuest, begin};

#[allow(missing_docs, clippy::all)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wasm/wit/oracle",
        world: "oracle",
    });
}

/// Where the build puts the oracle component, below the target folder.
const BUILT: &str = "guest/oracle.component.wasm";

/// Something that answers vectors.
pub enum Oracle {
    /// The core in this program.
    Native,
    /// The oracle component.
    Sandboxed(Box<Sandboxed>),
}

/// One instance of the oracle component.
pub struct Sandboxed {
    store: Store<Meter>,
    world: bindings::Oracle,
    guest: Guest,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// The input is no vector's input.
    #[error("{0}")]
    Refused(String),
    /// The component cannot be used, or broke down.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// There is no component.
    #[error(transparent)]
    NoGuest(#[from] NoGuest),
}

impl Oracle {
    /// Instantiates the oracle component: the named one, else that of the build folder.
    ///
    /// # Errors
    /// Where there is none, or it cannot be used.
    pub fn sandboxed(named: Option<&Path>) -> Result<Self, OracleError> {
        let path = named.map(Path::to_owned).or_else(|| sandbox::built(BUILT)).ok_or(NoGuest)?;
        Ok(Self::Sandboxed(Box::new(Sandboxed::new(&Guest::load(&path)?)?)))
    }

    /// The answer to a vector's input.
    ///
    /// # Errors
    /// Where the input cannot be read, or the component breaks down.
    pub fn answer(&mut self, input: &str) -> Result<String, OracleError> {
        match self {
            Self::Native => oracle::answer(input).map_err(|why| OracleError::Refused(why.to_string())),
            Self::Sandboxed(sandboxed) => sandboxed.answer(input),
        }
    }
}

impl Sandboxed {
    fn new(guest: &Guest) -> Result<Self, GuestError> {
        let mut store = Store::new(guest.engine(), Meter::new(Limits::default()));
        store.limiter(|meter| meter);
        begin(&mut store)?;
        let world = bindings::Oracle::instantiate(&mut store, guest.component(), &Linker::new(guest.engine()))
            .map_err(|why| GuestError::of_instantiation(&why, guest, "wakeful:oracle@0.1.0"))?;
        Ok(Self { store, world, guest: guest.clone() })
    }

    fn answer(&mut self, input: &str) -> Result<String, OracleError> {
        begin(&mut self.store)?;
        let answer = self.world.call_answer(&mut self.store, input);
        let limits = self.store.data().limits();
        let answer = answer.map_err(|why| GuestError::of_call(&why, &self.guest, limits))?;
        answer.map_err(OracleError::Refused)
    }
}
