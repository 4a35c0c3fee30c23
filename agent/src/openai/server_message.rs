//! What a server says about an error, in the shapes and words of different servers.

use std::fmt;

use serde_json::Value;

use super::error::beginning;

/// The most characters of a server's message that are kept.
const MOST_SAID: usize = 2_000;

/// The names of the member that has the message.
const MESSAGE: [&str; 6] = ["message", "detail", "msg", "error_description", "error", "reason"];

/// The names that servers give to a chat that is too long.
const TOO_LONG: [&str; 7] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "string_above_max_length",
    "tokens_limit_reached",
    "model_context_window_exceeded",
    "model_max_prompt_tokens_exceeded",
];

/// The words that servers say about a chat that is too long. All words of a row must occur.
const TOO_LONG_IN_WORDS: [&[&str]; 37] = [
    &["maximum context length"],
    &["max context length"],
    &["context length exceeded"],
    &["exceeds the available context size"],
    &["context size has been exceeded"],
    &["context shift is disabled"],
    &["exceeds the context length"],
    &["exceeds context length"],
    &["exceed context limit"],
    &["exceed context window"],
    &["exceeds the context window"],
    &["context window exceeds limit"],
    &["exceeds the model's context"],
    &["longer than the model's context length"],
    &["longer than the maximum model length"],
    &["greater than the context length"],
    &["with context length of only"],
    &["reached context length of"],
    &["exceeded max context length"],
    &["maximum prompt length is"],
    &["prompt exceeds max length"],
    &["prompt length", "is greater than"],
    &["prompt is too long"],
    &["prompt too long"],
    &["input is too long"],
    &["input length", "exceeds the maximum"],
    &["range of input length should be"],
    &["input token count", "exceeds"],
    &["prompt token count", "exceeds"],
    &["exceeded model token limit"],
    &["reduce the length of the messages"],
    &["must be <=", "max_new_tokens"],
    &["must have less than", "tokens"],
    &["requested tokens", "exceed context"],
    &["too many tokens", "prompt"],
    &["total number of tokens in the prompt cannot exceed"],
    &["request too large"],
];

/// The names that servers give to content that they refuse.
const REFUSED: [&str; 13] = [
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "datainspectionfailed",
    "moderation_blocked",
    "content_blocked",
    "prohibited_content",
    "invalid_prompt",
    "cyber_policy_violation",
    "inputtextsensitivecontentdetected",
    "outputtextsensitivecontentdetected",
    "sensitivecontentdetected",
];

/// The words that servers say about content that they refuse. All words of a row must occur.
const REFUSED_IN_WORDS: [&[&str]; 21] = [
    &["content management policy"],
    &["content filter"],
    &["content_filter"],
    &["content policy"],
    &["content_policy"],
    &["responsibleaipolicyviolation"],
    &["usage guidelines"],
    &["usage policies", "violat"],
    &["usage policy", "violat"],
    &["safety polic"],
    &["safety system"],
    &["safety_check"],
    &["blocked", "safety"],
    &["blocked", "guardrail"],
    &["prohibited_content"],
    &["flagged", "moderation"],
    &["input was flagged"],
    &["content exists risk"],
    &["considered high risk"],
    &["inappropriate content"],
    &["new_sensitive"],
];

/// What a server says about an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerMessage {
    /// The message, at most 2,000 characters.
    pub message: String,
    /// The code, such as `invalid_api_key`.
    pub code: Option<String>,
    /// The type, such as `invalid_request_error`.
    pub kind: Option<String>,
}

impl ServerMessage {
    /// A message without a code and a type.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Reads an error's body: JSON of several shapes, an event of a stream, a page, or any text.
    pub(super) fn read(body: &str) -> Self {
        let body = body.trim_start_matches('\u{feff}').trim();
        let is_event = ["data:", "event:", "id:"].iter().any(|field| body.starts_with(field));
        let data = || body.lines().find_map(|line| line.strip_prefix("data:"));
        let body = if is_event { data().unwrap_or(body).trim() } else { body };
        match serde_json::from_str::<Value>(body) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => Self::from_body(&value),
            _ if body.starts_with('<') => Self::new(words_of_page(body)),
            _ => Self::new(body),
        }
    }

    pub(super) fn from_body(body: &Value) -> Self {
        // Some gateways wrap the object into a list.
        if let Some(inner) =
            body.as_array().and_then(|items| items.iter().find(|it| it.is_object()))
        {
            return Self::from_body(inner);
        }
        let inner = ["error", "errors"]
            .iter()
            .find_map(|name| body.get(name).filter(|error| error.is_object() || error.is_array()));
        // If the error is only text, its code is beside it.
        Self::from_json(inner.unwrap_or(body))
    }

    /// Reads an error in JSON: an object with a message, a list of them, or text.
    pub(super) fn from_json(error: &Value) -> Self {
        if let Value::Array(items) = error
            && let Some(first) = items.iter().find(|item| item.is_object() || item.is_string())
        {
            return Self::from_json(first);
        }
        let plain = |value: &Value| match value {
            Value::Null => None,
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        // Some gateways wrap the error of their provider, with its code, into their own.
        let says = |inner: &Value| {
            MESSAGE.iter().any(|name| inner[*name].is_string() || inner[*name].is_object())
        };
        let wrapped = ["error", "message", "detail"].iter().filter_map(|name| error.get(name));
        if let Some(inner) = wrapped.into_iter().find(|inner| inner.is_object() && says(inner)) {
            return Self::from_json(inner);
        }
        let message = MESSAGE.iter().find_map(|name| error.get(name).and_then(plain));
        // A gateway says that its provider failed, and repeats the provider's words beside that.
        let raw = error.pointer("/metadata/raw").and_then(plain);
        let message = match (message, raw) {
            (Some(message), Some(raw)) => Some(format!("{message}: {raw}")),
            (message, raw) => message.or(raw).or_else(|| plain(error)),
        };
        let code = error.get("code").and_then(plain);
        // The general code says less than the reason inside.
        let inner = ["/innererror/code", "/inner_error/code"]
            .iter()
            .find_map(|path| error.pointer(path).and_then(plain));
        Self {
            message: message.unwrap_or_default().trim().to_owned(),
            code: inner.or(code),
            kind: ["type", "status"].iter().find_map(|name| error.get(name).and_then(plain)),
        }
    }

    /// Whether the server says that the chat is too long, by its code, its type, or the wording of
    /// known servers.
    pub(super) fn is_about_context_length(&self) -> bool {
        // A gateway repeats the words of its provider, and the name is among them.
        let message = self.message.to_lowercase();
        self.is_one_of(&TOO_LONG, &TOO_LONG_IN_WORDS)
            || TOO_LONG.iter().any(|name| message.contains(name))
    }

    /// Whether the quota of the key is used up. A later request fails too.
    pub(super) fn is_about_quota(&self) -> bool {
        self.is_one_of(&["insufficient_quota"], &[])
    }

    /// Whether the server refuses the content of the chat.
    pub(super) fn is_about_content(&self) -> bool {
        self.is_one_of(&REFUSED, &REFUSED_IN_WORDS)
    }

    fn is_one_of(&self, names: &[&str], wordings: &[&[&str]]) -> bool {
        let is_named = [&self.code, &self.kind]
            .into_iter()
            .flatten()
            .any(|name| names.contains(&name.to_lowercase().as_str()));
        let message = self.message.to_lowercase();
        is_named || wordings.iter().any(|words| words.iter().all(|word| message.contains(word)))
    }

    /// The message for display: without the key, then shortened. A cut first could leave a part of
    /// the key.
    pub(super) fn shown(self, hide: impl Fn(&str) -> String) -> Self {
        let shown = |text: String| beginning(&hide(&text), MOST_SAID);
        Self {
            message: shown(self.message),
            code: self.code.map(shown),
            kind: self.kind.map(shown),
        }
    }
}

impl fmt::Display for ServerMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.message.is_empty() { "it says nothing more" } else { &self.message })?;
        match (&self.kind, &self.code) {
            (Some(kind), Some(code)) => write!(f, " ({kind}, {code})"),
            (Some(only), None) | (None, Some(only)) => write!(f, " ({only})"),
            (None, None) => Ok(()),
        }
    }
}

/// The words of an HTML page, without its markup, scripts and styles.
fn words_of_page(page: &str) -> String {
    let mut words = String::new();
    let mut rest = page;
    while let Some((text, tag)) = rest.split_once('<') {
        words.push_str(text);
        words.push(' ');
        let name: String =
            tag.chars().take_while(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
        let end = match name.as_str() {
            "script" | "style" => {
                let close = format!("</{name}");
                tag.to_ascii_lowercase().find(&close).unwrap_or(tag.len())
            }
            _ => 0,
        };
        rest = tag[end..].split_once('>').map_or("", |(_, rest)| rest);
    }
    words.push_str(rest);
    let words = words.replace("&nbsp;", " ").replace("&amp;", "&").replace("&quot;", "\"");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_every_shape_are_read() {
        for (body, read) in [
            ("{\"error\":{\"message\":\"m\",\"type\":\"t\",\"code\":\"c\"}}", "m (t, c)"),
            ("{\"error\":\"m\"}", "m"),
            ("{\"error\":{\"code\":404}}", "{\"code\":404} (404)"),
            (
                "[{\"error\":{\"code\":400,\"message\":\"m\",\"status\":\"INVALID\"}}]",
                "m (INVALID, 400)",
            ),
            ("{\"errors\":[{\"message\":\"m\",\"code\":7003}],\"success\":false}", "m (7003)"),
            ("{\"error\":\"m\",\"code\":\"c\"}", "m (c)"),
            ("{\"error\":true,\"message\":\"m\"}", "m"),
            ("{\"error\":\"Bad Request\",\"message\":\"m\",\"statusCode\":400}", "m"),
            ("{\"detail\":\"m\"}", "m"),
            ("{\"error\":null,\"message\":\"m\"}", "m"),
            ("{\"message\":{\"detail\":[1]}}", "{\"detail\":[1]}"),
            ("{\"error\":{\"error\":{\"message\":\"m\",\"code\":\"c\"}}}", "m (c)"),
            ("{\"detail\":{\"error\":{\"message\":\"m\",\"type\":\"t\"}}}", "m (t)"),
            ("{\"message\":{\"message\":\"m\",\"code\":7}}", "m (7)"),
            (
                "{\"error\":{\"message\":\"Provider returned error\",\"code\":400,\
                 \"metadata\":{\"raw\":\"prompt is too long\"}}}",
                "Provider returned error: prompt is too long (400)",
            ),
            (
                "<!DOCTYPE html><html><head><title>502 Bad gateway</title>\
                 <style>p { a: b }</style></head><body><p>The host\n is down.</p></body></html>",
                "502 Bad gateway The host is down.",
            ),
            ("event:error\ndata:{\"code\":\"c\",\"message\":\"m\"}\n\n", "m (c)"),
            ("\u{feff}data: {\"error\":\"m\"}\n\n", "m"),
            ("data: plain words", "plain words"),
            (" plain words\n", "plain words"),
            ("\"quoted\"", "\"quoted\""),
            ("", "it says nothing more"),
        ] {
            assert_eq!(ServerMessage::read(body).to_string(), read, "{body}");
        }
    }
}
