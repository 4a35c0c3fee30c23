//! The exported interface: one instance, one agent.

use std::cell::RefCell;

use wakeful_core::{
    ErrorCode, ErrorReport, Folder, Machine, Options, ProposeError, SCHEMA_VERSION, Scheduler,
    SchedulerError, Seq,
    json::{self, ErrorPlace, JsonError, Readable},
};

use crate::{
    bindings::exports::wakeful::scheduler::agent::{Error, ErrorCode as Code, Guest, Mode, Place},
    imports::{HostClock, HostLedger, HostProvider},
};

type Agent = Scheduler<HostLedger, HostClock, HostProvider>;

// The world exports functions and no resource, so the agent lives here between two calls.
thread_local! {
    /// The one agent of this instance; `None` before `open`.
    static AGENT: RefCell<Option<Agent>> = const { RefCell::new(None) };
}

/// The exports of the world.
pub(crate) struct Component;

impl Guest for Component {
    fn open(options: String, mode: Mode) -> Result<String, Error> {
        let options = Options::from_json(&options).map_err(|why| malformed("options", why))?;
        let opened = match mode {
            Mode::Drive => Agent::drive(options, HostLedger, HostClock, HostProvider),
            Mode::Observe => Agent::observe(options, HostLedger, HostClock, HostProvider),
        };
        let agent = opened.map_err(error)?;
        let head = json::write(&agent.state().head());
        AGENT.set(Some(agent));
        Ok(head)
    }

    fn catch_up() -> Result<u64, Error> {
        with_agent(Agent::catch_up)
    }

    fn propose(fact: String) -> Result<String, Error> {
        with_agent(|agent| Ok(json::write(&agent.propose(&fact)?)))
    }

    fn step(boundary: String) -> Result<String, Error> {
        let boundary = name("boundary", &boundary)?;
        with_agent(|agent| Ok(json::write(&agent.step(boundary)?)))
    }

    fn run_until_rest() -> Result<String, Error> {
        with_agent(|agent| Ok(json::write(&agent.run_until_rest()?)))
    }

    fn import_folder(folder: String) -> Result<String, Error> {
        let folder: Folder = read("folder", &folder)?;
        with_agent(|agent| Ok(json::write(&agent.import(&folder)?)))
    }

    fn replay(folder: String) -> Result<String, Error> {
        let folder: Folder = read("folder", &folder)?;
        with_agent(|agent| Ok(json::write(&agent.replay(&folder)?)))
    }

    fn explain(boundary: String) -> Result<String, Error> {
        let boundary = name("boundary", &boundary)?;
        with_agent(|agent| Ok(json::write(&agent.explain(boundary))))
    }

    fn explain_at(boundary: String, seq: u64) -> Result<String, Error> {
        let boundary = name("boundary", &boundary)?;
        at(seq, |then| json::write(&then.explain(boundary, then.state().at())))
    }

    fn why_not(boundary: String, decision: String) -> Result<String, Error> {
        let (boundary, asked) = (name("boundary", &boundary)?, name("decision", &decision)?);
        with_agent(|agent| Ok(json::write(&agent.why_not(boundary, asked))))
    }

    fn why_not_at(boundary: String, decision: String, seq: u64) -> Result<String, Error> {
        let (boundary, asked) = (name("boundary", &boundary)?, name("decision", &decision)?);
        at(seq, |then| json::write(&then.why_not(boundary, asked, then.state().at())))
    }

    fn summary() -> Result<String, Error> {
        with_agent(|agent| Ok(json::write(&agent.summary())))
    }

    fn state() -> Result<String, Error> {
        with_agent(|agent| Ok(json::write(agent.state())))
    }

    fn state_at(seq: u64) -> Result<String, Error> {
        at(seq, |then| json::write(then.state()))
    }

    fn snapshot() -> Result<String, Error> {
        with_agent(|agent| Ok(agent.snapshot()))
    }

    fn next_wake() -> Result<Option<i64>, Error> {
        with_agent(|agent| Ok(agent.next_wake().map(wakeful_core::Timestamp::as_nanos)))
    }

    fn schema_version() -> String {
        SCHEMA_VERSION.to_owned()
    }
}

fn with_agent<T>(call: impl FnOnce(&mut Agent) -> Result<T, SchedulerError>) -> Result<T, Error> {
    AGENT.with_borrow_mut(|agent| match agent {
        Some(agent) => call(agent).map_err(error),
        None => Err(error(ProposeError::NotBegun.into())),
    })
}

/// Asks the machine as it was at an entry.
fn at<T>(seq: u64, ask: impl FnOnce(&Machine) -> T) -> Result<T, Error> {
    with_agent(|agent| agent.at(Seq(seq)).map(ask))
}

fn read<T: Readable>(what: &str, text: &str) -> Result<T, Error> {
    json::read(text).map_err(|why| malformed(what, why))
}

/// Reads a name: bare text without quotes.
fn name<T: Readable>(what: &str, name: &str) -> Result<T, Error> {
    read(what, &json::write(&name))
}

fn malformed(what: &str, why: JsonError) -> Error {
    let message = format!("malformed {what}: {why}");
    let JsonError { line, column, path, .. } = why;
    let place = Some(ErrorPlace { file: None, line, column, path });
    told(ErrorReport { code: ErrorCode::Malformed, message, place })
}

fn error(why: SchedulerError) -> Error {
    told(why.report())
}

fn told(report: ErrorReport) -> Error {
    let ErrorReport { code, message, place } = report;
    Error {
        code: match code {
            ErrorCode::CannotOpen => Code::CannotOpen,
            ErrorCode::Malformed => Code::Malformed,
            ErrorCode::TooLarge => Code::TooLarge,
            ErrorCode::WrongState => Code::WrongState,
            ErrorCode::Conflict => Code::Conflict,
            ErrorCode::LedgerFailed => Code::LedgerFailed,
            ErrorCode::ProviderFailed => Code::ProviderFailed,
            ErrorCode::NoSuchEntry => Code::NoSuchEntry,
            ErrorCode::Restless => Code::Restless,
            ErrorCode::Misuse => Code::Misuse,
        },
        message,
        place: place.map(|ErrorPlace { file, line, column, path }| Place {
            file,
            line,
            column,
            path,
        }),
    }
}
