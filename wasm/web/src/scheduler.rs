//! The class `Scheduler`: the core's short loop over a JavaScript host.

use std::cell::{RefCell, RefMut};

use wakeful_core::{Boundary, DecisionKind, Folder, Machine, Options, SchedulerError, Seq, json};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

use crate::{
    crossing::{fact, parsed, read, read_by},
    error::failure,
    host::{CallClock, HostLedger, HostProvider, JsHost},
    mistake::Mistakes,
    question::question,
};

type Loop = wakeful_core::Scheduler<HostLedger, CallClock, HostProvider>;

/// The entry with this number. A value that is not a position becomes 0, which no entry has.
pub(crate) fn position(seq: f64) -> Seq {
    Seq(seq as u64)
}

/// The scheduler of one agent over a host with synchronous storage.
#[wasm_bindgen]
pub struct Scheduler {
    // The provider runs inside a call. If it calls the scheduler, this cell makes an error with a
    // code instead of a broken object.
    inner: RefCell<Loop>,
    clock: CallClock,
    mistakes: Mistakes,
}

#[wasm_bindgen]
impl Scheduler {
    /// Opens a ledger as an observer: reads and verifies it. An empty ledger gets its first entry.
    /// Nothing is started.
    ///
    /// # Errors
    /// Throws a `WakefulError` if the ledger cannot be read, or is damaged, newer, or another
    /// agent's.
    pub fn observe(
        #[wasm_bindgen(unchecked_param_type = "Options")] options: JsValue,
        host: &JsHost,
    ) -> Result<Self, JsValue> {
        Self::open(options, host, Loop::observe)
    }

    /// Opens a ledger as its driver: reads it and takes it over. An open run of the previous driver
    /// becomes interrupted.
    ///
    /// # Errors
    /// As `observe`.
    pub fn drive(
        #[wasm_bindgen(unchecked_param_type = "Options")] options: JsValue,
        host: &JsHost,
    ) -> Result<Self, JsValue> {
        Self::open(options, host, Loop::drive)
    }

    fn open(
        options: JsValue,
        host: &JsHost,
        how: fn(Options, HostLedger, CallClock, HostProvider) -> Result<Loop, SchedulerError>,
    ) -> Result<Self, JsValue> {
        let options = read_by("options", &options, Options::from_json)?;
        let (ledger, clock, provider) = host.parts()?;
        let clock = CallClock::over(clock)?;
        let mistakes = Mistakes::default();
        let ledger = HostLedger::new(ledger, &mistakes);
        let provider = HostProvider::new(provider, &mistakes);
        let opened = how(options, ledger, clock.shared(), provider);
        mistakes.none()?;
        let inner = RefCell::new(opened.map_err(failure)?);
        Ok(Self { inner, clock, mistakes })
    }

    /// The loop for one call, with one reading of the clock.
    #[inline(never)]
    pub(crate) fn call(&self) -> Result<RefMut<'_, Loop>, JsValue> {
        let inner = self.inner.try_borrow_mut().map_err(|_| self.mistakes.inside())?;
        // After the borrow, so that a refused call does not move the clock of the call that is
        // running.
        self.mistakes.begins("clock.now");
        let read = self.clock.read();
        self.mistakes.ends();
        self.mistakes.none()?;
        read?;
        Ok(inner)
    }

    /// Does a piece of work that calls the host, and throws what the host did wrong meanwhile.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut Loop) -> Result<T, SchedulerError>,
    ) -> Result<T, JsValue> {
        let came = work(&mut *self.call()?);
        self.mistakes.none()?;
        came.map_err(failure)
    }

    /// Asks the machine as it was at an entry.
    pub(crate) fn at<T>(&self, seq: f64, ask: impl FnOnce(&Machine) -> T) -> Result<T, JsValue> {
        self.with(|inner| inner.at(position(seq)).map(ask))
    }

    /// Takes a fact: JSON text, which stays as it is, or an object.
    ///
    /// # Errors Throws a `WakefulError` if it is malformed or too long, or if the ledger fails.
    /// Nothing has changed then.
    #[wasm_bindgen(unchecked_return_type = "Receipt")]
    pub fn propose(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Fact | string", js_name = "fact")] given: JsValue,
    ) -> Result<JsValue, JsValue> {
        parsed(&self.propose_text(given)?)
    }

    /// As `propose`, with the receipt as the core's exact text.
    ///
    /// # Errors
    /// As `propose`.
    #[wasm_bindgen(js_name = proposeText)]
    pub fn propose_text(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Fact | string", js_name = "fact")] given: JsValue,
    ) -> Result<String, JsValue> {
        let given = fact(&given)?;
        Ok(json::write(&self.with(|inner| inner.propose(&given))?))
    }

    /// Reads what others appended, and returns the number of entries. Call it after an error with
    /// the code "conflict", then repeat the call. An own batch may have been stored although its
    /// append failed; its effects are carried out now.
    ///
    /// # Errors Throws a `WakefulError` if the ledger cannot be read, is damaged, or has another
    /// history.
    #[wasm_bindgen(js_name = catchUp)]
    pub fn catch_up(&self) -> Result<f64, JsValue> {
        // A count of lines in memory is far below 2^53.
        Ok(self.with(Loop::catch_up)? as f64)
    }

    /// Takes one step at a boundary.
    ///
    /// # Errors Throws a `WakefulError` if the ledger is only observed, or if it fails. Nothing has
    /// changed then.
    #[wasm_bindgen(unchecked_return_type = "StepReport")]
    pub fn step(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
    ) -> Result<JsValue, JsValue> {
        parsed(&self.step_text(boundary)?)
    }

    /// As `step`, with the report as the core's exact text.
    ///
    /// # Errors
    /// As `step`.
    #[wasm_bindgen(js_name = stepText)]
    pub fn step_text(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
    ) -> Result<String, JsValue> {
        let boundary: Boundary = read("boundary", &boundary)?;
        Ok(json::write(&self.with(|inner| inner.step(boundary))?))
    }

    /// Steps until there is nothing more to do: a rest, a stop, or an open run.
    ///
    /// # Errors
    /// As `step`; code `restless` if it does not rest.
    #[wasm_bindgen(js_name = runUntilRest, unchecked_return_type = "StepReport[]")]
    pub fn run_until_rest(&self) -> Result<JsValue, JsValue> {
        parsed(&self.run_until_rest_text()?)
    }

    /// As `runUntilRest`, with the reports as the core's exact text.
    ///
    /// # Errors
    /// As `runUntilRest`.
    #[wasm_bindgen(js_name = runUntilRestText)]
    pub fn run_until_rest_text(&self) -> Result<String, JsValue> {
        Ok(json::write(&self.with(Loop::run_until_rest)?))
    }

    /// Imports a fixture folder (path to text) into a fresh ledger, as an observer sees it.
    /// Only `core-fast.wasm` has it.
    ///
    /// # Errors
    /// Throws a `WakefulError` if the folder cannot be read, the ledger is not fresh, or it
    /// fails.
    #[wasm_bindgen(js_name = importFolder, unchecked_return_type = "Head")]
    pub fn import_folder(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue,
    ) -> Result<JsValue, JsValue> {
        parsed(&self.import_folder_text(files)?)
    }

    /// As `importFolder`, with the head as the core's exact text.
    ///
    /// # Errors
    /// As `importFolder`.
    #[wasm_bindgen(js_name = importFolderText)]
    pub fn import_folder_text(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue,
    ) -> Result<String, JsValue> {
        question("importFolder", || {
            let folder: Folder = read("folder", &files)?;
            Ok(json::write(&self.with(|inner| inner.import(&folder))?))
        })
    }

    /// Imports a fixture folder into a fresh ledger, and compares the decision with its
    /// `expected.json`.
    /// Only `core-fast.wasm` has it.
    ///
    /// # Errors
    /// As `importFolder`.
    #[wasm_bindgen(unchecked_return_type = "Replay")]
    pub fn replay(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue,
    ) -> Result<JsValue, JsValue> {
        parsed(&self.replay_text(files)?)
    }

    /// As `replay`, with the answer as the core's exact text.
    ///
    /// # Errors
    /// As `importFolder`.
    #[wasm_bindgen(js_name = replayText)]
    pub fn replay_text(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue,
    ) -> Result<String, JsValue> {
        question("replay", || {
            let folder: Folder = read("folder", &files)?;
            Ok(json::write(&self.with(|inner| inner.replay(&folder))?))
        })
    }

    /// Explains what would be decided at a boundary, by default at that of the loop's next step.
    /// Appends nothing.
    ///
    /// # Errors Throws a `WakefulError` if there is no boundary of this name.
    #[wasm_bindgen(unchecked_return_type = "Explanation")]
    pub fn explain(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "Boundary")] boundary: JsValue,
    ) -> Result<JsValue, JsValue> {
        parsed(&self.explain_text(boundary)?)
    }

    /// As `explain`, with the explanation as the core's exact text.
    ///
    /// # Errors
    /// As `explain`.
    #[wasm_bindgen(js_name = explainText)]
    pub fn explain_text(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "Boundary")] boundary: JsValue,
    ) -> Result<String, JsValue> {
        let given: Option<Boundary> = match boundary.is_undefined() {
            true => None,
            false => Some(read("boundary", &boundary)?),
        };
        let mut inner = self.call()?;
        let boundary = given.unwrap_or_else(|| inner.boundary());
        Ok(json::write(&inner.explain(boundary)))
    }

    /// Explains what would have been decided after an entry, at its instant. Appends nothing.
    /// Only `core-fast.wasm` has it.
    ///
    /// # Errors Throws a `WakefulError` if there is no such boundary or entry, or if the ledger
    /// cannot be read.
    #[wasm_bindgen(js_name = explainAt, unchecked_return_type = "Explanation")]
    pub fn explain_at(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
        seq: f64,
    ) -> Result<JsValue, JsValue> {
        parsed(&self.explain_at_text(boundary, seq)?)
    }

    /// As `explainAt`, with the explanation as the core's exact text.
    ///
    /// # Errors
    /// As `explainAt`.
    #[wasm_bindgen(js_name = explainAtText)]
    pub fn explain_at_text(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
        seq: f64,
    ) -> Result<String, JsValue> {
        question("explainAt", || {
            let boundary: Boundary = read("boundary", &boundary)?;
            self.at(seq, |then| json::write(&then.explain(boundary, then.state().at())))
        })
    }

    /// What would have to change for a decision of this kind. Appends nothing.
    /// Only `core-fast.wasm` has it.
    ///
    /// # Errors Throws a `WakefulError` if there is no such boundary or decision.
    #[wasm_bindgen(js_name = whyNot, unchecked_return_type = "WhyNot")]
    pub fn why_not(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
        #[wasm_bindgen(unchecked_param_type = "DecisionKind")] decision: JsValue,
    ) -> Result<JsValue, JsValue> {
        parsed(&self.why_not_text(boundary, decision)?)
    }

    /// As `whyNot`, as the core's exact text.
    ///
    /// # Errors
    /// As `whyNot`.
    #[wasm_bindgen(js_name = whyNotText)]
    pub fn why_not_text(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
        #[wasm_bindgen(unchecked_param_type = "DecisionKind")] decision: JsValue,
    ) -> Result<String, JsValue> {
        question("whyNot", || {
            let (boundary, asked): (Boundary, DecisionKind) =
                (read("boundary", &boundary)?, read("decision", &decision)?);
            Ok(json::write(&self.call()?.why_not(boundary, asked)))
        })
    }

    /// What would have had to change after an entry, at its instant. Appends nothing.
    /// Only `core-fast.wasm` has it.
    ///
    /// # Errors
    /// As `explainAt` and `whyNot`.
    #[wasm_bindgen(js_name = whyNotAt, unchecked_return_type = "WhyNot")]
    pub fn why_not_at(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
        #[wasm_bindgen(unchecked_param_type = "DecisionKind")] decision: JsValue,
        seq: f64,
    ) -> Result<JsValue, JsValue> {
        parsed(&self.why_not_at_text(boundary, decision, seq)?)
    }

    /// As `whyNotAt`, as the core's exact text.
    ///
    /// # Errors
    /// As `whyNotAt`.
    #[wasm_bindgen(js_name = whyNotAtText)]
    pub fn why_not_at_text(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
        #[wasm_bindgen(unchecked_param_type = "DecisionKind")] decision: JsValue,
        seq: f64,
    ) -> Result<String, JsValue> {
        question("whyNotAt", || {
            let (boundary, asked): (Boundary, DecisionKind) =
                (read("boundary", &boundary)?, read("decision", &decision)?);
            self.at(seq, |then| json::write(&then.why_not(boundary, asked, then.state().at())))
        })
    }

    /// The agent's summary, assembled now. Only `core-fast.wasm` has it.
    ///
    /// # Errors
    /// Throws a `WakefulError` inside another call.
    #[wasm_bindgen(unchecked_return_type = "AgentSummary")]
    pub fn summary(&self) -> Result<JsValue, JsValue> {
        parsed(&self.summary_text()?)
    }

    /// As `summary`, as the core's exact text.
    ///
    /// # Errors
    /// As `summary`.
    #[wasm_bindgen(js_name = summaryText)]
    pub fn summary_text(&self) -> Result<String, JsValue> {
        question("summary", || Ok(json::write(&self.call()?.summary())))
    }

    /// The state as text to store beside the ledger. A ledger with `storeSnapshot` gets one each
    /// time the entries since the newest one have become about four times as long.
    ///
    /// # Errors
    /// Throws a `WakefulError` inside another call.
    pub fn snapshot(&self) -> Result<String, JsValue> {
        Ok(self.call()?.snapshot())
    }

    /// The state after an entry. States on the way are cached, so that moving on and back from
    /// there is fast.
    /// Only `core-fast.wasm` has it.
    ///
    /// # Errors
    /// Throws a `WakefulError` if there is no such entry, or the ledger cannot be read.
    #[wasm_bindgen(js_name = stateAt, unchecked_return_type = "State")]
    pub fn state_at(&self, seq: f64) -> Result<JsValue, JsValue> {
        parsed(&self.state_at_text(seq)?)
    }

    /// As `stateAt`, as the core's exact text.
    ///
    /// # Errors
    /// As `stateAt`.
    #[wasm_bindgen(js_name = stateAtText)]
    pub fn state_at_text(&self, seq: f64) -> Result<String, JsValue> {
        question("stateAt", || self.at(seq, |then| json::write(then.state())))
    }

    /// The earliest instant at which a step would find something new, in nanoseconds since the
    /// epoch.
    ///
    /// # Errors
    /// Throws a `WakefulError` if the clock fails.
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
        parsed(&self.state_text()?)
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
        parsed(&self.head_text()?)
    }

    /// As `head`, as the core's exact text.
    ///
    /// # Errors
    /// As `head`.
    #[wasm_bindgen(js_name = headText)]
    pub fn head_text(&self) -> Result<String, JsValue> {
        Ok(json::write(&self.call()?.state().head()))
    }
}
