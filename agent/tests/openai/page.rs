//! The errors in docs/providers.md are the ones that the client returns.

use std::{
    net::{Ipv4Addr, TcpListener},
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
        answered(|| Answer::stream(Events::new().text("I will"))),
    ];
    assert_eq!(said.each_ref().map(String::as_str)[..], block("How errors read"));
}
