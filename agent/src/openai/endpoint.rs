//! A model behind a server: asks for one round at a time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use ureq::{
    Error as HttpError, Timeout,
    config::Config,
    http::{StatusCode, Uri},
};

use crate::http;

use super::{
    assembly::Assembly,
    cancel::Cancel,
    chat::{Chat, Request},
    dialect::Dialect,
    error::{ChatError, Phase, Retry, Unreachable, beginning},
    exchange::{self, Break, Exchange, Head, Heard, Post},
    framing::{Framing, Rest},
    options::{EndpointOptions, OptionsError, Patience, completions_url},
    round::{Finish, Round},
    server_message::ServerMessage,
    sse::Event,
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

/// The longest wait for the token counts after the end of an answer.
const WAIT_FOR_COUNTS: Duration = Duration::from_secs(10);

/// A model behind a server that speaks chat completions.
#[derive(Clone, Debug)]
pub struct Endpoint {
    options: EndpointOptions,
    url: Uri,
    connections: Config,
    /// What the server has shown that it does not accept. Clones learn together.
    dialect: Arc<Mutex<Dialect>>,
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
        let dialect = Arc::new(Mutex::new(Dialect::new(url.host().unwrap_or_default())));
        Ok(Self { options, url, connections, dialect })
    }

    /// The same endpoint for requests that may fail: each is sent once, and its answer is short.
    #[must_use]
    pub fn once(&self, max_answer_bytes: u64, total: Duration) -> Self {
        let mut once = self.clone();
        once.options.retries.most = 0;
        once.options.max_answer_bytes = once.options.max_answer_bytes.min(max_answer_bytes);
        once.options.patience.total = once.options.patience.total.min(total);
        once
    }

    /// Whether the server is on this machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        exchange::is_here(&self.url)
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
        let mut requests = 0;
        let mut failures = 0;
        loop {
            // Also before the first attempt: a call that is already cancelled sends nothing.
            if cancel.is_cancelled() {
                return Err(ChatError::Cancelled);
            }
            requests += 1;
            let why = match self.attempt(requests, &self.post(chat), chat, watch, cancel) {
                Ok(round) => return Ok(round),
                Err(why) => why,
            };
            // Each lesson leaves something out, so this ends.
            if self.learns(chat, &why) {
                continue;
            }
            failures += 1;
            let Some(after) = self.wait_after(failures, &why) else {
                return Err(given_up(requests, why));
            };
            watch.retrying(requests + 1, after, &why);
            let _ = cancel.wait(after); // The next attempt checks for a cancellation.
        }
    }

    /// The request for a chat.
    fn post(&self, chat: &Chat<'_>) -> Post {
        let dialect = self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        let request = Request::new(chat, &self.options, &dialect);
        let body = serde_json::to_vec(&request)
            .expect("a request is strings, numbers and JSON values, which are all JSON");
        let authorization = self.options.key.as_ref().map(|key| key.bearer());
        Post { url: self.url.clone(), authorization, body }
    }

    /// Learns from a refusal. Returns whether the request is sent again in another form.
    fn learns(&self, chat: &Chat<'_>, why: &ChatError) -> bool {
        let ChatError::Refused { status, says, .. } = why else { return false };
        let mut dialect = self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        dialect.learn(chat.messages, *status, says)
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
        let exchange = Exchange::begin(&self.connections, post.clone(), cancel).map_err(lost)?;
        let last = assembly.begun() + self.options.patience.total;
        let head = match exchange.next(first.min(last)).map_err(lost)? {
            Heard::Head(head) => head,
            Heard::Bytes(_) | Heard::End => return Err(self.ended()),
        };
        if !StatusCode::from_u16(head.status).is_ok_and(|status| status.is_success()) {
            return Err(self.refusal(head, &exchange)?);
        }
        let decoded = |name: &str| name.is_empty() || name.eq_ignore_ascii_case("identity");
        if let Some(name) = head.encoding.filter(|name| !decoded(name.trim())) {
            let why = format!("its answer is compressed with `{name}`, which was not asked for");
            return Err(self.malformed(&why, b""));
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
            Ok(()) | Err(_) => self.answered(assembly.into_round(chat)),
        }
    }

    /// An answer without any content may be a refusal or a failure in another form.
    fn answered(&self, round: Round) -> Result<Round, ChatError> {
        let reason = || self.hidden(round.finish_reason.as_deref().unwrap_or_default());
        match round.finish {
            Finish::ContentFilter if round.is_empty() => {
                let message = format!("it withheld the whole answer (`{}`)", reason());
                Err(ChatError::ContentRefused { says: ServerMessage::new(message) })
            }
            // A parser of the server may lose the calls that the model made.
            Finish::Failed | Finish::ToolCalls if round.is_empty() => {
                let message = format!("it sent nothing but the reason `{}`", reason());
                Err(ChatError::Failed { url: self.url(), says: ServerMessage::new(message) })
            }
            _ => Ok(round),
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
        let idle = self.options.patience.idle;
        let last = assembly.begun() + self.options.patience.total;
        let mut framing = Framing::default();
        let mut deadline = first;
        let mut phase = Phase::FirstByte;
        loop {
            let (until, of) = sooner((deadline, phase), last);
            match exchange.next(until).map_err(|why| self.lost(why, of))? {
                Heard::Bytes(bytes) => {
                    let was_finished = assembly.is_finished();
                    let events = framing.push(&bytes);
                    // Only output renews the deadline: a server may send signs of life for ever.
                    let mut goes_on = framing.is_whole() && !bytes.trim_ascii().is_empty();
                    for event in events {
                        // The bytes may hold several events. After a cancel, none of the rest may
                        // be shown.
                        if exchange.is_cancelled() {
                            return Err(ChatError::Cancelled);
                        }
                        if event.data.trim_ascii() == b"[DONE]" {
                            // Some servers end a stream without a finish reason.
                            return if assembly.is_finished() || assembly.has_output() {
                                Ok(())
                            } else {
                                Err(self.ended())
                            };
                        }
                        for chunk in self.chunks(&event)? {
                            goes_on |= assembly.take(chunk, watch);
                        }
                        self.check_size(&framing, assembly)?;
                    }
                    self.check_size(&framing, assembly)?;
                    if goes_on {
                        deadline = Instant::now() + idle;
                        phase = Phase::Idle;
                    }
                    // A flood of signs of life never lets the wait for the next one time out.
                    let (until, of) = sooner((deadline, phase), last);
                    if Instant::now() >= until {
                        return Err(self.lost(Break::Silent, of));
                    }
                    if assembly.is_finished() && !was_finished {
                        deadline = Instant::now() + idle.min(WAIT_FOR_COUNTS);
                    }
                }
                Heard::End => return self.read_rest(framing.rest(), assembly, watch),
                Heard::Head(_) => return Err(self.ended()),
            }
        }
    }

    /// Reads what is left at the end of a body: a whole answer, or the last event of a stream.
    fn read_rest(
        &self,
        rest: Rest,
        assembly: &mut Assembly,
        watch: &mut dyn Watch,
    ) -> Result<(), ChatError> {
        match rest {
            Rest::Whole(whole) => {
                let text = String::from_utf8_lossy(&whole);
                let chunks = Chunk::read(&text).map_err(|why| self.malformed(&why, &whole))?;
                let chunks = self.without_errors(chunks)?;
                // An error page or another API may also be valid JSON.
                if !chunks.iter().any(|chunk| chunk.has_choices) {
                    return Err(self.malformed("it has no `choices`", &whole));
                }
                for chunk in chunks {
                    assembly.take(chunk, watch);
                }
                self.check_size(&Framing::default(), assembly)?;
                if assembly.is_finished() || assembly.has_output() {
                    Ok(())
                } else {
                    Err(self.ended())
                }
            }
            Rest::Event(event) => {
                match event.map(|event| self.chunks(&event)).transpose() {
                    Ok(chunks) => {
                        for chunk in chunks.into_iter().flatten() {
                            assembly.take(chunk, watch);
                        }
                    }
                    // It was cut in the middle.
                    Err(ChatError::Malformed { .. }) => {}
                    Err(why) => return Err(why),
                }
                if assembly.is_finished() { Ok(()) } else { Err(self.ended()) }
            }
        }
    }

    /// Refuses an answer that would fill the memory.
    fn check_size(&self, framing: &Framing, assembly: &Assembly) -> Result<(), ChatError> {
        let limit = self.options.max_answer_bytes;
        if assembly.kept() > limit || framing.held() > limit {
            return Err(ChatError::TooLarge { limit });
        }
        Ok(())
    }

    /// The chunks of an event. An event may also report an error.
    fn chunks(&self, event: &Event) -> Result<Vec<Chunk>, ChatError> {
        let text = String::from_utf8_lossy(&event.data);
        let kind = event.kind.as_deref().unwrap_or_default();
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        if kind == "error" {
            return Err(self.reported(ServerMessage::read(&text)));
        }
        match Chunk::read(&text) {
            Ok(chunks) => self.without_errors(chunks),
            // Events of other types, such as a ping, may hold anything.
            Err(_) if !matches!(kind, "" | "message") => Ok(Vec::new()),
            Err(why) => Err(self.malformed(&why, &event.data)),
        }
    }

    fn without_errors(&self, mut chunks: Vec<Chunk>) -> Result<Vec<Chunk>, ChatError> {
        match chunks.iter_mut().find_map(|chunk| chunk.error.take()) {
            Some(says) => Err(self.reported(says)),
            None => Ok(chunks),
        }
    }

    /// The error that a server reports inside an answer.
    fn reported(&self, says: ServerMessage) -> ChatError {
        let status = says.code.as_deref().and_then(|code| code.parse().ok()).unwrap_or(400);
        let says = says.shown(|text| self.hidden(text));
        self.about_the_chat(status, says)
            .unwrap_or_else(|says| ChatError::Failed { url: self.url(), says })
    }

    /// The error for a chat that the server cannot or does not want to answer; otherwise the
    /// message again.
    fn about_the_chat(&self, status: u16, says: ServerMessage) -> Result<ChatError, ServerMessage> {
        if status == 413 || says.is_about_context_length() {
            return Ok(ChatError::ContextLength { says });
        }
        // With these statuses the same words are about a key, a limit or a broken filter.
        let is_about_content = !matches!(status, 401 | 404 | 408 | 409 | 429 | 500..=599);
        if is_about_content && says.is_about_content() {
            return Ok(ChatError::ContentRefused { says });
        }
        Err(says)
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
            Some(location) => ServerMessage::new(format!("it redirects to `{location}`")),
            None => ServerMessage::read(&String::from_utf8_lossy(&body)),
        };
        let says = says.shown(|text| self.hidden(text));
        let says = match self.about_the_chat(head.status, says) {
            Ok(why) => return Ok(why),
            Err(says) => says,
        };
        let ms =
            head.retry_after_ms.and_then(|text| http::wait_in(&text, Duration::from_millis(1)));
        let retry_after =
            ms.or_else(|| http::wait_asked_for(&head.retry_after?, SystemTime::now()));
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
        let Patience { connect, first_byte, idle, total } = self.options.patience;
        let timed_out = |phase, after| ChatError::TimedOut { url: self.url(), phase, after };
        let unreachable =
            |why| ChatError::Unreachable { url: self.url(), proxy: self.proxy(), why };
        match why {
            Break::Cancelled => ChatError::Cancelled,
            Break::Silent => match phase {
                Phase::Total => timed_out(phase, total),
                Phase::Idle => timed_out(phase, idle),
                Phase::Connect | Phase::FirstByte => timed_out(Phase::FirstByte, first_byte),
            },
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

/// The deadline that comes first: that of a phase, or the last one.
fn sooner(of_phase: (Instant, Phase), last: Instant) -> (Instant, Phase) {
    if last < of_phase.0 { (last, Phase::Total) } else { of_phase }
}

/// The error after the last attempt. A failure that no retry could cure speaks for itself.
fn given_up(attempts: u32, why: ChatError) -> ChatError {
    if attempts == 1 || why.retry() == Retry::Never {
        why
    } else {
        ChatError::GaveUp { attempts, why: Box::new(why) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
