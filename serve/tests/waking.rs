//! What comes from outside: messages under a key, and deliveries to triggers.

use serde_json::json;
use wakeful_host::token::Token;

use crate::place::{Place, place};

#[test]
fn a_message_counts_once_under_its_key_and_its_sender() {
    let place = place();
    let say = |text: &str, token: &str| {
        let body = json!({ "text": text }).to_string();
        let key = [("idempotency-key", "k1")];
        place.send("POST", "/v1/agents/ada/messages", token, &body, &key)
    };
    let other = place.token("other", &wakeful_serve::Scope::ALL, None);
    let first = say("look at the build", &place.operator);
    assert_eq!((first.0, &first.1["answer"]), (200, &json!("accepted")));
    let again = say("look at the build", &place.operator);
    assert_eq!((again.0, &again.1["answer"]), (200, &json!("ignored")));
    assert_eq!(again.1["reason"], "duplicate");
    assert_eq!(again.1["message_id"], first.1["message_id"]);
    let conflict = say("look at the tests", &place.operator);
    assert_eq!((conflict.0, &conflict.1["code"]), (422, &json!("conflicting_duplicate")));
    let elsewhere = say("look at the tests", &other);
    assert_eq!((elsewhere.0, &elsewhere.1["answer"]), (200, &json!("accepted")));
    assert_ne!(elsewhere.1["message_id"], first.1["message_id"]);
}

#[test]
fn a_fact_whose_id_has_another_content_is_answered_by_its_receipt() {
    let place = place();
    let fact = |reason: &str| {
        let message = json!({ "id": "m1", "kind": "operator_prompt", "origin": { "kind": "operator" },
            "trust": "trusted_operator", "body": { "type": "text", "text": reason } });
        place.report("ada", &json!({ "fact": "message_queued", "message": message }))
    };
    assert_eq!(fact("one")["answer"], "accepted");
    let first = place.lines("ada").len() as u64 - 1;
    let other = fact("two");
    assert_eq!(
        (&other["reason"], &other["because"]),
        (&json!("conflicting_duplicate"), &json!(first))
    );
}

#[test]
fn a_message_reaches_the_process_that_drives_the_agent() {
    let place = place();
    let mut ada = place.driver("ada");
    place.say("ada", "look at the build");
    ada.catch_up().expect("it reads");
    let steps = ada.run_until_rest().expect("it decides");
    let decision = steps[0].decision.as_ref().expect("a decision").kind;
    assert_eq!(decision.to_string(), "StartModelTurn");
    let explained = place.ask("/v1/agents/ada/explain").1;
    assert!(explained["sentence"].as_str().expect("text").starts_with("Working:"), "{explained}");
}

fn trigger(place: &Place, agent: &str, body: &str) -> serde_json::Value {
    let path = format!("/v1/agents/{agent}/triggers");
    let (status, made) = place.post(&path, &place.operator, body);
    assert_eq!(status, 201, "{made}");
    made
}

#[test]
fn what_is_delivered_to_an_address_wakes_the_agent_once() {
    let place = place();
    place.make("eva");
    let body = r#"{"external_trigger_id":"build","delivery_mode":"enqueue_message"}"#;
    let made = trigger(&place, "eva", body);
    assert_eq!(made["trigger"]["external_trigger_id"], "build");
    let path = made["path"].as_str().expect("a path");
    let github = [("x-github-delivery", "d1"), ("content-type", "application/json")];
    for _ in 0..2 {
        let delivered = place.send("POST", path, "", r#"{"status":"green"}"#, &github);
        assert_eq!(delivered, (202, json!({ "accepted": true })));
    }
    let turn = place.open_turn("eva");
    assert_eq!(turn["message"]["body"]["value"], json!({ "status": "green" }));
    let listed = place.ask("/v1/agents/eva/triggers").1;
    assert_eq!(listed[0]["delivery_count"], 1);
    let token = made["token"].as_str().expect("a token");
    let lines = place.lines("eva");
    assert!(lines.iter().all(|line| !line.contains(token)));
    assert_eq!(place.post(path, "", token).0, 400, "a token must not become content");
    assert_eq!(place.post("/in/wkt_0", "", "x").1["code"], "no_such_token");
    let (status, rotated) = place.post("/v1/agents/eva/triggers/build/rotate", &place.operator, "");
    assert_eq!(status, 200);
    assert_eq!(place.post(path, "", "late").0, 404);
    let path = rotated["path"].as_str().expect("a path").to_owned();
    assert_eq!(place.post(&path, "", "in time").0, 202);
    let end = |id: &str| {
        let path = format!("/v1/agents/eva/triggers/{id}");
        place.send("DELETE", &path, &place.operator, "", &[])
    };
    assert_eq!(end("build").0, 204);
    assert_eq!(place.post(&path, "", "too late").0, 404);
    assert_eq!(end("none").1["code"], "no_such_trigger");
}

#[test]
fn a_trigger_that_another_process_made_is_found_at_once() {
    let place = place();
    let mut ada = place.driver("ada");
    let token = Token::random().expect("bytes");
    let created = json!({
        "fact": "external_trigger_created", "external_trigger_id": "build",
        "token_hash": token.hash(), "description": "the build", "delivery_mode": "wake_hint", "trust": "untrusted_external",
    });
    ada.propose(&created.to_string()).expect("a trigger");
    assert_eq!(place.post(&format!("/in/{}", token.as_str()), "", "").0, 202);
}

#[test]
fn a_trigger_may_take_only_what_is_signed() {
    let place = place();
    place.make("eva");
    let made = trigger(&place, "eva", r#"{"external_trigger_id":"build"}"#);
    let path = made["path"].as_str().expect("a path");
    let signature = "/v1/agents/eva/triggers/build/signature";
    let ask =
        |method: &str, path: &str, body: &str| place.send(method, path, &place.operator, body, &[]);
    let secret = "It's a Secret to Everybody";
    let body = json!({ "scheme": "github", "secret": secret }).to_string();
    let (status, signed) = ask("PUT", signature, &body);
    assert_eq!((status, signed), (200, json!({ "scheme": "github" })));
    let text = "Hello, World!";
    let code = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let unsigned = place.post(path, "", text);
    assert_eq!((unsigned.0, &unsigned.1["code"]), (401, &json!("wrong_signature")));
    let with = |code: &str, text: &str| {
        place.send("POST", path, "", text, &[("x-hub-signature-256", code)]).0
    };
    assert_eq!(with(code, "Hello, World?"), 401);
    assert_eq!(with(code, text), 202);
    let (_, new) = ask("PUT", signature, r#"{"scheme":"standard_webhooks"}"#);
    assert!(new["secret"].as_str().is_some_and(|secret| secret.starts_with("whsec_")), "{new}");
    assert_eq!(with(code, text), 401);
    assert_eq!(ask("PUT", signature, r#"{"scheme":"github","secret":"short"}"#).0, 422);
    let other = "/v1/agents/eva/triggers/none/signature";
    assert_eq!(ask("PUT", other, r#"{"scheme":"github"}"#).1["code"], "no_such_trigger");
    assert_eq!(ask("DELETE", signature, "").0, 204);
    assert_eq!(place.post(path, "", text).0, 202);
}
