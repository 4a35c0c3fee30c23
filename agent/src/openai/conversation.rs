//! The form of a chat that every server accepts.
//!
//! Templates of models and gateways are strict in different ways: one system message and only at
//! the beginning, users and assistants in turn, a result directly after its call, arguments that
//! are JSON objects, no empty text. A chat that follows all of these rules is accepted everywhere.

use serde_json::json;

use super::{
    arguments,
    chat::{ChatMessage, ToolCall},
};

/// What the user says if the beginning of a chat is missing.
const BEGINNING: &str = "[runtime] The beginning of this conversation is left out.";

/// What the user says if nobody has answered the model.
const GO_ON: &str = "[runtime] Go on.";

/// What the assistant says between results and a new message. Some templates refuse a user directly
/// after a tool.
const NOTED: &str = "Noted.";

/// The result of a call that has none.
const NO_RESULT: &str = "[runtime] This call has no result.";

/// Stands for an empty result.
const EMPTY: &str = "(empty)";

/// The most characters of a tool's name. Servers refuse longer names.
const LONGEST_NAME: usize = 64;

/// The most characters of unreadable arguments that are shown to the model again.
const MOST_UNREADABLE: usize = 1_000;

/// The same chat in the form that every server accepts.
pub(super) fn acceptable(messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut chat = Conversation::default();
    messages.iter().for_each(|message| chat.push(message));
    chat.finished()
}

#[derive(Default)]
struct Conversation {
    sent: Vec<ChatMessage>,
    /// The ids of the newest calls that have no result yet.
    open: Vec<String>,
}

impl Conversation {
    fn push(&mut self, message: &ChatMessage) {
        match message {
            ChatMessage::Tool { tool_call_id, content } => self.result(tool_call_id, content),
            ChatMessage::System { content } if self.sent.is_empty() => {
                self.sent.push(ChatMessage::System { content: content.clone() });
            }
            ChatMessage::System { content } | ChatMessage::User { content } => {
                self.close();
                match self.sent.last_mut() {
                    // All instructions at the beginning are one message.
                    Some(ChatMessage::System { content: before })
                        if matches!(message, ChatMessage::System { .. }) =>
                    {
                        join(before, content);
                    }
                    _ => self.user(content),
                }
            }
            ChatMessage::Assistant { .. } => {
                self.close();
                self.assistant(message);
            }
        }
    }

    fn result(&mut self, id: &str, content: &str) {
        let content = if content.trim().is_empty() { EMPTY } else { content };
        match self.open.iter().position(|open| open == id) {
            Some(at) => {
                self.open.remove(at);
                let tool_call_id = id.to_owned();
                self.sent.push(ChatMessage::Tool { tool_call_id, content: content.to_owned() });
            }
            // Servers refuse a result without its call.
            None => {
                self.close();
                self.user(&format!("[runtime] The result of an earlier call:\n{content}"));
            }
        }
    }

    fn user(&mut self, content: &str) {
        if content.trim().is_empty() {
            return;
        }
        match self.sent.last_mut() {
            Some(ChatMessage::User { content: before }) => return join(before, content),
            Some(ChatMessage::Tool { .. }) => self.sent.push(ChatMessage::said(NOTED)),
            _ => {}
        }
        self.sent.push(ChatMessage::User { content: content.to_owned() });
    }

    fn assistant(&mut self, message: &ChatMessage) {
        let ChatMessage::Assistant { text, tool_calls, extra } = message else { return };
        // White space at the end is refused, and so is an empty text.
        let text = text.as_deref().map(str::trim_end).filter(|text| !text.trim().is_empty());
        if text.is_none() && tool_calls.is_empty() {
            return;
        }
        self.open = tool_calls.iter().map(|call| call.id.clone()).collect();
        let tool_calls: Vec<_> = tool_calls.iter().map(acceptable_call).collect();
        match self.sent.last_mut() {
            Some(ChatMessage::Assistant {
                text: before,
                tool_calls: calls,
                extra: extra_before,
            }) => {
                match (before.as_mut(), text) {
                    (Some(before), Some(text)) => join(before, text),
                    (None, text) => *before = text.map(str::to_owned),
                    _ => {}
                }
                *calls = tool_calls;
                *extra_before = extra.clone();
                return;
            }
            None | Some(ChatMessage::System { .. }) => {
                self.sent.push(ChatMessage::User { content: BEGINNING.to_owned() });
            }
            _ => {}
        }
        let text = text.map(str::to_owned);
        self.sent.push(ChatMessage::Assistant { text, tool_calls, extra: extra.clone() });
    }

    /// Gives each call that is still open a result.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.sent.extend(
            open.into_iter().map(|tool_call_id| ChatMessage::Tool {
                tool_call_id,
                content: NO_RESULT.to_owned(),
            }),
        );
    }

    fn finished(mut self) -> Vec<ChatMessage> {
        self.close();
        let last = self.sent.last();
        if matches!(last, Some(ChatMessage::System { .. } | ChatMessage::Assistant { .. })) {
            self.sent.push(ChatMessage::User { content: GO_ON.to_owned() });
        }
        self.with_thoughts()
    }

    /// A server that sends `reasoning_content` may want the field in every answer of the chat.
    fn with_thoughts(mut self) -> Vec<ChatMessage> {
        const NAME: &str = "reasoning_content";
        let mut all: Vec<_> = self
            .sent
            .iter_mut()
            .filter_map(|message| match message {
                ChatMessage::Assistant { extra, .. } => Some(extra),
                _ => None,
            })
            .collect();
        if all.iter().any(|extra| extra.has(NAME)) {
            for extra in all.iter_mut().filter(|extra| !extra.has(NAME)) {
                extra.add(NAME.to_owned(), json!(""));
            }
        }
        self.sent
    }
}

fn join(before: &mut String, text: &str) {
    before.push_str("\n\n");
    before.push_str(text);
}

fn acceptable_call(call: &ToolCall) -> ToolCall {
    let arguments = arguments::object(&call.arguments).map_or_else(
        || {
            let beginning: String = call.arguments.chars().take(MOST_UNREADABLE).collect();
            json!({ "unreadable_arguments": beginning }).to_string()
        },
        |object| object.into_owned(),
    );
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let mut name: String = call.name.trim().chars().take(LONGEST_NAME).map(letter).collect();
    if name.is_empty() {
        name.push_str("unnamed");
    }
    ToolCall { id: call.id.clone(), name, arguments, extra: call.extra.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::openai::Extra;

    fn user(content: &str) -> ChatMessage {
        ChatMessage::User { content: content.into() }
    }

    fn system(content: &str) -> ChatMessage {
        ChatMessage::System { content: content.into() }
    }

    fn result(id: &str) -> ChatMessage {
        ChatMessage::Tool { tool_call_id: id.into(), content: format!("of {id}") }
    }

    fn calls(text: Option<&str>, ids: &[&str]) -> ChatMessage {
        let call = |id: &&str| ToolCall {
            id: (*id).into(),
            name: "read".into(),
            arguments: "{}".into(),
            extra: Extra::default(),
        };
        ChatMessage::Assistant {
            text: text.map(str::to_owned),
            tool_calls: ids.iter().map(call).collect(),
            extra: Extra::default(),
        }
    }

    /// Each message as its first letter and its text.
    fn shape(messages: &[ChatMessage]) -> Vec<String> {
        let sent = acceptable(messages);
        let shown = sent.iter().map(|message| {
            let value = serde_json::to_value(message).expect("JSON");
            let calls = value["tool_calls"].as_array().map_or(0, Vec::len);
            let text = value["content"].as_str().unwrap_or("-");
            let letter = &value["role"].as_str().expect("a role")[..1];
            if calls > 0 { format!("{letter}{calls} {text}") } else { format!("{letter} {text}") }
        });
        shown.collect()
    }

    #[test]
    fn there_is_one_system_message_and_roles_take_turns() {
        for (messages, sent) in [
            (vec![system("S"), user("a")], vec!["s S", "u a"]),
            (vec![system("S"), system("T"), user("a")], vec!["s S\n\nT", "u a"]),
            (vec![system("S"), user("a"), system("later")], vec!["s S", "u a\n\nlater"]),
            (vec![user("a"), user(" "), user("b")], vec!["u a\n\nb"]),
            (
                vec![user("a"), ChatMessage::said("x "), ChatMessage::said("y\n"), user("b")],
                vec!["u a", "a x\n\ny", "u b"],
            ),
            (vec![user("a"), ChatMessage::said(" "), user("b")], vec!["u a\n\nb"]),
            (
                vec![system("S"), ChatMessage::said("x"), user("b")],
                vec![
                    "s S",
                    "u [runtime] The beginning of this conversation is left out.",
                    "a x",
                    "u b",
                ],
            ),
            (vec![user("a"), ChatMessage::said("x")], vec!["u a", "a x", "u [runtime] Go on."]),
            (vec![], vec![]),
        ] {
            assert_eq!(shape(&messages), sent);
        }
    }

    #[test]
    fn each_call_has_its_result_directly_after_it() {
        for (messages, sent) in [
            (
                vec![user("a"), calls(None, &["1", "2"]), result("1"), result("2")],
                vec!["u a", "a2 -", "t of 1", "t of 2"],
            ),
            (
                vec![user("a"), calls(Some("x"), &["1"]), result("1"), user("b")],
                vec!["u a", "a1 x", "t of 1", "a Noted.", "u b"],
            ),
            (
                vec![user("a"), calls(None, &["1", "2"]), result("2"), user("b")],
                vec![
                    "u a",
                    "a2 -",
                    "t of 2",
                    "t [runtime] This call has no result.",
                    "a Noted.",
                    "u b",
                ],
            ),
            (
                vec![user("a"), ChatMessage::said("x"), calls(Some("y"), &["1"]), result("1")],
                vec!["u a", "a1 x\n\ny", "t of 1"],
            ),
            (
                vec![user("a"), result("9")],
                vec!["u a\n\n[runtime] The result of an earlier call:\nof 9"],
            ),
        ] {
            assert_eq!(shape(&messages), sent);
        }
    }

    #[test]
    fn names_and_arguments_of_calls_have_the_form_that_servers_want() {
        for (name, arguments, sent_name, sent_arguments) in [
            ("read", "{\"a\":1}", "read", "{\"a\":1}"),
            (" read\n", "", "read", "{}"),
            ("", "{\"cut\": ", "unnamed", "{\"unreadable_arguments\":\"{\\\"cut\\\": \"}"),
            ("a b.c", "\"{}\"", "a_b_c", "{}"),
        ] {
            let call = ToolCall {
                id: "1".into(),
                name: name.into(),
                arguments: arguments.into(),
                extra: Extra::default(),
            };
            let sent = acceptable_call(&call);
            assert_eq!((sent.name.as_str(), sent.arguments.as_str()), (sent_name, sent_arguments));
            assert!(serde_json::from_str::<Value>(&sent.arguments).expect("JSON").is_object());
        }
    }

    #[test]
    fn a_chat_with_thoughts_has_the_field_in_every_answer() {
        let mut thought = calls(None, &["1"]);
        if let ChatMessage::Assistant { extra, .. } = &mut thought {
            extra.add("reasoning_content".into(), json!("hm"));
        }
        let sent = acceptable(&[user("a"), thought, result("1"), user("b")]);
        let thoughts: Vec<Value> = sent
            .iter()
            .filter(|message| matches!(message, ChatMessage::Assistant { .. }))
            .map(|message| json!(message)["reasoning_content"].clone())
            .collect();
        assert_eq!(thoughts, ["hm", ""]);
    }
}
