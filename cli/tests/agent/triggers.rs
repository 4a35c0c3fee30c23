//! External triggers of a model: it asks for something outside, another process delivers with a
//! token, and it goes on. The token is in no ledger.

use serde_json::json;

use super::{
    place::Place,
    turns::{calls, ended},
};
use crate::{
    openai::answer::Answer,
    program::{Ran, wakeful},
};

/// The token that the operator was shown.
fn token(shown: &str) -> String {
    let begin = shown.find("wkt_").unwrap_or_else(|| panic!("no token in {shown}"));
    shown[begin..].split_whitespace().next().expect("a token").to_owned()
}

/// An agent that waits for `build` after its first prompt, and then says what it was told.
fn waiting() -> Place {
    Place::scripted(|asked| match (asked.trigger().starts_with("[operator]\ngo"), asked.rounds()) {
        (true, 0) => Answer::calls(&[(
            "WaitFor",
            json!({ "reason": "the nightly build", "wake": "external", "resource": "build" }),
        )]),
        _ => Answer::says("I go on."),
    })
}

/// Delivers from another process, and returns its exit code.
fn deliver(place: &Place, token: &str, more: &[&str]) -> i32 {
    let ledger = place.ledger();
    let ledger = ledger.to_str().expect("a path");
    wakeful([&["send", "deliver", "--ledger", ledger, token], more].concat()).code
}

/// Does something with the triggers of the agent from another process.
fn trigger(place: &Place, what: &[&str]) -> Ran {
    let ledger = place.ledger();
    let ledger = ledger.to_str().expect("a path");
    wakeful([&["trigger", "--ledger", ledger], what].concat())
}

#[test]
fn what_is_delivered_with_the_token_wakes_the_agent() {
    let place = waiting();
    let ran = place.run(&["--until-rest", "--prompt", "go"]);
    let token = token(&format!("{}{}", ran.out, ran.err));
    let listed = trigger(&place, &["list"]).out;
    assert!(listed.contains("0 deliveries, awaited by `"), "{listed}");
    let status = wakeful(["status", place.ledger().to_str().expect("a path")]).out;
    assert!(status.contains("trigger  `build` wake hint"), "{status}");
    assert_eq!(deliver(&place, &token, &["green at 7", "--id", "n1"]), 0);
    assert_eq!(deliver(&place, &token, &["green at 7", "--id", "n1"]), 1, "it counts once");
    assert_eq!(deliver(&place, "wkt_0000", &["red"]), 2, "nobody has this token");
    assert_eq!(deliver(&place, "", &["red"]), 2, "a variable that is not set");
    assert_eq!(deliver(&place, &token, &[&token]), 2, "a token as the content");
    place.rest(&[]);
    let asked = place.asked();
    assert!(asked.last().expect("a request").contains("green at 7"), "{asked:?}");
    assert_eq!(ended(&place.entries("default")).len(), 2);
    let stored: String =
        place.entries("default").iter().map(|entry| format!("{entry:?}")).collect();
    assert!(!stored.contains(&token[4..]), "the token is in the ledger");
}

#[test]
fn the_operator_makes_rotates_and_ends_triggers() {
    let place = waiting();
    place.rest(&["--prompt", "hello"]);
    let made =
        trigger(&place, &["create", "hook", "a merge", "--mode", "message", "--expires", "1d"]);
    assert_eq!(made.code, 0, "{}{}", made.out, made.err);
    let first = token(&made.out);
    assert_eq!(trigger(&place, &["create", "hook", "a merge"]).code, 1, "the id is in use");
    let listed = trigger(&place, &["list"]).out;
    assert!(listed.contains("`hook` enqueue message") && !listed.contains(&first), "{listed}");
    assert_eq!(deliver(&place, &first, &["--type", "application/json", r#"{"merged":1}"#]), 0);
    assert_eq!(deliver(&place, &first, &["--type", "application/json", "{"]), 2);
    place.rest(&[]);
    assert!(place.asked().last().expect("a request").contains("merged"));
    let second = token(&trigger(&place, &["rotate", "hook"]).out);
    assert_eq!(deliver(&place, &first, &["x"]), 2, "the old token");
    assert_eq!(deliver(&place, &second, &["x"]), 0);
    assert_eq!(trigger(&place, &["revoke", "hook"]).code, 0);
    assert_eq!(trigger(&place, &["revoke", "hook"]).code, 1, "it has ended");
    for unknown in [&["revoke", "hok"][..], &["rotate", "hok"]] {
        let ran = trigger(&place, unknown);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.err.contains("no external trigger `hok`; it has: none"), "{}", ran.err);
    }
    let ran = trigger(&place, &["create", "other", "--item", "w9"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no work item `w9`"), "{}", ran.err);
    assert_eq!(deliver(&place, &second, &["y"]), 2);
    assert!(trigger(&place, &["list"]).out.contains("has no external triggers"));
}

#[test]
fn the_model_makes_lists_and_ends_triggers_and_timers_and_sees_no_token() {
    let place = Place::scripted(|asked| match asked.rounds() {
        0 => Answer::calls(&[
            (
                "CreateExternalTrigger",
                json!({ "external_trigger_id": "ci", "description": "the build" }),
            ),
            ("SetTimer", json!({ "summary": "look at the queue", "every_ms": 3_600_000 })),
            ("SetTimer", json!({ "summary": "never" })),
        ]),
        1 => Answer::calls(&[("ListExternalTriggers", json!({})), ("ListTimers", json!({}))]),
        2 => {
            let timer = asked.results()[1]["result"]["timers"][0]["timer_id"].clone();
            Answer::calls(&[
                ("RotateExternalTrigger", json!({ "external_trigger_id": "ci" })),
                ("RevokeExternalTrigger", json!({ "external_trigger_id": "ci" })),
                ("RevokeExternalTrigger", json!({ "external_trigger_id": "ci" })),
                ("CancelTimer", json!({ "timer_id": timer })),
            ])
        }
        _ => Answer::says("Done."),
    });
    let ran = place.run(&["--until-rest", "--prompt", "go"]);
    let shown = format!("{}{}", ran.out, ran.err);
    assert_eq!(shown.matches("wakeful send deliver").count(), 2, "{shown}");
    let entries = place.entries("default");
    let outputs: Vec<_> =
        calls(&entries).iter().map(|call| call.output.as_str().to_owned()).collect();
    assert!(outputs.iter().all(|output| !output.contains("wkt_")), "{outputs:?}");
    assert!(outputs[2].contains("SetTimer needs"), "{}", outputs[2]);
    assert!(outputs[3].contains("the build") && outputs[4].contains("look at the queue"));
    let errors = outputs.iter().filter(|output| output.contains("\"error\"")).count();
    assert_eq!(errors, 2, "a timer without a time, and a trigger that has ended: {outputs:?}");
}
