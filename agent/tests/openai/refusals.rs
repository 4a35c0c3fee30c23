//! Refusals of a server: what the user sees, and what is retried.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use wakeful_agent::openai::{ChatError, ServerMessage};

use super::{
    KEY, Seen,
    answer::{Answer, Events},
    ask_watched, endpoint, failure, options,
    server::Server,
    with,
};

/// The error for one refusal, which must not be retried.
fn refused(answer: Answer) -> (ChatError, String) {
    let server = Server::answering([answer]);
    let why = failure(&endpoint(&server));
    assert_eq!(server.received().len(), 1, "retried: {why}");
    let said = why.to_string().replace(&format!("{}/chat/completions", server.url()), "URL");
    (why, said)
}

#[test]
fn a_wrong_key_is_said_with_the_variable_and_without_the_key() {
    let message = format!("Incorrect API key provided: {KEY}.");
    let (why, said) =
        refused(Answer::error(401, &message, "invalid_request_error", json!("invalid_api_key")));
    assert_eq!(
        said,
        "`URL` answered 401 Unauthorized: Incorrect API key provided: [key]. \
         (invalid_request_error, invalid_api_key); put a valid key into WAKEFUL_API_KEY or \
         OPENAI_API_KEY"
    );
    let ChatError::Refused { status: 401, says, retry_after: None, .. } = why else {
        panic!("{why:?}")
    };
    assert_eq!(says.code.as_deref(), Some("invalid_api_key"));
    assert_eq!(says.kind.as_deref(), Some("invalid_request_error"));
}

#[test]
fn where_no_key_was_sent_that_is_said() {
    let server = Server::answering([Answer::error(401, "Who are you?", "auth", Value::Null)]);
    let mut options = options(&server);
    options.key = None;
    let said = failure(&with(options)).to_string();
    assert!(
        said.ends_with(
            "401 Unauthorized: Who are you? (auth); no key was sent: put it into WAKEFUL_API_KEY \
             or OPENAI_API_KEY"
        ),
        "{said}"
    );
}

#[test]
fn each_refusal_says_what_to_do() {
    for (answer, expected) in [
        (
            Answer::error(
                404,
                "The model `x` does not exist",
                "invalid_request_error",
                json!("model_not_found"),
            ),
            "`URL` answered 404 Not Found: The model `x` does not exist (invalid_request_error, model_not_found); \
             check the model (--model) and the base URL (--base-url), which usually ends in `/v1`",
        ),
        (
            Answer::status(404, "text/plain", "404 page not found"),
            "`URL` answered 404 Not Found: 404 page not found; check the model (--model) and the base URL (--base-url), which usually ends in `/v1`",
        ),
        (
            Answer::status(
                400,
                "application/json",
                "{\"error\":\"registry/x does not support tools\"}",
            ),
            "`URL` answered 400 Bad Request: registry/x does not support tools",
        ),
        (
            Answer::status(422, "application/json", "{\"detail\":[{\"loc\":[\"body\"]}]}"),
            "`URL` answered 422 Unprocessable Entity: [{\"loc\":[\"body\"]}]",
        ),
        (
            Answer::status(
                400,
                "application/json",
                "{\"object\":\"error\",\"message\":\"bad\",\"type\":\"BadRequestError\",\"code\":400}",
            ),
            "`URL` answered 400 Bad Request: bad (BadRequestError, 400)",
        ),
        (
            Answer::status(400, "application/json", "{\"error\":null,\"message\":\"bad\"}")
                .header("location", "/elsewhere"),
            "`URL` answered 400 Bad Request: bad",
        ),
        (
            Answer::status(403, "application/json", "{}"),
            "`URL` answered 403 Forbidden: {}; the key in WAKEFUL_API_KEY or OPENAI_API_KEY may not do this: use another key or model",
        ),
        (
            Answer::status(308, "text/html", "")
                .header("location", "https://elsewhere.example/v1/chat/completions"),
            "`URL` answered 308 Permanent Redirect: it redirects to `https://elsewhere.example/v1/chat/completions`; give the base URL that it names",
        ),
        (
            Answer::error(
                429,
                "You exceeded your current quota",
                "insufficient_quota",
                json!("insufficient_quota"),
            ),
            "`URL` answered 429 Too Many Requests: You exceeded your current quota (insufficient_quota, insufficient_quota); \
             the quota of the key is used up: add credit, or use another key",
        ),
    ] {
        assert_eq!(refused(answer).1, expected);
    }
}

#[test]
fn a_long_error_is_shortened() {
    let (why, _) = refused(Answer::status(400, "text/html", "é".repeat(100_000)));
    let ChatError::Refused { says: ServerMessage { message, .. }, .. } = why else {
        panic!("{why:?}")
    };
    assert_eq!(message, "é".repeat(2_000));
}

#[test]
fn no_part_of_the_key_is_left_where_words_are_shortened() {
    let part = &KEY[..8];
    let refusals: [fn() -> Answer; 3] = [
        || Answer::status(400, "text/plain", format!("{}{KEY}", "x".repeat(1_990))),
        || Answer::status(200, "text/plain", format!("{}{KEY}", "x".repeat(190))),
        || Answer::stream(Events::new().data(&json!({"choices": KEY}))),
    ];
    for answer in refusals {
        let (why, said) = refused(answer());
        assert!(!said.contains(part) && !format!("{why:?}").contains(part), "{said}");
    }
}

#[test]
fn a_chat_that_is_too_long_is_an_error_of_its_own() {
    let hosted = "This model's maximum context length is 8192 tokens. However, your messages \
                  resulted in 9000 tokens.";
    for (server, answer) in [
        (
            "hosted",
            Answer::error(400, hosted, "invalid_request_error", json!("context_length_exceeded")),
        ),
        (
            "hosted, by its code",
            Answer::error(
                400,
                "Too long.",
                "invalid_request_error",
                json!("context_length_exceeded"),
            ),
        ),
        (
            "vllm",
            Answer::status(
                400,
                "application/json",
                format!("{{\"object\":\"error\",\"message\":\"{hosted}\",\"code\":400}}"),
            ),
        ),
        (
            "vllm, newer",
            Answer::error(
                400,
                "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
                "BadRequestError",
                json!(400),
            ),
        ),
        (
            "llama.cpp",
            Answer::error(
                400,
                "the request exceeds the available context size, try increasing it",
                "exceed_context_size_error",
                json!(400),
            ),
        ),
        (
            "ollama",
            Answer::error(
                500,
                "the input length exceeds the context length",
                "api_error",
                Value::Null,
            ),
        ),
        (
            "in a stream",
            Answer::stream(Events::new().data(&json!({"error": {"message": hosted, "code": 400}}))),
        ),
    ] {
        let (why, said) = refused(answer);
        assert!(matches!(why, ChatError::ContextLength { .. }), "{server}: {why:?}");
        assert!(
            said.starts_with("the chat is longer than the model can read: "),
            "{server}: {said}"
        );
    }
}

#[test]
fn too_many_requests_are_tried_again_after_the_wait_that_the_server_asks_for() {
    let busy = || Answer::error(429, "Slow down", "rate_limit", json!("rate_limit_exceeded"));
    let soon = httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(60));
    let server = Server::answering([
        busy().header("retry-after", "1"),
        busy().header("Retry-After", &soon),
        busy().header("retry-after-ms", "20").header("retry-after", "1"),
        busy().header("retry-after", "0.03"),
        Answer::says("Now."),
    ]);
    let mut options = options(&server);
    options.retries.longest_wait = Duration::from_secs(5);
    options.retries.most = 4;
    let begun = Instant::now();
    let mut seen = Seen::default();
    let round = ask_watched(&with(options), &mut seen).unwrap();
    assert_eq!((round.text.as_deref(), round.timing.attempts), (Some("Now."), 5));
    // The second of the first wait is not part of the round.
    let without = begun.elapsed().checked_sub(Duration::from_secs(1)).expect("it waited");
    assert!(u128::from(round.timing.total_ms) <= without.as_millis(), "{:?}", round.timing);
    let waits: Vec<(u32, Duration)> =
        seen.retries.iter().map(|(attempt, after, _)| (*attempt, *after)).collect();
    let asked_for = [(2, 1_000), (3, 0), (4, 20), (5, 30)];
    assert_eq!(waits, asked_for.map(|(attempt, ms)| (attempt, Duration::from_millis(ms))));
    assert!(
        seen.retries[0].2.contains(
            "429 Too Many Requests: Slow down (rate_limit, rate_limit_exceeded); too many requests"
        ),
        "{seen:?}"
    );
}

#[test]
fn a_wait_that_is_asked_for_has_a_cap() {
    let server = Server::answering([
        Answer::error(503, "Later", "overloaded", Value::Null).header("retry-after", "86400"),
        Answer::says("Now."),
    ]);
    let mut seen = Seen::default();
    ask_watched(&endpoint(&server), &mut seen).unwrap();
    assert_eq!(seen.retries[0].1, Duration::from_millis(50));
}

#[test]
fn what_may_go_better_is_tried_again_until_the_tries_are_used_up() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        let server = Server::scripted(move |_| {
            Answer::error(status, "Not now", "server_error", Value::Null)
        });
        let mut seen = Seen::default();
        let why = ask_watched(&endpoint(&server), &mut seen).unwrap_err();
        let ChatError::GaveUp { attempts: 3, why: last } = &why else { panic!("{why:?}") };
        assert!(
            matches!(**last, ChatError::Refused { status: given, .. } if given == status),
            "{last:?}"
        );
        assert!(why.to_string().ends_with(" (tried 3 times)"), "{why}");
        assert_eq!(server.received().len(), 3, "{status}");
        let waits: Vec<(u32, u128)> =
            seen.retries.iter().map(|(attempt, after, _)| (*attempt, after.as_millis())).collect();
        assert_eq!(waits, [(2, 1), (3, 2)], "{status}");
    }
}

#[test]
fn what_will_not_go_better_is_not_tried_again() {
    for status in [400, 401, 402, 403, 404, 405, 410, 415, 422] {
        let (why, _) = refused(Answer::error(status, "No", "no", Value::Null));
        assert!(
            matches!(why, ChatError::Refused { status: given, .. } if given == status),
            "{why:?}"
        );
    }
}
