//! Errors: a JavaScript `Error` with the code, the place and the exact text of the core's report.

use wakeful_core::{
    host::{ErrorReport, SchedulerError},
    json,
};
use wasm_bindgen::{JsCast, JsValue};

use crate::crossing::object;

/// The report as an `Error` with `name`, `code`, `place` (where there is one) and `reportText`.
pub(crate) fn thrown(report: &ErrorReport) -> JsValue {
    let error = js_sys::Error::new(&report.message);
    error.set_name("WakefulError");
    // Setting a property of a fresh, extensible object cannot fail, and a report has no value that `object` cannot write.
    let set = |name: &str, value: Result<JsValue, JsValue>| {
        value.and_then(|value| js_sys::Reflect::set(&error, &name.into(), &value)).ok();
    };
    set("code", object(&report.code));
    if let Some(place) = &report.place {
        set("place", object(place));
    }
    set("reportText", Ok(json::write(report).into()));
    error.into()
}

/// Any error of the core, thrown.
pub(crate) fn failure(why: impl Into<SchedulerError>) -> JsValue {
    thrown(&why.into().report())
}

/// What a host threw, in words.
pub(crate) fn words(value: &JsValue) -> String {
    if let Some(error) = value.dyn_ref::<js_sys::Error>() {
        return String::from(error.message());
    }
    value.as_string().unwrap_or_else(|| format!("{value:?}"))
}
