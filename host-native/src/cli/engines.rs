//! Choosing engines.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::CliError;
use crate::{
    sandbox::{self, Compiler, NoGuest},
    trace::{Node, Tracer},
};

/// An engine that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineName {
    /// The core in this program
    Native,
    /// The guest component in wasmtime, compiled by Cranelift
    Wasmtime,
    /// The guest component in wasmtime's interpreter
    Pulley,
    /// The guest component in wasmtime, compiled by Winch
    Winch,
    /// The web guest in Node (in the source tree)
    Node,
}

/// Where the guest is.
#[derive(Args)]
pub(super) struct GuestArg {
    /// The guest component [default: $WAKEFUL_GUEST, the build folder, or the embedded one]
    #[arg(long, value_name = "FILE")]
    guest: Option<PathBuf>,
}

/// The one engine of a command.
#[derive(Args)]
pub(super) struct EngineArg {
    /// The engine that decides
    #[arg(long, value_enum, default_value = "native")]
    engine: EngineName,
    #[command(flatten)]
    guest: GuestArg,
}

impl EngineArg {
    /// Starts it.
    pub(super) fn start(&self) -> Result<Tracer, CliError> {
        self.guest.start(self.engine)
    }
}

impl GuestArg {
    /// Starts an engine.
    pub(super) fn start(&self, engine: EngineName) -> Result<Tracer, CliError> {
        Ok(match engine {
            EngineName::Native => Tracer::Native,
            EngineName::Wasmtime => self.sandboxed(Compiler::Cranelift)?,
            EngineName::Pulley => self.sandboxed(Compiler::Pulley)?,
            EngineName::Winch => self.sandboxed(Compiler::Winch)?,
            EngineName::Node => Tracer::Node(Node::start()?),
        })
    }

    fn sandboxed(&self, compiler: Compiler) -> Result<Tracer, CliError> {
        Ok(Tracer::of(&sandbox::find(self.guest.as_deref(), compiler)?.ok_or(NoGuest)?)?)
    }
}
