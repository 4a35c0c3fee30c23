//! The options of an endpoint: its address, the model, the key, and the limits.

use std::time::Duration;

use ureq::http::Uri;

use super::secret::Secret;

/// The server and the options for chat completions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointOptions {
    /// The base URL as the server documents it, including its version: `https://api.openai.com/v1`,
    /// `http://localhost:11434/v1`.
    pub base_url: String,
    /// The name of the model, as the server knows it.
    pub model: String,
    /// The key that is sent as a bearer token. Most local servers need none.
    pub key: Option<Secret>,
    /// How long each part of a request may take.
    pub patience: Patience,
    /// Which requests are repeated.
    pub retries: Retries,
    /// The most tokens of an answer; `None` leaves the limit to the server.
    pub max_output_tokens: Option<u64>,
    /// The sampling temperature; `None` leaves it to the server.
    pub temperature: Option<f64>,
    /// The most bytes of one answer: its text, its thoughts and its calls, without the JSON around
    /// them; 16 MiB by default.
    pub max_answer_bytes: u64,
}

impl EndpointOptions {
    /// Options for a model at a base URL, with defaults for everything else.
    #[must_use]
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            key: None,
            patience: Patience::default(),
            retries: Retries::default(),
            max_output_tokens: None,
            temperature: None,
            max_answer_bytes: 16 << 20,
        }
    }
}

/// How long each part of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The time to resolve the host, and again to connect, including TLS; 10 s by default.
    pub connect: Duration,
    /// The time from the start of the request to the first output: text, a thought or a call.
    /// 300 s by default, because a local model first reads the whole chat.
    pub first_byte: Duration,
    /// The time between two pieces of output; 120 s by default. A sign of life without output does
    /// not count.
    pub idle: Duration,
    /// The time for the whole request; 1 h by default.
    pub total: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            total: Duration::from_hours(1),
        }
    }
}

/// Which requests are repeated: those that failed before any output was accepted, with an error
/// that a retry may cure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// The most retries after the first attempt; 4 by default.
    pub most: u32,
    /// The wait before the first retry, doubled for each later one; 500 ms by default.
    pub first_wait: Duration,
    /// The longest wait, even if the server asks for more; 60 s by default.
    pub longest_wait: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            most: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
        }
    }
}

/// Why options cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// The base URL is invalid.
    #[error(
        "`{url}` is not a base URL: {why}; give one such as `https://api.openai.com/v1` or \
         `http://localhost:11434/v1`"
    )]
    BaseUrl {
        /// The URL that was given; `[url]` if it may contain a password.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No model is named.
    #[error(
        "no model is named: give the name of a model that the server has, with --model or in \
         WAKEFUL_MODEL"
    )]
    NoModel,
    /// The key cannot be told apart from other text, and it is for a server elsewhere.
    #[error(
        "the key cannot be kept out of the ledger, because it is too short or a plain word: give a \
         key of at least 7 bytes, or none if the server needs none"
    )]
    KeyNotDistinct,
    /// The key is empty.
    #[error(
        "the API key is empty: put it into WAKEFUL_API_KEY, or unset the variable if the server \
         needs no key"
    )]
    EmptyKey,
    /// The key cannot be sent.
    #[error(
        "the API key contains white space or letters that no HTTP header can carry: put only the \
         key into WAKEFUL_API_KEY"
    )]
    KeyUnfit,
}

/// The URL that completions are posted to.
pub(super) fn completions_url(base_url: &str) -> Result<Uri, OptionsError> {
    let base_url = base_url.trim();
    let refuse = |why| OptionsError::BaseUrl { url: base_url.to_owned(), why };
    // First of all: every other error repeats the URL, and this one may contain a password.
    if base_url.contains('@') {
        let why =
            "a user or password in it would appear in messages; put the key into WAKEFUL_API_KEY";
        return Err(OptionsError::BaseUrl { url: "[url]".to_owned(), why });
    }
    if base_url.contains(['?', '#']) {
        return Err(refuse("it has a query or a fragment"));
    }
    let base = base_url.trim_end_matches('/');
    if base.ends_with("/chat/completions") {
        return Err(refuse("`/chat/completions` is added to it, so leave that out"));
    }
    let is_http = base.split_once("://").is_some_and(|(scheme, _)| {
        matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https")
    });
    if !is_http {
        return Err(refuse("it does not begin with `http://` or `https://`"));
    }
    let uri: Uri = format!("{base}/chat/completions")
        .parse()
        .map_err(|_| refuse("it cannot be read as a URL"))?;
    if uri.host().is_none_or(str::is_empty) {
        return Err(refuse("it names no host"));
    }
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_taken_as_servers_document_them() {
        for (base, url) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            (" http://localhost:11434/v1/ ", "http://localhost:11434/v1/chat/completions"),
            ("http://[::1]:8080", "http://[::1]:8080/chat/completions"),
        ] {
            assert_eq!(completions_url(base).unwrap().to_string(), url);
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused_with_the_reason() {
        for (base, why) in [
            ("", "it does not begin with"),
            ("localhost:11434/v1", "it does not begin with"),
            ("localhost/v1", "it does not begin with"),
            ("ftp://host/v1", "it does not begin with"),
            ("https://", "it does not begin with"),
            ("https:///v1", "it cannot be read as a URL"),
            ("http://host/v1?key=1", "it has a query"),
            ("http://host/v1/chat/completions", "so leave that out"),
            ("http://ho st/v1", "it cannot be read as a URL"),
        ] {
            let said = completions_url(base).unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("`{base}` is not a base URL: ")) && said.contains(why),
                "{said}"
            );
        }
    }

    #[test]
    fn a_password_in_a_url_is_refused_without_showing_it() {
        let said = completions_url("http://me:hunter2@host/v1").unwrap_err().to_string();
        assert!(said.starts_with("`[url]` is not a base URL: a user or password"), "{said}");
        assert!(!said.contains("hunter2"));
    }
}
