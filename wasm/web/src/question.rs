//! Calls that the small module does not answer: why not, the past, the summary, and foreign
//! folders. A page's loop needs none of them, and they would make its download a sixth larger.

use wasm_bindgen::JsValue;

/// Answers a call of the full module.
#[cfg(feature = "questions")]
pub(crate) fn question<T>(
    _method: &str,
    answer: impl FnOnce() -> Result<T, JsValue>,
) -> Result<T, JsValue> {
    answer()
}

/// Refuses the call. Nothing else calls `answer`, so the linker leaves out its code and all that
/// only it needs.
#[cfg(not(feature = "questions"))]
pub(crate) fn question<T>(
    method: &str,
    _answer: impl FnOnce() -> Result<T, JsValue>,
) -> Result<T, JsValue> {
    Err(crate::error::not_in_module(method))
}
