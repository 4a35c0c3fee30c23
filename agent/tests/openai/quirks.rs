//! The ways in which real servers answer and refuse: rows of the table in docs/providers.md.

use serde_json::{Value, json};
use wakeful_agent::openai::{ChatError, Finish, Round};

use super::{
    Seen,
    answer::{Answer, Events},
    ask, ask_watched, endpoint, failure, options,
    server::Server,
    with,
};

pub(super) fn answered(answer: Answer) -> Round {
    ask(&endpoint(&Server::answering([answer]))).expect("a complete round")
}

pub(super) fn stream(events: Events) -> Answer {
    Answer::stream(events.finish("stop").done())
}

/// A whole answer with this message.
pub(super) fn whole(message: &Value) -> Answer {
    let body = json!({"choices": [{"message": message, "finish_reason": "stop"}]});
    Answer::status(200, "application/json", body.to_string())
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
fn empty_lines_between_events_may_be_missing() {
    let chunk = |text: &str, finish: Value| json!({"choices": [{"delta": {"content": text}, "finish_reason": finish}]});
    let (one, two) = (chunk("Hi", json!(null)), chunk(" you", json!("stop")));
    for body in [
        format!("data: {one}\n\ndata: {two}"),
        format!("data: {one}\n\ndata: {two}\n"),
        format!("data: {one}\ndata: {two}\n"),
        format!("data: {one}\ndata: {two}\ndata: [DONE]\n"),
        format!("data: {one}\ndata: {two}\ndata: [DONE]\n\n"),
        format!("data: {one}{two}\n\ndata: [DONE]\n\n"),
        format!("data: {one} {two}\n\n"),
        format!("data: [{one}, {two}]\n\n"),
        format!("data:{one}\r\n\r\ndata:{two}\r\n\r\n"),
        format!("data: data: {one}\n\ndata: data: {two}\n\ndata: data: [DONE]\n\n"),
        format!("\u{feff}data: {one}\n\ndata: {two}\n\n"),
        format!("{one}\n{two}\n"),
        format!("[{one},\n{two}]"),
    ] {
        let round = answered(Answer::status(200, "text/event-stream", body.clone()));
        assert_eq!((round.text.as_deref(), round.finish), (Some("Hi you"), Finish::Stop), "{body}");
    }
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
fn the_only_choice_may_have_any_index() {
    for index in [json!(0), json!(1), json!(7), json!("1"), json!(-1), json!(1.0), json!(null)] {
        let chunk = |delta: Value, finish: Value| json!({"choices": [{"index": index, "delta": delta, "finish_reason": finish}]});
        let events = Events::new()
            .data(&chunk(json!({"content": "Hi"}), json!(null)))
            .data(&chunk(json!({"content": " you"}), json!("stop")));
        let round = answered(Answer::stream(events.done()));
        assert_eq!(
            (round.text.as_deref(), round.finish),
            (Some("Hi you"), Finish::Stop),
            "{index}"
        );
    }
    // An older TGI counts the tokens there.
    let token =
        |at: u64, text: &str| json!({"choices": [{"index": at, "delta": {"content": text}}]});
    let events =
        Events::new().data(&token(1, "Hi")).data(&token(2, " you")).data(&token(3, "!")).done();
    assert_eq!(answered(Answer::stream(events)).text.as_deref(), Some("Hi you!"));
}

#[test]
fn counts_may_be_in_other_places() {
    let counts = json!({"prompt_tokens": 3, "completion_tokens": 2});
    for end in [
        json!({"choices": [], "usage": counts}),
        json!({"usage": counts}),
        json!({"choices": null, "usage": counts}),
        json!({"choices": [{"delta": {}, "usage": counts}]}),
        json!({"choices": [], "x_groq": {"usage": counts}}),
        json!({"choices": [], "usage": {"input_tokens": 3, "output_tokens": 2}}),
    ] {
        let events = Events::new().text("Hi").finish("stop").data(&end);
        let usage = answered(Answer::stream(events.done())).usage;
        let usage = usage.unwrap_or_else(|| panic!("{end}"));
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(3), Some(2)), "{end}");
    }
}

#[test]
fn a_compressed_answer_is_read_or_named() {
    let server = Server::answering([Answer::says("Hi").compressed()]);
    assert_eq!(ask(&endpoint(&server)).expect("a round").text.as_deref(), Some("Hi"));
    assert_eq!(server.received()[0].header("accept-encoding"), None, "it is not asked for");
    let server = Server::answering([
        Answer::status(200, "text/event-stream", "x").header("content-encoding", "br")
    ]);
    let said = failure(&endpoint(&server)).to_string();
    assert!(said.contains("its answer is compressed with `br`, which was not asked for"), "{said}");
}

#[test]
fn an_answer_without_any_choice_is_asked_for_again() {
    for nothing in [
        json!({"choices": []}),
        json!({"choices": [{}]}),
        json!({"choices": [{"message": null, "finish_reason": null}]}),
        json!({"choices": [{"message": {"content": null}, "finish_reason": "null"}]}),
    ] {
        for answer in [
            Answer::status(200, "application/json", nothing.to_string()),
            Answer::stream(Events::new().data(&nothing).done()),
        ] {
            let server = Server::answering([answer, Answer::says("Hi")]);
            let round = ask(&endpoint(&server)).unwrap_or_else(|why| panic!("{nothing}: {why}"));
            assert_eq!((round.text.as_deref(), round.timing.attempts), (Some("Hi"), 2));
        }
    }
}

#[test]
fn a_stream_is_not_asked_for_once_it_was_refused() {
    let server = Server::scripted(|request| {
        if request.body["stream"] == true {
            return Answer::error(500, "Cannot use tools with stream", "server_error", json!(500));
        }
        let body = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
        Answer::status(200, "application/json", body.to_string())
    });
    let endpoint = endpoint(&server);
    for attempts in [2, 1] {
        let round = ask(&endpoint).expect("a round");
        assert_eq!((round.text.as_deref(), round.timing.attempts), (Some("Hi"), attempts));
    }
    assert_eq!(server.received()[1].body.get("stream_options"), None);
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
        (
            Events::new().raw("error: {\"message\":\"no memory\",\"code\":400}\n\n"),
            "no memory (400)",
        ),
        (Events::new().data(&json!({"errors": [{"message": "no memory"}]})), "no memory"),
        (Events::new().data(&json!({"code": 400, "msg": "no memory"})), "no memory (400)"),
        (Events::new().data(&json!({"code": "1301", "message": "no memory"})), "no memory (1301)"),
        (Events::new().data(&json!({"error": {"error": {"message": "no memory"}}})), "no memory"),
        (
            Events::new().data(&json!({"choices": [{
                "delta": {}, "finish_reason": "error",
                "error": {"message": "no memory", "code": 400},
            }]})),
            "no memory (400)",
        ),
        (
            Events::new().data(&json!({"choices": [], "x_groq": {"error": "no memory"}})),
            "no memory",
        ),
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
    for reason in ["error", "abort", "insufficient_system_resource", "tool_calls", "tool_use"] {
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
        ("Hugging Face", 422, "`inputs` must have less than 1024 tokens. Given: 2000"),
        ("llama-cpp-python", 400, "Requested tokens (9000) exceed context window of 4096"),
        (
            "LiteLLM",
            400,
            r#"litellm.BadRequestError: {"error":{"type":"exceed_context_size_error"}}"#,
        ),
        (
            "vLLM",
            400,
            "'max_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 5000 input tokens",
        ),
        ("a proxy", 413, "<html><title>413 Request Entity Too Large</title></html>"),
        ("a proxy", 413, ""),
    ] {
        let server = Server::answering([Answer::error(status, message, "x", Value::Null)]);
        let why = failure(&endpoint(&server));
        assert!(matches!(why, ChatError::ContextLength { .. }), "{who}: {message}: {why:?}");
        assert_eq!(server.received().len(), 1, "{who}");
    }
    for body in [
        json!({"error": {"message": "m", "code": "context_length_exceeded"}}),
        json!({"error": {"message": "m", "type": "exceed_context_size_error", "n_ctx": 4096}}),
        json!({"error": {"error": {"message": "m", "code": "context_length_exceeded"}}}),
        json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {
            "raw": "{\"error\":{\"code\":\"context_length_exceeded\"}}", "provider_name": "p",
        }}}),
        json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {
            "raw": {"error": {"message": "prompt is too long"}},
        }}}),
        json!([{"error": {"message": "The input token count (9) exceeds the maximum"}}]),
    ] {
        for answer in [
            Answer::status(400, "application/json", body.to_string()),
            Answer::status(200, "application/json", body.to_string()),
            Answer::stream(Events::new().data(&body)),
        ] {
            let why = failure(&endpoint(&Server::answering([answer])));
            assert!(matches!(why, ChatError::ContextLength { .. }), "{body}: {why:?}");
        }
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
