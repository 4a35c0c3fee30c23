//! Who answers: the core in this program, or the oracle component in the sandbox.

use std::path::Path;

use wakeful_core::oracle;
use wakeful_host::sandbox::{self, Function, Guest, GuestError, NoGuest};

/// What the component offers (wasm/wit/oracle).
const WORLD: &str = "wakeful:oracle@0.1.0";

/// Where the build puts the oracle component, below the target folder.
const BUILT: &str = "guest/oracle.component.wasm";

/// Something that answers vectors.
pub enum Oracle {
    /// The core in this program.
    Native,
    /// The oracle component.
    Sandboxed(Box<Function>),
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
        Ok(Self::Sandboxed(Box::new(Function::new(&Guest::load(&path)?, "answer", WORLD)?)))
    }

    /// The answer to a vector's input.
    ///
    /// # Errors
    /// Where the input cannot be read, or the component breaks down.
    pub fn answer(&mut self, input: &str) -> Result<String, OracleError> {
        match self {
            Self::Native => {
                oracle::answer(input).map_err(|why| OracleError::Refused(why.to_string()))
            }
            Self::Sandboxed(function) => function.call(input)?.map_err(OracleError::Refused),
        }
    }
}
