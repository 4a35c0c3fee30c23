//! Calls in the forms in which real servers send them: rows of the table in docs/providers.md.

use serde_json::{Value, json};
use wakeful_agent::openai::{Finish, Round};

use super::{
    answer::{Answer, Events},
    quirks::{answered, stream, whole},
};

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
        (
            "the same id, and a header of its own",
            vec![
                of(json!({"index": 0, "id": "x"}), json!("read"), ""),
                of(json!({"index": 0, "id": "x"}), json!(null), one),
                of(json!({"index": 0, "id": "x"}), json!("read"), ""),
                of(json!({"index": 0, "id": "x"}), json!(null), two),
            ],
        ),
        (
            "pieces of both in turns, told apart by their ids",
            vec![
                of(json!({"index": 0, "id": "x"}), json!("read"), "{\"a\""),
                of(json!({"index": 0, "id": "y"}), json!("read"), "{\"a\""),
                of(json!({"index": 0, "id": "x"}), json!(null), ":1}"),
                of(json!({"index": 0, "id": "y"}), json!(null), ":2}"),
            ],
        ),
        (
            "an id of its own in each piece, and the name",
            vec![
                of(json!({"index": 0, "id": "x1"}), json!("read"), "{\"a\""),
                of(json!({"index": 0, "id": "x2"}), json!("read"), ":1}"),
                of(json!({"index": 0, "id": "y1"}), json!("read"), "{\"a\""),
                of(json!({"index": 0, "id": "y2"}), json!("read"), ":2}"),
            ],
        ),
        (
            "the name in each piece, and neither id nor index",
            vec![
                of(json!({}), json!("read"), "{\"a\""),
                of(json!({}), json!("read"), ":1}"),
                of(json!({}), json!("read"), "{\"a\""),
                of(json!({}), json!("read"), ":2}"),
            ],
        ),
        (
            "the name in each piece, and an empty last piece",
            vec![
                of(json!({"index": 0}), json!("read"), one),
                of(json!({"index": 0}), json!("read"), ""),
                of(json!({"index": 1}), json!("read"), two),
                of(json!({"index": 1}), json!("read"), ""),
            ],
        ),
        (
            "an empty object before the arguments",
            vec![
                of(json!({"index": 0, "id": "x"}), json!("read"), "{}"),
                of(json!({"index": 0}), json!(null), "{\"a\""),
                of(json!({"index": 0}), json!(null), ":1}"),
                of(json!({"index": 1, "id": "y"}), json!("read"), &format!("{{}}{two}")),
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
fn each_call_of_a_complete_message_is_one() {
    for id in [json!(null), json!(""), json!("x")] {
        let call = |arguments: Value| json!({"id": id, "index": 0, "function": {"name": "read", "arguments": arguments}});
        for arguments in [json!(""), json!(null), json!({}), json!("{\"cut"), json!("oh no")] {
            let message = json!({"tool_calls": [call(arguments.clone()), call(arguments.clone())]});
            let round = answered(whole(&message));
            assert_eq!(round.tool_calls.len(), 2, "{id} {arguments}");
            assert_ne!(round.tool_calls[0].id, round.tool_calls[1].id, "{id} {arguments}");
        }
    }
}

#[test]
fn a_call_that_says_nothing_is_not_a_call() {
    for nothing in [
        json!({"tool_calls": {}}),
        json!({"tool_calls": []}),
        json!({"tool_calls": [{}, null, 7]}),
        json!({"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": ""}}]}),
        json!({"tool_calls": "none"}),
        json!({"function_call": {"name": "", "arguments": ""}}),
        json!({"function_call": {"name": null, "arguments": null}}),
        json!({"function_call": {}}),
        json!({"function_call": null}),
    ] {
        let mut delta = nothing.clone();
        delta["content"] = json!("Hi");
        for answer in [stream(Events::new().delta(delta.clone())), whole(&delta)] {
            let round = answered(answer);
            assert_eq!(round.text.as_deref(), Some("Hi"), "{nothing}");
            assert_eq!(round.tool_calls, [], "{nothing}");
        }
    }
}

#[test]
fn another_name_begins_a_new_call() {
    for id in [json!(null), json!("x")] {
        let given = calls(&[
            json!({"index": 0, "id": id, "function": {"name": "list", "arguments": ""}}),
            json!({"index": 0, "id": id, "function": {"name": "read", "arguments": "{\"a\""}}),
            json!({"index": 0, "id": id, "function": {"arguments": ":1}"}}),
        ]);
        let wanted = [("list", ""), ("read", "{\"a\":1}")]
            .map(|(name, arguments)| (name.to_owned(), arguments.to_owned()));
        assert_eq!(given, wanted, "{id}");
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
fn the_time_to_read_an_answer_grows_with_its_calls_and_not_with_their_square() {
    let read = |count: usize| {
        let pieces = (0..count).fold(Events::new(), |events, at| {
            events.delta(json!({"tool_calls": [{"index": at, "id": format!("c{at}"),
                "function": {"name": "read", "arguments": "{}"}}]}))
        });
        let begun = std::time::Instant::now();
        let round = answered(Answer::stream(pieces.finish("tool_calls").done()));
        assert_eq!(round.tool_calls.len(), count);
        begun.elapsed()
    };
    // Twenty times as many: the square would be 400 times as much.
    let (few, many) = (read(2_000), read(40_000));
    assert!(many < few * 100, "{few:?} and {many:?}");
}
