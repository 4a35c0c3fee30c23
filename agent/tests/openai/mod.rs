//! The client of the provider `openai`, against a real server that speaks the format with every
//! fault.

pub(crate) mod answer;
mod answers;
mod calls;
mod cancelling;
mod chats;
mod faults;
mod page;
mod quirks;
mod refusals;
pub(crate) mod server;
mod splits;
pub(crate) mod strict;

use std::time::Duration;

use wakeful_agent::openai::{
    Cancel, Chat, ChatError, ChatMessage, Endpoint, EndpointOptions, Patience, Retries, Round,
    Secret, Watch,
};

use server::Server;

const KEY: &str = "sk-a-key-that-nobody-may-see";

/// Options for a test's server: a key, short waits, and limits that end no test on a slow machine.
fn options(server: &Server) -> EndpointOptions {
    let mut options = EndpointOptions::new(server.url(), "test-model");
    options.key = Some(Secret::new(KEY).expect("the key can be sent"));
    options.patience = Patience {
        connect: Duration::from_mins(10),
        first_byte: Duration::from_mins(10),
        idle: Duration::from_mins(10),
        total: Duration::from_mins(10),
    };
    options.retries = Retries {
        most: 2,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(50),
    };
    options
}

pub(crate) fn endpoint(server: &Server) -> Endpoint {
    with(options(server))
}

fn with(options: EndpointOptions) -> Endpoint {
    Endpoint::new(options).expect("valid options")
}

/// Asks for a round, and returns why it failed.
fn failure(endpoint: &Endpoint) -> ChatError {
    ask(endpoint).expect_err("an incomplete round")
}

/// Asks for a round without an observer.
fn ask(endpoint: &Endpoint) -> Result<Round, ChatError> {
    ask_watched(endpoint, &mut ())
}

fn ask_watched(endpoint: &Endpoint, watch: &mut dyn Watch) -> Result<Round, ChatError> {
    let messages = [ChatMessage::User { content: "Hello?".into() }];
    let answered =
        endpoint.complete(&Chat { messages: &messages, tools: &[] }, watch, &Cancel::new());
    if let Err(why) = &answered {
        assert!(!format!("{why}{why:?}").contains(KEY), "an error contains the key: {why}");
    }
    answered
}

/// Asks with a limit that a server keeps by its pauses, but a slow machine may exceed: then with a
/// longer one.
fn in_time<T>(
    ask: impl Fn(Duration) -> (Result<Round, ChatError>, T),
) -> (Result<Round, ChatError>, T) {
    for limit in [1, 8].map(Duration::from_secs) {
        let asked = ask(limit);
        if asked.0.is_ok() {
            return asked;
        }
    }
    ask(Duration::from_mins(1))
}

/// What an observer saw of a round.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    deltas: Vec<String>,
    tools: Vec<String>,
    retries: Vec<(u32, Duration, String)>,
}

impl Watch for Seen {
    fn text(&mut self, delta: &str) {
        self.deltas.push(delta.to_owned());
    }

    fn tool_call_begun(&mut self, name: &str) {
        self.tools.push(name.to_owned());
    }

    fn retrying(&mut self, attempt: u32, after: Duration, why: &ChatError) {
        self.retries.push((attempt, after, why.to_string()));
    }
}
