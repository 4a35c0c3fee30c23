//! What servers answer, including what they leave out or do in their own way.

use serde_json::{Value, json};
use wakeful_agent::openai::{
    Cancel, Chat, ChatMessage, Extra, Finish, Round, ToolCall, ToolDefinition, Usage,
};

use super::{
    KEY, Seen,
    answer::{Answer, Events},
    ask, ask_watched, endpoint, options,
    server::{ReceivedRequest, Server},
    with,
};

fn answered(answer: Answer) -> Round {
    ask(&endpoint(&Server::answering([answer]))).expect("a complete round")
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        extra: Extra::default(),
    }
}

#[test]
fn a_request_is_posted_with_key_model_messages_and_tools() {
    let server = Server::answering([Answer::says("Hi.")]);
    let messages = [
        ChatMessage::System { content: "Be brief.".into() },
        ChatMessage::User { content: "Hello?".into() },
    ];
    let tools = [ToolDefinition {
        name: "read".into(),
        description: "Reads a file.".into(),
        parameters: json!({"type": "object"}),
    }];
    endpoint(&server)
        .complete(&Chat { messages: &messages, tools: &tools }, &mut (), &Cancel::new())
        .unwrap();
    let [request] = &server.received()[..] else { panic!("one request") };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(
        request.header("accept-encoding"),
        None,
        "a compressed answer cannot be shown while it arrives"
    );
    assert_eq!(request.messages(), messages);
    assert_eq!(request.body["model"], "test-model");
    assert_eq!(request.body["stream"], true);
    assert_eq!(request.body["stream_options"], json!({"include_usage": true}));
    assert_eq!(request.body["tools"][0]["function"]["name"], "read");
}

#[test]
fn no_debug_text_has_the_key() {
    let endpoint = endpoint(&Server::answering([]));
    let text = format!("{endpoint:?}");
    assert!(text.contains("test-model") && text.contains("[key]") && !text.contains(KEY), "{text}");
}

#[test]
fn without_a_key_none_is_sent() {
    let server = Server::answering([Answer::says("Hi.")]);
    let mut options = options(&server);
    options.key = None;
    ask(&with(options)).unwrap();
    assert_eq!(server.received()[0].header("authorization"), None);
}

#[test]
fn a_conversation_goes_on_with_the_rounds_that_came() {
    fn script(request: &ReceivedRequest) -> Answer {
        match request.messages().last() {
            Some(ChatMessage::Tool { content, .. }) => Answer::says(&format!("It says {content}.")),
            _ => Answer::calls(&[("read", json!({"path": "a"}))]),
        }
    }
    let server = Server::scripted(script);
    let endpoint = endpoint(&server);
    let mut messages = vec![ChatMessage::User { content: "What is in a?".into() }];
    let first = endpoint
        .complete(&Chat { messages: &messages, tools: &[] }, &mut (), &Cancel::new())
        .unwrap();
    assert_eq!(first.tool_calls, [call("call-0", "read", "{\"path\":\"a\"}")]);
    messages.push(first.message());
    messages.push(ChatMessage::Tool {
        tool_call_id: first.tool_calls[0].id.clone(),
        content: "x".into(),
    });
    let second = endpoint
        .complete(&Chat { messages: &messages, tools: &[] }, &mut (), &Cancel::new())
        .unwrap();
    assert_eq!(second.text.as_deref(), Some("It says x."));
    assert_eq!(second.message(), ChatMessage::said("It says x."));
    assert_eq!(server.received()[1].messages(), messages);
}

#[test]
fn an_answer_without_streaming_is_read_too() {
    let message = json!({
        "role": "assistant",
        "content": "Reading.",
        "reasoning_content": "hm",
        "tool_calls": [{
            "id": "a",
            "type": "function",
            "function": {"name": "read", "arguments": "{\"path\":\"b\"}"},
        }],
    });
    let body = json!({"id": "r1", "object": "chat.completion", "model": "m2",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}});
    let server = Server::answering([Answer::status(200, "application/json", body.to_string())]);
    let mut seen = Seen::default();
    let round = ask_watched(&endpoint(&server), &mut seen).unwrap();
    assert_eq!(
        seen,
        Seen { deltas: vec!["Reading.".into()], tools: vec!["read".into()], retries: vec![] }
    );
    assert_eq!(round.text.as_deref(), Some("Reading."));
    assert_eq!(round.tool_calls, [call("a", "read", "{\"path\":\"b\"}")]);
    assert_eq!(round.finish, Finish::ToolCalls);
    assert_eq!(
        round.usage.unwrap(),
        Usage {
            prompt_tokens: Some(3),
            completion_tokens: Some(2),
            total_tokens: Some(5),
            cached_tokens: None
        }
    );
    assert_eq!((round.model.as_deref(), round.response_id.as_deref()), (Some("m2"), Some("r1")));
}

#[test]
fn the_content_type_may_be_wrong() {
    let stream = Events::new().text("Hi").finish("stop").done();
    for content_type in ["application/json", "text/plain", "application/octet-stream"] {
        assert_eq!(
            answered(Answer::stream(stream.clone()).of_type(content_type)).text.as_deref(),
            Some("Hi"),
            "{content_type}"
        );
    }
    let whole =
        json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}).to_string();
    assert_eq!(
        answered(Answer::status(200, "text/event-stream", whole)).text.as_deref(),
        Some("Hi")
    );
}

#[test]
fn parallel_calls_are_joined_by_their_index() {
    let events = Events::new()
        .call(0, "a", "read")
        .call(1, "b", "write")
        .arguments(1, "{\"x\"")
        .arguments(0, "{\"y\"")
        .call(2, "c", "list")
        .arguments(1, ":1}")
        .arguments(0, ":2}")
        .finish("tool_calls")
        .done();
    let round = answered(Answer::stream(events));
    assert_eq!(
        round.tool_calls,
        [call("a", "read", "{\"y\":2}"), call("b", "write", "{\"x\":1}"), call("c", "list", "")]
    );
    assert_eq!(round.text, None);
    let ChatMessage::Assistant { text: None, tool_calls, .. } = round.message() else {
        panic!("calls need no text")
    };
    assert_eq!(tool_calls, round.tool_calls);
}

/// A stream of these calls, each in a chunk of its own, in the forms that different servers use.
fn calls(calls: &[Value]) -> Vec<ToolCall> {
    let events = calls
        .iter()
        .fold(Events::new(), |events, call| events.delta(json!({"tool_calls": [call]})));
    answered(Answer::stream(events.finish("tool_calls").done())).tool_calls
}

#[test]
fn whole_calls_need_no_index_and_no_ids() {
    let given = calls(&[
        json!({"function": {"name": "read", "arguments": "{\"a\":1}"}}),
        json!({"id": "", "function": {"name": "read", "arguments": "{\"a\":2}"}}),
        json!({"id": null, "type": "function", "function": {"name": "write", "arguments": "{}"}}),
    ]);
    assert_eq!(
        given,
        [
            call("call00001", "read", "{\"a\":1}"),
            call("call00002", "read", "{\"a\":2}"),
            call("call00003", "write", "{}")
        ]
    );
}

#[test]
fn pieces_without_an_index_go_to_the_call_before_or_to_that_of_their_id() {
    let given = calls(&[
        json!({"id": "a", "function": {"name": "read", "arguments": "{\"a\""}}),
        json!({"function": {"arguments": ":1}"}}),
        json!({"id": "b", "function": {"name": "write", "arguments": "{"}}),
        json!({"id": "b", "function": {"name": "write", "arguments": "}"}}),
    ]);
    assert_eq!(given, [call("a", "read", "{\"a\":1}"), call("b", "write", "{}")]);
}

#[test]
fn calls_of_one_index_are_told_apart_by_their_ids() {
    let given = calls(&[
        json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"a\":1}"}}),
        json!({"index": 0, "id": "b", "function": {"name": "read", "arguments": "{\"a\""}}),
        json!({"index": 0, "function": {"arguments": ":2}"}}),
    ]);
    assert_eq!(given, [call("a", "read", "{\"a\":1}"), call("b", "read", "{\"a\":2}")]);
}

#[test]
fn a_call_stays_one_where_its_name_or_another_id_is_repeated() {
    let named_again = calls(&[
        json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{"}}),
        json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "}"}}),
    ]);
    assert_eq!(named_again, [call("a", "read", "{}")]);
    let new_ids = calls(&[
        json!({"index": 0, "id": "x1", "function": {"name": "read", "arguments": "{"}}),
        json!({"index": 0, "id": "x2", "function": {"arguments": "}"}}),
    ]);
    assert_eq!(new_ids, [call("x1", "read", "{}")]);
}

#[test]
fn ids_are_unique_in_the_round_and_in_the_chat() {
    let events = Events::new()
        .call(0, "same", "read")
        .call(1, "same", "write")
        .call(2, "", "list")
        .call(3, "call00002", "stat")
        .finish("tool_calls");
    let server = Server::answering([Answer::stream(events.done())]);
    let before = ChatMessage::Assistant {
        text: None,
        tool_calls: vec![call("same", "read", "{}")],
        extra: Extra::default(),
    };
    let round = endpoint(&server)
        .complete(&Chat { messages: &[before], tools: &[] }, &mut (), &Cancel::new())
        .unwrap();
    let ids: Vec<&str> = round.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call00003", "call00004", "call00005", "call00002"]);
}

#[test]
fn bad_arguments_are_carried_as_the_model_wrote_them() {
    let given = calls(&[
        json!({
            "index": 0,
            "id": "a",
            "function": {"name": "read", "arguments": "{\"path\": oh no"},
        }),
        json!({
            "index": 1,
            "id": "b",
            "function": {"name": "read", "arguments": {"path": "an object", "n": 1.0}},
        }),
        json!({"index": 2, "id": "c", "function": {"name": "read", "arguments": null}}),
        json!({"index": 3, "id": "d", "function": {"name": "read"}}),
    ]);
    let arguments: Vec<&str> = given.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, ["{\"path\": oh no", "{\"path\":\"an object\",\"n\":1.0}", "", ""]);
}

#[test]
fn servers_may_leave_out_ids_models_tokens_and_the_index() {
    let round = answered(Answer::stream(Events::new().raw(
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: \
         {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    )));
    assert_eq!((round.text.as_deref(), round.finish), (Some("Hi"), Finish::Stop));
    assert_eq!((round.usage, round.model, round.response_id), (None, None, None));
}

#[test]
fn the_newest_count_of_tokens_stays() {
    let events = Events::new().usage(3, 0, 0).usage(3, 1, 0).text("Hi").finish("stop").done();
    let usage = answered(Answer::stream(events)).usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(3), Some(1)));
}

#[test]
fn every_reason_for_the_end_is_told() {
    for (reason, finish) in [
        (json!("stop"), Finish::Stop),
        (json!("STOP"), Finish::Stop),
        (json!("end_turn"), Finish::Stop),
        (json!("eos"), Finish::Stop),
        (json!("length"), Finish::Length),
        (json!("max_tokens"), Finish::Length),
        (json!("MAX_TOKENS"), Finish::Length),
        (json!("model_length"), Finish::Length),
        (json!("tool_calls"), Finish::ToolCalls),
        (json!("function_call"), Finish::ToolCalls),
        (json!("tool_use"), Finish::ToolCalls),
        (json!("content_filter"), Finish::ContentFilter),
        (json!("SAFETY"), Finish::ContentFilter),
        (json!("error"), Finish::Failed),
        (json!("abort"), Finish::Failed),
        (json!("insufficient_system_resource"), Finish::Failed),
        (json!("MALFORMED_FUNCTION_CALL"), Finish::Failed),
        (json!("function_call_filter: MALFORMED_FUNCTION_CALL"), Finish::Failed),
        (json!("tool-calls"), Finish::ToolCalls),
        (json!("content-filter"), Finish::ContentFilter),
        (json!("a new reason"), Finish::Other),
        (json!(7), Finish::Other),
        (json!({"type": "stop"}), Finish::Stop),
        (json!(["stop"]), Finish::Unsaid),
        (json!(null), Finish::Unsaid),
        (json!(""), Finish::Unsaid),
        (json!(false), Finish::Unsaid),
        (json!("null"), Finish::Unsaid),
        (json!("None"), Finish::Unsaid),
    ] {
        let end = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
        let round = answered(Answer::stream(Events::new().text("Hi").data(&end).done()));
        assert_eq!((round.finish, round.text.as_deref()), (finish, Some("Hi")), "{reason}");
        assert_eq!(round.finish_reason.is_none(), finish == Finish::Unsaid, "{reason}");
    }
    let unsaid = answered(Answer::stream(Events::new().text("Hi").done()));
    assert_eq!((unsaid.finish, unsaid.finish_reason), (Finish::Unsaid, None));
}

#[test]
fn an_answer_may_be_empty() {
    let round = answered(Answer::stream(Events::new().finish("stop").usage(3, 0, 0).done()));
    assert_eq!((round.text.as_deref(), round.timing.first_token_ms), (None, None));
    assert_eq!(round.message(), ChatMessage::said(""));
}

#[test]
fn thoughts_are_no_text_and_a_refusal_is_kept() {
    let events = Events::new()
        .delta(json!({
            "role": "assistant",
            "content": null,
            "reasoning_content": "Hm.",
            "reasoning": "Hm.",
        }))
        .delta(json!({"refusal": "I will "}))
        .delta(json!({"refusal": "not."}))
        .finish("stop");
    let round = answered(Answer::stream(events.done()));
    assert_eq!((round.text.as_deref(), round.refusal.as_deref()), (None, Some("I will not.")));
    let sent = json!(round.message());
    assert_eq!(
        (&sent["content"], &sent["reasoning"], &sent["reasoning_content"]),
        (&json!("I will not."), &json!("Hm."), &json!("Hm."))
    );
}

#[test]
fn other_choices_and_what_a_chunk_repeats_are_passed_over() {
    let events = Events::new()
        .data(&json!({
            "choices": [{"index": 0, "delta": {"content": "Hi"}, "message": {"content": "Hi"}}],
        }))
        .data(&json!({"choices": [{"index": 1, "delta": {"content": "other"}}]}))
        .data(&json!({
            "choices": [{
                "index": 0,
                "delta": {"content": "!"},
                "message": {"content": "Hi!"},
                "finish_reason": "stop",
            }],
        }));
    assert_eq!(answered(Answer::stream(events.done())).text.as_deref(), Some("Hi!"));
}
