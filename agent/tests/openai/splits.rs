//! An answer gives the same round however its bytes arrive: every split, every pace, every way to
//! mark its end.

use std::{
    thread,
    time::{Duration, Instant},
};

use wakeful_agent::openai::{Extra, Finish, Round, Timing, ToolCall, Usage};

use super::{
    Seen,
    answer::{Answer, Events, Length},
    ask, ask_watched, endpoint, in_time, options,
    server::Server,
    with,
};

/// A stream with everything that one can contain: comments, three kinds of line ends, an event over
/// two lines, characters of up to four bytes, two calls at once, and tokens.
fn recorded() -> Answer {
    let event_over_two_lines = "event: message\r\ndata: {\"choices\":[{\"index\":0,\r\ndata: \
                                \"delta\":{\"content\":\" two\"}}]}\r\n\r\n";
    Answer::stream(
        Events::new()
            .raw(": hello\r\n\r\n")
            .delta(serde_json::json!({"role": "assistant", "content": ""}))
            .text("Zwölf \u{1f980}")
            .raw(event_over_two_lines)
            .raw("data: {\"choices\":[{\"delta\":{\"content\":\" cr\"}}]}\r\r")
            .raw("data: {\"choices\":[{\"delta\":{\"content\":\" crlf\"}}]}\r\n\r\n")
            .call(0, "a", "read")
            .arguments(0, "{\"path\":\"\u{e9}")
            .call(1, "b", "write")
            .arguments(1, "{}")
            .arguments(0, "\"}")
            .finish("tool_calls")
            .usage(11, 5, 3)
            .done(),
    )
}

/// The round of the recorded stream, without its timing.
fn expected() -> Round {
    Round {
        text: Some("Zwölf \u{1f980} two cr crlf".into()),
        refusal: None,
        tool_calls: vec![
            ToolCall {
                id: "a".into(),
                name: "read".into(),
                arguments: "{\"path\":\"\u{e9}\"}".into(),
                extra: Extra::default(),
            },
            ToolCall {
                id: "b".into(),
                name: "write".into(),
                arguments: "{}".into(),
                extra: Extra::default(),
            },
        ],
        extra: Extra::default(),
        finish: Finish::ToolCalls,
        finish_reason: Some("tool_calls".into()),
        usage: Some(Usage {
            prompt_tokens: Some(11),
            completion_tokens: Some(5),
            total_tokens: Some(16),
            cached_tokens: Some(3),
        }),
        timing: Timing::default(),
        model: Some("test-model".into()),
        response_id: Some("chatcmpl-1".into()),
    }
}

fn untimed(round: Round) -> Round {
    Round { timing: Timing::default(), ..round }
}

/// The first split that gives another round, if there is one.
fn first_difference(splits: impl Iterator<Item = usize> + Clone) -> Option<String> {
    let server = Server::answering(
        splits.clone().map(|at| recorded().split_at(at, Duration::from_millis(2))),
    );
    let endpoint = endpoint(&server);
    splits.clone().find_map(|at| {
        let round = ask(&endpoint).map(untimed);
        (round != Ok(expected())).then(|| format!("split at {at}: {round:?}"))
    })
}

#[test]
fn every_split_of_a_stream_gives_the_equal_round() {
    let length = recorded().body_len();
    // Most of the time is pauses, so four threads run at once.
    thread::scope(|scope| {
        let quarters = [1, 2, 3, 4]
            .map(|first| scope.spawn(move || first_difference((first..length).step_by(4))));
        for quarter in quarters {
            assert_eq!(quarter.join().unwrap(), None);
        }
    });
}

#[test]
fn a_stream_that_comes_byte_by_byte_is_seen_as_it_comes() {
    let server = Server::answering([recorded().in_pieces_of(1, Duration::from_micros(100))]);
    let mut seen = Seen::default();
    assert_eq!(untimed(ask_watched(&endpoint(&server), &mut seen).unwrap()), expected());
    let deltas = ["Zwölf \u{1f980}", " two", " cr", " crlf"].map(str::to_owned).to_vec();
    assert_eq!(seen, Seen { deltas, tools: vec!["read".into(), "write".into()], retries: vec![] });
}

#[test]
fn the_end_of_a_body_may_be_told_in_three_ways() {
    for length in [Length::Chunked, Length::Given, Length::UntilClose] {
        let server = Server::answering([recorded().length(length)]);
        assert_eq!(untimed(ask(&endpoint(&server)).unwrap()), expected(), "{length:?}");
    }
}

#[test]
fn a_slow_stream_is_waited_for_as_long_as_something_comes() {
    let answer = Answer::says("One after the other");
    let pieces = 24;
    let size = answer.body_len().div_ceil(pieces);
    // Together the pauses are longer than the limit for each of them.
    let (round, limit) = in_time(|limit| {
        let server = Server::answering([answer.clone().in_pieces_of(size, limit / 20)]);
        let mut options = options(&server);
        options.patience.first_byte = limit;
        options.patience.idle = limit;
        (ask(&with(options)), limit)
    });
    let round = round.unwrap();
    assert_eq!(round.text.as_deref(), Some("One after the other"));
    assert!(u128::from(round.timing.total_ms) > limit.as_millis(), "{:?}", round.timing);
    assert!(round.timing.first_token_ms.unwrap() < round.timing.total_ms, "{:?}", round.timing);
    assert_eq!(round.timing.attempts, 1);
}

#[test]
fn a_round_is_over_at_done_though_the_server_keeps_the_connection() {
    let answer = Answer::says("Done.");
    let length = answer.body_len();
    let server = Server::answering([answer.silent_after(length)]);
    let begun = Instant::now();
    assert_eq!(ask(&endpoint(&server)).unwrap().text.as_deref(), Some("Done."));
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
    server.wait_until_left();
}
