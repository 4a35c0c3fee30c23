//! Errors: a JavaScript `Error` with the code, the place and the exact text of the core's report.

use serde::Serialize;
use wakeful_core::{
    ErrorReport, SchedulerError,
    json::{self, ErrorPlace},
};
use wasm_bindgen::JsValue;

use crate::crossing::object;

/// An error that the core has no code for: it never calls the host's own objects, and does not know
/// in which module it is. `HostErrorCode` in TypeScript.
#[derive(Serialize)]
struct HostReport<'a> {
    code: &'static str,
    message: &'a str,
}

/// The report as an `Error` with `name`, `code`, `place` (if there is one) and `reportText`.
pub(crate) fn thrown(report: &ErrorReport) -> JsValue {
    made(&report.message, object(&report.code), report.place.as_ref(), json::write(report))
}

/// Any error of the core, thrown.
pub(crate) fn failure(why: impl Into<SchedulerError>) -> JsValue {
    thrown(&why.into().report())
}

/// The error of a host whose clock or whose shape cannot be used.
pub(crate) fn host_failed(message: &str) -> JsValue {
    hosts(HostReport { code: "host_failed", message })
}

/// The error of a call that only the full module answers.
#[cfg(not(feature = "questions"))]
pub(crate) fn not_in_module(method: &str) -> JsValue {
    let message = format!(
        "`{method}` is not in the small module `core.wasm`: load `core-fast.wasm` through \
         `@wakeful/scheduler/slim`"
    );
    hosts(HostReport { code: "not_in_module", message: &message })
}

fn hosts(report: HostReport<'_>) -> JsValue {
    made(report.message, Ok(report.code.into()), None, json::write(&report))
}

fn made(
    message: &str,
    code: Result<JsValue, JsValue>,
    place: Option<&ErrorPlace>,
    text: String,
) -> JsValue {
    let error = js_sys::Error::new(message);
    error.set_name("WakefulError");
    // Setting a property of a fresh, extensible object cannot fail, and `object` can write every
    // value of a report.
    let set = |name: &str, value: Result<JsValue, JsValue>| {
        value.and_then(|value| js_sys::Reflect::set(&error, &name.into(), &value)).ok();
    };
    set("code", code);
    if let Some(place) = place {
        set("place", object(place));
    }
    set("reportText", Ok(text.into()));
    error.into()
}

/// What a host threw, in words. It may be any value, so this calls nothing on it that could throw
/// again.
pub(crate) fn words(value: &JsValue) -> String {
    let message =
        js_sys::Reflect::get(value, &"message".into()).ok().and_then(|message| message.as_string());
    message.or_else(|| value.as_string()).unwrap_or_else(|| {
        format!(
            "a value of type `{}`, without a message",
            value.js_typeof().as_string().unwrap_or_default()
        )
    })
}
