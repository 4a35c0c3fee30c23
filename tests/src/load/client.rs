//! A client of the server. Each thread has its own connection.

use std::{
    io::{BufRead, BufReader},
    time::Duration,
};

use serde_json::Value;
use ureq::{Agent, Body, http};

/// A client with a token. Clones have connections of their own.
pub(crate) struct Client {
    url: String,
    token: String,
    patience: Duration,
    agent: Agent,
}

impl Clone for Client {
    fn clone(&self) -> Self {
        Self::patient(&self.url, &self.token, self.patience)
    }
}

impl Client {
    pub(crate) fn new(url: &str, token: &str) -> Self {
        Self::patient(url, token, Duration::from_secs(60))
    }

    /// As [`Client::new`], but it waits for an answer only as long as this.
    pub(crate) fn patient(url: &str, token: &str, patience: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(patience))
            .build();
        Self { url: url.to_owned(), token: token.to_owned(), patience, agent: config.into() }
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> Option<http::Response<Body>> {
        let mut asked = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token));
        for (name, value) in headers {
            asked = asked.header(*name, *value);
        }
        self.agent.run(asked.body(body.to_owned()).ok()?).ok()
    }

    /// The status and the text of an answer; `None` if the server did not answer.
    pub(crate) fn text(
        &self,
        method: &str,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> Option<(u16, String)> {
        let mut answered = self.ask(method, path, body, headers)?;
        let status = answered.status().as_u16();
        let text = answered.body_mut().with_config().limit(1 << 30).read_to_string().ok()?;
        Some((status, text))
    }

    /// As [`Client::text`], with the answer as JSON.
    pub(crate) fn json(
        &self,
        method: &str,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> Option<(u16, Value)> {
        let (status, text) = self.text(method, path, body, headers)?;
        Some((status, serde_json::from_str(&text).unwrap_or_default()))
    }

    pub(crate) fn get(&self, path: &str) -> Option<(u16, Value)> {
        self.json("GET", path, "", &[])
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Option<(u16, Value)> {
        self.json("POST", path, body, &[])
    }

    /// Calls `each` with every entry of a stream, its number first, until it says `false` or the
    /// stream ends.
    pub(crate) fn stream(&self, path: &str, mut each: impl FnMut(u64, &str) -> bool) {
        let Ok(mut answered) = self
            .agent
            .get(format!("{}{path}", self.url))
            .config()
            .timeout_global(None)
            .build()
            .header("authorization", format!("Bearer {}", self.token))
            .call()
        else {
            return;
        };
        let mut number = 0;
        for line in BufReader::new(answered.body_mut().as_reader()).lines().map_while(Result::ok) {
            if let Some(id) = line.strip_prefix("id: ") {
                number = id.parse().unwrap_or(0);
            } else if let Some(data) = line.strip_prefix("data: ")
                && !each(number, data)
            {
                return;
            }
        }
    }
}
