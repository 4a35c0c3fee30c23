//! Options that select engines.

use std::{path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum};
use wakeful_host::{
    engine::Engines,
    sandbox::{self, Compiler, Guest, Limits, NoGuest, Pool},
};

use super::CliError;
use crate::trace::{Hosted, Tracer, Web};

/// An engine, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineName {
    /// The core of this program
    Native,
    /// The guest component in wasmtime, compiled by Cranelift
    #[value(alias = "wasm")]
    Wasmtime,
    /// The guest component in Pulley, wasmtime's interpreter
    Pulley,
    /// The guest component in wasmtime, compiled by Winch
    Winch,
    /// The web guest in Node (in the source tree)
    Node,
    /// The web guest in a page of Chromium (in the source tree)
    Chromium,
    /// The guest component in wasmtime's Python package (in the source tree)
    Python,
}

impl EngineName {
    /// The name on the command line.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Wasmtime => "wasmtime",
            Self::Pulley => "pulley",
            Self::Winch => "winch",
            Self::Node => "node",
            Self::Chromium => "chromium",
            Self::Python => "python",
        }
    }

    /// The requested engines, each once, in the order of the request.
    pub(super) fn all(asked: &[Asked]) -> Vec<Self> {
        let mut names = Vec::new();
        for asked in asked {
            let more: &[Self] = match asked {
                Asked::All => Self::value_variants(),
                Asked::One(name) => std::slice::from_ref(name),
            };
            more.iter().for_each(|name| {
                if !names.contains(name) {
                    names.push(*name)
                }
            });
        }
        names
    }
}

/// One element of a list of engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// All engines that can run here.
    All,
    /// This engine.
    One(EngineName),
}

impl Asked {
    /// Whether it is this engine's name.
    pub(super) fn is(self, name: &str) -> bool {
        matches!(self, Self::One(asked) if asked.as_str() == name)
    }
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        <EngineName as ValueEnum>::from_str(text, false).map(Self::One).map_err(|_| {
            let names: Vec<_> =
                EngineName::value_variants().iter().map(|name| name.as_str()).collect();
            format!(
                "there is no such engine; the engines are {}, and `all` means those that can run \
                 here",
                names.join(", ")
            )
        })
    }
}

/// Selects the guest.
#[derive(Args)]
pub(super) struct GuestArg {
    /// The guest component [default: $WAKEFUL_GUEST, the embedded one, or the one in the build
    /// folder]
    #[arg(long, value_name = "FILE")]
    guest: Option<PathBuf>,
    /// The most agents in the sandbox at once [default: 1000, or fewer if the addresses do not
    /// suffice]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    instances: Option<u32>,
}

/// Selects the engine of a command.
#[derive(Args)]
pub(super) struct EngineArg {
    /// The engine that decides
    #[arg(long, value_enum, default_value = "native")]
    engine: EngineName,
    #[command(flatten)]
    guest: GuestArg,
}

impl EngineArg {
    /// Starts the selected engine.
    pub(super) fn start(&self) -> Result<Tracer, CliError> {
        self.guest.start(self.engine)
    }
}

/// Selects the engine that drives an agent.
#[derive(Args)]
pub(super) struct DriverArg {
    /// The engine that decides
    #[arg(long, value_enum, default_value = "native")]
    engine: DriverName,
    #[command(flatten)]
    guest: GuestArg,
}

/// An engine that can drive an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DriverName {
    /// The core of this program
    Native,
    /// The guest component in wasmtime, with one instance per agent
    #[value(alias = "wasm")]
    Wasmtime,
}

impl DriverArg {
    /// Prepares the selected engine.
    pub(super) fn engines(&self) -> Result<Engines, CliError> {
        Ok(match self.engine {
            DriverName::Native => Engines::Native,
            DriverName::Wasmtime => {
                Engines::Sandboxed(self.guest.find(Compiler::Cranelift)?, Limits::default())
            }
        })
    }
}

impl GuestArg {
    /// Finds and compiles the guest.
    fn find(&self, compiler: Compiler) -> Result<Guest, CliError> {
        let all = Pool::default();
        let pool = Pool { instances: self.instances.unwrap_or(all.instances), ..all };
        Ok(sandbox::find(self.guest.as_deref(), compiler, pool)?.ok_or(NoGuest)?)
    }

    /// Starts an engine.
    pub(super) fn start(&self, engine: EngineName) -> Result<Tracer, CliError> {
        Ok(match engine {
            EngineName::Native => Tracer::Native,
            EngineName::Wasmtime => self.sandboxed(Compiler::Cranelift)?,
            EngineName::Pulley => self.sandboxed(Compiler::Pulley)?,
            EngineName::Winch => self.sandboxed(Compiler::Winch)?,
            EngineName::Node => Tracer::Web(Web::node()?),
            EngineName::Chromium => Tracer::Web(Web::chromium()?),
            EngineName::Python => Tracer::Hosted(Hosted::python(self.guest.as_deref())?),
        })
    }

    fn sandboxed(&self, compiler: Compiler) -> Result<Tracer, CliError> {
        Ok(Tracer::sandboxed(&self.find(compiler)?)?)
    }
}
