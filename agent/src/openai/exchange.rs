//! One request and its response, on a thread of its own, so that the caller can stop waiting at any
//! moment.

use std::{
    io::Read,
    sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    thread,
    time::Instant,
};

use ureq::{
    Agent, Proxy,
    config::{AutoHeaderValue, Config},
    http::{HeaderMap, HeaderName, Uri, header},
};

use zeroize::Zeroizing;

use super::{
    cancel::{Cancel, Listening},
    options::Patience,
};
use crate::http;

/// The wait in milliseconds that OpenAI and Azure ask for.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// The request to send.
#[derive(Clone)]
pub(super) struct Post {
    pub(super) url: Uri,
    pub(super) authorization: Option<Zeroizing<String>>,
    pub(super) body: Vec<u8>,
}

/// A part of the response. The head comes first, then pieces of the body, then the end.
#[derive(Debug)]
pub(super) enum Heard {
    Head(Head),
    Bytes(Vec<u8>),
    End,
}

/// The parts of a response's head that are used.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) retry_after_ms: Option<String>,
    /// A compression that is not decoded.
    pub(super) encoding: Option<String>,
    pub(super) location: Option<String>,
}

/// Why no more of the response arrives.
#[derive(Debug)]
pub(super) enum Break {
    Cancelled,
    /// Nothing arrived before the deadline.
    Silent,
    Lost(ureq::Error),
}

/// How to connect to a server. The proxy of the environment is used unless the server is this
/// machine.
pub(super) fn connections(url: &Uri, patience: &Patience) -> Config {
    http::client()
        .proxy(if is_here(url) { None } else { Proxy::try_from_env() })
        .accept("text/event-stream, application/json")
        // A compressed answer cannot be shown while it arrives. Some servers compress it anyway.
        .accept_encoding(AutoHeaderValue::None)
        // Only these two phases have limits here. The caller's deadlines cover the rest, and a
        // cancel cuts them short.
        .timeout_resolve(Some(patience.connect))
        .timeout_connect(Some(patience.connect))
        .build()
}

/// Whether the server is on this machine.
pub(super) fn is_here(url: &Uri) -> bool {
    http::is_loopback(url.host().unwrap_or_default())
}

/// The most parts of a response that wait for the caller. The server is read no faster than the
/// caller takes them.
const MOST_WAITING: usize = 32;

/// A request in progress. Dropping it closes its connection, which ends its thread. If it is still
/// connecting, the thread ends when that is done.
pub(super) struct Exchange<'a> {
    agent: Agent,
    heard: Receiver<Result<Heard, Break>>,
    cancel: &'a Cancel,
    _listening: Listening,
}

impl<'a> Exchange<'a> {
    /// Sends a request over a connection of its own.
    pub(super) fn begin(
        connections: &Config,
        post: Post,
        cancel: &'a Cancel,
    ) -> Result<Self, Break> {
        // An agent of its own: dropping the exchange shuts down its connections, so it must share
        // none.
        let agent = connections.new_agent();
        let (say, heard) = mpsc::sync_channel(MOST_WAITING);
        let listening = cancel.listen({
            let say = say.clone();
            move || {
                // Without a receiver, nothing waits. If the channel is full, nothing waits either,
                // and the caller looks at the signal before it takes the next part.
                let _ = say.try_send(Err(Break::Cancelled));
            }
        });
        let run = {
            let agent = agent.clone();
            move || {
                let end = converse(&agent, post, &say).map(|()| Heard::End);
                let _ = say.send(end); // As above.
            }
        };
        thread::Builder::new()
            .name("wakeful-openai".to_owned())
            .spawn(run)
            .map_err(|why| Break::Lost(ureq::Error::Io(why)))?;
        Ok(Self { agent, heard, cancel, _listening: listening })
    }

    /// Whether the request was cancelled, even if parts of the response have arrived.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Waits for the next part of the response, until the deadline.
    pub(super) fn next(&self, deadline: Instant) -> Result<Heard, Break> {
        if self.is_cancelled() {
            return Err(Break::Cancelled);
        }
        match self.heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout) => Err(Break::Silent),
            Err(RecvTimeoutError::Disconnected) => Ok(Heard::End),
        }
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        self.agent.clone().shutdown();
    }
}

/// Sends the request, and passes on the response as it arrives.
fn converse(
    agent: &Agent,
    post: Post,
    say: &SyncSender<Result<Heard, Break>>,
) -> Result<(), Break> {
    let mut request = agent.post(post.url).content_type("application/json");
    if let Some(authorization) = post.authorization {
        request = request.header(header::AUTHORIZATION, authorization.as_str());
    }
    let response = request.send(&post.body).map_err(Break::Lost)?;
    let (head, body) = response.into_parts();
    let text = |headers: &HeaderMap, name| {
        headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let told = say.send(Ok(Heard::Head(Head {
        status: head.status.as_u16(),
        retry_after: text(&head.headers, header::RETRY_AFTER),
        retry_after_ms: text(&head.headers, RETRY_AFTER_MS),
        encoding: text(&head.headers, header::CONTENT_ENCODING),
        location: text(&head.headers, header::LOCATION),
    })));
    // The exchange was dropped, so nobody needs the body.
    if told.is_err() {
        return Ok(());
    }
    let mut body = body.into_reader();
    let mut buffer = [0; 16 << 10];
    loop {
        let count = body.read(&mut buffer).map_err(|why| Break::Lost(why.into()))?;
        if count == 0 || say.send(Ok(Heard::Bytes(buffer[..count].to_vec()))).is_err() {
            return Ok(());
        }
    }
}
