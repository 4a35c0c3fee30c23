//! Folders of foreign ledgers, before one is imported.

use wakeful_core::Folder;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::{crossing::read, error::failure, question::question};

/// The agent of a folder (path to text). Open the ledger for this agent, then import. Only
/// `core-fast.wasm` has it.
///
/// # Errors
/// Throws a `WakefulError` if the agent's file is missing or malformed.
#[wasm_bindgen(js_name = agentOf)]
pub fn agent_of(
    #[wasm_bindgen(unchecked_param_type = "Folder")] files: JsValue,
) -> Result<String, JsValue> {
    question("agentOf", || {
        let folder: Folder = read("folder", &files)?;
        wakeful_core::agent_of(&folder).map(|agent| agent.as_str().to_owned()).map_err(failure)
    })
}
