//! Fields beyond the format that a server wants back: thoughts and signatures.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The most bytes of one field that are sent back. A long thought would fill the context of the
/// model, round after round.
const MOST_OF_A_FIELD: usize = 32 << 10;

/// The most bytes of all fields of one message or call that are sent back.
const MOST_OF_ALL: usize = 64 << 10;

/// The field for thoughts that are parts of the content. In a request they are parts of it again.
const PARTS: &str = "thinking_parts";

/// Stands for the part of a thought that is left out.
const LEFT_OUT: &str = "[...] ";

/// The fields of a message or of a call that go back with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Extra(Map<String, Value>);

impl Extra {
    /// Whether a field of this name is sent back. Servers have many names for thoughts and
    /// signatures, and new ones appear, so parts of names decide.
    pub(super) fn goes_back(name: &str) -> bool {
        const PARTS: [&str; 4] = ["reasoning", "thinking", "thought", "signature"];
        const NAMES: [&str; 3] = ["extra_content", "provider_specific_fields", "encrypted_content"];
        PARTS.iter().any(|part| name.contains(part)) || NAMES.contains(&name)
    }

    /// Adds a piece of a field. Returns whether it holds anything new.
    pub(super) fn add(&mut self, name: String, piece: Value) -> bool {
        let has_news = match &piece {
            Value::Null => return false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => true,
        };
        match (self.0.get_mut(&name), piece) {
            // Text arrives in pieces, but a signature arrives whole.
            (Some(Value::String(before)), Value::String(text)) if !is_whole(&name) => {
                before.push_str(&text);
            }
            (Some(Value::Array(before)), Value::Array(items)) => {
                items.into_iter().for_each(|item| add_piece(before, item));
            }
            (Some(Value::Object(before)), Value::Object(members)) => merge(before, members),
            // An empty piece after a full one is the end of a stream.
            (Some(_), _) if !has_news => {}
            (_, piece) => drop(self.0.insert(name, piece)),
        }
        has_news
    }

    /// Adds a part of the content that is a thought, or a piece of one.
    pub(super) fn add_part(&mut self, part: Value) {
        let parts = self.0.entry(PARTS).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(parts) = parts {
            add_piece(parts, part);
        }
    }

    /// Moves thoughts that were parts of the content back into it, in the JSON of a message.
    pub(super) fn restore_parts(message: &mut Value) {
        let Some(members) = message.as_object_mut() else { return };
        if let Some(Value::Array(mut parts)) = members.shift_remove(PARTS) {
            if let Some(Value::String(text)) = members.get("content") {
                parts.push(json!({"type": "text", "text": text}));
            }
            members.insert("content".to_owned(), Value::Array(parts));
        }
    }

    /// The part that is sent back. Of a long text and of a long list the newest part is kept;
    /// another value that is too long is left out.
    pub(super) fn bounded(mut self) -> Self {
        let mut left = MOST_OF_ALL;
        self.0.retain(|_, value| {
            let most = left.min(MOST_OF_A_FIELD);
            match value {
                Value::String(text) if text.len() > most => {
                    let from = text.ceil_char_boundary(text.len() - most);
                    *text = format!("{LEFT_OUT}{}", &text[from..]);
                }
                Value::Array(items) => {
                    let mut room = most;
                    let newest = items.iter().rev().take_while(|item| {
                        let fits = room.checked_sub(length(item));
                        room = fits.unwrap_or(0);
                        fits.is_some()
                    });
                    let kept = newest.count();
                    items.drain(..items.len() - kept);
                }
                _ => {}
            }
            let fits = left.checked_sub(length(value).min(most));
            left = fits.unwrap_or(0);
            match value {
                Value::String(_) => true,
                Value::Array(items) => !items.is_empty(),
                _ => length(value) <= most,
            }
        });
        self
    }

    /// The length of its values as JSON, in bytes.
    pub(super) fn len(&self) -> usize {
        self.0.values().map(length).sum()
    }

    /// Whether it has a field of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The names of its fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Keeps the fields whose names pass.
    pub(super) fn retain(&mut self, passes: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| passes(name));
    }
}

/// Whether a text of this name arrives whole: a signature, other opaque data, or a label.
fn is_whole(name: &str) -> bool {
    is_opaque(name) || matches!(name, "type" | "id" | "format")
}

fn is_opaque(name: &str) -> bool {
    ["signature", "encrypted", "opaque"].iter().any(|part| name.contains(part))
}

/// Whether a piece continues the last part of a list. A signature ends a part, and encrypted parts
/// arrive whole.
fn goes_on(last: &Value, piece: &Value) -> bool {
    let (Value::Object(last), Value::Object(piece)) = (last, piece) else { return false };
    let Some(kind) = last.get("type").and_then(Value::as_str) else { return false };
    let is_closed = ["encrypted", "redacted"].iter().any(|part| kind.contains(part))
        || last.iter().any(|(name, value)| is_opaque(name) && !is_blank(value));
    let is_same = |name: &str| {
        let (before, now) = (last.get(name), piece.get(name));
        before.is_none_or(is_blank) || now.is_none_or(is_blank) || before == now
    };
    let has_same_type = piece.get("type").and_then(Value::as_str) == Some(kind);
    has_same_type && !is_closed && ["id", "index"].into_iter().all(is_same)
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

/// Adds a piece to a list of parts. A piece of the same type as the last part continues it.
fn add_piece(parts: &mut Vec<Value>, piece: Value) {
    let last = parts.last_mut().filter(|last| goes_on(last, &piece));
    match (last, piece) {
        (Some(Value::Object(last)), Value::Object(members)) => merge(last, members),
        (_, piece) => parts.push(piece),
    }
}

/// Joins a piece of an object to what has arrived of it.
fn merge(before: &mut Map<String, Value>, members: Map<String, Value>) {
    for (name, value) in members {
        match (before.get_mut(&name), value) {
            (Some(_), value) if is_blank(&value) => {}
            (Some(Value::Object(before)), Value::Object(members)) => merge(before, members),
            (Some(Value::Array(before)), Value::Array(items)) => {
                items.into_iter().for_each(|item| add_piece(before, item));
            }
            (Some(Value::String(before)), Value::String(text)) if !is_whole(&name) => {
                before.push_str(&text);
            }
            (_, value) => drop(before.insert(name, value)),
        }
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[(&str, Value)]) -> Value {
        let mut extra = Extra::default();
        for (name, piece) in pieces {
            extra.add((*name).to_owned(), piece.clone());
        }
        json!(extra)
    }

    #[test]
    fn pieces_of_a_field_are_joined_by_its_kind() {
        for (pieces, whole) in [
            (
                vec![("reasoning", json!("I ")), ("reasoning", json!("look."))],
                json!({"reasoning": "I look."}),
            ),
            (
                vec![("thought_signature", json!("one")), ("thought_signature", json!("two"))],
                json!({"thought_signature": "two"}),
            ),
            (
                vec![("thought_signature", json!("one")), ("thought_signature", json!(""))],
                json!({"thought_signature": "one"}),
            ),
            (
                vec![
                    ("reasoning_details", json!([{"text": "a"}])),
                    ("reasoning_details", json!([{"signature": "s"}])),
                ],
                json!({"reasoning_details": [{"text": "a"}, {"signature": "s"}]}),
            ),
            (
                // The pieces of LiteLLM.
                vec![
                    ("thinking_blocks", json!([{"type": "thinking", "thinking": "I "}])),
                    (
                        "thinking_blocks",
                        json!([{"type": "thinking", "thinking": "look.", "signature": null}]),
                    ),
                    (
                        "thinking_blocks",
                        json!([{"type": "thinking", "thinking": "", "signature": "s"}]),
                    ),
                    ("thinking_blocks", json!([{"type": "thinking", "thinking": "More."}])),
                ],
                json!({"thinking_blocks": [
                    {"type": "thinking", "thinking": "I look.", "signature": "s"},
                    {"type": "thinking", "thinking": "More."},
                ]}),
            ),
            (
                // The pieces of OpenRouter.
                vec![
                    (
                        "reasoning_details",
                        json!([{"type": "reasoning.text", "text": "I ", "format": "f", "index": 0}]),
                    ),
                    (
                        "reasoning_details",
                        json!([{"type": "reasoning.text", "text": "look", "format": "f", "index": 0}]),
                    ),
                    (
                        "reasoning_details",
                        json!([{"type": "reasoning.text", "text": "Hm", "format": "f", "index": 1}]),
                    ),
                    ("reasoning_details", json!([{"type": "reasoning.encrypted", "data": "a"}])),
                    ("reasoning_details", json!([{"type": "reasoning.encrypted", "data": "b"}])),
                ],
                json!({"reasoning_details": [
                    {"type": "reasoning.text", "text": "I look", "format": "f", "index": 0},
                    {"type": "reasoning.text", "text": "Hm", "format": "f", "index": 1},
                    {"type": "reasoning.encrypted", "data": "a"},
                    {"type": "reasoning.encrypted", "data": "b"},
                ]}),
            ),
            (
                vec![
                    ("extra_content", json!({"google": {"a": 1}})),
                    ("extra_content", json!({"google": {"b": 2}})),
                ],
                json!({"extra_content": {"google": {"a": 1, "b": 2}}}),
            ),
            (
                vec![
                    ("thinking", json!({"content": "I "})),
                    ("thinking", json!({"content": "look.", "signature": null})),
                    ("thinking", json!({"content": "", "signature": "s"})),
                ],
                json!({"thinking": {"content": "I look.", "signature": "s"}}),
            ),
            (
                vec![("reasoning", json!("kept")), ("reasoning", json!(null))],
                json!({"reasoning": "kept"}),
            ),
            (
                vec![("reasoning", json!("kept")), ("reasoning", json!([]))],
                json!({"reasoning": "kept"}),
            ),
        ] {
            assert_eq!(joined(&pieces), whole);
        }
    }

    #[test]
    fn parts_of_the_content_are_joined_and_go_back_into_it() {
        let mut extra = Extra::default();
        let thinking =
            |text: &str| json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]});
        extra.add_part(thinking("I "));
        extra.add_part(thinking("look."));
        extra.add_part(json!({"type": "reasoning", "text": "hm", "signature": "s"}));
        let mut message = json!({"role": "assistant", "content": "Hi"});
        message.as_object_mut().unwrap().extend(extra.0);
        Extra::restore_parts(&mut message);
        assert_eq!(
            message,
            json!({"role": "assistant", "content": [
                thinking("I look."),
                {"type": "reasoning", "text": "hm", "signature": "s"},
                {"type": "text", "text": "Hi"},
            ]})
        );
    }

    #[test]
    fn only_thoughts_and_signatures_go_back() {
        for name in [
            "reasoning_content",
            "reasoning",
            "reasoning_details",
            "thinking",
            "thinking_blocks",
            "thought_signature",
            "extra_content",
        ] {
            assert!(Extra::goes_back(name), "{name}");
        }
        for name in ["annotations", "audio", "function_call", "logprobs", "role"] {
            assert!(!Extra::goes_back(name), "{name}");
        }
    }

    #[test]
    fn what_goes_back_is_bounded_and_the_newest_part_stays() {
        let mut extra = Extra::default();
        extra.add("reasoning".into(), json!(format!("{}the end", "ö".repeat(MOST_OF_A_FIELD))));
        extra.add("reasoning_details".into(), json!(vec!["x".repeat(1_000); 100]));
        extra.add("extra_content".into(), json!({"a": "x".repeat(MOST_OF_A_FIELD)}));
        let sent = json!(extra.bounded());
        let text = sent["reasoning"].as_str().unwrap();
        assert!(text.starts_with("[...] ö") && text.ends_with("the end"), "{}", &text[..20]);
        assert!(text.len() <= MOST_OF_A_FIELD + LEFT_OUT.len());
        assert_eq!(sent["reasoning_details"].as_array().unwrap().len(), 32);
        assert_eq!(sent.get("extra_content"), None);
    }
}
