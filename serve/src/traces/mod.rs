//! Traces: each turn that ends becomes spans, which are sent to a collector (OTLP over HTTP).
//!
//! One thread follows the ledgers and reads a turn back when it has ended; a thread of
//! OpenTelemetry's SDK sends. No agent waits for either. What a collector does not get is lost for
//! it, and in the ledger all the same.

mod send;
mod span;
mod turn;

use std::{
    io,
    sync::{Arc, Mutex, OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use opentelemetry_sdk::trace::{SpanData, SpanProcessor};
use percent_encoding::percent_decode_str;
use ureq::http::{HeaderName, HeaderValue, Uri};
use wakeful_core::record::{chain::Head, entry::Entry};

use self::{send::Collector, span::Model, turn::Turn};
use crate::agents::{
    Agents, Cell, Turns,
    tail::{self, Stop},
};

pub use self::span::CONVENTIONS;

/// The time that traces have at the end of the server.
const LAST: Duration = Duration::from_secs(2);

/// The collector of spans, and how it is spoken to.
#[derive(Clone)]
pub struct TraceOptions {
    url: String,
    /// They may hold the key of a collector, so they are not shown.
    headers: Vec<(String, String)>,
    service_name: String,
    /// The wait before spans are sent again for the first time. It doubles each time.
    pub first_wait: Duration,
    /// The longest such wait.
    pub longest_wait: Duration,
}

/// Why spans cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// It is not the address of a collector.
    #[error(
        "`{0}` is not the address of a collector: write it as http://localhost:4318, without \
         /v1/traces, a name or a password"
    )]
    Endpoint(String),
    /// A header is not one. It may hold a key, so it is not shown.
    #[error(
        "header {0} for the collector cannot be sent: write OTEL_EXPORTER_OTLP_HEADERS as \
         name=value,name=value, with %20 for a space and %2C for a comma"
    )]
    Header(usize),
}

impl TraceOptions {
    /// Spans go to the collector at this address, with headers such as
    /// `authorization=Bearer%20key`, as those of the service of this name.
    ///
    /// # Errors
    /// If the address is not that of a collector, or a header cannot be sent.
    pub fn new(endpoint: &str, headers: &str, service_name: &str) -> Result<Self, TraceError> {
        let wrong = || TraceError::Endpoint(endpoint.to_owned());
        let base = endpoint.trim_end_matches('/');
        let uri: Uri = base.parse().map_err(|_| wrong())?;
        let is_right = matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && uri.authority().is_some_and(|it| !it.as_str().contains('@'))
            && uri.query().is_none()
            && !uri.path().ends_with("/v1/traces");
        if !is_right {
            return Err(wrong());
        }
        let parts = headers.split(',').enumerate().filter(|(_, part)| !part.trim().is_empty());
        let headers = parts.map(|(at, part)| header(part).ok_or(TraceError::Header(at + 1)));
        Ok(Self {
            url: format!("{base}/v1/traces"),
            headers: headers.collect::<Result<_, _>>()?,
            service_name: service_name.to_owned(),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
        })
    }
}

/// A header that can be sent: the SDK takes only values of visible ASCII characters and blanks.
fn header(part: &str) -> Option<(String, String)> {
    let (name, value) = part.split_once('=')?;
    let name: HeaderName = name.trim().parse().ok()?;
    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
    let value: HeaderValue = value.parse().ok()?;
    Some((name.to_string(), value.to_str().ok()?.to_owned()))
}

/// The traces of a server.
pub(crate) struct Traces {
    agents: Arc<Agents>,
    collector: Arc<Collector>,
    /// When the server told it to end.
    ended: Arc<OnceLock<Instant>>,
    /// It is closed when nothing more is sent.
    is_done: Mutex<mpsc::Receiver<()>>,
}

impl Traces {
    /// Begins to trace the turns that end after these heads.
    pub(crate) fn start(
        agents: &Arc<Agents>,
        heads: Vec<Head>,
        options: &TraceOptions,
    ) -> io::Result<Self> {
        let ended = Arc::<OnceLock<_>>::default();
        let (collector, processor) = send::start(agents, options)?;
        let (done, is_done) = mpsc::channel();
        let traces = Self {
            agents: Arc::clone(agents),
            collector: Arc::clone(&collector),
            ended: Arc::clone(&ended),
            is_done: Mutex::new(is_done),
        };
        // So that both are there from the beginning.
        agents.metrics.spans(0, 0);
        let own = Arc::clone(agents);
        thread::Builder::new().name("wakeful-trace".into()).spawn(move || {
            let ends =
                |is_all: bool| ended.get().is_some_and(|since| is_all || since.elapsed() >= LAST);
            let mut is_told = false;
            own.follow(heads, "traced", ends, tail::all, |cell, entry| {
                // Of a shared store, its server traces it.
                if !own.has(cell) {
                    return;
                }
                match trace(&own, cell, entry) {
                    Ok(spans) => collector.push(&processor, spans),
                    Err(why) if !std::mem::replace(&mut is_told, true) => {
                        own.tell(&format!("{}: a turn cannot be traced: {why}", cell.agent));
                    }
                    Err(_) => {}
                }
            });
            let spent = ended.get().map_or(Duration::ZERO, Instant::elapsed);
            // What it cannot send is counted.
            let _ = processor.shutdown_with_timeout(LAST.saturating_sub(spent));
            drop(done);
        })?;
        Ok(traces)
    }

    /// Sends what there is, unless the collector holds it up.
    pub(crate) fn end(self) {
        // It is told once.
        let _ = self.ended.set(Instant::now());
        self.agents.changes.ring();
        if let Ok(is_done) = self.is_done.into_inner() {
            let _ = is_done.recv_timeout(LAST);
        }
        let left = self.collector.waiting();
        if left > 0 {
            self.agents.tell(&format!("{left} spans were not sent before the end"));
        }
    }
}

/// The spans of the turn that an entry ended, if it did.
fn trace(agents: &Agents, cell: &Cell, entry: &Entry) -> Result<Vec<SpanData>, Stop> {
    if !turn::ends(entry) {
        return Ok(Vec::new());
    }
    let Some(turn) = Turn::read(agents.reading(cell), entry.seq)? else { return Ok(Vec::new()) };
    let brief = cell.brief();
    // A model of this process is spoken to as OpenAI's are.
    let provider = if cell.turns() == Some(Turns::Model) { "openai" } else { "_OTHER" };
    let model = Model { name: brief.model.as_deref(), provider };
    Ok(span::of(&cell.agent, &turn, &model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_named_by_its_address_alone() {
        for (endpoint, url) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
            ("https://collect.example/otlp", "https://collect.example/otlp/v1/traces"),
            ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
        ] {
            let options = TraceOptions::new(endpoint, "", "wakeful").expect(endpoint);
            assert_eq!(options.url, url);
        }
        for wrong in [
            "",
            "localhost:4318",
            "grpc://localhost:4317",
            "http://",
            "http://me:secret@collect.example",
            "http://localhost:4318/v1/traces",
            "http://localhost:4318/?key=1",
            "http://local host",
        ] {
            let why = TraceOptions::new(wrong, "", "wakeful").err();
            assert_eq!(why, Some(TraceError::Endpoint(wrong.to_owned())), "{wrong}");
        }
    }

    #[test]
    fn headers_are_read_as_the_specification_writes_them() {
        let text = "api-key=a%2Cb%3D=, Authorization = Bearer%20k ,,x=";
        let options = TraceOptions::new("http://localhost:4318", text, "wakeful").expect("right");
        let headers = options.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let expected = [("api-key", "a,b=="), ("authorization", "Bearer k"), ("x", "")];
        assert_eq!(headers.collect::<Vec<_>>(), expected);
        for (wrong, number) in
            [("key", 1), ("a=b,=c", 2), ("a b=c", 1), ("a=%0d%0ab", 1), ("a=%C3%A4", 1)]
        {
            let why = TraceOptions::new("http://localhost:4318", wrong, "wakeful").err();
            assert_eq!(why, Some(TraceError::Header(number)), "{wrong}");
        }
    }
}
