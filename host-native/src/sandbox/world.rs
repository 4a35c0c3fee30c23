//! The version of the world, and its types as those of the core.

use wakeful_core::{ErrorCode, ErrorReport, json::ErrorPlace};

use super::bindings::exports::wakeful::scheduler::agent;
use crate::engine::Mode;

macro_rules! version {
    () => {
        "0.2.0"
    };
}

/// The version of the world that this host speaks, which is a folder of `wasm/wit`. A guest of
/// another one is refused.
pub const WORLD_VERSION: &str = version!();

/// Everything that a guest may import: the clock, the ledger and the provider.
pub const IMPORTS: [&str; 3] = [
    concat!("wakeful:scheduler/clock@", version!()),
    concat!("wakeful:scheduler/ledger@", version!()),
    concat!("wakeful:scheduler/provider@", version!()),
];

/// The interface that a guest must export.
pub(super) const EXPORT: &str = concat!("wakeful:scheduler/agent@", version!());

/// The version in the name of an import, if it is an interface of any version of the world.
pub(super) fn version_in(import: &str) -> Option<&str> {
    import.strip_prefix("wakeful:scheduler/")?.split_once('@').map(|(_, version)| version)
}

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
                agent::ErrorCode::Misuse => ErrorCode::Misuse,
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
