//! Who is let in, and what is refused.

use serde_json::json;
use wakeful_serve::{Page, Scope};

use crate::place::{BODY_BYTES, Place, With, place, told};

#[test]
fn a_request_needs_a_token_with_the_scope_for_the_agent() {
    let place = place();
    let reader = place.token("reader", &[Scope::Read], None);
    let visitor = place.token("visitor", &[Scope::Prompt], Some("bob"));
    let door = place.token("door", &[Scope::Ingress], None);
    let none = told(place.client.get(place.url("/v1/agents")).call().expect("an answer"));
    assert_eq!((none.0, &none.1["code"]), (401, &json!("unauthorized")));
    assert_eq!(told(place.get("/v1/agents", "wks_0")).0, 401);
    assert_eq!(place.ask("/v1/agents").0, 200);
    assert_eq!(told(place.get("/v1/agents/ada", &reader)).0, 200);
    let message = r#"{"text":"hello"}"#;
    let refused = place.post("/v1/agents/ada/messages", &reader, message);
    assert_eq!(refused.0, 403);
    let detail = refused.1["detail"].as_str().expect("a sentence");
    assert!(detail.contains("the scope `prompt`; this one has: read"), "{detail}");
    assert_eq!(place.post("/v1/agents/ada/messages", &visitor, message).0, 403);
    assert_eq!(place.post("/v1/agents/bob/messages", &visitor, message).0, 200);
    assert_eq!(told(place.get("/v1/agents", &visitor)).0, 403);
    // A system outside may report events, and not speak as the operator.
    assert_eq!(place.post("/v1/agents/ada/messages", &door, message).0, 403);
    let event = r#"{"kind":"event","text":"the build is green"}"#;
    assert_eq!(place.post("/v1/agents/ada/messages", &door, event).0, 200);
    let lines = place.lines("ada");
    let line = lines.iter().find(|line| line.contains("the build is green")).expect("it is there");
    assert!(line.contains(r#""trust":"untrusted_external""#), "{line}");
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(told(place.get(path, "")).0, 200, "{path}");
    }
}

#[test]
fn what_is_not_there_is_said_and_not_made() {
    let place = place();
    for (path, status, code) in [
        ("/v1/agents/eve", 404, "no_such_agent"),
        ("/v1/agents/eve/explain", 404, "no_such_agent"),
        ("/v1/agents/eve/entries", 404, "no_such_agent"),
        ("/v1/agents/eve/turn", 404, "no_such_agent"),
        ("/v1/agents/..%2f..%2fetc%2fpasswd", 404, "no_such_agent"),
        ("/v1/nothing", 404, "no_such_path"),
        ("/v1/agents/ada/messages", 405, "wrong_method"),
        ("/v1/agents/ada/explain?at=9999", 404, "no_such_entry"),
        ("/v1/agents/ada/explain?at=x", 400, "malformed"),
        ("/v1/agents/ada/explain?att=1", 400, "malformed"),
        ("/v1/agents/ada/explain?at=1&at=2", 400, "malformed"),
        ("/v1/agents/ada/explain?boundary=noon", 400, "malformed"),
        ("/v1/agents/ada/why-not", 400, "malformed"),
        ("/v1/agents/ada/entries?until=noon", 400, "malformed"),
        ("/v1/agents/ada/entries?after=9999", 410, "no_such_entry"),
        ("/v1/agents/ada/turn", 409, "wrong_state"),
        ("/v1/agents?limit=0", 400, "malformed"),
        ("/v1/agents?posture=asleep", 400, "malformed"),
    ] {
        let (found, problem) = place.ask(path);
        assert_eq!((found, &problem["code"]), (status, &json!(code)), "{path}");
    }
    assert_eq!(place.say("eve", "x").0, 404);
    let agents = place.file().agents().expect("they are listed");
    assert_eq!(agents.iter().map(|agent| agent.as_str()).collect::<Vec<_>>(), ["ada", "bob"]);
}

#[test]
fn a_wrong_body_is_refused_with_its_place_and_changes_nothing() {
    let place = place();
    let before = place.lines("ada").len();
    let say = |path: &str, body: &str| place.post(path, &place.operator, body);
    let (status, problem) = say(
        "/v1/agents/ada/facts",
        r#"{"fact":"timer_created","timer_id":"u","duration_ms":1,"intervall_ms":5}"#,
    );
    assert_eq!((status, &problem["code"]), (422, &json!("malformed")));
    assert_eq!(problem["place"]["path"], "intervall_ms");
    let detail = problem["detail"].as_str().expect("a sentence");
    assert!(detail.contains("did you mean `interval_ms`?"), "{detail}");
    assert_eq!(say("/v1/agents/ada/facts", "{").0, 422);
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(BODY_BYTES));
    assert_eq!(say("/v1/agents/ada/messages", &long).0, 413);
    let (status, problem) = say("/v1/agents/ada/messages", r#"{"txt":"x"}"#);
    assert_eq!((status, &problem["place"]["column"]), (400, &json!(6)));
    assert_eq!(say("/v1/agents/ada/messages", r#"{"text":"x","work_item_id":"none"}"#).0, 422);
    assert_eq!(say("/v1/agents/ada/messages", r#"{"text":"x","lane":"fast"}"#).0, 400);
    assert_eq!(say("/v1/agents/ada/control", r#"{"action":"dance"}"#).0, 400);
    let key = [("idempotency-key", "")];
    assert_eq!(
        place.send("POST", "/v1/agents/ada/messages", &place.operator, r#"{"text":"x"}"#, &key).0,
        400
    );
    assert_eq!(place.lines("ada").len(), before);
}

#[test]
fn a_refused_body_does_not_break_the_connection() {
    let place = place();
    let reader = place.token("reader", &[Scope::Read], None);
    let body = serde_json::json!({ "text": "x".repeat(10_000) }).to_string();
    for _ in 0..50 {
        // The client keeps its connection and uses it again.
        assert_eq!(place.post("/v1/agents/ada/messages", &reader, &body).0, 403);
        assert_eq!(place.ask("/v1/agents/ada").0, 200);
    }
}

#[test]
fn the_page_is_public_and_its_session_is_a_cookie_of_this_site_only() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("assets")).expect("a folder");
    assert!(Page::read(folder.path()).is_err(), "there is no page in it");
    let page = "<html><head></head><body>bench</body></html>";
    std::fs::write(folder.path().join("index.html"), page).expect("a file");
    std::fs::write(folder.path().join("assets/a-1.js"), "1").expect("a file");
    let page = Page::read(folder.path()).expect("a page");
    let place = Place::with(With { page, ..With::default() });
    let get = |path: &str, headers: &[(&str, &str)]| {
        let mut asked = place.client.get(place.url(path));
        for (name, value) in headers {
            asked = asked.header(*name, *value);
        }
        asked.call().expect("an answer")
    };
    let mut page = get("/", &[]);
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    let text = page.body_mut().read_to_string().expect("text");
    assert!(text.contains(r#"name="wakeful-server""#), "{text}");
    let script = get("/assets/a-1.js", &[]);
    assert_eq!(script.headers()["content-type"], "text/javascript; charset=utf-8");
    for path in ["/assets/../index.html", "/assets/b.js", "/..%2findex.html"] {
        assert_ne!(get(path, &[]).status(), 200, "{path}");
    }
    let begun = place.client.post(place.url("/session"));
    let begun = begun.header("authorization", format!("Bearer {}", place.operator));
    let begun = begun.send_empty().expect("an answer");
    assert_eq!(begun.status(), 204);
    let cookie = begun.headers()["set-cookie"].to_str().expect("text").to_owned();
    assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a cookie");
    let status = |site: &str| {
        get("/v1/agents", &[("cookie", cookie), ("sec-fetch-site", site)]).status().as_u16()
    };
    assert_eq!(status("same-origin"), 200);
    for site in ["same-site", "cross-site", "none"] {
        assert_eq!(status(site), 401, "{site}");
    }
    assert_eq!(get("/v1/agents", &[("cookie", cookie)]).status(), 401);
}
