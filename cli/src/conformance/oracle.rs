//! Answers vectors: with the core of this program, or with the oracle component in the sandbox.

use std::path::Path;

use wakeful_core::oracle;
use wakeful_host::sandbox::{self, Function, Guest, GuestError, NoGuest};

/// The world of the component (wasm/wit/oracle).
const WORLD: &str = "wakeful:oracle@0.1.0";

/// The path of the built oracle component, below the target folder.
const BUILT: &str = "guest/oracle.component.wasm";

/// Answers vectors.
pub enum Oracle {
    /// The core of this program.
    Native,
    /// The oracle component.
    Sandboxed(Box<Function>),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// The input is not the input of a vector.
    #[error("{0}")]
    Refused(String),
    /// The component cannot be used, or it failed.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The component was not found.
    #[error(transparent)]
    NoGuest(#[from] NoGuest),
}

impl Oracle {
    /// Instantiates the oracle component: the named one, otherwise the one of the build folder.
    ///
    /// # Errors
    /// If there is none, or it cannot be used.
    pub fn sandboxed(named: Option<&Path>) -> Result<Self, OracleError> {
        let path = named.map(Path::to_owned).or_else(|| sandbox::built(BUILT)).ok_or(NoGuest)?;
        Ok(Self::Sandboxed(Box::new(Function::new(&Guest::load(&path)?, "answer", WORLD)?)))
    }

    /// Answers the input of a vector.
    ///
    /// # Errors
    /// If the input cannot be read, or the component fails.
    pub fn answer(&mut self, input: &str) -> Result<String, OracleError> {
        match self {
            Self::Native => {
                oracle::answer(input).map_err(|why| OracleError::Refused(why.to_string()))
            }
            Self::Sandboxed(function) => function.call(input)?.map_err(OracleError::Refused),
        }
    }
}
