//! The JavaScript host: its ledger, clock and provider behind the core's traits.

use std::{cell::Cell, rc::Rc};

use wakeful_core::{
    Clock, Effect, EntryBytes, Fact, Head, Ledger, LedgerError, Provider, ProviderError, RunId,
    Seq, TaskId, Timestamp, json,
};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

use crate::{
    crossing::{object, text},
    error::{failure, host_failed, words},
    mistake::Mistakes,
};

#[wasm_bindgen]
extern "C" {
    /// `Host` in TypeScript.
    #[wasm_bindgen(typescript_type = "Host")]
    pub type JsHost;
    #[wasm_bindgen(method, getter, catch)]
    fn ledger(this: &JsHost) -> Result<JsLedger, JsValue>;
    #[wasm_bindgen(method, getter, catch)]
    fn clock(this: &JsHost) -> Result<JsClock, JsValue>;
    #[wasm_bindgen(method, getter, catch)]
    fn provider(this: &JsHost) -> Result<JsProvider, JsValue>;

    /// `Ledger` in TypeScript.
    #[wasm_bindgen(typescript_type = "Ledger")]
    pub type JsLedger;
    #[wasm_bindgen(method, catch, js_name = append)]
    fn append_batch(
        this: &JsLedger,
        expected: &JsValue,
        batch: &js_sys::Array,
    ) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = read)]
    fn read_after(this: &JsLedger, after: f64, limit: u32) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = loadSnapshot)]
    fn load(this: &JsLedger) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = storeSnapshot)]
    fn store(this: &JsLedger, head: &JsValue, snapshot: &str) -> Result<JsValue, JsValue>;

    /// `Clock` in TypeScript.
    #[wasm_bindgen(typescript_type = "Clock")]
    pub type JsClock;
    #[wasm_bindgen(method, catch, js_name = now)]
    fn read_now(this: &JsClock) -> Result<JsValue, JsValue>;

    /// `Provider` in TypeScript.
    #[wasm_bindgen(typescript_type = "Provider")]
    pub type JsProvider;
    #[wasm_bindgen(method, catch, js_name = startTurn)]
    fn start(this: &JsProvider, request: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = interject)]
    fn insert(this: &JsProvider, run: &str, message: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = yieldTurn)]
    fn end_after_round(this: &JsProvider, run: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = abortTurn)]
    fn abort(this: &JsProvider, run: &str, reason: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = alive)]
    fn which_alive(this: &JsProvider, active: &js_sys::Array) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = release)]
    fn let_go(this: &JsProvider) -> Result<JsValue, JsValue>;
}

impl JsHost {
    /// The three parts of the host, in the order of the core's arguments.
    pub(crate) fn parts(&self) -> Result<(JsLedger, JsClock, JsProvider), JsValue> {
        let there = |name: &str, part: &JsValue| match part.is_undefined() || part.is_null() {
            true => Err(JsValue::from(format!("`{name}` is missing"))),
            false => Ok(()),
        };
        let parts = || {
            let (ledger, clock, provider) = (self.ledger()?, self.clock()?, self.provider()?);
            there("ledger", &ledger)?;
            there("clock", &clock)?;
            there("provider", &provider)?;
            Ok((ledger, clock, provider))
        };
        parts().map_err(|thrown: JsValue| {
            host_failed(&format!(
                "a host needs `ledger`, `clock` and `provider`: {}",
                words(&thrown)
            ))
        })
    }
}

/// The ledger of a host.
pub(crate) struct HostLedger {
    of_host: JsLedger,
    mistakes: Mistakes,
}

impl HostLedger {
    pub(crate) fn new(of_host: JsLedger, mistakes: &Mistakes) -> Self {
        Self { of_host, mistakes: mistakes.clone() }
    }

    /// The host, of which this method is called now.
    fn called(&self, method: &'static str) -> &JsLedger {
        self.mistakes.begins(method);
        &self.of_host
    }

    /// What the method answered.
    #[inline(never)]
    fn answered(&self, answer: Result<JsValue, JsValue>) -> Result<JsValue, LedgerError> {
        self.mistakes.answered(answer).map_err(|thrown| ledger_error(&thrown))
    }
}

impl Ledger for HostLedger {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        let expected = object(expected).map_err(|thrown| ledger_error(&thrown))?;
        let lines: js_sys::Array =
            batch.iter().map(|entry| JsValue::from_str(entry.as_str())).collect();
        self.answered(self.called("ledger.append").append_batch(&expected, &lines)).map(|_| ())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        // A position is far below 2^53, so a JavaScript number holds it exactly.
        let page = self.answered(self.called("ledger.read").read_after(after.0 as f64, limit))?;
        lines(&page, limit)
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        if !has(&self.of_host, "loadSnapshot") {
            return Ok(None);
        }
        let stored = self.answered(self.called("ledger.loadSnapshot").load())?;
        if stored.is_undefined() || stored.is_null() {
            return Ok(None);
        }
        stored.as_string().map(Some).ok_or_else(|| {
            failed("`ledger.loadSnapshot` must return a string, or undefined if there is none")
        })
    }

    fn store_snapshot(
        &mut self,
        head: &Head,
        write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        if !has(&self.of_host, "storeSnapshot") {
            return Ok(());
        }
        let head = object(head).map_err(|thrown| ledger_error(&thrown))?;
        self.answered(self.called("ledger.storeSnapshot").store(&head, &write())).map(|_| ())
    }
}

fn failed(message: &str) -> LedgerError {
    LedgerError::Failed { message: message.into() }
}

/// Whether an object of the host has this optional method.
fn has(object: &JsValue, method: &str) -> bool {
    js_sys::Reflect::get(object, &method.into()).is_ok_and(|method| method.is_function())
}

/// The lines of a page, or an error if the ledger returned something else.
pub(crate) fn lines(page: &JsValue, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
    let not_lines = |why: String| LedgerError::Failed {
        message: format!(
            "`ledger.read` must return an array of at most {limit} strings, the stored lines: \
             {why}"
        ),
    };
    let lines: Vec<String> = lines_of(page).map_err(not_lines)?;
    if lines.len() > limit as usize {
        return Err(not_lines(format!("it has {}", lines.len())));
    }
    Ok(lines.into_iter().map(EntryBytes::from_stored).collect())
}

fn lines_of(page: &JsValue) -> Result<Vec<String>, String> {
    // Not in the package, whose small module pages download: few ledgers are so long there.
    #[cfg(feature = "workbench")]
    if let Some(bytes) = wasm_bindgen::JsCast::dyn_ref::<js_sys::Uint8Array>(page) {
        // Each line ends with a newline. JSON has none inside of it.
        let page = String::from_utf8(bytes.to_vec()).map_err(|why| why.to_string())?;
        return Ok(page.split_terminator('\n').map(Into::into).collect());
    }
    text(page).and_then(|page| json::read(&page).map_err(|why| why.to_string()))
}

/// The error of a ledger's call that threw or whose promise rejected: code "conflict" or
/// "ledger_failed".
#[wasm_bindgen(js_name = ledgerFailure, unchecked_return_type = "WakefulError")]
#[must_use]
pub fn ledger_failure(
    #[wasm_bindgen(unchecked_param_type = "unknown")] thrown: JsValue,
) -> JsValue {
    failure(ledger_error(&thrown))
}

/// If another writer was first, a ledger throws an `Error` with the `code` "conflict" and with
/// `found`, the position of its end.
fn ledger_error(thrown: &JsValue) -> LedgerError {
    let property = |name: &str| js_sys::Reflect::get(thrown, &name.into()).ok();
    let is_conflict =
        property("code").and_then(|code| code.as_string()).as_deref() == Some("conflict");
    match property("found").and_then(|found| found.as_f64()) {
        Some(found) if is_conflict && found >= 0.0 => {
            LedgerError::Conflict { found: Seq(found as u64) }
        }
        _ => LedgerError::Failed { message: words(thrown) },
    }
}

impl JsClock {
    /// The time of the clock, if it returns one.
    fn reading(&self) -> Result<Timestamp, JsValue> {
        let reading = self
            .read_now()
            .map_err(|thrown| host_failed(&format!("the clock failed: {}", words(&thrown))))?;
        i64::try_from(reading).map(Timestamp::from_nanos).map_err(|_| {
            host_failed(
                "`clock.now` must return a bigint: nanoseconds since the epoch, within 64 bits, \
                 as `BigInt(Date.now()) * 1_000_000n`",
            )
        })
    }
}

/// Reads a host's clock: nanoseconds since the epoch.
///
/// # Errors Throws a `WakefulError` if the clock throws, or does not return a bigint of 64 bits.
#[wasm_bindgen(js_name = readClock)]
pub fn read_clock(clock: &JsClock) -> Result<i64, JsValue> {
    clock.reading().map(Timestamp::as_nanos)
}

/// The clock that the core sees. It is read once per call from outside, so that a clock that throws
/// does so before anything changes.
pub(crate) struct CallClock {
    source: Option<JsClock>,
    reading: Rc<Cell<Timestamp>>,
}

impl CallClock {
    /// A clock over the host's clock, already read.
    pub(crate) fn over(source: JsClock) -> Result<Self, JsValue> {
        let reading = Rc::new(Cell::new(source.reading()?));
        Ok(Self { source: Some(source), reading })
    }

    /// The clock for the core, which sees the reading of the call.
    pub(crate) fn shared(&self) -> Self {
        Self { source: None, reading: Rc::clone(&self.reading) }
    }

    /// Reads the host's clock for a new call.
    pub(crate) fn read(&self) -> Result<(), JsValue> {
        if let Some(source) = &self.source {
            self.reading.set(source.reading()?);
        }
        Ok(())
    }
}

impl Clock for CallClock {
    fn now(&mut self) -> Timestamp {
        self.reading.get()
    }
}

/// The provider of a host. A call of it starts work and returns.
pub(crate) struct HostProvider {
    of_host: JsProvider,
    mistakes: Mistakes,
}

impl HostProvider {
    pub(crate) fn new(of_host: JsProvider, mistakes: &Mistakes) -> Self {
        Self { of_host, mistakes: mistakes.clone() }
    }

    /// The host, of which this method is called now.
    fn called(&self, method: &'static str) -> &JsProvider {
        self.mistakes.begins(method);
        &self.of_host
    }

    /// What the method answered.
    #[inline(never)]
    fn answered(&self, answer: Result<JsValue, JsValue>) -> Result<JsValue, ProviderError> {
        self.mistakes.answered(answer).map_err(|thrown| ProviderError { message: words(&thrown) })
    }
}

impl Provider for HostProvider {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        // A method per effect, as in the released world, while the core has one method for all
        // (decision 001).
        let text = |thrown: JsValue| ProviderError { message: words(&thrown) };
        let answer = match effect {
            Effect::StartTurn(request) => {
                let request = object(request).map_err(text)?;
                self.called("provider.startTurn").start(&request)
            }
            Effect::Interject { run_id, message_id } => {
                self.called("provider.interject").insert(run_id.as_str(), message_id.as_str())
            }
            Effect::YieldTurn { run_id } => {
                self.called("provider.yieldTurn").end_after_round(run_id.as_str())
            }
            Effect::AbortTurn { run_id, reason } => {
                let reason = object(reason).map_err(text)?;
                self.called("provider.abortTurn").abort(run_id.as_str(), &reason)
            }
            Effect::Release => self.called("provider.release").let_go(),
        };
        self.answered(answer).map(|_| ())
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        if !has(&self.of_host, "alive") {
            return Ok(Vec::new());
        }
        let active: js_sys::Array =
            active.iter().map(|task| JsValue::from_str(task.as_str())).collect();
        let alive = self.answered(self.called("provider.alive").which_alive(&active))?;
        text(&alive).and_then(|alive| json::read(&alive).map_err(|why| why.to_string())).map_err(
            |why| ProviderError {
                message: format!("`provider.alive` must return an array of task ids: {why}"),
            },
        )
    }
}

/// The fact, as JSON text, about an effect whose provider threw this value.
#[wasm_bindgen(js_name = providerFailure)]
#[must_use]
pub fn provider_failure(
    run_id: Option<String>,
    #[wasm_bindgen(unchecked_param_type = "unknown")] thrown: JsValue,
) -> String {
    json::write(&Fact::failure(run_id.map(RunId::from), words(&thrown)))
}
