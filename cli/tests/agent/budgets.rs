//! Budgets of an agent with a model: what is used up holds others back, people see it, and a grant
//! or a higher limit ends it.

use serde_json::{Value, json};

use super::{place::Place, turns::ended};
use crate::{
    openai::answer::Answer,
    program::{Ran, arg, wakeful},
};

fn send(place: &Place, what: &[&str]) -> Ran {
    wakeful([&["send", "--ledger", &arg(&place.ledger())], what].concat())
}

fn list(place: &Place, args: &[&str]) -> Ran {
    wakeful([&["list", "budgets", &arg(&place.ledger())], args].concat())
}

/// An agent whose every turn uses nine tokens.
fn agent() -> Place {
    let place = Place::scripted(|_| Answer::says("So be it."));
    place.rest(&["--prompt", "hello"]);
    place
}

fn turns(place: &Place) -> usize {
    ended(&place.entries("default")).len()
}

#[test]
fn what_is_used_up_waits_for_a_grant_and_status_says_when_it_ends() {
    let place = agent();
    assert!(list(&place, &[]).out.contains("agent `default` has no budget; set one with"));
    assert_eq!(send(&place, &["budget", "--tokens-per-day", "9"]).code, 0);
    place.tell(&["hint", "look", "--text", "news"]);
    place.rest(&[]);
    assert_eq!(turns(&place), 1, "the hint waits");
    let status = wakeful(["status", &arg(&place.ledger())]).out;
    assert!(
        status.contains("budget   the agent: 9 of 9 tokens of the day, used up; this ends at")
            && status.contains("midnight UTC (20"),
        "{status}"
    );
    assert_eq!(send(&place, &["grant", "--tokens", "1", "--id", "g"]).code, 0);
    assert_eq!(send(&place, &["grant", "--tokens", "1", "--id", "g"]).code, 1, "it counts once");
    place.rest(&[]);
    assert_eq!(turns(&place), 2);
    let shown = list(&place, &[]).out;
    assert!(shown.contains("18 of 10 tokens of the day, used up"), "{shown}");
    assert!(shown.contains("agent `default` used 18 tokens in 2 rounds on 20"), "{shown}");
}

#[test]
fn a_limit_that_is_not_named_stays_and_none_removes_one() {
    let place = agent();
    let both = ["budget", "--tokens-per-day", "100", "--cost-micros-per-day", "7"];
    assert_eq!(send(&place, &both).code, 0);
    assert_eq!(send(&place, &["budget", "--tokens-total", "50"]).code, 0);
    assert_eq!(send(&place, &["budget", "--cost-micros-per-day", "none"]).code, 0);
    let shown = list(&place, &["--json"]);
    let shown: Value = serde_json::from_str(&shown.out).expect("JSON");
    let of: Vec<_> = shown["budgets"][0]["limits"]
        .as_array()
        .expect("limits")
        .iter()
        .map(|limit| (limit["limit"].clone(), limit["of"].clone()))
        .collect();
    assert_eq!(of, [(json!("tokens_total"), json!(50)), (json!("tokens_per_day"), json!(100))]);
    assert_eq!(shown["budgets"][0]["work_item_id"], Value::Null);
    let set = send(&place, &["budget", "--tokens-total", "none", "--json"]);
    let receipt: Value = serde_json::from_str(&set.out).expect("JSON");
    assert_eq!((set.code, &receipt["answer"]), (0, &json!("accepted")));
    let log = wakeful(["log", &arg(&place.ledger())]).out;
    assert!(log.contains("budget set for the agent: 100 tokens a day\n"), "{log}");
}

#[test]
fn an_item_has_a_budget_of_its_own() {
    let place = agent();
    let item = r#"{"fact":"work_item_created","work_item_id":"w","objective":"Do it"}"#;
    place.tell(&["fact", item]);
    assert_eq!(send(&place, &["budget", "--item", "w", "--tokens-total", "9"]).code, 0);
    place.rest(&["--prompt", "hello"]);
    let shown = list(&place, &["--item", "w"]).out;
    assert!(
        shown.starts_with("`w`: 9 of 9 tokens in all, used up until it gets a higher limit"),
        "{shown}"
    );
    assert_eq!(send(&place, &["grant", "--item", "w", "--cost-micros", "5"]).code, 0);
}

#[test]
fn what_cannot_be_set_is_said() {
    let place = agent();
    let said = |ran: Ran| {
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        ran.err
    };
    let refused = |what: &[&str]| said(send(&place, what));
    let unknown = "agent `default` has no work item `x`; it has: none";
    for what in [
        ["budget", "--item", "x", "--tokens-total", "5"],
        ["grant", "--item", "x", "--tokens", "5"],
    ] {
        assert!(refused(&what).contains(unknown), "{what:?}");
    }
    assert!(said(list(&place, &["--item", "x"])).contains(unknown));
    for wrong in ["0", "-1", "1.5", "many", ""] {
        let said = refused(&["budget", &format!("--tokens-per-day={wrong}")]);
        assert!(said.contains("or `none` to remove the limit"), "{said}");
    }
    assert!(refused(&["budget"]).contains("--tokens-total"));
    assert!(refused(&["grant"]).contains("--tokens"));
    assert!(refused(&["grant", "--tokens", "0"]).contains("--tokens"));
    assert!(said(list(&place, &["--agent", "nobody"])).contains("holds no agent `nobody`"));
}
