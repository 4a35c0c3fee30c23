//! The table of quirks in docs/providers.md: what real servers send and refuse.

use std::{fs, path::Path};

use serde_json::{Value, json};
use wakeful_agent::openai::{Cancel, Chat, ChatError, ChatMessage, Extra, Finish, Round, ToolCall};

use super::{
    Seen,
    answer::{Answer, Events},
    ask, ask_watched, endpoint, failure, options,
    server::{ReceivedRequest, Server},
    strict, with,
};

fn answered(answer: Answer) -> Round {
    ask(&endpoint(&Server::answering([answer]))).expect("a complete round")
}

fn stream(events: Events) -> Answer {
    Answer::stream(events.finish("stop").done())
}

/// A whole answer with this message.
fn whole(message: &Value) -> Answer {
    let body = json!({"choices": [{"message": message, "finish_reason": "stop"}]});
    Answer::status(200, "application/json", body.to_string())
}

/// The calls of a stream with these pieces, each in a chunk of its own, as names and arguments.
fn calls(pieces: &[Value]) -> Vec<(String, String)> {
    let events = pieces
        .iter()
        .fold(Events::new(), |events, piece| events.delta(json!({"tool_calls": [piece]})));
    named(answered(Answer::stream(events.finish("tool_calls").done())))
}

fn named(round: Round) -> Vec<(String, String)> {
    round.tool_calls.into_iter().map(|call| (call.name, call.arguments)).collect()
}

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

#[test]
fn every_row_of_the_page_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/providers.md")).expect("the page");
    let mut sources = String::new();
    for folder in ["agent/src/openai", "agent/tests/openai", "cli/tests/agent"] {
        for file in fs::read_dir(root.join(folder)).expect("a folder of tests") {
            sources += &fs::read_to_string(file.expect("a file").path()).expect("its text");
        }
    }
    let (_, below) = page.split_once("\n## Quirks of servers\n").expect("the heading");
    let table: Vec<&str> = below
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .collect();
    assert!(table.len() > 20, "{} rows", table.len());
    for row in table {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, _, test] = cells[..] else { panic!("four cells: {row}") };
        let test = test.trim_matches('`');
        assert!(sources.contains(&format!("fn {test}()")), "there is no test `{test}`: {row}");
    }
}

#[test]
fn content_may_have_any_form() {
    for (content, text, refusal) in [
        (json!("Hi"), Some("Hi"), None),
        (
            json!([{"type": "text", "text": "Hi"}, {"type": "text", "text": " you"}]),
            Some("Hi you"),
            None,
        ),
        (json!([{"type": "output_text", "text": "Hi"}]), Some("Hi"), None),
        (json!(["Hi", " you"]), Some("Hi you"), None),
        (json!({"type": "text", "text": "Hi"}), Some("Hi"), None),
        (
            json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}]),
            Some("Hi"),
            None,
        ),
        (json!([{"type": "reasoning", "text": "hm"}]), None, None),
        (json!([{"type": "refusal", "refusal": "No."}]), None, Some("No.")),
        (json!([{"type": "image_url", "image_url": {}}, null]), None, None),
        (json!(42), Some("42"), None),
        (json!(true), Some("true"), None),
        (json!(null), None, None),
        (json!([]), None, None),
        (json!({}), None, None),
    ] {
        for answer in [
            stream(Events::new().delta(json!({"content": content}))),
            whole(&json!({"role": "assistant", "content": content})),
        ] {
            let round = answered(answer);
            assert_eq!(
                (round.text.as_deref(), round.refusal.as_deref()),
                (text, refusal),
                "{content}"
            );
        }
    }
}

#[test]
fn what_follows_complete_arguments_begins_a_new_call() {
    let read = |arguments: &str| ("read".to_owned(), arguments.to_owned());
    let (one, two) = (r#"{"a":1}"#, r#"{"a":2}"#);
    let of = |more: Value, name: Value, arguments: &str| {
        let mut piece = json!({"function": {"name": name, "arguments": arguments}});
        piece.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        piece
    };
    for (what, pieces) in [
        (
            "no id",
            vec![
                of(json!({"index": 0}), json!("read"), one),
                of(json!({"index": 0}), json!("read"), two),
            ],
        ),
        ("no index", vec![of(json!({}), json!("read"), one), of(json!({}), json!("read"), two)]),
        (
            "an empty id",
            vec![
                of(json!({"index": 0, "id": ""}), json!("read"), one),
                of(json!({"index": 0, "id": ""}), json!("read"), two),
            ],
        ),
        (
            "the same id",
            vec![
                of(json!({"index": 0, "id": "x"}), json!("read"), one),
                of(json!({"index": 0, "id": "x"}), json!("read"), two),
            ],
        ),
        (
            "the same id and no index",
            vec![
                of(json!({"id": "x"}), json!("read"), one),
                of(json!({"id": "x"}), json!("read"), two),
            ],
        ),
        (
            "a null index",
            vec![
                of(json!({"index": null}), json!("read"), one),
                of(json!({"index": null}), json!("read"), two),
            ],
        ),
        (
            "no name",
            vec![
                of(json!({"index": 0, "id": "x"}), json!("read"), ""),
                of(json!({"index": 0}), json!(""), one),
                of(json!({"index": 0}), json!(null), two),
            ],
        ),
        (
            "pieces of both",
            vec![
                of(json!({"index": 0}), json!("read"), "{\"a\""),
                of(json!({"index": 0}), json!(null), ":1}"),
                of(json!({"index": 0}), json!("read"), "{\"a\""),
                of(json!({"index": 0}), json!(null), ":2}"),
            ],
        ),
        ("one piece", vec![of(json!({"index": 0}), json!("read"), &format!("{one}{two}"))]),
        (
            "a cut across both",
            vec![
                of(json!({"index": 0}), json!("read"), "{\"a\""),
                of(json!({"index": 0}), json!(null), ":1}{\"a\":"),
                of(json!({"index": 0}), json!(null), "2}"),
            ],
        ),
    ] {
        assert_eq!(calls(&pieces), [read(one), read(two)], "{what}");
    }
}

#[test]
fn a_call_without_a_name_or_with_white_space_is_kept() {
    let given = calls(&[
        json!({"index": 0, "id": "a", "function": {"name": " read ", "arguments": "{}"}}),
        json!({"index": 1, "id": "b", "function": {"name": "", "arguments": "{\"a\":1}"}}),
        json!({"index": 2, "id": "c", "function": {"arguments": "{\"a\":2}"}}),
    ]);
    let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [" read ", "", ""]);
}

#[test]
fn the_older_form_of_a_call_is_read() {
    let events = Events::new()
        .delta(json!({"function_call": {"name": "read", "arguments": ""}}))
        .delta(json!({"function_call": {"arguments": "{\"a\""}}))
        .delta(json!({"function_call": {"arguments": ":1}"}}))
        .finish("function_call");
    let one = [("read".to_owned(), "{\"a\":1}".to_owned())];
    let round = answered(Answer::stream(events.done()));
    assert_eq!(round.finish, Finish::ToolCalls);
    assert_eq!(named(round), one);
    let message = json!({"function_call": {"name": "read", "arguments": "{\"a\":1}"}});
    assert_eq!(named(answered(whole(&message))), one);
    // A call may also lack the object around the function, or the list around the call.
    let flat = json!({"tool_calls": {"id": 7, "name": "read", "arguments": {"a": 1}}});
    let round = answered(whole(&flat));
    assert_eq!(round.tool_calls[0].id, "7");
    assert_eq!(named(round), one);
}

#[test]
fn fields_that_decide_nothing_may_have_any_type() {
    let odd = [json!(null), json!(-1), json!(1.5), json!("12"), json!({}), json!([]), json!(true)];
    for value in odd {
        let chunk = |delta: Value, finish: Value| {
            json!({
                "id": value, "model": value, "created": value, "object": value, "usage": value,
                "system_fingerprint": value, "service_tier": value,
                "choices": [{"index": null, "delta": delta, "finish_reason": finish, "logprobs": value}],
            })
        };
        let counts = json!({"choices": [], "usage": {
            "prompt_tokens": value, "completion_tokens": 3, "total_tokens": value,
            "prompt_tokens_details": value,
        }});
        let events = Events::new()
            .data(&chunk(json!({"role": value, "content": "Hi", "tool_calls": null}), json!(null)))
            .data(&chunk(json!({}), json!("stop")))
            .data(&counts);
        let round = answered(Answer::stream(events.done()));
        assert_eq!((round.text.as_deref(), round.finish), (Some("Hi"), Finish::Stop), "{value}");
        let usage = round.usage.expect("one count can be read");
        assert_eq!(usage.completion_tokens, Some(3), "{value}");
        assert_eq!(usage.prompt_tokens, (value == "12").then_some(12), "{value}");
    }
}

#[test]
fn an_error_that_says_nothing_is_none() {
    for error in [
        json!(null),
        json!({}),
        json!(""),
        json!([]),
        json!(false),
        json!({"message": "", "code": 0}),
    ] {
        let events = Events::new()
            .data(&json!({"error": error, "choices": [{"delta": {"content": "Hi"}}]}))
            .finish("stop");
        let round = answered(Answer::stream(events.done()));
        assert_eq!(round.text.as_deref(), Some("Hi"), "{error}");
    }
}

#[test]
fn an_error_inside_an_answer_is_said() {
    let url = |server: &Server| format!("`{}/chat/completions`", server.url());
    for (events, said) in [
        (Events::new().data(&json!({"error": "no memory"})), "no memory"),
        (
            Events::new().data(&json!({"error": {"message": "no memory", "code": 400}})),
            "no memory (400)",
        ),
        (Events::new().data(&json!({"error": ["no memory"]})), "no memory"),
        (Events::new().data(&json!([{"error": {"message": "no memory"}}])), "no memory"),
        (
            Events::new().data(&json!({"object": "error", "message": "no memory", "code": 400})),
            "no memory (400)",
        ),
        (Events::new().raw("event: error\ndata: {\"message\":\"no memory\"}\n\n"), "no memory"),
        (Events::new().raw("event: error\ndata: no memory\n\n"), "no memory"),
    ] {
        let server = Server::scripted(move |_| Answer::stream(events.clone()));
        let mut options = options(&server);
        options.retries.most = 0;
        let why = failure(&with(options));
        assert!(matches!(why, ChatError::Failed { .. }), "{why:?}");
        assert_eq!(why.to_string(), format!("{} failed while it answered: {said}", url(&server)));
    }
}

#[test]
fn events_that_say_nothing_are_passed_over() {
    for nothing in [
        "data: \n\n",
        "data:\n\n",
        "data\n\n",
        "data: null\n\n",
        "data: []\n\n",
        "data: {}\n\n",
        "data: {\"choices\":null}\n\n",
        "data: {\"choices\":[null, {}]}\n\n",
        "data: {\"choices\":[{\"delta\":null}]}\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "event: heartbeat\ndata: beat\n\n",
        "retry: 100\n\n",
        ": processing\n\n",
    ] {
        let events = Events::new().raw(nothing).text("Hi").raw(nothing).finish("stop").raw(nothing);
        let round = answered(Answer::stream(events.done()));
        assert_eq!((round.text.as_deref(), round.finish), (Some("Hi"), Finish::Stop), "{nothing}");
    }
}

#[test]
fn a_character_that_is_cut_in_half_is_replaced() {
    let mut body = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xff\"}}]}\n\n".to_vec();
    body.extend(br#"data: {"choices":[{"delta":{"content":"b\ud83e"},"finish_reason":"stop"}]}"#);
    body.extend(b"\n\ndata: [DONE]\n\n");
    let text = answered(Answer::status(200, "text/event-stream", body)).text.expect("text");
    assert!(text.starts_with("a\u{fffd}b\u{fffd}"), "{text}");
}

#[test]
fn an_answer_that_is_withheld_or_given_up_is_no_answer() {
    for reason in ["content_filter", "SAFETY", "refusal"] {
        let server = Server::answering([Answer::stream(Events::new().finish(reason).done())]);
        let why = failure(&endpoint(&server));
        assert!(matches!(why, ChatError::ContentRefused { .. }), "{reason}: {why:?}");
        assert!(why.to_string().contains(reason), "{why}");
        let part = Events::new().text("A part").finish(reason).done();
        assert_eq!(answered(Answer::stream(part)).finish, Finish::ContentFilter);
    }
    for reason in ["error", "abort", "insufficient_system_resource"] {
        let none = || Answer::stream(Events::new().finish(reason).done());
        let server = Server::answering([none(), Answer::says("Hi")]);
        let mut seen = Seen::default();
        let round = ask_watched(&endpoint(&server), &mut seen).unwrap();
        assert_eq!(round.text.as_deref(), Some("Hi"), "{reason}");
        assert!(seen.retries[0].2.contains(reason), "{seen:?}");
    }
}

#[test]
fn content_that_is_refused_is_an_error_of_its_own() {
    let inner = json!({"error": {
        "message": "The response was filtered due to the prompt.", "param": "prompt",
        "code": "other", "innererror": {"code": "ResponsibleAIPolicyViolation"},
    }});
    for (status, body) in [
        (
            400,
            json!({"error": {"message": "The response was filtered.", "code": "content_filter"}}),
        ),
        (400, inner),
        (
            400,
            json!({"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}),
        ),
        (400, json!({"error": {"message": "Output blocked by content filtering policy"}})),
        (
            400,
            json!({"error": {"message": "Invalid prompt: your prompt was flagged", "code": "invalid_prompt"}}),
        ),
        (
            400,
            json!({"error": {"code": "data_inspection_failed", "message": "inappropriate content"}}),
        ),
        (
            400,
            json!({"error": {"type": "content_filter", "message": "The request was rejected because it was considered high risk"}}),
        ),
        (
            403,
            json!({"error": {"code": 403, "message": "openai/m requires moderation. Your input was flagged for \"violence\""}}),
        ),
        (
            403,
            json!({"code": "Content violates usage guidelines.", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_X"}),
        ),
        (422, json!({"detail": "blocked by the safety system"})),
    ] {
        let server =
            Server::answering([Answer::status(status, "application/json", body.to_string())]);
        let why = failure(&endpoint(&server));
        assert!(matches!(why, ChatError::ContentRefused { .. }), "{body}: {why:?}");
        assert_eq!(server.received().len(), 1, "it is not tried again");
        assert!(why.to_string().starts_with("the provider refuses the content"), "{why}");
    }
    let in_a_stream = json!({"error": {"message": "filtered", "code": "content_filter"}});
    let server = Server::answering([Answer::stream(Events::new().data(&in_a_stream))]);
    assert!(matches!(failure(&endpoint(&server)), ChatError::ContentRefused { .. }));
    for (status, message) in [
        (401, "the content filter needs a key"),
        (500, "the content filter is down"),
        (400, "unknown parameter"),
    ] {
        let server = Server::scripted(move |_| Answer::error(status, message, "x", Value::Null));
        let why = failure(&endpoint(&server));
        assert!(!matches!(why, ChatError::ContentRefused { .. }), "{why:?}");
    }
}

#[test]
fn a_chat_that_is_too_long_is_known_in_the_words_of_every_server() {
    for (who, status, message) in [
        ("OpenAI", 400, "Your input exceeds the context window of this model."),
        ("Anthropic", 400, "prompt is too long: 214850 tokens > 200000 maximum"),
        (
            "Anthropic",
            400,
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        ),
        (
            "Gemini",
            400,
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        ),
        (
            "xAI",
            400,
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        ),
        (
            "Mistral",
            400,
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        ),
        (
            "DeepSeek",
            400,
            "This model's maximum context length is 65536 tokens. However, you requested 90000 tokens",
        ),
        ("llama.cpp", 400, "the request exceeds the available context size. try increasing it"),
        ("llama.cpp", 500, "Context size has been exceeded."),
        (
            "vLLM",
            400,
            "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
        ),
        (
            "SGLang",
            400,
            "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        ),
        (
            "SGLang",
            400,
            "Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens).",
        ),
        ("Ollama", 400, "the input length exceeds the context length"),
        ("Ollama", 400, "prompt too long; exceeded max context length by 12 tokens"),
        (
            "LM Studio",
            400,
            "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
        ),
        (
            "LM Studio",
            400,
            "The number of tokens to keep from the initial prompt is greater than the context length.",
        ),
        ("Moonshot", 400, "Invalid request: Your request exceeded model token limit: 262144"),
        ("Groq", 400, "Please reduce the length of the messages or completion."),
        ("TGI", 422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."),
        ("Bedrock", 400, "Input is too long for requested model."),
        ("Qwen", 400, "Range of input length should be [1, 30720]"),
        ("Copilot", 400, "prompt token count of 150000 exceeds the limit of 128000"),
        ("OpenRouter", 400, "This endpoint's maximum context length is 200000 tokens."),
        ("a proxy", 413, "<html><title>413 Request Entity Too Large</title></html>"),
        ("a proxy", 413, ""),
    ] {
        let server = Server::answering([Answer::error(status, message, "x", Value::Null)]);
        let why = failure(&endpoint(&server));
        assert!(matches!(why, ChatError::ContextLength { .. }), "{who}: {message}: {why:?}");
        assert_eq!(server.received().len(), 1, "{who}");
    }
    let busy = "Rate limit reached: 30000 tokens per min. Please try again in 2s.";
    let server = Server::scripted(move |_| Answer::error(429, busy, "tokens", Value::Null));
    assert!(matches!(failure(&endpoint(&server)), ChatError::GaveUp { .. }), "a limit of a minute");
}

#[test]
fn a_chat_that_is_too_long_is_known_after_a_retry_too() {
    let server = Server::answering([
        Answer::error(503, "Later", "overloaded", Value::Null),
        Answer::error(400, "prompt is too long", "x", Value::Null),
    ]);
    let why = failure(&endpoint(&server));
    assert!(matches!(why, ChatError::ContextLength { .. }), "{why:?}");
}

#[test]
fn a_page_as_an_error_is_shown_as_its_words() {
    let page = "<!DOCTYPE html><html><head><title>Bad gateway</title><style>p{}</style></head>\
                <body><h1>Error 502</h1><p>The host is down.</p></body></html>";
    let server = Server::answering([Answer::status(400, "text/html", page)]);
    let said = failure(&endpoint(&server)).to_string();
    assert!(said.contains("400 Bad Request: Bad gateway Error 502 The host is down."), "{said}");
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
    assert_eq!((round.text.as_deref(), seen.deltas.len()), (None, 0), "thoughts are no text");
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
    let message = answered(stream(thoughts.delta(json!({"reasoning_content": " end"})))).message();
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

#[test]
fn ids_that_are_made_have_nine_letters_and_digits() {
    let round = answered(Answer::stream(
        Events::new()
            .delta(json!({"tool_calls": [{"function": {"name": "read", "arguments": "{}"}}]}))
            .finish("tool_calls")
            .done(),
    ));
    let id = &round.tool_calls[0].id;
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
}

#[test]
fn an_answer_with_very_many_calls_is_read_quickly() {
    let pieces = (0..30_000).fold(Events::new(), |events, at| {
        events.delta(json!({"tool_calls": [{"index": at, "id": format!("c{at}"),
            "function": {"name": "read", "arguments": "{}"}}]}))
    });
    let begun = std::time::Instant::now();
    let round = answered(Answer::stream(pieces.finish("tool_calls").done()));
    assert_eq!(round.tool_calls.len(), 30_000);
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}
