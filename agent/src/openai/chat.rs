//! A chat in the form that is sent: messages and tools of chat completions.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{dialect::Dialect, extra::Extra, options::EndpointOptions};

/// What to ask for in one round.
#[derive(Clone, Copy, Debug)]
pub struct Chat<'a> {
    /// The conversation, oldest first.
    pub messages: &'a [ChatMessage],
    /// The tools that the model may call.
    pub tools: &'a [ToolDefinition],
}

/// One message. Its JSON is that of chat completions, for reading and writing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum ChatMessage {
    /// Instructions for the model.
    System {
        /// The text.
        content: String,
    },
    /// A message to the model.
    User {
        /// The text.
        content: String,
    },
    /// An answer of the model; see [`Round::message`](super::Round::message).
    Assistant {
        /// The text. Without tool calls it must be present, even if empty: servers refuse the
        /// message otherwise.
        #[serde(rename = "content")]
        text: Option<String>,
        /// The tool calls of the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// Thoughts and signatures that the server sent with the answer.
        #[serde(flatten, default)]
        extra: Extra,
    },
    /// The result of a tool call.
    Tool {
        /// The id of the call.
        tool_call_id: String,
        /// The result as text.
        content: String,
    },
}

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CallOnWire", into = "CallOnWire")]
pub struct ToolCall {
    /// The id of the call, for its result.
    pub id: String,
    /// The name of the tool, as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them. They should be JSON, but are not checked.
    pub arguments: String,
    /// Signatures that the server sent with the call.
    pub extra: Extra,
}

impl ChatMessage {
    /// An answer of the model that has only text.
    #[must_use]
    pub fn said(text: impl Into<String>) -> Self {
        Self::Assistant { text: Some(text.into()), tool_calls: Vec::new(), extra: Extra::default() }
    }

    /// The length of its texts, in bytes. The JSON around them is not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::System { content } | Self::User { content } | Self::Tool { content, .. } => {
                content.len()
            }
            Self::Assistant { text, tool_calls, extra } => {
                let call =
                    |call: &ToolCall| call.name.len() + call.arguments.len() + call.extra.len();
                text.as_ref().map_or(0, String::len)
                    + tool_calls.iter().map(call).sum::<usize>()
                    + extra.len()
            }
        }
    }

    /// Whether it has no text at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Function<Defined>", into = "Function<Defined>")]
pub struct ToolDefinition {
    /// The name that the model calls it by.
    pub name: String,
    /// What it does and when to call it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// A call on the wire: a function inside an object of type `function`.
#[derive(Serialize, Deserialize)]
struct CallOnWire {
    #[serde(default)]
    id: String,
    #[serde(rename = "type", default)]
    kind: FunctionKind,
    function: Called,
    #[serde(flatten, default)]
    extra: Extra,
}

/// A definition on the wire, which has the same form.
#[derive(Serialize, Deserialize)]
struct Function<F> {
    #[serde(rename = "type", default)]
    kind: FunctionKind,
    function: F,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FunctionKind {
    #[default]
    Function,
}

#[derive(Serialize, Deserialize)]
struct Called {
    name: String,
    arguments: String,
}

#[derive(Serialize, Deserialize)]
struct Defined {
    name: String,
    description: String,
    parameters: Value,
}

impl From<CallOnWire> for ToolCall {
    fn from(CallOnWire { id, function, extra, .. }: CallOnWire) -> Self {
        Self { id, name: function.name, arguments: function.arguments, extra }
    }
}

impl From<ToolCall> for CallOnWire {
    fn from(ToolCall { id, name, arguments, extra }: ToolCall) -> Self {
        Self { id, kind: FunctionKind::Function, function: Called { name, arguments }, extra }
    }
}

impl From<Function<Defined>> for ToolDefinition {
    fn from(
        Function { function: Defined { name, description, parameters }, .. }: Function<Defined>,
    ) -> Self {
        Self { name, description, parameters }
    }
}

impl From<ToolDefinition> for Function<Defined> {
    fn from(ToolDefinition { name, description, parameters }: ToolDefinition) -> Self {
        Self { kind: FunctionKind::Function, function: Defined { name, description, parameters } }
    }
}

/// The body of a request.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    messages: Vec<Value>,
    #[serde(skip_serializing_if = "has_none")]
    tools: Cow<'a, [ToolDefinition]>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

fn on_wire(message: &ChatMessage) -> Value {
    let mut value = json!(message);
    Extra::restore_parts(&mut value);
    value
}

fn has_none(tools: &[ToolDefinition]) -> bool {
    tools.is_empty()
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Request<'a> {
    /// The request for a chat, in the dialect of its server.
    pub(super) fn new(chat: &Chat<'a>, options: &'a EndpointOptions, dialect: &Dialect) -> Self {
        let (max_tokens, max_completion_tokens) = if dialect.has_new_limit() {
            (None, options.max_output_tokens)
        } else {
            (options.max_output_tokens, None)
        };
        Self {
            model: &options.model,
            messages: dialect.messages(chat.messages).iter().map(on_wire).collect(),
            tools: dialect.tools(chat.tools),
            stream: dialect.takes("stream"),
            // Without this option a stream has no token counts, and the budget of the prompt needs
            // them.
            stream_options: dialect
                .takes("stream_options")
                .then_some(StreamOptions { include_usage: true }),
            max_tokens,
            max_completion_tokens,
            temperature: options.temperature.filter(|_| dialect.takes("temperature")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_shape_of_chat_completions() {
        let call = ToolCall {
            id: "c1".into(),
            name: "read".into(),
            arguments: "{\"path\":\"a\"}".into(),
            extra: Extra::default(),
        };
        let messages = [
            ChatMessage::System { content: "Be brief.".into() },
            ChatMessage::User { content: "Hi".into() },
            ChatMessage::Assistant { text: None, tool_calls: vec![call], extra: Extra::default() },
            ChatMessage::Tool { tool_call_id: "c1".into(), content: "text".into() },
            ChatMessage::said("Done."),
            ChatMessage::User { content: "Thanks".into() },
        ];
        let tools = [ToolDefinition {
            name: "read".into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object"}),
        }];
        let options = EndpointOptions::new("http://localhost/v1", "m");
        let request = serde_json::to_value(Request::new(
            &Chat { messages: &messages, tools: &tools },
            &options,
            &Dialect::new("localhost"),
        ))
        .unwrap();
        let expected = json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {
                        "name": "read", "arguments": "{\"path\":\"a\"}",
                    }},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "text"},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "Thanks"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "read", "description": "Reads.", "parameters": {"type": "object"},
            }}],
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        assert_eq!(request, expected);
        let read: Vec<ChatMessage> = serde_json::from_value(request["messages"].clone()).unwrap();
        assert_eq!(read, messages);
        let read: Vec<ToolDefinition> = serde_json::from_value(request["tools"].clone()).unwrap();
        assert_eq!(read, tools);
    }

    #[test]
    fn what_is_not_asked_for_is_not_sent_and_the_limit_has_the_name_that_the_host_knows() {
        let mut options = EndpointOptions::new("http://localhost/v1", "m");
        let chat = Chat { messages: &[], tools: &[] };
        let sent = |options: &EndpointOptions, host| {
            serde_json::to_value(Request::new(&chat, options, &Dialect::new(host))).unwrap()
        };
        let plain = sent(&options, "localhost");
        let names: Vec<&String> = plain.as_object().unwrap().keys().collect();
        assert_eq!(names, ["model", "messages", "stream", "stream_options"]);
        options.max_output_tokens = Some(100);
        options.temperature = Some(0.5);
        assert_eq!(sent(&options, "localhost")["max_tokens"], 100);
        assert_eq!(sent(&options, "localhost")["temperature"], 0.5);
        let hosted = sent(&options, "api.openai.com");
        assert_eq!(
            (hosted.get("max_tokens"), &hosted["max_completion_tokens"]),
            (None, &json!(100))
        );
    }
}
