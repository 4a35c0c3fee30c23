//! What a server has shown that it does not accept. A request that it refuses for such a reason is
//! sent again without that part, and later requests leave it out from the beginning.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;

use super::{
    chat::{ChatMessage, ToolDefinition},
    conversation,
    server_message::ServerMessage,
};

/// The parts of a request that are not essential, besides the fields that go back with a message.
const OPTIONAL: [&str; 3] = ["stream_options", "temperature", CLOSED];

/// The field that asks for a stream. Without it the answer arrives at once.
const STREAM: &str = "stream";

/// The keyword of a schema that forbids further arguments. The tools check this anyway.
const CLOSED: &str = "additionalProperties";

/// How servers say that they do not accept a field.
const UNKNOWN_FIELD: [&str; 12] = [
    "extra inputs are not permitted",
    "extra_forbidden",
    "unsupported",
    "not supported",
    "does not support",
    "unknown",
    "unrecognized",
    "not permitted",
    "not allowed",
    "unexpected",
    "additional properties",
    "cannot find field",
];

/// How servers say that they have no streams.
const NO_STREAM: [&str; 4] = ["cannot use", "unsupported", "not supported", "does not support"];

/// How servers say that they want a text instead of `null`.
const NO_NULL: [&str; 6] = [
    "null",
    "nonetype",
    "none is not",
    "valid string",
    "must be a string",
    "must contain 'content'",
];

/// The length of the ids that some templates demand.
const SHORT_ID: usize = 9;

/// What a server accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Fields that are not sent.
    refused: BTreeSet<String>,
    /// Whether the template of the model has no system message.
    has_no_system: bool,
    /// Whether each message has a text, perhaps an empty one.
    has_text_always: bool,
    /// Whether ids of calls have exactly nine letters and digits.
    has_short_ids: bool,
    /// Whether the limit of an answer is `max_completion_tokens`.
    has_new_limit: bool,
}

impl Dialect {
    /// The dialect of a host of which nothing more is known.
    pub(super) fn new(host: &str) -> Self {
        // The limit has two names. The newer models of the hosted service refuse the old name, and
        // other servers do not know the new one.
        let has_new_limit = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        Self { has_new_limit, ..Self::default() }
    }

    /// Whether a part of this name is sent.
    pub(super) fn takes(&self, name: &str) -> bool {
        !self.refused.contains(name)
    }

    /// Whether the limit of an answer is `max_completion_tokens`.
    pub(super) fn has_new_limit(&self) -> bool {
        self.has_new_limit
    }

    /// Learns from a refusal. Returns whether the next request differs.
    pub(super) fn learn(
        &mut self,
        chat: &[ChatMessage],
        status: u16,
        says: &ServerMessage,
    ) -> bool {
        if !matches!(status, 400 | 404 | 422 | 500) {
            return false;
        }
        let said = says.message.to_ascii_lowercase();
        let before = self.clone();
        self.has_short_ids |= is_about_ids(&said);
        if said.contains("max_tokens") && said.contains("max_completion_tokens") {
            self.has_new_limit = true;
        } else if is_unknown(&said, "max_completion_tokens") {
            self.has_new_limit = false;
        }
        let fields = chat.iter().flat_map(|message| match message {
            ChatMessage::Assistant { extra, tool_calls, .. } => {
                extra.names().chain(tool_calls.iter().flat_map(|call| call.extra.names())).collect()
            }
            _ => Vec::new(),
        });
        let refused = OPTIONAL.into_iter().chain(fields).filter(|name| is_unknown(&said, name));
        self.refused.extend(refused.map(str::to_owned));
        if self.refused == before.refused && says_of(&said, STREAM, &NO_STREAM) {
            // A server that sends no streams takes no options for them.
            self.refused.extend([STREAM, "stream_options"].map(str::to_owned));
        }
        self.has_text_always |= says_of(&said, "content", &NO_NULL);
        self.has_no_system |= is_unknown(&said, "system") && is_unknown(&said, "role");
        *self != before
    }

    /// The messages of a chat as this server accepts them.
    pub(super) fn messages(&self, messages: &[ChatMessage]) -> Vec<ChatMessage> {
        let mut sent = if self.has_no_system {
            conversation::acceptable(&said_by_the_user(messages))
        } else {
            conversation::acceptable(messages)
        };
        let mut ids = BTreeMap::new();
        for message in &mut sent {
            match message {
                ChatMessage::Assistant { text, extra, tool_calls } => {
                    if self.has_text_always {
                        text.get_or_insert_default();
                    }
                    extra.retain(|name| self.takes(name));
                    for call in tool_calls {
                        call.extra.retain(|name| self.takes(name));
                        self.shorten(&mut call.id, &mut ids);
                    }
                }
                ChatMessage::Tool { tool_call_id, .. } => self.shorten(tool_call_id, &mut ids),
                _ => {}
            }
        }
        sent
    }

    /// The tools of a chat as this server accepts them.
    pub(super) fn tools<'a>(&self, tools: &'a [ToolDefinition]) -> Cow<'a, [ToolDefinition]> {
        if self.takes(CLOSED) {
            return Cow::Borrowed(tools);
        }
        let mut tools = tools.to_vec();
        tools.iter_mut().for_each(|tool| open(&mut tool.parameters));
        Cow::Owned(tools)
    }

    fn shorten(&self, id: &mut String, ids: &mut BTreeMap<String, String>) {
        if self.has_short_ids {
            let number = ids.len();
            *id = ids.entry(id.clone()).or_insert_with(|| made_id(number)).clone();
        }
    }
}

/// The chat with its instructions as messages of the user.
fn said_by_the_user(messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let said = messages.iter().map(|message| match message {
        ChatMessage::System { content } => ChatMessage::User { content: content.clone() },
        other => other.clone(),
    });
    said.collect()
}

/// Removes the keyword that forbids further members from a schema.
fn open(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.remove(CLOSED);
            members.values_mut().for_each(open);
        }
        Value::Array(items) => items.iter_mut().for_each(open),
        _ => {}
    }
}

/// An id for a call that has none. All templates accept nine letters and digits.
pub(super) fn made_id(number: usize) -> String {
    format!("call{number:05}")
}

fn is_about_ids(said: &str) -> bool {
    let is_about = ["tool call id", "tool_call_id", "tool call's id", "tool_call.id", "tool_calls"]
        .iter()
        .any(|name| said.contains(name));
    let length = SHORT_ID.to_string();
    is_about
        && ["length ", "length of ", "exactly ", "len ", "be "]
            .iter()
            .any(|before| said.contains(&format!("{before}{length}")))
}

fn is_unknown(said: &str, name: &str) -> bool {
    says_of(said, name, &UNKNOWN_FIELD)
}

/// Whether a refusal names a field, and has one of these wordings.
fn says_of(said: &str, name: &str, wordings: &[&str]) -> bool {
    let names_it = said
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|word| word.eq_ignore_ascii_case(name));
    names_it && wordings.iter().any(|wording| said.contains(wording))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openai::{Extra, ToolCall};

    fn chat() -> Vec<ChatMessage> {
        let mut extra = Extra::default();
        extra.add("reasoning_content".into(), json!("hm"));
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "read".into(),
            arguments: "{}".into(),
            extra: Extra::default(),
        };
        let result = |id: &str| ChatMessage::Tool { tool_call_id: id.into(), content: "x".into() };
        vec![
            ChatMessage::User { content: "a".into() },
            ChatMessage::Assistant {
                text: None,
                tool_calls: vec![call("c-1"), call("c-2")],
                extra,
            },
            result("c-1"),
            result("c-2"),
        ]
    }

    fn learnt(status: u16, message: &str) -> Option<Dialect> {
        let mut dialect = Dialect::new("localhost");
        let says = ServerMessage { message: message.into(), ..ServerMessage::default() };
        dialect.learn(&chat(), status, &says).then_some(dialect)
    }

    #[test]
    fn a_field_that_is_refused_by_name_is_left_out() {
        for (field, message) in [
            ("stream_options", "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options')}]"),
            (CLOSED, "Unknown name \"additionalProperties\" at 'tools': Cannot find field."),
            (
                "reasoning_content",
                "property 'messages.1.assistant.reasoning_content' is unsupported",
            ),
            ("stream_options", "Unrecognized request argument supplied: stream_options"),
            ("reasoning_content", "property 'reasoning_content' is unsupported"),
            (
                "temperature",
                "Unsupported value: 'temperature' does not support 0.5 with this model.",
            ),
        ] {
            let dialect = learnt(400, message).unwrap_or_else(|| panic!("{message}"));
            assert!(!dialect.takes(field), "{message}");
            assert_eq!(
                OPTIONAL.iter().filter(|name| !dialect.takes(name)).count(),
                usize::from(OPTIONAL.contains(&field))
            );
        }
        let sent = learnt(422, "reasoning_content: Extra inputs are not permitted").unwrap();
        assert_eq!(json!(sent.messages(&chat()))[1].get("reasoning_content"), None);
    }

    #[test]
    fn ids_are_made_of_nine_letters_and_digits_if_a_server_wants_that() {
        for message in [
            "Tool call IDs should be alphanumeric strings with length 9!",
            "Tool call id was c-1 but must be a-z, A-Z, 0-9, with a length of 9.",
        ] {
            let sent = learnt(400, message).expect("it is learnt").messages(&chat());
            let sent = json!(sent);
            assert_eq!(sent[1]["tool_calls"][1]["id"], "call00001");
            assert_eq!(sent[3]["tool_call_id"], "call00001");
            assert_eq!(sent[2]["tool_call_id"], "call00000");
        }
    }

    #[test]
    fn a_system_message_becomes_one_of_the_user_if_the_template_has_none() {
        for message in [
            "System role not supported",
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        ] {
            let dialect = learnt(400, message).expect("it is learnt");
            let mut chat = chat();
            chat.insert(0, ChatMessage::System { content: "S".into() });
            let sent = json!(dialect.messages(&chat));
            assert_eq!(sent[0], json!({"role": "user", "content": "S\n\na"}), "{message}");
            assert_eq!(sent[1]["role"], "assistant", "{message}");
        }
    }

    #[test]
    fn a_text_is_sent_with_each_call_if_null_is_refused() {
        assert_eq!(json!(Dialect::default().messages(&chat()))[1]["content"], json!(null));
        for message in [
            "Invalid value for 'content': expected a string, got null.",
            "[{'loc': ('messages', 1, 'content'), 'msg': 'Input should be a valid string'}]",
        ] {
            let sent = learnt(400, message).expect("it is learnt").messages(&chat());
            assert_eq!(json!(sent)[1]["content"], "", "{message}");
        }
    }

    #[test]
    fn a_stream_that_is_refused_is_not_asked_for() {
        for message in ["Cannot use tools with stream", "'stream' does not support true"] {
            let dialect = learnt(500, message).expect("it is learnt");
            assert!(!dialect.takes("stream") && !dialect.takes("stream_options"), "{message}");
        }
        let options = "`stream_options` is not supported when `stream` is true";
        let dialect = learnt(400, options).expect("it is learnt");
        assert!(dialect.takes("stream") && !dialect.takes("stream_options"));
    }

    #[test]
    fn the_limit_has_the_name_that_the_server_asks_for() {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                       'max_completion_tokens' instead.";
        assert!(learnt(400, message).expect("it is learnt").has_new_limit());
    }

    #[test]
    fn a_schema_without_the_refused_keyword_is_sent() {
        let tool = ToolDefinition {
            name: "read".into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object", "additionalProperties": false, "properties": {
                "a": {"type": "object", "additionalProperties": false},
            }}),
        };
        let given = std::slice::from_ref(&tool);
        assert_eq!(Dialect::default().tools(given)[0], tool);
        let dialect = learnt(400, "Unknown name \"additionalProperties\"").expect("it is learnt");
        let sent = &dialect.tools(given)[0].parameters;
        assert_eq!(*sent, json!({"type": "object", "properties": {"a": {"type": "object"}}}));
    }

    #[test]
    fn other_refusals_teach_nothing() {
        for (status, message) in [
            (400, "Missing `reasoning_content` field in the assistant message at message index 2"),
            (400, "The reasoning_content in the thinking mode must be passed back to the API."),
            (401, "unknown stream_options"),
            (400, "unknown model"),
            (400, "the tool is not supported by this system"),
            (500, "unknown error in the stream"),
            (400, ""),
        ] {
            assert_eq!(learnt(status, message), None, "{message}");
        }
    }
}
