//! What goes wrong between a command and a server: each error says what is wrong and what to do.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::mpsc,
    thread,
};

use super::place::{Place, program, ran};
use crate::program::{Ran, arg, wakeful};

/// A command at an address, with a token.
fn status(url: &str, token: Option<&str>) -> Ran {
    let mut command = program(["status", "--server", url, "--agent", "ada"]);
    ran(token
        .iter()
        .fold(&mut command, |command, token| command.env("WAKEFUL_SERVER_TOKEN", token)))
}

fn refused(ran: &Ran, parts: &[&str]) {
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    for part in parts {
        assert!(ran.err.contains(part), "`{part}` is not in: {}", ran.err);
    }
}

/// A server that gives one answer to each request, and tells the requests.
fn answering(answer: &'static str) -> (String, mpsc::Receiver<String>) {
    answering_by(move |_| answer.to_owned())
}

/// A server that answers each request by its head, and tells the requests.
fn answering_by(
    answer: impl Fn(&str) -> String + Send + 'static,
) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("it reads") > 0 {
                request.push(byte[0]);
            }
            let request = String::from_utf8(request).expect("UTF-8");
            stream.write_all(answer(&request).as_bytes()).expect("it writes");
            // The test may need no more requests.
            let _ = tell.send(request);
        }
    });
    (url, told)
}

#[test]
fn a_server_that_is_not_there_is_said() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let url = format!("http://{free}");
    refused(&status(&url, None), &[&url, "nothing listens there", "`wakeful serve`"]);
    refused(&status("http://nobody.invalid", None), &["http://nobody.invalid", "URL", "network"]);
}

#[test]
fn a_wrong_token_and_a_missing_scope_are_said() {
    let place = Place::new();
    let url = place.url.as_str();
    refused(&status(url, None), &[url, "wants a token (401)", "WAKEFUL_SERVER_TOKEN"]);
    let unknown = ["refuses the token (401)", "does not know this token", "--token-file"];
    refused(&status(url, Some("wks_0000")), &unknown);
    let prompter = place.grant("prompter", &["prompt"], None);
    let missing = ["(403, forbidden)", "the scope `read`; this one has: prompt", "`wakeful token`"];
    refused(&status(url, Some(&prompter)), &missing);
    let of_bob = place.grant("of-bob", &["read"], Some("bob"));
    refused(&status(url, Some(&of_bob)), &["(403, forbidden)", "for the agent `bob` only"]);
    assert_eq!(place.as_token(&of_bob, ["status", "--agent", "bob"]).code, 0);
    for unfit in ["", " ", "a b", "wks_é"] {
        refused(&status(url, Some(unfit)), &["the token of the server is empty, or is not"]);
    }
}

#[test]
fn an_agent_that_is_not_there_is_said_as_for_a_file() {
    let place = Place::new();
    let told = format!("`{}` holds no agent `eve`; it holds: `ada`, `bob`", place.url);
    let commands: [&[&str]; 5] =
        [&["status"], &["why"], &["log"], &["list", "waits"], &["trigger", "list"]];
    for args in commands {
        let args = args.iter().copied().chain(["--agent", "eve"]);
        refused(&place.at(args), &[&told]);
    }
    refused(&place.at(["send", "--agent", "eve", "prompt", "x"]), &[&told]);
    let several = "holds 2 agents: name one of them with --agent: `ada`, `bob`";
    refused(&place.at(["send", "prompt", "x"]), &[&place.url, several]);
    let empty = Place::over(|folder| {
        drop(wakeful_host::ledger::SqliteFile::open(&folder.join("agents.sqlite")));
    });
    let none = ran(empty.command(["status"]).env("WAKEFUL_SERVER_TOKEN", &empty.token));
    refused(&none, &["holds no agent yet"]);
}

#[test]
fn a_prompt_needs_only_the_scope_for_it() {
    let place = Place::new();
    let prompter = place.grant("prompter", &["prompt"], None);
    let say = |args: &[&str]| {
        let all = ["send", "--agent", "ada"].into_iter().chain(args.iter().copied());
        place.as_token(&prompter, all)
    };
    let first = say(&["prompt", "Ship it.", "--id", "m1", "--lane", "next"]);
    assert_eq!(first.code, 0, "{}", first.err);
    assert!(first.out.starts_with("accepted, the ledger ends at entry "), "{}", first.out);
    assert_eq!(say(&["prompt", "Ship it.", "--id", "m1", "--lane", "next"]).code, 1);
    refused(&say(&["prompt", "Other.", "--id", "m1"]), &["(422, conflicting_duplicate)"]);
    refused(&say(&["prompt", "x", "--item", "none"]), &["(422, no_such_item)", "`none`"]);
    refused(&say(&["stop"]), &["(403, forbidden)", "this one has: prompt"]);
    let line = place.lines("ada").into_iter().find(|line| line.contains("Ship it."));
    assert!(line.expect("it is recorded").contains("\"actor_id\":\"prompter\""));
}

#[test]
fn a_token_is_not_sent_where_others_could_read_it() {
    for url in ["http://10.255.255.1", "http://agents.invalid:7171"] {
        refused(&status(url, Some("wks_1")), &[url, "a token is not sent", "`https://`"]);
        let delivered = ran(&mut program(["send", "deliver", "--server", url, "wkt_1", "x"]));
        refused(&delivered, &[url, "a token is not sent"]);
        assert!(!delivered.err.contains("wkt_1"), "{}", delivered.err);
    }
    refused(&status("http://me:wks_1@localhost", None), &["`[url]` is not the URL", "WAKEFUL"]);
}

#[test]
fn a_text_that_is_not_a_url_and_two_places_are_said() {
    refused(&status("agents.example", None), &["`agents.example` is not the URL of a server"]);
    refused(&status("ftp://agents", None), &["it does not begin with"]);
    refused(&ran(&mut program(["status"])), &["name a ledger file, or a server with --server"]);
    refused(&ran(&mut program(["send", "stop"])), &["name a ledger file, or a server"]);
    refused(&ran(&mut program(["why"])), &["name a ledger file, or a server"]);
    let both = ["status", "a.sqlite", "--server", "http://127.0.0.1:1"];
    refused(&ran(&mut program(both)), &["name one of the two places"]);
    let both = ["status", "a.sqlite", "--token-file", "t"];
    refused(&ran(&mut program(both)), &["name one of the two places"]);
    let clock = ["send", "--server", "http://127.0.0.1:1", "--virtual", "stop"];
    refused(&ran(&mut program(clock)), &["--virtual is for ledger files"]);
    let file = ["status", "--server", "http://127.0.0.1:1", "--token-file", "no-such-file"];
    refused(&ran(&mut program(file)), &["cannot read the token in `no-such-file`"]);
}

#[test]
fn a_token_is_never_shown_and_never_follows_a_redirect() {
    let (url, asked) = answering(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://10.255.255.1/v1\r\n\
         content-length: 0\r\nconnection: close\r\n\r\n",
    );
    let secret = "wks_secret";
    let ran = status(&url, Some(secret));
    refused(&ran, &[&url, "redirects to `http://10.255.255.1/v1`"]);
    assert!(!ran.err.contains(secret), "{}", ran.err);
    let request = asked.recv().expect("one request").to_ascii_lowercase();
    assert!(request.contains(&format!("authorization: bearer {secret}")), "{request}");
    assert!(asked.try_recv().is_err(), "only one request");
}

#[test]
fn what_does_not_answer_like_a_server_is_said() {
    let (url, _asked) = answering(
        "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 11\r\nconnection: close\r\n\r\n<p>down</p>",
    );
    refused(&status(&url, None), &[&url, "does not answer as `wakeful serve`", "502", "<p>down"]);
    let (url, _asked) =
        answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
    let listed = ran(&mut program(["agents", "--server", &url]));
    refused(&listed, &["does not answer as `wakeful serve`", "missing field `agents`"]);
}

#[test]
fn a_stream_that_breaks_off_or_has_a_gap_is_not_taken_for_the_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("agents.sqlite");
    super::place::driver(&file, "ada");
    let log = wakeful(["log", &arg(&file), "--json"]).out;
    let first = log.lines().next().expect("an entry").to_owned();
    let whole = format!("id: 1\ndata: {first}\n\n");
    for (events, end, why) in [
        (whole.clone(), "", "it broke off"),
        (format!("{whole}id: 2\ndata: x"), "0\r\n\r\n", "it broke off"),
        (format!("{whole}id: 3\ndata: {first}\n\n"), "0\r\n\r\n", "has 3 where entry 2 comes"),
        (format!("{whole}id: 2\ndata: {first}\n\n"), "0\r\n\r\n", "entry 2"),
    ] {
        let (url, _asked) = answering_by(move |request| match request.contains("/snapshot ") {
            true => "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_owned(),
            false => format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                 transfer-encoding: chunked\r\nconnection: close\r\n\r\n{:x}\r\n{events}\r\n{end}",
                events.len()
            ),
        });
        for command in ["log", "status"] {
            let told = ran(&mut program([command, "--server", &url, "--agent", "ada"]));
            refused(&told, &[&url, why]);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_certificate_must_be_trusted() {
    // It is for `localhost` and 127.0.0.1, and nobody else trusts it or uses its key.
    const CERTIFICATE: &str = include_str!("localhost.pem");
    const KEY: &str = include_str!("localhost.key");
    let certificates = tempfile::tempdir().expect("a folder");
    let (certificate, key) =
        (certificates.path().join("cert.pem"), certificates.path().join("key.pem"));
    std::fs::write(&certificate, CERTIFICATE).expect("it writes");
    std::fs::write(&key, KEY).expect("it writes");
    let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
    let fill = |folder: &std::path::Path| {
        super::place::driver(&folder.join("agents.sqlite"), "ada");
    };
    // Until it is ready, the place asks with these certificates too.
    let place =
        Place::trusting(fill, &["--tls-cert", &certificate, "--tls-key", &key], &certificate);
    assert!(place.url.starts_with("https://"), "{}", place.url);
    let untrusted = status(&place.url, Some(&place.token));
    refused(&untrusted, &[&place.url, "is not trusted", "the certificates of this system"]);
    let trusted = place.at(["status", "--agent", "ada"]);
    assert_eq!(trusted.code, 0, "{}", trusted.err);
    assert!(trusted.out.starts_with("ada  "), "{}", trusted.out);
    let plain = status(&place.url.replace("https://", "http://"), Some(&place.token));
    refused(&plain, &["http://127.0.0.1"]);
}
