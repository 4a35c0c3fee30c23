//! A model behind a server: asks for one round at a time.

use std::time::{Duration, Instant, SystemTime};

use ureq::{
    Error as HttpError, Timeout,
    config::Config,
    http::{StatusCode, Uri},
};

use super::{
    assembly::Assembly,
    cancel::Cancel,
    chat::{Chat, Request},
    error::{ChatError, Phase, Retry, ServerMessage, Unreachable, beginning},
    exchange::{self, Break, Exchange, Head, Heard, Post},
    framing::Framing,
    options::{EndpointOptions, OptionsError, Patience, completions_url},
    round::Round,
    wire::Chunk,
};

/// Observes a round while it arrives.
pub trait Watch {
    /// Called with the next piece of the model's text.
    fn text(&mut self, _delta: &str) {}

    /// Called when the model starts to call a tool.
    fn tool_call_begun(&mut self, _name: &str) {}

    /// Called when a request failed before any output and will be repeated. `attempt` is the number
    /// of the next request, from 2; `after` is the wait before it.
    fn retrying(&mut self, _attempt: u32, _after: Duration, _why: &ChatError) {}
}

/// Ignores everything.
impl Watch for () {}

/// The most bytes that are read of an error's body.
const MOST_OF_AN_ERROR: u64 = 64 << 10;

/// A model behind a server that speaks chat completions.
#[derive(Clone, Debug)]
pub struct Endpoint {
    options: EndpointOptions,
    url: Uri,
    connections: Config,
}

impl Endpoint {
    /// Creates an endpoint without sending anything.
    ///
    /// # Errors
    ///
    /// If the base URL is invalid, or no model is named.
    pub fn new(options: EndpointOptions) -> Result<Self, OptionsError> {
        let url = completions_url(&options.base_url)?;
        if options.model.trim().is_empty() {
            return Err(OptionsError::NoModel);
        }
        let connections = exchange::connections(&url, &options.patience);
        Ok(Self { options, url, connections })
    }

    /// The options of the endpoint.
    #[must_use]
    pub fn options(&self) -> &EndpointOptions {
        &self.options
    }

    /// Asks for the next round of a chat, and waits until it is complete. A request that failed
    /// before any output was accepted is repeated if that may help. After the first output nothing
    /// is repeated.
    ///
    /// # Errors
    ///
    /// Why there is no complete round. [`ChatError::CutOff`] has the part that arrived. If it is
    /// cancelled, it returns [`ChatError::Cancelled`] immediately.
    pub fn complete(
        &self,
        chat: &Chat<'_>,
        watch: &mut dyn Watch,
        cancel: &Cancel,
    ) -> Result<Round, ChatError> {
        let request = Request::new(chat, &self.options, self.url.host().unwrap_or_default());
        let body = serde_json::to_vec(&request)
            .expect("a request is strings, numbers and JSON values, which are all JSON");
        let authorization = self.options.key.as_ref().map(|key| key.bearer());
        let post = Post { url: self.url.clone(), authorization, body };
        let mut attempt = 1;
        loop {
            // Also before the first attempt: a call that is already cancelled sends nothing.
            if cancel.is_cancelled() {
                return Err(ChatError::Cancelled);
            }
            let why = match self.attempt(attempt, &post, chat, watch, cancel) {
                Ok(round) => return Ok(round),
                Err(why) => why,
            };
            let Some(after) = self.wait_after(attempt, &why) else {
                return Err(given_up(attempt, why));
            };
            attempt += 1;
            watch.retrying(attempt, after, &why);
            let _ = cancel.wait(after); // The next attempt checks for a cancellation.
        }
    }

    /// The wait before the next attempt; `None` if there is none.
    fn wait_after(&self, attempt: u32, why: &ChatError) -> Option<Duration> {
        let retries = &self.options.retries;
        let wait = match why.retry() {
            Retry::Never => return None,
            Retry::Later => retries.first_wait.saturating_mul(2_u32.saturating_pow(attempt - 1)),
            Retry::After(wait) => wait,
        };
        (attempt <= retries.most).then(|| wait.min(retries.longest_wait))
    }

    /// Sends one request.
    fn attempt(
        &self,
        attempt: u32,
        post: &Post,
        chat: &Chat<'_>,
        watch: &mut dyn Watch,
        cancel: &Cancel,
    ) -> Result<Round, ChatError> {
        let mut assembly = Assembly::new(attempt);
        let first = assembly.begun() + self.options.patience.first_byte;
        let lost = |why| self.lost(why, Phase::FirstByte);
        let exchange = Exchange::begin(
            &self.connections,
            post.clone(),
            self.options.max_response_bytes,
            cancel,
        )
        .map_err(lost)?;
        let head = match exchange.next(first).map_err(lost)? {
            Heard::Head(head) => head,
            Heard::Bytes(_) | Heard::End => return Err(self.ended()),
        };
        if !StatusCode::from_u16(head.status).is_ok_and(|status| status.is_success()) {
            return Err(self.refusal(head, &exchange)?);
        }
        match self.read(&exchange, first, &mut assembly, watch) {
            // A cancelled call returns no part of the answer, even if some of it has arrived.
            Err(ChatError::Cancelled) => Err(ChatError::Cancelled),
            // The output may have been shown, and a second answer would differ, so this is not
            // retried (decision 025).
            Err(why) if !assembly.is_finished() && assembly.has_output() => {
                Err(ChatError::CutOff {
                    partial: Box::new(assembly.into_round(chat)),
                    why: Box::new(why),
                })
            }
            Err(why) if !assembly.is_finished() => Err(why),
            // The server has said that the answer is complete, so a later failure does not affect
            // it.
            Ok(()) | Err(_) => Ok(assembly.into_round(chat)),
        }
    }

    /// Reads an answer until it is complete.
    fn read(
        &self,
        exchange: &Exchange<'_>,
        first: Instant,
        assembly: &mut Assembly,
        watch: &mut dyn Watch,
    ) -> Result<(), ChatError> {
        let mut framing = Framing::default();
        let mut deadline = first;
        let mut phase = Phase::FirstByte;
        loop {
            match exchange.next(deadline).map_err(|why| self.lost(why, phase))? {
                Heard::Bytes(bytes) => {
                    for data in framing.push(&bytes) {
                        // The bytes may hold several chunks. After a cancel, none of the rest may
                        // be shown.
                        if exchange.is_cancelled() {
                            return Err(ChatError::Cancelled);
                        }
                        if data.trim_ascii() == b"[DONE]" {
                            // Some servers end a stream without a finish reason.
                            return if assembly.is_finished() || assembly.has_output() {
                                Ok(())
                            } else {
                                Err(self.ended())
                            };
                        }
                        assembly.take(self.chunk(&data)?, watch);
                    }
                    deadline = Instant::now() + self.options.patience.idle;
                    phase = Phase::Idle;
                }
                Heard::End => {
                    let Some(whole) = framing.into_whole() else { return Err(self.ended()) };
                    let chunk = self.chunk(&whole)?;
                    // An error page or another API may also be valid JSON.
                    if chunk.choices.as_ref().is_none_or(Vec::is_empty) {
                        return Err(self.malformed("it has no `choices`", &whole));
                    }
                    assembly.take(chunk, watch);
                    return Ok(());
                }
                Heard::Head(_) => return Err(self.ended()),
            }
        }
    }

    /// Parses a chunk. A chunk may also report an error.
    fn chunk(&self, data: &[u8]) -> Result<Chunk, ChatError> {
        let chunk: Chunk =
            serde_json::from_slice(data).map_err(|why| self.malformed(&why.to_string(), data))?;
        match chunk.error() {
            None => Ok(chunk),
            Some(says) => {
                let says = says.shown(|text| self.hidden(text));
                Err(if says.is_about_context_length() {
                    ChatError::ContextLength { says }
                } else {
                    ChatError::Failed { url: self.url(), says }
                })
            }
        }
    }

    /// The error for a request that the server refused.
    fn refusal(&self, head: Head, exchange: &Exchange<'_>) -> Result<ChatError, ChatError> {
        let mut body = Vec::new();
        let deadline = Instant::now() + self.options.patience.idle;
        while (body.len() as u64) < MOST_OF_AN_ERROR {
            match exchange.next(deadline) {
                Ok(Heard::Bytes(bytes)) => body.extend_from_slice(&bytes),
                Err(Break::Cancelled) => return Err(ChatError::Cancelled),
                Ok(_) | Err(_) => break, // The status has arrived, so a partial body is enough.
            }
        }
        let says = match head.location.filter(|_| (300..400).contains(&head.status)) {
            Some(location) => ServerMessage {
                message: format!("it redirects to `{location}`"),
                ..ServerMessage::default()
            },
            None => ServerMessage::read(&String::from_utf8_lossy(&body)),
        };
        let says = says.shown(|text| self.hidden(text));
        if says.is_about_context_length() {
            return Ok(ChatError::ContextLength { says });
        }
        let retry_after =
            head.retry_after.and_then(|text| wait_asked_for(&text, SystemTime::now()));
        Ok(ChatError::Refused {
            url: self.url(),
            status: head.status,
            says,
            retry_after,
            had_key: self.options.key.is_some(),
        })
    }

    /// The error for a response that stopped.
    fn lost(&self, why: Break, phase: Phase) -> ChatError {
        let Patience { connect, first_byte, idle } = self.options.patience;
        let timed_out = |phase, after| ChatError::TimedOut { url: self.url(), phase, after };
        let unreachable =
            |why| ChatError::Unreachable { url: self.url(), proxy: self.proxy(), why };
        match why {
            Break::Cancelled => ChatError::Cancelled,
            Break::TooLarge => ChatError::TooLarge { limit: self.options.max_response_bytes },
            Break::Silent if phase == Phase::Idle => timed_out(Phase::Idle, idle),
            Break::Silent => timed_out(Phase::FirstByte, first_byte),
            Break::Lost(HttpError::Timeout(Timeout::Resolve | Timeout::Connect)) => {
                timed_out(Phase::Connect, connect)
            }
            Break::Lost(HttpError::HostNotFound) => unreachable(Unreachable::NoSuchHost),
            Break::Lost(HttpError::Io(why))
                if why.kind() == std::io::ErrorKind::ConnectionRefused =>
            {
                unreachable(Unreachable::Refused)
            }
            Break::Lost(HttpError::Io(why))
                // A failed handshake arrives as an I/O error that wraps the error of TLS.
                if why.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) =>
            {
                unreachable(Unreachable::Tls(why.to_string()))
            }
            Break::Lost(HttpError::Rustls(why)) => unreachable(Unreachable::Tls(why.to_string())),
            Break::Lost(HttpError::Tls(why)) => unreachable(Unreachable::Tls(why.to_owned())),
            Break::Lost(why @ (HttpError::Protocol(_) | HttpError::LargeResponseHeader(..))) => {
                self.malformed(&why.to_string(), b"")
            }
            Break::Lost(HttpError::Io(why)) => unreachable(Unreachable::Lost(why.to_string())),
            Break::Lost(why) => unreachable(Unreachable::Lost(why.to_string())),
        }
    }

    fn malformed(&self, why: &str, data: &[u8]) -> ChatError {
        let beginning = beginning(&self.hidden(String::from_utf8_lossy(data).trim()), 200);
        ChatError::Malformed { url: self.url(), why: self.hidden(why), beginning }
    }

    fn ended(&self) -> ChatError {
        ChatError::Ended { url: self.url() }
    }

    /// Host and port of the proxy in front of the server.
    fn proxy(&self) -> Option<String> {
        let proxy = self.connections.proxy().filter(|proxy| !proxy.is_no_proxy(&self.url))?;
        Some(format!("{}:{}", proxy.host(), proxy.port()))
    }

    fn url(&self) -> String {
        self.url.to_string()
    }

    /// The text without the key, which some servers repeat.
    fn hidden(&self, text: &str) -> String {
        self.options.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hidden_in(text))
    }
}

/// The error after the last attempt.
fn given_up(attempts: u32, why: ChatError) -> ChatError {
    if attempts == 1 { why } else { ChatError::GaveUp { attempts, why: Box::new(why) } }
}

/// The wait that the header `Retry-After` asks for: seconds, or until a date.
fn wait_asked_for(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let until = |date: SystemTime| date.duration_since(now).unwrap_or_default();
    text.parse()
        .ok()
        .map(Duration::from_secs)
        .or_else(|| httpdate::parse_http_date(text).ok().map(until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_asked_for_in_seconds_or_until_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (text, wait) in [
            ("3", Some(3)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:49:42 GMT", Some(5)),
            ("Sun, 06 Nov 1994 08:49:30 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            assert_eq!(wait_asked_for(text, now), wait.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_are_counted() {
        let mut options = EndpointOptions::new("http://localhost/v1", "m");
        options.retries.first_wait = Duration::from_secs(1);
        options.retries.longest_wait = Duration::from_secs(3);
        options.retries.most = 3;
        let endpoint = Endpoint::new(options).unwrap();
        let waits: Vec<Option<u64>> = (1..=4)
            .map(|attempt| {
                endpoint.wait_after(attempt, &endpoint.ended()).map(|wait| wait.as_secs())
            })
            .collect();
        assert_eq!(waits, [Some(1), Some(2), Some(3), None]);
        assert_eq!(endpoint.wait_after(1, &endpoint.malformed("it is text", b"")), None);
    }

    #[test]
    fn a_proxy_that_stands_before_the_server_is_named() {
        let mut endpoint = Endpoint::new(EndpointOptions::new("http://localhost/v1", "m")).unwrap();
        let refused = || Break::Lost(HttpError::Io(std::io::ErrorKind::ConnectionRefused.into()));
        let said = endpoint.lost(refused(), Phase::FirstByte).to_string();
        assert!(
            said.starts_with(
                "cannot reach `http://localhost/v1/chat/completions`: the connection was refused"
            ),
            "{said}"
        );
        let proxy = ureq::Proxy::new("http://me:hunter2@proxy.example:3128").unwrap();
        endpoint.connections = ureq::Agent::config_builder().proxy(Some(proxy)).build();
        let said = endpoint.lost(refused(), Phase::FirstByte).to_string();
        assert!(
            said.contains(
                "` through the proxy `proxy.example:3128` from the environment: the connection was \
                 refused"
            ),
            "{said}"
        );
        assert!(!said.contains("hunter2"), "{said}");
    }

    #[test]
    fn an_endpoint_needs_a_model() {
        assert_eq!(
            Endpoint::new(EndpointOptions::new("http://localhost/v1", " ")).unwrap_err(),
            OptionsError::NoModel
        );
    }
}
