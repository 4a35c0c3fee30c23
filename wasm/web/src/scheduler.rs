//! The class `Scheduler`: the core's short loop over a JavaScript host.

use std::cell::{RefCell, RefMut};

use wakeful_core::{
    foreign::Folder,
    host::{self, ErrorCode, ErrorReport, SchedulerError},
    json,
    ladder::Boundary,
    machine::Options,
};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

use crate::{
    crossing::{object, parsed, read},
    error::{failure, thrown},
    host::{CallClock, JsHost, JsLedger, JsProvider},
};

type Loop = host::Scheduler<JsLedger, CallClock, JsProvider>;

/// The scheduler of one agent over a host whose storage is synchronous.
#[wasm_bindgen]
pub struct Scheduler {
    // A provider is called while a call runs; a cell turns its call back into an error with a code instead of a broken object.
    inner: RefCell<Loop>,
    clock: CallClock,
}

#[wasm_bindgen]
impl Scheduler {
    /// Opens a ledger as an observer: reads and verifies it, and begins it where it is empty. Nothing is started.
    ///
    /// # Errors
    /// Throws a `WakefulError` where the ledger cannot be read, or is damaged, newer, or another agent's.
    pub fn observe(#[wasm_bindgen(unchecked_param_type = "Options")] options: JsValue, host: &JsHost) -> Result<Self, JsValue> {
        Self::open(options, host, Loop::observe)
    }

    /// Opens a ledger as its driver: observes it and takes it over. An open run of the driver before becomes interrupted.
    ///
    /// # Errors
    /// As `observe`.
    pub fn drive(#[wasm_bindgen(unchecked_param_type = "Options")] options: JsValue, host: &JsHost) -> Result<Self, JsValue> {
        Self::open(options, host, Loop::drive)
    }

    fn open(
        options: JsValue,
        host: &JsHost,
        how: fn(Options, JsLedger, CallClock, JsProvider) -> Result<Loop, SchedulerError>,
    ) -> Result<Self, JsValue> {
        let options: Options = read("options", options)?;
        let (ledger, clock, provider) = host.parts()?;
        let clock = CallClock::over(clock)?;
        let inner = how(options, ledger, clock.shared(), provider).map_err(failure)?;
        Ok(Self { inner: RefCell::new(inner), clock })
    }

    /// The loop for one call, at one reading of the clock.
    fn call(&self) -> Result<RefMut<'_, Loop>, JsValue> {
        let inner = self.inner.try_borrow_mut().map_err(|_| {
            let message = "the scheduler is inside a call: say what a turn brings after the provider's method has returned".into();
            thrown(&ErrorReport { code: ErrorCode::WrongState, message, place: None })
        })?;
        self.clock.read()?;
        Ok(inner)
    }

    /// Takes a fact in JSON text.
    ///
    /// # Errors
    /// Throws a `WakefulError` where the text is malformed or too long, or the ledger fails; nothing has changed then.
    #[wasm_bindgen(unchecked_return_type = "Receipt")]
    pub fn propose(&self, fact: &str) -> Result<JsValue, JsValue> {
        parsed(&self.call()?.propose(fact).map_err(failure)?)
    }

    /// As `propose`, with the receipt as the core's exact text.
    ///
    /// # Errors
    /// As `propose`.
    #[wasm_bindgen(js_name = proposeText)]
    pub fn propose_text(&self, fact: &str) -> Result<String, JsValue> {
        Ok(json::write(&self.call()?.propose(fact).map_err(failure)?))
    }

    /// Takes one step at a boundary.
    ///
    /// # Errors
    /// Throws a `WakefulError` where the ledger is observed only, or fails; nothing has changed then.
    #[wasm_bindgen(unchecked_return_type = "StepReport")]
    pub fn step(&self, #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue) -> Result<JsValue, JsValue> {
        let boundary: Boundary = read("boundary", boundary)?;
        parsed(&self.call()?.step(boundary).map_err(failure)?)
    }

    /// As `step`, with the report as the core's exact text.
    ///
    /// # Errors
    /// As `step`.
    #[wasm_bindgen(js_name = stepText)]
    pub fn step_text(&self, #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue) -> Result<String, JsValue> {
        let boundary: Boundary = read("boundary", boundary)?;
        Ok(json::write(&self.call()?.step(boundary).map_err(failure)?))
    }

    /// Steps until there is nothing more to do: a rest, a stop, or an open run.
    ///
    /// # Errors
    /// As `step`; code `restless` where it does not come to rest.
    #[wasm_bindgen(js_name = runUntilRest, unchecked_return_type = "StepReport[]")]
    pub fn run_until_rest(&self) -> Result<JsValue, JsValue> {
        parsed(&self.call()?.run_until_rest().map_err(failure)?)
    }

    /// As `runUntilRest`, with the reports as the core's exact text.
    ///
    /// # Errors
    /// As `runUntilRest`.
    #[wasm_bindgen(js_name = runUntilRestText)]
    pub fn run_until_rest_text(&self) -> Result<String, JsValue> {
        Ok(json::write(&self.call()?.run_until_rest().map_err(failure)?))
    }

    /// Imports a fixture folder (path to text) into a fresh ledger, as an observer sees it.
    ///
    /// # Errors
    /// Throws a `WakefulError` where the folder cannot be read, the ledger is not fresh, or it fails.
    #[wasm_bindgen(js_name = importFolder, unchecked_return_type = "Head")]
    pub fn import_folder(&self, #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue) -> Result<JsValue, JsValue> {
        let folder: Folder = read("folder", files)?;
        object(&self.call()?.import(&folder).map_err(failure)?)
    }

    /// As `importFolder`, with the head as the core's exact text.
    ///
    /// # Errors
    /// As `importFolder`.
    #[wasm_bindgen(js_name = importFolderText)]
    pub fn import_folder_text(&self, #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue) -> Result<String, JsValue> {
        let folder: Folder = read("folder", files)?;
        Ok(json::write(&self.call()?.import(&folder).map_err(failure)?))
    }

    /// Imports a fixture folder into a fresh ledger and compares what is decided with its `expected.json`.
    ///
    /// # Errors
    /// As `importFolder`.
    #[wasm_bindgen(unchecked_return_type = "Replay")]
    pub fn replay(&self, #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue) -> Result<JsValue, JsValue> {
        let folder: Folder = read("folder", files)?;
        object(&self.call()?.replay(&folder).map_err(failure)?)
    }

    /// As `replay`, with the answer as the core's exact text.
    ///
    /// # Errors
    /// As `importFolder`.
    #[wasm_bindgen(js_name = replayText)]
    pub fn replay_text(&self, #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue) -> Result<String, JsValue> {
        let folder: Folder = read("folder", files)?;
        Ok(json::write(&self.call()?.replay(&folder).map_err(failure)?))
    }

    /// Explains what would be decided at a boundary. Appends nothing.
    ///
    /// # Errors
    /// Throws a `WakefulError` where the boundary has no such name.
    #[wasm_bindgen(unchecked_return_type = "Explanation")]
    pub fn explain(&self, #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue) -> Result<JsValue, JsValue> {
        let boundary: Boundary = read("boundary", boundary)?;
        object(&self.call()?.explain(boundary))
    }

    /// As `explain`, with the explanation as the core's exact text.
    ///
    /// # Errors
    /// As `explain`.
    #[wasm_bindgen(js_name = explainText)]
    pub fn explain_text(&self, #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue) -> Result<String, JsValue> {
        let boundary: Boundary = read("boundary", boundary)?;
        Ok(json::write(&self.call()?.explain(boundary)))
    }

    /// The earliest instant at which a step would find something new, in nanoseconds since the epoch.
    ///
    /// # Errors
    /// Throws what the clock throws.
    #[wasm_bindgen(js_name = nextWake)]
    pub fn next_wake(&self) -> Result<Option<i64>, JsValue> {
        Ok(self.call()?.next_wake().map(|at| at.as_nanos()))
    }

    /// As `nextWake`, as the core's exact text: an RFC 3339 instant in quotes, or null.
    ///
    /// # Errors
    /// As `nextWake`.
    #[wasm_bindgen(js_name = nextWakeText)]
    pub fn next_wake_text(&self) -> Result<String, JsValue> {
        Ok(json::write(&self.call()?.next_wake()))
    }

    /// The state up to the last committed entry.
    ///
    /// # Errors
    /// Throws a `WakefulError` inside another call.
    #[wasm_bindgen(unchecked_return_type = "State")]
    pub fn state(&self) -> Result<JsValue, JsValue> {
        parsed(self.call()?.state())
    }

    /// As `state`, as the core's exact text.
    ///
    /// # Errors
    /// As `state`.
    #[wasm_bindgen(js_name = stateText)]
    pub fn state_text(&self) -> Result<String, JsValue> {
        Ok(json::write(self.call()?.state()))
    }

    /// The head of the last committed entry.
    ///
    /// # Errors
    /// Throws a `WakefulError` inside another call.
    #[wasm_bindgen(unchecked_return_type = "Head")]
    pub fn head(&self) -> Result<JsValue, JsValue> {
        object(&self.call()?.state().head)
    }

    /// As `head`, as the core's exact text.
    ///
    /// # Errors
    /// As `head`.
    #[wasm_bindgen(js_name = headText)]
    pub fn head_text(&self) -> Result<String, JsValue> {
        Ok(json::write(&self.call()?.state().head))
    }
}
