//! A guest that misbehaves. It has the interface of the scheduler, and the fact that is proposed to
//! it names the misdeed. Only the tests of the sandbox load it.

mod misdeed;

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::all, clippy::unwrap_used)]
#[path = "../../component/src/bindings.rs"]
mod bindings;

#[allow(unsafe_code, unreachable_pub, clippy::all)]
mod exported {
    crate::bindings::export!(Hostile with_types_in crate::bindings);

    use super::Hostile;
}

use bindings::exports::wakeful::scheduler::agent::{Error, ErrorCode, Guest, Mode};

struct Hostile;

impl Guest for Hostile {
    fn open(options: String, _: Mode) -> Result<String, Error> {
        Ok(options)
    }

    fn propose(fact: String) -> Result<String, Error> {
        misdeed::commit(&fact)
    }

    fn catch_up() -> Result<u64, Error> {
        unable()
    }

    fn step(_: String) -> Result<String, Error> {
        unable()
    }

    fn run_until_rest() -> Result<String, Error> {
        unable()
    }

    fn import_folder(_: String) -> Result<String, Error> {
        unable()
    }

    fn replay(_: String) -> Result<String, Error> {
        unable()
    }

    fn explain(_: String) -> Result<String, Error> {
        unable()
    }

    fn explain_at(_: String, _: u64) -> Result<String, Error> {
        unable()
    }

    fn why_not(_: String, _: String) -> Result<String, Error> {
        unable()
    }

    fn why_not_at(_: String, _: String, _: u64) -> Result<String, Error> {
        unable()
    }

    fn summary() -> Result<String, Error> {
        unable()
    }

    fn state() -> Result<String, Error> {
        unable()
    }

    fn state_at(_: u64) -> Result<String, Error> {
        unable()
    }

    fn snapshot() -> Result<String, Error> {
        unable()
    }

    fn next_wake() -> Result<Option<i64>, Error> {
        unable()
    }

    fn schema_version() -> String {
        String::new()
    }
}

/// The answer to every other call.
fn unable<T>() -> Result<T, Error> {
    Err(Error {
        code: ErrorCode::WrongState,
        message: "this guest schedules nothing".to_owned(),
        place: None,
    })
}
