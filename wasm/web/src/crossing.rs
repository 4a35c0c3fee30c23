//! Values that cross between JavaScript and the core, each in the cheapest way that keeps them whole.

use serde::{Serialize, de::DeserializeOwned};
use wakeful_core::{
    host::{ErrorCode, ErrorReport},
    json,
    time::Timestamp,
};
use wasm_bindgen::JsValue;

use crate::error::thrown;

/// A value without free JSON, as a plain object: maps are objects, an absent value is null, as in JSON.
pub(crate) fn object<T: Serialize>(value: &T) -> Result<JsValue, JsValue> {
    Ok(value.serialize(&serde_wasm_bindgen::Serializer::json_compatible())?)
}

/// A value that can hold free JSON, as an object. Free JSON is text inside, which no serde serializer but serde_json's can write.
pub(crate) fn parsed<T: Serialize>(value: &T) -> Result<JsValue, JsValue> {
    js_sys::JSON::parse(&json::write(value))
}

/// Reads an argument; `what` names it in the error.
pub(crate) fn read<T: DeserializeOwned>(what: &str, value: JsValue) -> Result<T, JsValue> {
    serde_wasm_bindgen::from_value(value).map_err(|why| {
        let message = format!("malformed {what}: {why}");
        thrown(&ErrorReport { code: ErrorCode::Malformed, message, place: None })
    })
}

/// An instant, as JavaScript gives it: nanoseconds since the epoch.
pub(crate) fn instant(nanos: i64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}
