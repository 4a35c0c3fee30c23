//! Values that cross between JavaScript and the core: as JSON text, since that is exact, quick, and
//! runs into no code of the other side; long plain lists of the workbench go out as objects at
//! once.

use serde::Serialize;
use wakeful_core::{
    ErrorCode, ErrorReport, Timestamp,
    json::{self, ErrorPlace, JsonError, Readable},
};
use wasm_bindgen::JsValue;

use crate::error::{thrown, words};

/// A value of the core as an object: an absent value is null or left away, as in JSON.
pub(crate) fn object<T: Serialize>(value: &T) -> Result<JsValue, JsValue> {
    parsed(&json::write(value))
}

/// The object that a text of the core says.
pub(crate) fn parsed(text: &str) -> Result<JsValue, JsValue> {
    js_sys::JSON::parse(text)
}

/// A value without free JSON, such as a list of decisions, as an object: no text is written and
/// parsed for it.
#[cfg(feature = "workbench")]
pub(crate) fn plain<T: Serialize>(value: &T) -> Result<JsValue, JsValue> {
    Ok(value.serialize(&serde_wasm_bindgen::Serializer::json_compatible())?)
}

/// Reads an argument; `what` names it in the error.
pub(crate) fn read<T: Readable>(what: &str, value: &JsValue) -> Result<T, JsValue> {
    read_by(what, value, json::read)
}

/// Reads an argument in a way of its own.
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

/// The JSON text of whatever JavaScript gives; what runs while it is written (getters, `toJSON`)
/// may throw.
pub(crate) fn text(value: &JsValue) -> Result<String, String> {
    // A name, as of a boundary: its text needs no help from the other side.
    if let Some(name) = value.as_string() {
        return Ok(json::write(&name));
    }
    let text = js_sys::JSON::stringify(value).map_err(|thrown| words(&thrown))?;
    JsValue::from(text).as_string().ok_or_else(|| format!("{} is no JSON", words(value)))
}

/// A fact: JSON text as it is, or an object that says the same.
pub(crate) fn fact(value: &JsValue) -> Result<String, JsValue> {
    value.as_string().map_or_else(|| text(value).map_err(|why| malformed("fact", &why, None)), Ok)
}

/// An instant, as JavaScript gives it: nanoseconds since the epoch.
pub(crate) fn instant(nanos: i64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}
