//! What the proxy does for one connection: it decides about the request, and brings it to its
//! server.

use std::{
    cell::Cell,
    convert::Infallible,
    io::{self, ErrorKind, Write},
    net::SocketAddr,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use http_body_util::{Either, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    client,
    ext::ReasonPhrase,
    header, server,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpStream, UnixStream},
    sync::OwnedSemaphorePermit,
    task::{spawn_blocking, spawn_local},
    time::timeout,
};

use super::{
    addresses::{self, NoAddress},
    hosts::{Host, HostRule},
    log::{Line, Log},
    relay,
    request::{Target, remove_hops},
};

/// The maximum number of bytes and of headers in the head of a request.
pub(super) const HEAD_BYTES: usize = 16 * 1024;
pub(super) const HEADERS: usize = 100;

/// What one connection may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The connections at one time.
    pub(super) connections: usize,
    /// The time for the head of a request.
    pub(super) head: Duration,
    /// The time to connect to a server.
    pub(super) connect: Duration,
}

/// What the connections share.
pub(super) struct Shared {
    pub(super) rules: Arc<[HostRule]>,
    pub(super) log: Log,
    pub(super) bounds: Bounds,
}

/// A place among the connections that a proxy serves at one time. All that belongs to a connection
/// holds it.
pub(super) type Place = Rc<OwnedSemaphorePermit>;

type Body = Either<Full<Bytes>, Incoming>;

/// Serves one connection from its first byte to its end: one request.
pub(super) async fn serve(client: UnixStream, shared: Rc<Shared>, place: Place) {
    let is_read = Cell::new(false);
    let service = service_fn(|request| {
        is_read.set(true);
        let (shared, place) = (&shared, &place);
        async move {
            let answer = shared.answer(request, place).await;
            Ok::<_, Infallible>(answer.unwrap_or_else(Answer::into_response))
        }
    });
    let served = server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.bounds.head)
        .max_headers(HEADERS)
        .max_header_size(HEAD_BYTES)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(client), service)
        .with_upgrades()
        .await;
    if let (Err(why), false) = (served, is_read.get()) {
        // A refusal holds even if it cannot be logged.
        let _unlogged = shared.note(None, Some(&Answer::to_nobody(400, why.to_string())));
    }
}

impl Shared {
    /// Tells a client that there is no place for it.
    pub(super) fn turn_away(&self, client: UnixStream) {
        let most = self.bounds.connections;
        let why = format!("there are {most} connections already; end some, and try again");
        let answer = Answer::to_nobody(503, why);
        // A refusal holds even if it cannot be logged.
        let _unlogged = self.note(None, Some(&answer));
        let text = answer.text();
        let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length:";
        let all = format!("{head} {}\r\n\r\n{text}", text.len());
        // It never waits: so short an answer has room in any new socket.
        let _told = client.into_std().and_then(|mut client| client.write_all(all.as_bytes()));
    }

    /// What a client is told. An error is what it is told instead of what a server says.
    async fn answer(
        &self,
        mut request: Request<Incoming>,
        place: &Place,
    ) -> Result<Response<Body>, Answer> {
        let target = Target::of(&request).map_err(|why| {
            let answer = Answer::to_nobody(400, why);
            // A refusal holds even if it cannot be logged.
            let _unlogged = self.note(None, Some(&answer));
            answer
        })?;
        let server = self.open(&target).await?;
        // Without it, a short message would wait for the answer to the one before.
        let _slower = server.set_nodelay(true);
        let place = Rc::clone(place);
        if request.method() == Method::CONNECT {
            spawn_local(async move {
                if let Ok(client) = hyper::upgrade::on(request).await {
                    relay::join(TokioIo::new(client), server, relay::HALF_OPEN).await;
                }
                drop(place);
            });
            return Ok(Response::new(Either::Left(Full::default())));
        }
        let lost = |why: hyper::Error| Answer::about(&target, 502, why.to_string());
        target.address(&mut request).map_err(|why| Answer::to_nobody(400, why.to_string()))?;
        let (mut sender, server) = client::conn::http1::Builder::new()
            .title_case_headers(true)
            .handshake(TokioIo::new(server))
            .await
            .map_err(lost)?;
        spawn_local(async move {
            // The one who waits for the answer is told how it ended.
            let _ended = server.await;
            drop(place);
        });
        let mut response = sender.send_request(request).await.map_err(lost)?;
        remove_hops(response.headers_mut());
        Ok(response.map(Either::Right))
    }

    /// Decides about a request, logs that, and connects to the host.
    async fn open(&self, target: &Target) -> Result<TcpStream, Answer> {
        let decided = self.addresses(target).await;
        let is_logged = self.note(Some(target), decided.as_ref().err());
        let addresses = decided?;
        // What cannot be logged does not happen.
        is_logged.map_err(|why| {
            Answer::about(target, 503, format!("the request cannot be logged: {why}"))
        })?;
        connect(&addresses, self.bounds.connect)
            .await
            .map_err(|why| Answer::about(target, 502, why.to_string()))
    }

    /// The addresses to which a request may connect.
    async fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, Answer> {
        let Target { host, port } = target;
        let entry = HostRule::allowing(host, *port);
        if !self.rules.iter().any(|rule| rule.matches(host, *port)) {
            let why = format!(
                "the policy does not list it; if it is needed, ask the operator to add it to the \
                 policy, as in `network = [\"{entry}\"]`"
            );
            return Err(Answer::about(target, 403, why));
        }
        let (asked, port, rules) = (host.clone(), *port, Arc::clone(&self.rules));
        // The system's resolver waits.
        let found = spawn_blocking(move || addresses::of_host(&asked, port, &rules)).await;
        let found = found.map_err(|why| Answer::about(target, 502, why.to_string()))?;
        found.map_err(|why| match &why {
            NoAddress::Unresolved(_) => Answer::about(target, 502, why.to_string()),
            NoAddress::Closed { address, .. } => {
                let address = HostRule::allowing(&Host::Address(*address), port);
                let why = format!(
                    "{why}; if it is needed, ask the operator to add the address to the policy \
                     too, as in `network = [\"{entry}\", \"{address}\"]`"
                );
                Answer::about(target, 403, why)
            }
        })
    }

    /// Logs a request, with what was wrong with it.
    fn note(&self, target: Option<&Target>, answer: Option<&Answer>) -> io::Result<()> {
        let host = target.map(|target| target.host.to_string());
        self.log.append(&Line {
            host: host.as_deref(),
            port: target.map(|target| target.port),
            // A name that cannot be resolved was not refused.
            allowed: answer.is_none_or(|answer| answer.status == 502),
            reason: answer.map(|answer| answer.why.as_str()),
        })
    }
}

/// Connects to the first of these addresses that answers.
async fn connect(addresses: &[SocketAddr], within: Duration) -> io::Result<TcpStream> {
    let until = Instant::now() + within;
    let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
    for (index, address) in addresses.iter().enumerate() {
        // An address that does not answer must leave time for the others.
        let others = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        let left = until.saturating_duration_since(Instant::now()) / others;
        let tried = timeout(left, TcpStream::connect(address)).await;
        match tried.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())) {
            Ok(server) => return Ok(server),
            Err(why) => {
                failed = io::Error::new(why.kind(), format!("cannot connect to {address}: {why}"));
            }
        }
    }
    Err(failed)
}

/// What a client is told if it gets no answer of a server.
#[derive(Debug)]
struct Answer {
    status: u16,
    /// The subject of the sentence.
    what: String,
    why: String,
}

impl Answer {
    fn about(target: &Target, status: u16, why: String) -> Self {
        Self { status, what: format!("`{}:{}`", target.host, target.port), why }
    }

    /// To a request whose host is not known.
    fn to_nobody(status: u16, why: String) -> Self {
        Self { status, what: "the request".to_owned(), why }
    }

    fn text(&self) -> String {
        format!("{} is not reached: {}\n", self.what, self.why)
    }

    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Either::Left(Full::from(self.text())));
        // All of them are statuses.
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or_default();
        let plain = header::HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        if response.status() == StatusCode::FORBIDDEN {
            // Many programs show only this.
            let phrase = ReasonPhrase::from_static(b"Refused by the policy");
            response.extensions_mut().insert(phrase);
        }
        response
    }
}
