//! Values that cross between JavaScript and the core. They cross as JSON text, because that is
//! exact and fast, and runs no code of the other side. Long plain lists of the workbench go out as
//! objects.

use serde::Serialize;
use wakeful_core::{
    ErrorCode, ErrorReport, Timestamp,
    json::{self, ErrorPlace, JsonError, Readable},
};
use wasm_bindgen::JsValue;

use crate::error::{thrown, words};

/// A value of the core as an object. An absent value is null or left out, as in JSON.
pub(crate) fn object<T: Serialize>(value: &T) -> Result<JsValue, JsValue> {
    parsed(&json::write(value))
}

/// The object for a JSON text of the core.
pub(crate) fn parsed(text: &str) -> Result<JsValue, JsValue> {
    js_sys::JSON::parse(text)
}

/// A value without free JSON, such as a list of decisions, as an object. This needs no text in
/// between.
#[cfg(feature = "workbench")]
pub(crate) fn plain<T: Serialize>(value: &T) -> Result<JsValue, JsValue> {
    Ok(value.serialize(&serde_wasm_bindgen::Serializer::json_compatible())?)
}

/// Reads an argument; `what` names it in the error.
pub(crate) fn read<T: Readable>(what: &str, value: &JsValue) -> Result<T, JsValue> {
    read_by(what, value, json::read)
}

/// Reads an argument with a custom reader.
pub(crate) fn read_by<T>(
    what: &str,
    value: &JsValue,
    reads: fn(&str) -> Result<T, JsonError>,
) -> Result<T, JsValue> {
    let text = text(value).map_err(|why| malformed(what, &why, None))?;
    reads(&text).map_err(|why| {
        let place =
            ErrorPlace { file: None, line: why.line, column: why.column, path: why.path.clone() };
        malformed(what, &why.to_string(), Some(place))
    })
}

fn malformed(what: &str, why: &str, place: Option<ErrorPlace>) -> JsValue {
    thrown(&ErrorReport {
        code: ErrorCode::Malformed,
        message: format!("malformed {what}: {why}"),
        place,
    })
}

/// The JSON text of any JavaScript value. Getters and `toJSON` run meanwhile and may throw.
pub(crate) fn text(value: &JsValue) -> Result<String, String> {
    // A string, such as the name of a boundary, is written here, without a call of JavaScript.
    if let Some(name) = value.as_string() {
        return Ok(json::write(&name));
    }
    let text = js_sys::JSON::stringify(value).map_err(|thrown| words(&thrown))?;
    JsValue::from(text).as_string().ok_or_else(|| format!("{} is not JSON", words(value)))
}

/// A fact: JSON text, which stays as it is, or an object.
pub(crate) fn fact(value: &JsValue) -> Result<String, JsValue> {
    value.as_string().map_or_else(|| text(value).map_err(|why| malformed("fact", &why, None)), Ok)
}

/// An instant from JavaScript: nanoseconds since the epoch.
pub(crate) fn instant(nanos: i64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}
