//! The JSON of a server's answers: the chunks of a stream, whole answers, and errors.
//!
//! Everything is optional, because each compatible server leaves out something else. A field that
//! cannot be read counts as missing: only text, calls and errors decide anything.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, de::Visitor};
use serde_json::{Value, value::RawValue};

use super::{extra::Extra, round::Usage, server_message::ServerMessage};

/// A chunk of a stream. A whole answer is read as a single chunk; it has `message` instead of
/// `delta`.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) choices: Vec<Choice>,
    /// Whether it has a list of choices, perhaps an empty one.
    pub(super) has_choices: bool,
    /// The token counts, if any can be read.
    pub(super) usage: Option<Usage>,
    pub(super) error: Option<ServerMessage>,
}

pub(super) struct Choice {
    pub(super) index: u64,
    /// The new part of the choice.
    pub(super) delta: Option<Delta>,
    pub(super) finish_reason: Option<String>,
}

/// A new part of an answer.
#[derive(Default)]
pub(super) struct Delta {
    pub(super) text: String,
    pub(super) refusal: String,
    /// Thoughts inside the content. They go back there too.
    pub(super) thoughts: Vec<Value>,
    pub(super) calls: Vec<CallPiece>,
    /// The fields that go back with the message.
    pub(super) extra: Vec<(String, Value)>,
}

/// A call or a piece of one.
#[derive(Default)]
pub(super) struct CallPiece {
    pub(super) index: Option<u64>,
    /// Whether it is not a piece: a complete message has each call once.
    pub(super) is_whole: bool,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    /// The fields that go back with the call.
    pub(super) extra: Vec<(String, Value)>,
}

type Object<'a> = BTreeMap<String, &'a RawValue>;

impl Chunk {
    /// Reads the data of an event, or a whole body. A list has a chunk in each item. Some servers
    /// forget the empty line between events, and then several values follow one another.
    pub(super) fn read(data: &str) -> Result<Vec<Self>, String> {
        let why = match Self::read_one(data) {
            Ok(chunks) => return Ok(chunks),
            Err(why) => why,
        };
        let lines: Vec<&str> =
            data.lines().filter(|line| !matches!(line.trim(), "" | "[DONE]")).collect();
        if data.lines().count() < 2 {
            return Err(why);
        }
        let chunks: Result<Vec<_>, _> = lines.into_iter().map(Self::read_one).collect();
        chunks.map(|chunks| chunks.into_iter().flatten().collect()).map_err(|_| why)
    }

    fn read_one(data: &str) -> Result<Vec<Self>, String> {
        let data = data.trim_start_matches('\u{feff}');
        let mut chunks = Vec::new();
        for raw in serde_json::Deserializer::from_str(data).into_iter::<&RawValue>() {
            let raw = raw.map_err(|why| why.to_string())?;
            let objects = list(raw).unwrap_or_else(|| vec![raw]).into_iter().filter_map(object);
            for object in objects {
                chunks.push(Self::from_object(object)?);
            }
        }
        Ok(chunks)
    }

    fn from_object(fields: Object<'_>) -> Result<Self, String> {
        let field = |name: &str| fields.get(name).copied();
        let choices = match field("choices").filter(|raw| !is_null(raw)) {
            None => Vec::new(),
            Some(raw) => list(raw)
                .or_else(|| object(raw).map(|_| vec![raw]))
                .ok_or("`choices` is not a list")?,
        };
        let choices: Vec<_> = choices.into_iter().filter_map(object).collect();
        // Some servers put the counts or the error into the choice, or into a member of their own.
        let own = field("x_groq").and_then(object);
        let places = || [&fields].into_iter().chain(&own).chain(&choices);
        let usage = places().find_map(|fields| usage(&object(fields.get("usage")?)?));
        let error = places().find_map(reported);
        Ok(Self {
            id: field("id").and_then(plain),
            model: field("model").and_then(text),
            has_choices: field("choices").is_some_and(|raw| !is_null(raw)),
            usage,
            error,
            choices: choices.into_iter().map(Choice::from_object).collect(),
        })
    }
}

/// The error that an object reports, if it reports one.
fn reported(fields: &Object<'_>) -> Option<ServerMessage> {
    let value = |name: &str| {
        let value = serde_json::from_str::<Value>(fields.get(name)?.get()).ok();
        value.filter(|value| !is_blank(value))
    };
    let has_error = value("error").or_else(|| value("errors")).is_some();
    // Some servers send the error itself instead of a chunk.
    let is_error = value("object").is_some_and(|object| object == "error");
    let is_fine = |code: &Value| matches!(code.to_string().trim_matches('"'), "0" | "200");
    let has_failed = value("code").is_some_and(|code| !is_fine(&code));
    let has_words = ["message", "msg", "detail"].into_iter().any(|name| value(name).is_some());
    let is_bare_error = !fields.contains_key("choices") && has_failed && has_words;
    (has_error || is_error || is_bare_error).then(|| {
        let members = fields.keys().filter_map(|name| Some((name.clone(), value(name)?)));
        ServerMessage::from_body(&Value::Object(members.collect()))
    })
}

/// Whether a value says nothing at all.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_blank),
        Value::Object(members) => members.values().all(is_blank),
    }
}

impl Choice {
    fn from_object(fields: Object<'_>) -> Self {
        let field = |name: &str| fields.get(name).copied();
        // Some servers also repeat everything so far in `message`, so `delta` comes first.
        let delta = field("delta").and_then(object).map(Delta::from_object);
        let message = || field("message").and_then(object).map(Delta::whole);
        Self {
            index: field("index").and_then(count).unwrap_or(0),
            delta: delta.or_else(message),
            finish_reason: field("finish_reason").and_then(reason),
        }
    }
}

/// A reason of any type as text.
fn reason(raw: &RawValue) -> Option<String> {
    let said = plain(raw).or_else(|| {
        let fields = object(raw)?;
        ["type", "reason"].iter().find_map(|name| fields.get(*name).and_then(|raw| text(raw)))
    });
    let is_none = |reason: &str| matches!(reason, "" | "false" | "null" | "none");
    said.filter(|reason| !is_none(&reason.trim().to_ascii_lowercase()))
}

impl Delta {
    /// Reads a complete message.
    fn whole(fields: Object<'_>) -> Self {
        let mut message = Self::from_object(fields);
        message.calls.iter_mut().for_each(|call| call.is_whole = true);
        message
    }

    fn from_object(fields: Object<'_>) -> Self {
        let mut delta = Self::default();
        let mut legacy = None;
        for (name, raw) in fields {
            match name.as_str() {
                "content" => delta.content(raw),
                "refusal" => delta.refusal.push_str(&text(raw).unwrap_or_default()),
                "tool_calls" => {
                    let calls = list(raw).unwrap_or_else(|| vec![raw]);
                    delta.calls = calls
                        .into_iter()
                        .filter_map(object)
                        .filter_map(CallPiece::from_object)
                        .collect();
                }
                // The older form has one call at most, without an id.
                "function_call" => legacy = object(raw).and_then(CallPiece::from_object),
                name => delta.extra.extend(kept(name, raw)),
            }
        }
        if delta.calls.is_empty() {
            delta.calls.extend(legacy);
        }
        delta
    }

    /// Reads content: text, a list of parts, or a bare value.
    fn content(&mut self, raw: &RawValue) {
        if let Some(said) = plain(raw) {
            self.text.push_str(&said);
        } else if let Some(parts) = list(raw) {
            parts.into_iter().for_each(|part| self.part(part));
        } else {
            self.part(raw);
        }
    }

    fn part(&mut self, raw: &RawValue) {
        let Some(part) = object(raw) else {
            return self.text.push_str(&plain(raw).unwrap_or_default());
        };
        let kind = part.get("type").and_then(|raw| text(raw)).unwrap_or_default();
        let said = |name: &str| part.get(name).and_then(|raw| plain(raw)).unwrap_or_default();
        match kind.as_str() {
            "" | "text" | "output_text" => self.text.push_str(&said("text")),
            "refusal" => self.refusal.push_str(&said("refusal")),
            kind if Extra::goes_back(kind) => {
                self.thoughts.extend(serde_json::from_str::<Value>(raw.get()).ok());
            }
            // Images and sounds were not asked for.
            _ => {}
        }
    }
}

impl CallPiece {
    fn from_object(mut fields: Object<'_>) -> Option<Self> {
        let function = fields.remove("function").and_then(object);
        let field = |name: &str| {
            let inner = function.as_ref().and_then(|function| function.get(name));
            inner.or_else(|| fields.get(name)).copied()
        };
        let piece = Self {
            index: fields.get("index").and_then(|raw| count(raw)),
            is_whole: false,
            id: fields.get("id").and_then(|raw| plain(raw)).unwrap_or_default(),
            name: field("name").and_then(text).unwrap_or_default(),
            arguments: field("arguments").and_then(arguments).unwrap_or_default(),
            extra: fields.iter().filter_map(|(name, raw)| kept(name, raw)).collect(),
        };
        (!piece.is_empty()).then_some(piece)
    }

    /// Whether it says nothing. Some servers send an empty call with each piece of text.
    fn is_empty(&self) -> bool {
        let Self { id, name, arguments, extra, .. } = self;
        id.is_empty() && name.is_empty() && arguments.is_empty() && extra.is_empty()
    }
}

/// The arguments, or a piece of them. The format asks for text, but some servers send the object
/// itself.
fn arguments(raw: &RawValue) -> Option<String> {
    if is_null(raw) { None } else { Some(text(raw).unwrap_or_else(|| raw.get().to_owned())) }
}

/// A field that goes back.
fn kept(name: &str, raw: &RawValue) -> Option<(String, Value)> {
    if !Extra::goes_back(name) {
        return None;
    }
    let value = match text(raw) {
        Some(text) => Value::String(text),
        None => serde_json::from_str(raw.get()).ok()?,
    };
    // Numbers and flags are statistics.
    matches!(value, Value::String(_) | Value::Array(_) | Value::Object(_))
        .then(|| (name.to_owned(), value))
}

fn usage(fields: &Object<'_>) -> Option<Usage> {
    let read = |name: &str| fields.get(name).and_then(|raw| count(raw));
    let cached = || {
        let details = fields.get("prompt_tokens_details").and_then(|raw| object(raw))?;
        details.get("cached_tokens").and_then(|raw| count(raw))
    };
    let usage = Usage {
        prompt_tokens: read("prompt_tokens").or_else(|| read("input_tokens")),
        completion_tokens: read("completion_tokens").or_else(|| read("output_tokens")),
        total_tokens: read("total_tokens"),
        cached_tokens: cached().or_else(|| read("prompt_cache_hit_tokens")),
    };
    (usage != Usage::default()).then_some(usage)
}

fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

fn object(raw: &RawValue) -> Option<Object<'_>> {
    serde_json::from_str(raw.get()).ok()
}

fn list(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// A JSON string.
fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).map(|Lossy(text)| text).ok()
}

/// A JSON string, number or flag as text.
fn plain(raw: &RawValue) -> Option<String> {
    let is_bare = raw.get().starts_with(|c: char| c == '-' || c.is_ascii_digit())
        || matches!(raw.get(), "true" | "false");
    if is_bare { Some(raw.get().to_owned()) } else { text(raw) }
}

/// A count: a whole number that is not negative, perhaps written as a float or as text.
fn count(raw: &RawValue) -> Option<u64> {
    let written = plain(raw)?;
    let written = written.trim();
    written.parse().ok().or_else(|| written.strip_suffix(".0")?.parse().ok())
}

/// Text in which half of a character may be escaped: a tokeniser can split a character.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Lossy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_str<E>(self, text: &str) -> Result<Lossy, E> {
                Ok(Lossy(text.to_owned()))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }

        from.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn a_count_that_cannot_be_read_is_none() {
        for (written, read) in [
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("\"12\"", Some(12)),
            ("0", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("1e99", None),
            ("99999999999999999999999", None),
            ("null", None),
            ("\"many\"", None),
            ("{}", None),
            ("[1]", None),
            ("true", None),
        ] {
            assert_eq!(count(raw(written)), read, "{written}");
        }
    }

    #[test]
    fn half_a_character_is_replaced() {
        assert_eq!(text(raw(r#""a\ud83d""#)).as_deref(), Some("a\u{fffd}\u{fffd}\u{fffd}"));
        assert_eq!(text(raw(r#""\u00e9 \ud83e\udd80""#)).as_deref(), Some("\u{e9} \u{1f980}"));
        assert_eq!(text(raw("7")), None);
    }
}
