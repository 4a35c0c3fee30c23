//! The class `Machine`: the outbox, for hosts with asynchronous storage (IndexedDB, HTTP).

use serde::Serialize;
use wakeful_core::{Answer, Boundary, Decision, EntryBytes, Folder, Head, Import, Options, json};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

use crate::{
    crossing::{fact, instant, object, parsed, read, read_by},
    error::failure,
    host::lines,
    question::question,
};

/// A proposal as JavaScript sees it.
#[derive(Serialize)]
struct Proposal<'a> {
    expected: Head,
    batch: Vec<&'a str>,
    head: Head,
    answer: &'a Answer,
    decision: Option<&'a Decision>,
    goes_on: bool,
}

impl Proposal<'_> {
    fn crossed(proposal: &wakeful_core::Proposal) -> Result<JsValue, JsValue> {
        object(&Proposal {
            expected: proposal.expected,
            batch: proposal.batch.iter().map(EntryBytes::as_str).collect(),
            head: proposal.head,
            answer: &proposal.answer,
            decision: proposal.decision.as_ref(),
            // A batch of arrivals has no decision: the next step decides (contract 7.2).
            goes_on: proposal.decision.as_ref().is_none_or(|decision| decision.kind.goes_on()),
        })
    }
}

/// The scheduler of one agent as an outbox. It proposes a batch: append it at the expected head,
/// then call `committed` and carry the effects out. Call `rejected` if another writer was first,
/// and `unacknowledged` if the store failed to answer. Times are nanoseconds since the epoch.
#[wasm_bindgen]
pub struct Machine {
    inner: wakeful_core::Machine,
}

#[wasm_bindgen]
impl Machine {
    /// A machine before the first entry: `load` the entries of the ledger, then commit what `begin`
    /// proposes.
    ///
    /// # Errors
    /// Throws a `WakefulError` if the options cannot be read.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "Options")] options: JsValue,
    ) -> Result<Self, JsValue> {
        let options = read_by("options", &options, Options::from_json)?;
        Ok(Self { inner: wakeful_core::Machine::new(options) })
    }

    /// Applies the next stored line, verified.
    ///
    /// # Errors
    /// Throws a `WakefulError` if it is damaged or out of order, of a newer format, or another
    /// agent's.
    pub fn load(&mut self, line: String) -> Result<(), JsValue> {
        self.inner.load(&EntryBytes::from_stored(line)).map_err(failure)
    }

    /// Verifies and applies a page of stored lines from a ledger's `read`. Returns their number.
    ///
    /// # Errors Throws a `WakefulError` if it is not a page of at most `limit` lines, and as
    /// `load`.
    #[wasm_bindgen(js_name = loadPage)]
    pub fn load_page(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "unknown")] page: JsValue,
        limit: u32,
    ) -> Result<u32, JsValue> {
        let mut loaded = 0;
        for line in lines(&page, limit).map_err(failure)? {
            self.inner.load(&line).map_err(failure)?;
            loaded += 1;
        }
        Ok(loaded)
    }

    /// Proposes the first entry of a ledger; undefined if the ledger has it.
    ///
    /// # Errors
    /// Throws a `WakefulError` if a proposal is open.
    #[wasm_bindgen(unchecked_return_type = "Proposal | undefined")]
    pub fn begin(&mut self, now: i64) -> Result<JsValue, JsValue> {
        let proposal = self.inner.begin(instant(now)).map_err(failure)?;
        proposal.as_ref().map_or(Ok(JsValue::UNDEFINED), Proposal::crossed)
    }

    /// Proposes the batch of a fact: JSON text, which stays as it is, or an object.
    ///
    /// # Errors Throws a `WakefulError` if it is too long or malformed, if the ledger has no first
    /// entry, or if a proposal is open.
    #[wasm_bindgen(unchecked_return_type = "Proposal")]
    pub fn propose(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Fact | string", js_name = "fact")] given: JsValue,
        now: i64,
    ) -> Result<JsValue, JsValue> {
        Proposal::crossed(&self.inner.propose_json(&fact(&given)?, instant(now)).map_err(failure)?)
    }

    /// Proposes a whole fixture folder (path to text), as an observer sees it. Only
    /// `core-fast.wasm` has it.
    ///
    /// # Errors
    /// Throws a `WakefulError` if the folder cannot be read, the ledger holds more than its
    /// first entry, or a proposal is open.
    #[wasm_bindgen(js_name = importFolder, unchecked_return_type = "Proposal")]
    pub fn import_folder(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue,
        now: i64,
    ) -> Result<JsValue, JsValue> {
        question("importFolder", || {
            let folder: Folder = read("folder", &files)?;
            let import = Import::of_folder(&folder, instant(now)).map_err(failure)?;
            Proposal::crossed(&self.inner.import(import, instant(now)).map_err(failure)?)
        })
    }

    /// Proposes the next step; undefined if there is nothing new.
    ///
    /// # Errors
    /// Throws a `WakefulError` if no driver has taken the ledger over, or a proposal is open.
    #[wasm_bindgen(unchecked_return_type = "Proposal | undefined")]
    pub fn step(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
        now: i64,
    ) -> Result<JsValue, JsValue> {
        let boundary: Boundary = read("boundary", &boundary)?;
        let proposal = self.inner.step(boundary, instant(now)).map_err(failure)?;
        proposal.as_ref().map_or(Ok(JsValue::UNDEFINED), Proposal::crossed)
    }

    /// The active tasks. After a restart, name those that still run in `runtime_restarted`; the
    /// others become interrupted.
    #[wasm_bindgen(js_name = activeTasks)]
    #[must_use]
    pub fn active_tasks(&self) -> Vec<String> {
        self.inner.state().active_tasks().map(|task| task.id.to_string()).collect()
    }

    /// The boundary at which a loop takes its next step.
    ///
    /// # Errors
    /// Throws if it cannot cross, which is a bug.
    #[wasm_bindgen(unchecked_return_type = "Boundary")]
    pub fn boundary(&self) -> Result<JsValue, JsValue> {
        object(&self.inner.boundary())
    }

    /// The batch is durable: applies it and returns its effects. Without an open proposal it does
    /// nothing.
    ///
    /// # Errors
    /// Throws if the effects cannot cross, which is a bug.
    #[wasm_bindgen(unchecked_return_type = "Effect[]")]
    pub fn committed(&mut self) -> Result<JsValue, JsValue> {
        parsed(&self.committed_text())
    }

    /// As `committed`, with the effects as the core's exact text.
    #[wasm_bindgen(js_name = committedText)]
    pub fn committed_text(&mut self) -> String {
        json::write(&self.inner.committed())
    }

    /// The batch was not stored: drops it. The state is as before; propose again.
    pub fn rejected(&mut self) {
        self.inner.rejected();
    }

    /// It is not known whether the batch was stored. The state is as before; propose again. If
    /// another append finds a longer ledger, load the new entries, and then call `found`.
    pub fn unacknowledged(&mut self) {
        self.inner.unacknowledged();
    }

    /// The effects of batches that were `unacknowledged` and then loaded. They were stored after
    /// all, and their effects are still to be carried out. Call this also if reading on fails.
    ///
    /// # Errors
    /// Throws if the effects cannot cross, which is a bug.
    #[wasm_bindgen(unchecked_return_type = "Effect[]")]
    pub fn found(&mut self) -> Result<JsValue, JsValue> {
        object(&self.inner.found())
    }

    /// Explains what would be decided now. Appends nothing.
    ///
    /// # Errors Throws a `WakefulError` if there is no boundary of this name.
    #[wasm_bindgen(unchecked_return_type = "Explanation")]
    pub fn explain(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
        now: i64,
    ) -> Result<JsValue, JsValue> {
        parsed(&self.explain_text(boundary, now)?)
    }

    /// As `explain`, with the explanation as the core's exact text.
    ///
    /// # Errors
    /// As `explain`.
    #[wasm_bindgen(js_name = explainText)]
    pub fn explain_text(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Boundary")] boundary: JsValue,
        now: i64,
    ) -> Result<String, JsValue> {
        let boundary: Boundary = read("boundary", &boundary)?;
        Ok(json::write(&self.inner.explain(boundary, instant(now))))
    }

    /// The earliest instant after `now` at which a step would find something new. Ask again after
    /// every commit.
    #[wasm_bindgen(js_name = nextWake)]
    #[must_use]
    pub fn next_wake(&self, now: i64) -> Option<i64> {
        self.inner.next_wake(instant(now)).map(|at| at.as_nanos())
    }

    /// The state up to the last committed entry.
    ///
    /// # Errors
    /// Throws if the state cannot cross, which is a bug.
    #[wasm_bindgen(unchecked_return_type = "State")]
    pub fn state(&self) -> Result<JsValue, JsValue> {
        parsed(&self.state_text())
    }

    /// As `state`, as the core's exact text.
    #[wasm_bindgen(js_name = stateText)]
    #[must_use]
    pub fn state_text(&self) -> String {
        json::write(self.inner.state())
    }

    /// The head of the last committed entry.
    ///
    /// # Errors
    /// Throws if the head cannot cross, which is a bug.
    #[wasm_bindgen(unchecked_return_type = "Head")]
    pub fn head(&self) -> Result<JsValue, JsValue> {
        parsed(&self.head_text())
    }

    /// As `head`, as the core's exact text.
    #[wasm_bindgen(js_name = headText)]
    #[must_use]
    pub fn head_text(&self) -> String {
        json::write(&self.inner.head())
    }
}
