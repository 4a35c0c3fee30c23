//! Faults on the way: before the first output the request is retried, after it nothing is.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use wakeful_agent::openai::{
    ChatError, EndpointOptions, Finish, Patience, Phase, Round, Unreachable,
};

use super::{
    KEY, Seen,
    answer::{Answer, Events, Length},
    ask, ask_watched, endpoint, failure, in_time, options,
    server::Server,
    with,
};

const LENGTHS: [Length; 3] = [Length::Chunked, Length::Given, Length::UntilClose];

/// The part of a broken answer that arrived, and why it broke off. It must be requested only once.
fn cut_off(answer: Answer) -> (Round, ChatError) {
    let server = Server::answering([answer]);
    match ask(&endpoint(&server)) {
        Err(ChatError::CutOff { partial, why }) => {
            assert_eq!(server.received().len(), 1, "retried: {why}");
            (*partial, *why)
        }
        other => panic!("{other:?}"),
    }
}

/// Why an answer was not accepted. It must not be retried.
fn malformed(answer: Answer) -> String {
    let server = Server::answering([answer]);
    let why = failure(&endpoint(&server));
    assert!(matches!(why, ChatError::Malformed { .. }), "{why:?}");
    assert_eq!(server.received().len(), 1, "retried: {why}");
    why.to_string().replace(&format!("{}/chat/completions", server.url()), "URL")
}

#[test]
fn an_answer_that_is_cut_before_its_first_output_is_asked_for_again() {
    for length in LENGTHS {
        let whole = || {
            Answer::stream(
                Events::new()
                    .raw(": soon\n\n")
                    .delta(json!({"role": "assistant"}))
                    .text("Hi")
                    .finish("stop")
                    .done(),
            )
            .length(length)
        };
        let first_output = whole().bytes_before("Hi");
        let cuts = [0, 3, whole().bytes_before("assistant"), first_output];
        for at in cuts {
            let server = Server::answering([whole().cut_after(at), whole()]);
            let mut seen = Seen::default();
            let round = ask_watched(&endpoint(&server), &mut seen).unwrap();
            assert_eq!(
                (round.text.as_deref(), round.timing.attempts),
                (Some("Hi"), 2),
                "{length:?} cut after {at}"
            );
            assert_eq!(
                (seen.deltas.len(), seen.retries.len()),
                (1, 1),
                "{length:?} cut after {at}"
            );
        }
    }
}

#[test]
fn an_answer_that_is_cut_after_its_first_output_ends_there() {
    for length in LENGTHS {
        let whole =
            Answer::stream(Events::new().text("First").text("Second").finish("stop").done())
                .length(length);
        let at = whole.bytes_before("Second");
        let (partial, why) = cut_off(whole.cut_after(at));
        assert_eq!(
            (partial.text.as_deref(), partial.finish),
            (Some("First"), Finish::Unsaid),
            "{length:?}"
        );
        let is_a_lost_connection = matches!(
            &why,
            ChatError::Ended { .. } | ChatError::Unreachable { why: Unreachable::Lost(_), .. }
        );
        assert!(is_a_lost_connection, "{length:?}: {why:?}");
    }
}

#[test]
fn a_tool_call_is_output_too() {
    let whole = Answer::stream(
        Events::new()
            .call(0, "a", "read")
            .arguments(0, "{\"path\":\"long\"}")
            .finish("tool_calls")
            .done(),
    );
    let at = whole.bytes_before("long");
    let (partial, _) = cut_off(whole.cut_after(at));
    assert_eq!(partial.tool_calls.len(), 1);
    assert_eq!(
        (partial.tool_calls[0].name.as_str(), partial.tool_calls[0].arguments.as_str()),
        ("read", "")
    );
}

#[test]
fn an_answer_that_is_cut_after_its_last_word_is_whole() {
    let whole = Answer::stream(Events::new().text("All").finish("stop").usage(1, 1, 0).done());
    let at = whole.bytes_before("prompt_tokens");
    let server = Server::answering([whole.cut_after(at)]);
    let round = ask(&endpoint(&server)).unwrap();
    assert_eq!(
        (round.text.as_deref(), round.finish, round.usage),
        (Some("All"), Finish::Stop, None)
    );
}

#[test]
fn an_end_without_an_answer_is_none() {
    let server = Server::scripted(|_| Answer::stream(Events::new().done()));
    let why = failure(&endpoint(&server));
    let ChatError::GaveUp { attempts: 3, why: last } = &why else { panic!("{why:?}") };
    assert!(matches!(**last, ChatError::Ended { .. }), "{last:?}");
}

#[test]
fn malformed_json_before_the_first_output_is_said_with_its_beginning() {
    let said = malformed(Answer::stream(Events::new().raw("data: {\"choices\":[{]}\n\n")));
    assert_eq!(
        said,
        "`URL` does not speak chat completions: expected `,` or `}` at line 1 column 14; it said \
         `{\"choices\":[{]}`; check the base URL"
            .replace("expected `,` or `}`", "key must be a string")
    );
    let said = malformed(Answer::stream(Events::new().data(&json!({"choices": "none"}))));
    assert!(said.contains("`choices` is not a list"), "{said}");
}

#[test]
fn malformed_json_after_the_first_output_cuts_the_answer_off() {
    let (partial, why) = cut_off(Answer::stream(
        Events::new().text("First").raw("data: {\"choices\":\n\n").finish("stop").done(),
    ));
    assert_eq!(partial.text.as_deref(), Some("First"));
    assert!(matches!(why, ChatError::Malformed { .. }), "{why:?}");
}

#[test]
fn what_is_no_answer_of_chat_completions_is_said() {
    let said =
        malformed(Answer::status(200, "text/html", format!("<html>Log in with {KEY}</html>")));
    assert!(
        said.contains("it said `<html>Log in with [key]</html>`; check the base URL"),
        "{said}"
    );
    let said = malformed(Answer::status(200, "application/json", "{\"models\":[]}"));
    assert_eq!(
        said,
        "`URL` does not speak chat completions: it has no `choices`; it said `{\"models\":[]}`; \
         check the base URL"
    );
}

#[test]
fn an_error_in_a_stream_is_tried_again_before_the_first_output_only() {
    let overloaded = json!({"error": {
        "message": format!("Overloaded, {KEY}"),
        "type": "server_error",
        "code": 503,
    }});
    let server =
        Server::answering([Answer::stream(Events::new().data(&overloaded)), Answer::says("Hi")]);
    let mut seen = Seen::default();
    assert_eq!(ask_watched(&endpoint(&server), &mut seen).unwrap().text.as_deref(), Some("Hi"));
    assert!(
        seen.retries[0]
            .2
            .ends_with("failed while it answered: Overloaded, [key] (server_error, 503)"),
        "{seen:?}"
    );

    let (partial, why) = cut_off(Answer::stream(Events::new().text("First").data(&overloaded)));
    assert_eq!(partial.text.as_deref(), Some("First"));
    assert!(matches!(why, ChatError::Failed { .. }), "{why:?}");

    let refused = json!({"error": {"message": "No such tool", "code": 400}});
    let server = Server::answering([Answer::stream(Events::new().data(&refused))]);
    assert!(
        matches!(failure(&endpoint(&server)), ChatError::Failed { .. }),
        "an invalid request is not retried"
    );
    let used_up = json!({"error": {"message": "No credit", "type": "insufficient_quota"}});
    let server = Server::answering([Answer::stream(Events::new().data(&used_up))]);
    assert!(
        matches!(failure(&endpoint(&server)), ChatError::Failed { .. }),
        "a quota that is used up is not retried"
    );
}

#[test]
fn a_server_that_is_not_there_is_tried_again_and_then_said() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let mut options = EndpointOptions::new(format!("http://{free}/v1"), "m");
    options.retries.most = 1;
    options.retries.first_wait = Duration::from_millis(1);
    let why = failure(&with(options));
    assert_eq!(
        why.to_string(),
        format!(
            "cannot reach `http://{free}/v1/chat/completions`: the connection was refused; start \
             the server, or correct the base URL (tried 2 times)"
        )
    );
}

#[test]
fn a_host_that_is_not_known_is_said() {
    let mut options = EndpointOptions::new("http://no-such-host.invalid/v1", "m");
    options.retries.most = 0;
    let why = failure(&with(options));
    assert!(matches!(why, ChatError::Unreachable { .. }), "{why:?}");
}

#[test]
fn a_server_without_tls_where_tls_is_asked_for_is_said() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    });
    let why = failure(&with(EndpointOptions::new(format!("https://{address}/v1"), "m")));
    let ChatError::Unreachable { why: Unreachable::Tls(_), .. } = &why else {
        panic!("retried: {why:?}")
    };
    assert!(why.to_string().contains("no secure connection ("), "{why}");
    serving.join().unwrap();
}

/// The error after a server's silence, with two tries. There must be this many requests.
fn silent(requests: usize, patience: Patience, answer: fn() -> Answer) -> ChatError {
    let server = Server::scripted(move |_| answer());
    let mut options = options(&server);
    options.patience = patience;
    options.retries.most = 1;
    let why = failure(&with(options));
    // The server may read a request after its client has left.
    server.wait_for_requests(requests);
    server.wait_until_left();
    assert_eq!(server.received().len(), requests);
    why
}

/// Limits that no test waits for.
const LONG: Patience = Patience {
    connect: Duration::from_mins(10),
    first_byte: Duration::from_mins(10),
    idle: Duration::from_mins(10),
    total: Duration::from_mins(10),
};

#[test]
fn silence_before_the_answer_is_tried_again_and_then_said() {
    let head_only = || Answer::says("Hi").silent_after(0);
    let slow_head = || Answer::says("Hi").slow_head(Duration::from_millis(400));
    for answer in [Answer::never, head_only, slow_head] {
        let begun = Instant::now();
        let why = silent(2, Patience { first_byte: Duration::from_millis(300), ..LONG }, answer);
        let ChatError::GaveUp { attempts: 2, why: last } = &why else { panic!("{why:?}") };
        assert!(matches!(**last, ChatError::TimedOut { phase: Phase::FirstByte, .. }), "{last:?}");
        assert!(why.to_string().contains("took longer than 0.3 s to begin its answer"), "{why}");
        assert!(begun.elapsed() >= Duration::from_millis(600), "{:?}", begun.elapsed());
    }
}

#[test]
fn silence_within_the_answer_ends_it() {
    let why = silent(1, Patience { idle: Duration::from_millis(150), ..LONG }, || {
        let whole = Answer::stream(Events::new().text("First").text("Second"));
        let at = whole.bytes_before("Second");
        whole.silent_after(at)
    });
    let ChatError::CutOff { partial, why } = why else { panic!("{why:?}") };
    assert_eq!(partial.text.as_deref(), Some("First"));
    assert!(matches!(*why, ChatError::TimedOut { phase: Phase::Idle, .. }), "{why:?}");
}

#[test]
fn a_slow_head_is_waited_for() {
    let server = Server::answering([Answer::says("Hi").slow_head(Duration::from_millis(100))]);
    let round = ask(&endpoint(&server)).unwrap();
    assert_eq!(round.text.as_deref(), Some("Hi"));
    assert!(round.timing.first_token_ms.unwrap() >= 200, "{:?}", round.timing);
}

#[test]
fn an_answer_that_is_too_large_is_cut() {
    let limited = |answer| {
        let server = Server::answering([answer]);
        let mut options = options(&server);
        options.max_answer_bytes = 4_000;
        let answered = ask(&with(options));
        (answered, server.received().len())
    };
    let word = "a word and a half, ";
    let words = || (0..300).fold(Events::new(), |events, _| events.text(word));
    let (answered, requests) = limited(Answer::stream(words().finish("stop").done()));
    let Err(ChatError::CutOff { partial, why }) = answered else { panic!("{answered:?}") };
    assert_eq!((*why, requests), (ChatError::TooLarge { limit: 4_000 }, 1));
    assert!(partial.text.is_some_and(|text| text.len() < 4_000 + 2 * word.len()));
    for large in [
        // An event, a body and thoughts without end.
        Answer::stream(Events::new().raw(&format!("data: {}", " ".repeat(5_000)))),
        Answer::status(200, "application/json", format!("{{{}", " ".repeat(5_000))),
        Answer::stream(
            (0..300).fold(Events::new(), |events, _| events.delta(json!({"reasoning": word}))),
        ),
    ] {
        let (answered, requests) = limited(large);
        let why = answered.expect_err("it is too large");
        assert_eq!((&why, requests), (&ChatError::TooLarge { limit: 4_000 }, 1));
        assert_eq!(
            why.to_string(),
            "the answer is longer than the limit of 4000 bytes; raise it with --max-answer-bytes"
        );
    }
}

#[test]
fn what_is_not_kept_does_not_count_for_the_limit() {
    let comments = (0..400).fold(Events::new(), |events, _| events.raw(": nobody needs this\n\n"));
    let mut thoughts = comments;
    for _ in 0..300 {
        thoughts = thoughts.delta(json!({"reasoning_content": " t"}));
    }
    let answer = Answer::stream(thoughts.text("Forty-two.").finish("stop").done());
    assert!(answer.body_len() > 40_000);
    let server = Server::answering([answer]);
    let mut options = options(&server);
    options.max_answer_bytes = 1_000;
    assert_eq!(ask(&with(options)).unwrap().text.as_deref(), Some("Forty-two."));
}

#[test]
fn signs_of_life_are_no_output() {
    let beats: [fn(Events) -> Events; 5] = [
        |events| events.raw(": processing\n\n"),
        |events| events.delta(json!({"role": "assistant", "content": ""})),
        |events| events.raw("data: \n\n"),
        |events| events.raw("event: ping\ndata: {\"type\": \"ping\"}\n\n"),
        |events| events.raw("event: ping\ndata: still here\n\n"),
    ];
    for beat in beats {
        let events = (0..100).fold(Events::new(), |events, _| beat(events));
        let bytes = Answer::stream(beat(Events::new())).body_len();
        let answer = Answer::stream(events).in_pieces_of(bytes, Duration::from_millis(20));
        let first = Answer::stream(Events::new().text("First")).body_len();
        let after_text = (0..1_000).fold(Events::new().text("First"), |events, _| beat(events));
        let after_text =
            Answer::stream(after_text).in_pieces_of(bytes.max(first), Duration::from_millis(20));

        // A slow machine may need more than one request for the second answer.
        let answers = [answer].into_iter().chain((0..20).map(|_| Answer::says("Hi")));
        let server = Server::answering(answers);
        let mut waiting = options(&server);
        waiting.patience.first_byte = Duration::from_millis(200);
        waiting.retries.most = 20;
        let mut seen = Seen::default();
        let round = ask_watched(&with(waiting), &mut seen).unwrap();
        assert_eq!(round.text.as_deref(), Some("Hi"));
        assert!(seen.retries[0].2.contains("took longer than 0.2 s to begin its answer"));

        let server = Server::answering([after_text]);
        let mut waiting = options(&server);
        waiting.patience.idle = Duration::from_millis(200);
        let why = failure(&with(waiting));
        let ChatError::CutOff { why, .. } = why else { panic!("{why:?}") };
        assert!(matches!(*why, ChatError::TimedOut { phase: Phase::Idle, .. }), "{why:?}");
    }
}

#[test]
fn a_flood_of_signs_of_life_is_not_output() {
    // Reading these costs more than sending them, so the next one is always there already.
    let beat = "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n";
    let flood = Answer::stream(Events::new().raw(&beat.repeat(1_000_000)));
    // A busy machine may need more than one request for the second answer.
    let answers = [flood].into_iter().chain((0..20).map(|_| Answer::says("Hi")));
    let server = Server::answering(answers);
    let mut waiting = options(&server);
    waiting.patience.first_byte = Duration::from_millis(100);
    waiting.retries.most = 20;
    let mut seen = Seen::default();
    let round = ask_watched(&with(waiting), &mut seen).unwrap();
    assert_eq!(round.text.as_deref(), Some("Hi"));
    assert!(seen.retries[0].2.contains("took longer than 0.1 s to begin its answer"), "{seen:?}");
}

#[test]
fn a_thought_renews_the_deadline_and_a_request_has_a_total_time() {
    let thoughts = |count| {
        (0..count).fold(Events::new(), |events, _| events.delta(json!({"reasoning": "hm"})))
    };
    let bytes = Answer::stream(thoughts(1)).body_len();
    let slow = move |events| Answer::stream(events).in_pieces_of(bytes, Duration::from_millis(20));
    let (round, ()) = in_time(|limit| {
        // Together the pauses are longer than the limit for each of them.
        let answer = Answer::stream(thoughts(40).text("Hi").finish("stop").done());
        let server = Server::answering([answer.in_pieces_of(bytes, limit / 20)]);
        let mut waiting = options(&server);
        waiting.patience.first_byte = limit;
        waiting.patience.idle = limit;
        waiting.retries.most = 0;
        (ask(&with(waiting)), ())
    });
    assert_eq!(round.unwrap().text.as_deref(), Some("Hi"));

    let server = Server::scripted(move |_| slow(thoughts(100)));
    let mut waiting = options(&server);
    waiting.patience.total = Duration::from_millis(600);
    waiting.retries.most = 1;
    let why = failure(&with(waiting));
    let ChatError::GaveUp { attempts: 2, why } = why else { panic!("{why:?}") };
    assert!(matches!(*why, ChatError::TimedOut { phase: Phase::Total, .. }), "{why:?}");
    assert!(why.to_string().contains("took longer than 0.6 s to complete its answer"), "{why}");
}

#[test]
fn an_answer_without_counts_is_complete_soon_after_its_end() {
    let whole = Answer::stream(Events::new().text("All").finish("stop"));
    let length = whole.body_len();
    let server = Server::answering([whole.silent_after(length)]);
    let mut waiting = options(&server);
    waiting.patience.idle = Duration::from_millis(100);
    assert_eq!(ask(&with(waiting)).unwrap().text.as_deref(), Some("All"));
}
