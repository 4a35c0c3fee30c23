//! The versions of the world. A guest of any of them is called through one type.
//!
//! Another version needs its bindings, a variant of each enum here, and a line for each type that
//! changed.

use wakeful_core::{ErrorCode, ErrorReport, json::ErrorPlace};
use wasmtime::{AsContextMut, component::InstancePre};

use super::bindings::{v0_1, v0_2};
use crate::engine::Mode;

/// The versions of the world whose guests this host runs, oldest first. Each is a folder of
/// `wasm/wit`.
pub const WORLD_VERSIONS: [&str; 2] = [Version::V0_1.number(), Version::V0_2.number()];

/// The newest version of the world that this host speaks.
pub const WORLD_VERSION: &str = Version::NEWEST.number();

/// Everything that a guest of the newest version may import.
pub const IMPORTS: [&str; 3] = Version::NEWEST.imports();

/// A version of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V0_1,
    V0_2,
}

macro_rules! imports {
    ($version:literal) => {
        [
            concat!("wakeful:scheduler/clock@", $version),
            concat!("wakeful:scheduler/ledger@", $version),
            concat!("wakeful:scheduler/provider@", $version),
        ]
    };
}

impl Version {
    pub(super) const ALL: [Self; 2] = [Self::V0_1, Self::V0_2];
    const NEWEST: Self = Self::V0_2;

    /// Its number, as imports and exports have it.
    pub(super) const fn number(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1.0",
            Self::V0_2 => "0.2.0",
        }
    }

    /// Everything that a guest may import: the clock, the ledger and the provider.
    pub(super) const fn imports(self) -> [&'static str; 3] {
        match self {
            Self::V0_1 => imports!("0.1.0"),
            Self::V0_2 => imports!("0.2.0"),
        }
    }

    /// The interface that a guest must export.
    pub(super) const fn export(self) -> &'static str {
        match self {
            Self::V0_1 => "wakeful:scheduler/agent@0.1.0",
            Self::V0_2 => "wakeful:scheduler/agent@0.2.0",
        }
    }

    /// The version of a guest with these imports. One without any is taken for the newest.
    pub(super) fn of_guest(imports: &[String]) -> Self {
        let is_imported =
            |version: &Self| imports.iter().any(|name| version.imports().contains(&name.as_str()));
        Self::ALL.into_iter().find(is_imported).unwrap_or(Self::NEWEST)
    }
}

/// The version in the name of an import, if it is an interface of any version of the world.
pub(super) fn version_in(import: &str) -> Option<&str> {
    import.strip_prefix("wakeful:scheduler/")?.split_once('@').map(|(_, version)| version)
}

/// A guest whose imports are linked and whose exports are found.
pub(super) enum Linked<T: 'static> {
    V0_1(v0_1::SchedulerPre<T>),
    V0_2(v0_2::SchedulerPre<T>),
}

impl<T> Linked<T> {
    /// Finds the exports of a guest of this version.
    pub(super) fn new(version: Version, guest: InstancePre<T>) -> wasmtime::Result<Self> {
        Ok(match version {
            Version::V0_1 => Self::V0_1(v0_1::SchedulerPre::new(guest)?),
            Version::V0_2 => Self::V0_2(v0_2::SchedulerPre::new(guest)?),
        })
    }

    /// Starts an instance.
    pub(super) fn instantiate(
        &self,
        store: impl AsContextMut<Data = T>,
    ) -> wasmtime::Result<World> {
        Ok(match self {
            Self::V0_1(guest) => World::V0_1(guest.instantiate(store)?),
            Self::V0_2(guest) => World::V0_2(guest.instantiate(store)?),
        })
    }
}

/// What a call of a guest answers: a trap, or the answer of the scheduler.
pub(super) type Answer<T> = wasmtime::Result<Result<T, ErrorReport>>;

/// The exports of an instance.
pub(super) enum World {
    V0_1(v0_1::Scheduler),
    V0_2(v0_2::Scheduler),
}

/// Makes a method for each function that guests of all versions export.
macro_rules! exports {
    ($($call:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*) => {
        impl World {
            $(
                pub(super) fn $call(
                    &self,
                    store: impl AsContextMut,
                    $($arg: $kind),*
                ) -> Answer<$answer> {
                    Ok(match self {
                        Self::V0_1(world) => world
                            .wakeful_scheduler_agent()
                            .$call(store, $($arg.into()),*)?
                            .map_err(Into::into),
                        Self::V0_2(world) => world
                            .wakeful_scheduler_agent()
                            .$call(store, $($arg.into()),*)?
                            .map_err(Into::into),
                    })
                }
            )*
        }
    };
}

exports! {
    call_open(options: &str, mode: Mode) -> String;
    call_catch_up() -> u64;
    call_propose(fact: &str) -> String;
    call_step(boundary: &str) -> String;
    call_run_until_rest() -> String;
    call_replay(folder: &str) -> String;
    call_explain(boundary: &str) -> String;
    call_explain_at(boundary: &str, seq: u64) -> String;
    call_why_not(boundary: &str, decision: &str) -> String;
    call_why_not_at(boundary: &str, decision: &str, seq: u64) -> String;
    call_summary() -> String;
    call_state() -> String;
    call_state_at(seq: u64) -> String;
    call_snapshot() -> String;
    call_next_wake() -> Option<i64>;
}

impl World {
    /// The one function that cannot fail.
    pub(super) fn call_schema_version(&self, store: impl AsContextMut) -> Answer<String> {
        Ok(Ok(match self {
            Self::V0_1(world) => world.wakeful_scheduler_agent().call_schema_version(store)?,
            Self::V0_2(world) => world.wakeful_scheduler_agent().call_schema_version(store)?,
        }))
    }
}

/// Translates the types of a version, with the error codes that it has beside those of all.
macro_rules! types {
    ($version:ident $(, $newer:ident)*) => {
        const _: () = {
            use super::bindings::$version::exports::wakeful::scheduler::agent;

            impl From<Mode> for agent::Mode {
                fn from(mode: Mode) -> Self {
                    match mode {
                        Mode::Drive => Self::Drive,
                        Mode::Observe => Self::Observe,
                    }
                }
            }

            impl From<agent::Error> for ErrorReport {
                fn from(why: agent::Error) -> Self {
                    Self {
                        code: match why.code {
                            agent::ErrorCode::CannotOpen => ErrorCode::CannotOpen,
                            agent::ErrorCode::Malformed => ErrorCode::Malformed,
                            agent::ErrorCode::TooLarge => ErrorCode::TooLarge,
                            agent::ErrorCode::WrongState => ErrorCode::WrongState,
                            agent::ErrorCode::Conflict => ErrorCode::Conflict,
                            agent::ErrorCode::LedgerFailed => ErrorCode::LedgerFailed,
                            agent::ErrorCode::ProviderFailed => ErrorCode::ProviderFailed,
                            agent::ErrorCode::NoSuchEntry => ErrorCode::NoSuchEntry,
                            agent::ErrorCode::Restless => ErrorCode::Restless,
                            $(agent::ErrorCode::$newer => ErrorCode::$newer,)*
                        },
                        message: why.message,
                        place: why.place.map(|place| ErrorPlace {
                            file: place.file,
                            line: place.line,
                            column: place.column,
                            path: place.path,
                        }),
                    }
                }
            }
        };
    };
}

types!(v0_1);
types!(v0_2, Misuse);
