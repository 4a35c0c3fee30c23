//! The arguments of a call, which a model should write as a JSON object.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The most JSON strings around an object.
const MOST_LAYERS: u32 = 3;

/// The JSON object that a model wrote as the arguments of a call; `None` if it is not one. Nothing
/// and `null` mean an object without members. Some models write the object as a JSON string.
#[must_use]
pub fn object(written: &str) -> Option<Cow<'_, str>> {
    unwrapped(Cow::Borrowed(written), MOST_LAYERS)
}

fn unwrapped(written: Cow<'_, str>, layers: u32) -> Option<Cow<'_, str>> {
    let trimmed = written.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return Some(Cow::Borrowed("{}"));
    }
    if trimmed.starts_with('"') {
        let inner: String = serde_json::from_str(trimmed).ok()?;
        return unwrapped(Cow::Owned(inner), layers.checked_sub(1)?);
    }
    serde_json::from_str::<Map<String, Value>>(trimmed).ok()?;
    Some(written)
}

#[cfg(test)]
mod tests {
    #[test]
    fn arguments_are_an_object_or_nothing() {
        for (written, object) in [
            ("{\"a\":1}", Some("{\"a\":1}")),
            (" {\"a\": 1.0}\n", Some(" {\"a\": 1.0}\n")),
            ("", Some("{}")),
            (" \n", Some("{}")),
            ("null", Some("{}")),
            ("\"\"", Some("{}")),
            (r#""{\"a\":1}""#, Some("{\"a\":1}")),
            (r#""\"{\\\"a\\\":1}\"""#, Some("{\"a\":1}")),
            ("{\"a\": ", None),
            ("{\"a\":1} {\"b\":2}", None),
            ("[1]", None),
            ("7", None),
            ("oh no", None),
            ("\"oh no\"", None),
        ] {
            assert_eq!(super::object(written).as_deref(), object, "{written}");
        }
    }
}
