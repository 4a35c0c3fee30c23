//! What an attacker may try: without a token, with bent names, from other pages, with requests that
//! are cut, doubled, slow or endless.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

use wakeful_serve::{ROUTES, Scope, Tls};

use crate::place::{BODY_BYTES, PATIENCE, Place, With, place, told};

/// What comes back for these bytes, until the server closes the connection or is silent after an
/// answer.
fn raw(place: &Place, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(place.address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    // A server that has refused the beginning may close before the end.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count) = stream.read(&mut buffer) {
        if count == 0 {
            break;
        }
        answer.extend_from_slice(&buffer[..count]);
        stream.set_read_timeout(Some(Duration::from_secs(3))).expect("a limit");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// The statuses of the answers in a text, in order.
fn statuses(text: &str) -> Vec<u16> {
    text.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer[..3].parse().ok()).collect()
}

#[test]
fn no_route_is_open_without_a_token() {
    let place = place();
    let open = ["/healthz", "/readyz", "/openapi.json", "/in/{token}"];
    let is_open = |route: &wakeful_serve::Route| {
        // To end a session needs none.
        open.contains(&route.path) || (route.method, route.path) == ("DELETE", "/session")
    };
    for route in ROUTES {
        let path = route.path.replace("{agent}", "ada").replace("{trigger}", "t");
        let path = path.replace("{token}", "wkt_0").replace("{name}", "n");
        let (status, _) = place.send(route.method, &path, "", "{}", &[]);
        if is_open(route) {
            assert_ne!(status, 401, "{}", route.path);
            continue;
        }
        assert_eq!(status, 401, "{} {}", route.method, route.path);
        // In the query or a cookie a token is not one: addresses are kept in logs.
        let text = format!(
            "{} {path}?token={} HTTP/1.1\r\nhost: {}\r\ncookie: wakeful_session={}\r\nconnection: close\r\n\r\n",
            route.method, place.operator, place.address, place.operator
        );
        assert_eq!(statuses(&raw(&place, text.as_bytes())), [401], "{}", route.path);
    }
}

#[test]
fn a_name_that_was_bent_to_this_machine_is_refused() {
    let mut with = With::default();
    with.host_names.insert("agents.example".into());
    let place = Place::with(with);
    let ask = |host: &str| {
        let text = format!(
            "GET /v1/agents HTTP/1.1\r\n{host}authorization: Bearer {}\r\nconnection: close\r\n\r\n",
            place.operator
        );
        statuses(&raw(&place, text.as_bytes()))
    };
    let port = place.address.port();
    for good in ["localhost", "127.0.0.1", "[::1]", "agents.example", "AGENTS.example"] {
        assert_eq!(ask(&format!("host: {good}:{port}\r\n")), [200], "{good}");
    }
    for bad in [
        "host: evil.example\r\n",
        "host: localhost.evil.example\r\n",
        "host: 127.0.0.1.evil.example\r\n",
        "host: agents.example@evil.example\r\n",
        "host: 10.0.0.1\r\n",
        "host: \r\n",
        "host: localhost\r\nhost: evil.example\r\n",
        "",
    ] {
        let answered = ask(bad);
        assert!(answered == [421] || answered == [400], "{bad:?}: {answered:?}");
    }
}

#[test]
fn a_page_of_another_origin_can_neither_ask_nor_read_a_stream() {
    let mut with = With::default();
    with.origins.insert("https://desk.example".into());
    let place = Place::with(with);
    let ask = |method: &str, path: &str, origin: &str| {
        let asked = ureq::http::Request::builder()
            .method(method)
            .uri(place.url(path))
            .header("authorization", format!("Bearer {}", place.operator))
            .header("origin", origin)
            .body(String::new())
            .expect("a request");
        place.client.run(asked).expect("an answer")
    };
    let stream = "/v1/agents/ada/entries?until=head";
    for evil in ["http://evil.example", "null", "https://desk.example.evil", "http://desk.example"]
    {
        for path in ["/v1/agents", stream, "/in/wkt_0", "/healthz"] {
            let answered = ask(if path == "/in/wkt_0" { "POST" } else { "GET" }, path, evil);
            assert_eq!(answered.status(), 403, "{evil} {path}");
            assert!(answered.headers().get("access-control-allow-origin").is_none());
        }
        assert_eq!(ask("OPTIONS", "/v1/agents", evil).status(), 403, "{evil}");
    }
    let own = format!("http://{}", place.address);
    assert_eq!(ask("GET", stream, &own).status(), 200);
    let named = ask("GET", stream, "https://desk.example");
    assert_eq!(named.status(), 200);
    assert_eq!(named.headers()["access-control-allow-origin"], "https://desk.example");
    let before = ask("OPTIONS", "/v1/agents/ada/messages", "https://desk.example");
    assert_eq!(before.status(), 204);
    let allowed = before.headers()["access-control-allow-headers"].to_str().expect("text");
    assert!(allowed.contains("authorization"), "{allowed}");
}

#[test]
fn a_second_request_cannot_be_smuggled_in_a_body() {
    let place = place();
    let hidden = "GET /v1/agents HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let head = format!("POST /in/wkt_0 HTTP/1.1\r\nhost: {}\r\n", place.address);
    for (name, lengths) in [
        ("both", format!("content-length: {}\r\ntransfer-encoding: chunked\r\n", hidden.len() + 5)),
        ("two lengths", format!("content-length: 0\r\ncontent-length: {}\r\n", hidden.len())),
        ("a sign", format!("content-length: +{}\r\n", hidden.len())),
        ("not chunked last", "transfer-encoding: chunked, identity\r\n".to_owned()),
        ("a space", format!("content-length : {}\r\n", hidden.len())),
    ] {
        let body = if name == "both" { format!("0\r\n\r\n{hidden}") } else { hidden.to_owned() };
        let answer = raw(&place, format!("{head}{lengths}\r\n{body}").as_bytes());
        // One answer at most belongs to the first request, and none to the hidden one.
        assert!(statuses(&answer).len() <= 1, "{name}: {answer}");
        assert!(!answer.contains("unauthorized"), "{name}: {answer}");
    }
}

#[test]
fn slow_and_endless_requests_end_and_keep_out_nobody() {
    // If the slow ones kept others out, these would wait as long as that.
    let (place, slow) = with_slow_requests(Duration::from_hours(1));
    let began = Instant::now();
    assert_eq!(place.ask("/v1/agents/ada").0, 200);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    drop((place, slow));
    let (_place, slow) = with_slow_requests(Duration::from_secs(1));
    for mut stream in slow {
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let mut answer = String::new();
        // It ends with an answer or without one.
        if let Err(why) = stream.read_to_string(&mut answer) {
            assert_ne!(why.kind(), ErrorKind::WouldBlock, "it does not end");
        }
        assert!(statuses(&answer).iter().all(|status| *status == 408), "{answer}");
    }
}

/// A server that waits this long for a request, with many connections that never finish their
/// headers, and some that never finish their body.
fn with_slow_requests(limit: Duration) -> (Place, Vec<TcpStream>) {
    let mut with = With::default();
    with.limits.header_timeout = limit;
    with.limits.read_timeout = limit;
    let place = Place::with(with);
    let slow = (0..200)
        .map(|number| {
            let mut stream = TcpStream::connect(place.address).expect("it listens");
            let text = if number % 2 == 0 {
                "GET /v1/agents HTTP/1.1\r\nhost: localhost\r\nx-slow: ".to_owned()
            } else {
                format!(
                    "POST /v1/agents/ada/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: \
                     Bearer {}\r\ncontent-length: 1000\r\n\r\n{{",
                    place.operator
                )
            };
            stream.write_all(text.as_bytes()).expect("it is taken");
            stream
        })
        .collect();
    (place, slow)
}

#[test]
fn bombs_of_headers_and_bodies_are_refused() {
    let place = place();
    let head = format!(
        "POST /v1/agents/ada/messages HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n",
        place.address, place.operator
    );
    let many: String = (0..5_000).map(|number| format!("x-{number}: y\r\n")).collect();
    let answered = statuses(&raw(&place, format!("{head}{many}\r\n").as_bytes()));
    assert!(answered == [431] || answered == [400], "{answered:?}");
    let long = format!("{head}x-long: {}\r\n\r\n", "y".repeat(1 << 20));
    let answered = statuses(&raw(&place, long.as_bytes()));
    assert!(answered == [431] || answered == [400] || answered.is_empty(), "{answered:?}");
    // A body that never says how long it is.
    let chunk = format!("{:x}\r\n{}\r\n", 10_000, "z".repeat(10_000));
    let endless = format!(
        "{head}transfer-encoding: chunked\r\n\r\n{}",
        chunk.repeat(2 * BODY_BYTES / 10_000)
    );
    assert_eq!(statuses(&raw(&place, endless.as_bytes())), [413]);
    let deep = format!("{{\"text\":{}", "[".repeat(50_000));
    assert_eq!(place.post("/v1/agents/ada/messages", &place.operator, &deep).0, 400);
    let deep = format!("{{\"fact\":\"message_queued\",\"message\":{}", "[".repeat(50_000));
    assert_eq!(place.post("/v1/agents/ada/facts", &place.operator, &deep).0, 422);
    assert_eq!(place.ask("/v1/agents/ada").0, 200);
}

#[test]
fn tokens_cannot_be_guessed_in_numbers_and_the_right_one_still_works() {
    let place = place();
    let guess = |number: usize| {
        let token = format!("wks_{number:064x}");
        place.get("/v1/agents", &token).status().as_u16()
    };
    let answered: Vec<_> = (0..40).map(guess).collect();
    assert!(answered.contains(&401) && answered.contains(&429), "{answered:?}");
    assert!(answered.iter().all(|status| [401, 429].contains(status)));
    assert_eq!(place.ask("/v1/agents").0, 200);
    // Addresses that wake agents cannot be guessed in numbers either, and a right one still works.
    place.make("eva");
    let body = r#"{"external_trigger_id":"in"}"#;
    let (_, made) = place.post("/v1/agents/eva/triggers", &place.operator, body);
    let guess = |number: usize| place.post(&format!("/in/wkt_{number:064x}"), "", "x").0;
    let answered: Vec<_> = (0..40).map(guess).collect();
    assert!(answered.contains(&429), "{answered:?}");
    assert!(answered.iter().all(|status| [404, 429].contains(status)));
    assert_eq!(place.post(made["path"].as_str().expect("a path"), "", "x").0, 202);
}

#[test]
fn one_client_sees_no_receipt_of_another() {
    let place = place();
    let mine = place.token("mine", &[Scope::Prompt], Some("ada"));
    let theirs = place.token("theirs", &[Scope::Prompt], Some("ada"));
    let key = [("idempotency-key", "1")];
    let say = |token: &str, text: &str| {
        let body = format!(r#"{{"text":"{text}"}}"#);
        place.send("POST", "/v1/agents/ada/messages", token, &body, &key)
    };
    let first = say(&mine, "a secret");
    let second = say(&theirs, "a secret");
    assert_eq!((first.0, second.0), (200, 200));
    assert_ne!(first.1["message_id"], second.1["message_id"]);
    assert_eq!(second.1["answer"], "accepted", "it is not told that another said the same");
    assert_eq!(told(place.get("/v1/agents/ada/entries?until=head", &theirs)).0, 403);
}

#[test]
fn a_path_leads_to_no_file_and_to_no_other_agent() {
    let place = place();
    let only = place.token("only", &[Scope::Read], Some("ada"));
    for path in [
        "/v1/agents/../../etc/passwd",
        "/../../etc/passwd",
        "/v1/agents/%2e%2e/%2e%2e/etc/passwd",
        "/v1/agents/ada/../bob",
        "/v1/agents/ada%2f..%2fbob",
        "/v1//agents/bob",
        "/v1/agents/bob",
        "/v1/agents/bob%00",
    ] {
        let text = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {only}\r\nconnection: \
             close\r\n\r\n"
        );
        let answer = raw(&place, text.as_bytes());
        let answered = statuses(&answer);
        assert!(answered == [403] || answered == [404] || answered == [400], "{path}: {answer}");
        assert!(!answer.contains("root:"), "{path}");
    }
}

#[test]
fn with_tls_nothing_crosses_the_network_in_plain_text() {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (own.cert.pem(), own.signing_key.serialize_pem());
    assert!(
        Tls::new(b"", key.as_bytes()).is_err() && Tls::new(certificate.as_bytes(), b"").is_err()
    );
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("another");
    let other = other.signing_key.serialize_pem();
    assert!(Tls::new(certificate.as_bytes(), other.as_bytes()).is_err(), "they belong together");
    let tls = Tls::new(certificate.as_bytes(), key.as_bytes()).expect("a pair");
    let place = Place::with(With { tls: Some(tls), ..With::default() });
    let mut roots = rustls::RootCertStore::empty();
    roots.add(own.cert.der().clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    let connection = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    let stream = TcpStream::connect(place.address).expect("it listens");
    let mut stream = rustls::StreamOwned::new(connection, stream);
    let text = format!(
        "GET /v1/agents HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: \
         close\r\n\r\n",
        place.operator
    );
    stream.write_all(text.as_bytes()).expect("it is taken");
    let mut answer = Vec::new();
    // The server may close without a last word.
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(statuses(&String::from_utf8_lossy(&answer)), [200]);
    assert!(statuses(&raw(&place, text.as_bytes())).is_empty(), "plain text gets no answer");
}
