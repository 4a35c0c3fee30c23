//! Calls for the workbench only: a whole view of the past, also under another edition or policy;
//! the entries at which the decision changes, and odd ones; and a ledger as a fixture folder.

use serde::Serialize;
use wakeful_core::{
    AgentSummary, Boundary, Edition, Explanation, Headline, Supposition, Timestamp, json::Readable,
};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

use crate::{
    crossing::{object, plain, read, read_by},
    scheduler::{Scheduler, position},
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &'static str = r#"
import type { Edition, Headline, Oddity, Policy } from "./payloads.js";

/** A store that has its lines as bytes. A long ledger is read faster so. */
export interface ByteLedger extends Omit<Ledger, "read"> {
  /**
   * Up to `limit` lines after the position `after`, in order, in UTF-8 and each ended by a newline;
   * empty at the end.
   */
  read(after: number, limit: number): Uint8Array;
}

/** How the past is looked at; each part may be absent. */
export interface ViewOptions {
  /** The boundary of the decision; by default the next one of a loop. */
  boundary?: Boundary;
  /** Explains as if this edition were set. */
  edition?: Edition;
  /** Explains as if these values of the policy were set; the others are those of the ledger. */
  policy?: Policy;
  /** The time of the reader (RFC 3339), for whom the core says what is overdue. */
  now?: string;
}

/** The agent after an entry, at its instant. The next wake is in the explanation. */
export interface AgentView {
  boundary: Boundary;
  explanation: Explanation;
  headline: Headline;
  summary: AgentSummary;
}

/** The decision after the entry `seq`, and after each later one up to the next in the list. */
export interface DecisionFrom {
  seq: number;
  decision: DecisionKind;
  rule: string;
  reason: string;
}

/** What happened in some entries. */
export interface History {
  /** The first entry, and those at which decision, rule or reason change. */
  decisions: DecisionFrom[];
  /** What is odd. A burst that goes on is in the next history too, with its first entry. */
  oddities: Oddity[];
}
"#;

/// `AgentView` in TypeScript.
#[derive(Serialize)]
struct AgentView {
    boundary: Boundary,
    explanation: Explanation,
    headline: Headline,
    summary: AgentSummary,
}

/// The part of `ViewOptions` beside the supposition.
#[derive(Readable)]
struct Asked {
    boundary: Option<Boundary>,
    now: Option<Timestamp>,
}

/// The options of `history`.
#[derive(Readable)]
struct Under {
    edition: Option<Edition>,
}

#[wasm_bindgen]
impl Scheduler {
    /// The agent after an entry, at its instant. Appends nothing, even if another edition or policy
    /// is supposed.
    ///
    /// # Errors Throws a `WakefulError` if there is no such entry, if the ledger cannot be read, or
    /// if an option is malformed. Values of the policy are checked as in the fact `policy_set`.
    #[wasm_bindgen(js_name = viewAt, unchecked_return_type = "AgentView")]
    pub fn view_at(
        &self,
        seq: f64,
        #[wasm_bindgen(unchecked_optional_param_type = "ViewOptions")] options: JsValue,
    ) -> Result<JsValue, JsValue> {
        let options = or_none(options);
        let asked: Asked = read("options", &options)?;
        let supposed = read_by("options", &options, Supposition::read)?;
        let view = self.at(seq, |then| {
            let other = then.supposing(&supposed);
            let then = other.as_ref().unwrap_or(then);
            let boundary = asked.boundary.unwrap_or_else(|| then.boundary());
            let explanation = then.explain(boundary, then.state().at());
            AgentView {
                boundary,
                headline: then.headline(&explanation.decision, asked.now),
                explanation,
                summary: then.summary(),
            }
        })?;
        object(&view)
    }

    /// What happened in the entries `from` to `to`. Each decision is at the instant of its entry
    /// and at the next boundary of a loop. Each entry is folded once, and a call that continues
    /// the previous one reads nothing twice. Under another edition, nothing is odd.
    ///
    /// # Errors Throws a `WakefulError` if there is no such entry or edition, or if the ledger
    /// cannot be read.
    #[wasm_bindgen(unchecked_return_type = "History")]
    pub fn history(
        &self,
        from: f64,
        to: f64,
        #[wasm_bindgen(unchecked_optional_param_type = "{ edition?: Edition }")] options: JsValue,
    ) -> Result<JsValue, JsValue> {
        let under: Under = read("options", &or_none(options))?;
        let entries = position(from)..=position(to);
        plain(&self.with(|inner| inner.history(entries, under.edition))?)
    }

    /// The ledger as a fixture folder with its `expected.json`: up to an entry, or all of it.
    ///
    /// # Errors
    /// Throws a `WakefulError` if there is no such entry, or the ledger cannot be read.
    #[wasm_bindgen(js_name = exportFolder, unchecked_return_type = "Folder")]
    pub fn export_folder(&self, up_to: Option<f64>) -> Result<JsValue, JsValue> {
        object(&self.with(|inner| inner.export(up_to.map(position)))?)
    }
}

/// The options of a call, if it has any.
fn or_none(options: JsValue) -> JsValue {
    if options.is_undefined() { js_sys::Object::new().into() } else { options }
}
