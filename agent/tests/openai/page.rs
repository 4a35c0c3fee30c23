//! What docs/providers.md says is true: its errors are the ones that the client returns, and its
//! tests exist.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};
use wakeful_agent::openai::{Endpoint, EndpointOptions};

use super::{
    answer::{Answer, Events},
    failure, options,
    server::Server,
    with,
};

const PAGE: &str = include_str!("../../../docs/providers.md");

/// The base URL on the page, in place of that of a test's server.
const BASE_URL: &str = "http://localhost:11434/v1";

/// The lines of the block below this heading.
fn block(heading: &str) -> Vec<&'static str> {
    let (_, below) =
        PAGE.split_once(&format!("\n## {heading}\n")).expect("the page has the heading");
    let block = below
        .split("```text\n")
        .nth(1)
        .and_then(|block| block.split("```").next())
        .expect("a block below the heading");
    block.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// An error as the page shows it, with the retries that the command line uses.
fn shown(mut options: EndpointOptions) -> String {
    options.retries = EndpointOptions::new("", "").retries;
    options.retries.first_wait = Duration::from_millis(1);
    options.retries.longest_wait = Duration::from_millis(1);
    let base_url = options.base_url.clone();
    failure(&with(options)).to_string().replace(&base_url, BASE_URL)
}

fn answered(answer: fn() -> Answer) -> String {
    shown(options(&Server::scripted(move |_| answer())))
}

/// A base URL where nothing listens.
fn deserted() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    format!("http://{}/v1", listener.local_addr().expect("the port"))
}

#[test]
fn the_page_shows_errors_as_they_are() {
    let is_a_page = || Answer::status(200, "text/html", "<!doctype html><title>Welcome</title>");
    let said = [
        Endpoint::new(EndpointOptions::new("localhost:11434", "qwen3"))
            .expect_err("an invalid base URL")
            .to_string(),
        shown(EndpointOptions::new(deserted(), "qwen3")),
        answered(|| {
            Answer::error(
                401,
                "Incorrect API key provided",
                "invalid_request_error",
                json!("invalid_api_key"),
            )
        }),
        answered(|| {
            Answer::error(
                404,
                "model \"qwen3\" not found, try pulling it first",
                "api_error",
                Value::Null,
            )
        }),
        answered(|| {
            Answer::error(429, "Rate limit reached", "requests", json!("rate_limit_exceeded"))
        }),
        answered(|| {
            Answer::error(
                400,
                "the request exceeds the available context size",
                "exceed_context_size_error",
                json!(400),
            )
        }),
        answered(is_a_page),
        answered(|| Answer::error(400, "The response was filtered", "", json!("content_filter"))),
        answered(|| Answer::stream(Events::new().text("I will"))),
    ];
    assert_eq!(said.each_ref().map(String::as_str)[..], block("How errors read"));
}

#[test]
fn every_row_of_the_page_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = String::new();
    for folder in ["agent/src/openai", "agent/src/tools", "agent/tests/openai", "cli/tests/agent"] {
        for file in fs::read_dir(root.join(folder)).expect("a folder of tests") {
            sources += &fs::read_to_string(file.expect("a file").path()).expect("its text");
        }
    }
    let (_, below) = PAGE.split_once("\n## Quirks of servers\n").expect("the heading");
    let table: Vec<&str> = below
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .collect();
    assert!(table.len() > 20, "{} rows", table.len());
    for row in table {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, _, test] = cells[..] else { panic!("four cells: {row}") };
        let test = test.trim_matches('`');
        assert!(sources.contains(&format!("fn {test}()")), "there is no test `{test}`: {row}");
    }
}
