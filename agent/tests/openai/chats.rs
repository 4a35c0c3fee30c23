//! The chats that real servers accept: what is sent, and what goes back.

use serde_json::json;
use wakeful_agent::openai::{Cancel, Chat, ChatError, ChatMessage, Extra, Round, ToolCall};

use super::{
    Seen,
    answer::{Answer, Events},
    ask, endpoint,
    server::{ReceivedRequest, Server},
    strict,
};

fn user(content: &str) -> ChatMessage {
    ChatMessage::User { content: content.into() }
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: "read".into(),
        arguments: arguments.into(),
        extra: Extra::default(),
    }
}

fn complete(server: &Server, messages: &[ChatMessage]) -> Result<Round, ChatError> {
    endpoint(server).complete(&Chat { messages, tools: &[] }, &mut (), &Cancel::new())
}

fn stream(events: Events) -> Answer {
    Answer::stream(events.finish("stop").done())
}

#[test]
fn thoughts_and_signatures_go_back_with_their_message_and_call() {
    fn script(request: &ReceivedRequest) -> Answer {
        match request.messages().last() {
            Some(ChatMessage::Tool { .. }) => Answer::says("Done."),
            _ => Answer::stream(
                Events::new()
                    .delta(json!({"role": "assistant", "reasoning_content": "I look ", "content": null}))
                    .delta(json!({"reasoning_content": "first."}))
                    .delta(json!({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]}))
                    .delta(json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "b"}]}))
                    .delta(json!({"thinking": {"signature": "s"}, "annotations": [1], "audio": {"id": 1}}))
                    .delta(json!({"tool_calls": [{
                        "index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"},
                        "extra_content": {"google": {"thought_signature": "sig"}}, "thought_signature": "t",
                        "audio": 1,
                    }]}))
                    .finish("tool_calls")
                    .done(),
            ),
        }
    }
    let server = Server::scripted(script);
    let mut messages = vec![user("Go.")];
    let mut seen = Seen::default();
    let endpoint = endpoint(&server);
    let chat = Chat { messages: &messages, tools: &[] };
    let round = endpoint.complete(&chat, &mut seen, &Cancel::new()).unwrap();
    assert_eq!((round.text.as_deref(), seen.deltas.len()), (None, 0), "thoughts must not be text");
    messages.push(round.message());
    messages.push(ChatMessage::Tool { tool_call_id: "a".into(), content: "x".into() });
    complete(&server, &messages).unwrap();
    let sent = &server.received()[1].body["messages"][1];
    assert_eq!(
        *sent,
        json!({
            "role": "assistant",
            "content": null,
            "reasoning_content": "I look first.",
            "reasoning": "hm",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "a"},
                {"type": "reasoning.encrypted", "data": "b"},
            ],
            "thinking": {"signature": "s"},
            "tool_calls": [{
                "id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"},
                "extra_content": {"google": {"thought_signature": "sig"}}, "thought_signature": "t",
            }],
        })
    );
}

#[test]
fn thoughts_inside_the_content_go_back_inside_it() {
    let piece =
        |text: &str| json!([{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]);
    let server = Server::answering([
        stream(
            Events::new()
                .delta(json!({"content": piece("I ")}))
                .delta(json!({"content": piece("look.")}))
                .delta(json!({"content": "Hi"})),
        ),
        Answer::says("Done."),
    ]);
    let round = complete(&server, &[user("a")]).unwrap();
    assert_eq!(round.text.as_deref(), Some("Hi"));
    complete(&server, &[user("a"), round.message(), user("b")]).unwrap();
    let mut content = piece("I look.");
    content.as_array_mut().expect("a list").push(json!({"type": "text", "text": "Hi"}));
    assert_eq!(server.received()[1].body["messages"][1]["content"], content);
}

#[test]
fn a_long_thought_goes_back_shortened() {
    let thoughts = (0..20_000)
        .fold(Events::new(), |events, _| events.delta(json!({"reasoning_content": " thought"})));
    let message = ask(&endpoint(&Server::answering([stream(
        thoughts.delta(json!({"reasoning_content": " end"})),
    )])))
    .expect("a complete round")
    .message();
    let sent = json!(message);
    let thought = sent["reasoning_content"].as_str().expect("a thought");
    assert!(thought.len() < 40_000 && thought.starts_with("[...] "), "{} bytes", thought.len());
    assert!(thought.ends_with(" thought end"));
}

#[test]
fn a_chat_is_sent_in_the_form_that_the_strictest_servers_accept() {
    let calls = |calls: &[ToolCall], text: Option<&str>| ChatMessage::Assistant {
        text: text.map(str::to_owned),
        tool_calls: calls.to_vec(),
        extra: Extra::default(),
    };
    let result = |id: &str| ChatMessage::Tool { tool_call_id: id.into(), content: String::new() };
    let system = |content: &str| ChatMessage::System { content: content.into() };
    let chats = [
        vec![system("S"), user("a"), system("b"), user("c")],
        vec![system("S"), system("T"), ChatMessage::said("x "), user("c")],
        vec![
            user("a"),
            calls(&[call("1", "{cut"), call("2", "")], Some(" ")),
            result("1"),
            result("2"),
            user("c"),
        ],
        vec![user("a"), calls(&[call("1", "[]"), call("2", "\"{}\"")], None), result("2")],
        vec![user("a"), ChatMessage::said(""), ChatMessage::said("x\n"), ChatMessage::said("y")],
        vec![system("S")],
    ];
    for messages in chats {
        assert_ne!(
            strict::complaint(&json!({"messages": messages})),
            None,
            "the rules are strict enough to find something"
        );
        let server = Server::answering([Answer::says("Hi")]);
        complete(&server, &messages).expect("it is accepted");
        assert_eq!(strict::complaint(&server.received()[0].body), None);
    }
}

#[test]
fn a_part_that_a_server_refuses_by_name_is_left_out_from_then_on() {
    let server = Server::scripted(|request| {
        if request.body.get("stream_options").is_some() {
            return Answer::status(
                422,
                "application/json",
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}"#,
            );
        }
        let fits = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        for message in request.messages() {
            if let ChatMessage::Assistant { tool_calls, .. } = message
                && !tool_calls.iter().all(|call| fits(&call.id))
            {
                return Answer::error(
                    400,
                    "Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.",
                    "invalid_request_error",
                    json!("3280"),
                );
            }
        }
        Answer::says("Hi")
    });
    let endpoint = endpoint(&server);
    let messages = [
        user("a"),
        ChatMessage::Assistant {
            text: None,
            tool_calls: vec![call("chatcmpl-tool-1", "{}")],
            extra: Extra::default(),
        },
        ChatMessage::Tool { tool_call_id: "chatcmpl-tool-1".into(), content: "x".into() },
    ];
    let chat = Chat { messages: &messages, tools: &[] };
    let mut seen = Seen::default();
    let round = endpoint.complete(&chat, &mut seen, &Cancel::new()).unwrap();
    assert_eq!((round.timing.attempts, seen.retries.len()), (3, 0));
    let round = endpoint.complete(&chat, &mut (), &Cancel::new()).unwrap();
    assert_eq!(round.timing.attempts, 1, "it is remembered");
}
