//! Sending spans to the collector. Batches, messages and retries are those of OpenTelemetry's SDK;
//! its requests go through the client that the server uses for all others, and are counted.

use std::{
    future::{Future, ready},
    io,
    mem::{replace, take},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, RetryPolicy, WithExportConfig, WithHttpConfig};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanExporter, SpanProcessor},
};
use prost::Message;
use ureq::{
    Agent,
    http::{StatusCode, Uri},
};
use wakeful_agent::http::is_loopback;

use super::{TraceOptions, span};
use crate::{
    agents::Agents,
    outgoing::{ANSWER_BYTES, client},
};

/// The maximum number of spans that wait for the collector.
const MOST_SPANS: usize = 8_192;

/// Begins to send what the processor is given.
pub(super) fn start(
    agents: &Arc<Agents>,
    options: &TraceOptions,
) -> io::Result<(Arc<Collector>, BatchSpanProcessor)> {
    let collector = Arc::new(Collector {
        agents: Arc::downgrade(agents),
        client: http(&options.url),
        url: options.url.clone(),
        waiting: AtomicUsize::new(0),
        state: Mutex::default(),
    });
    let mut exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_shared_http_client(Arc::clone(&collector) as _)
        .with_endpoint(&options.url)
        .with_protocol(Protocol::HttpBinary)
        .with_headers(options.headers.iter().cloned().collect())
        .with_retry_policy(
            RetryPolicy::recommended()
                .with_max_retries(usize::MAX)
                .with_initial_delay(options.first_wait)
                .with_max_delay(options.longest_wait)
                .with_max_jitter(options.first_wait),
        )
        // That of all tries together. A try has that of the client.
        .with_timeout(Duration::MAX)
        .build()
        .map_err(io::Error::other)?;
    exporter.set_resource(&span::resource(&options.service_name));
    let counted = Counted { exporter, collector: Arc::clone(&collector) };
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(MOST_SPANS)
        .with_max_export_batch_size(512)
        .with_scheduled_delay(Duration::from_secs(1));
    Ok((collector, BatchSpanProcessor::new(counted, batches.build())))
}

/// The collector, as the client that sends to it knows it.
#[derive(Debug)]
pub(super) struct Collector {
    /// A try that outlives the server must not keep its store.
    agents: Weak<Agents>,
    client: Agent,
    url: String,
    /// The spans that wait or are being sent.
    waiting: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many spans of the newest request the collector did not take.
    rejected: usize,
    fails: bool,
    has_rejected: bool,
}

impl Collector {
    /// Gives spans to the processor, as far as there is room. Nobody waits.
    pub(super) fn push(&self, processor: &BatchSpanProcessor, spans: Vec<SpanData>) {
        let room = MOST_SPANS.saturating_sub(self.waiting());
        self.count(0, spans.len().saturating_sub(room));
        for span in spans.into_iter().take(room) {
            self.waiting.fetch_add(1, Ordering::AcqRel);
            processor.on_end(span);
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    fn count(&self, sent: usize, dropped: usize) {
        if let Some(agents) = self.agents.upgrade() {
            agents.metrics.spans(sent, dropped);
        }
    }

    fn tell(&self, what: &str) {
        if let Some(agents) = self.agents.upgrade() {
            agents.tell(&format!("the collector of traces at {} {what}", self.url));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What is guarded is consistent between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends spans once.
    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        if self.agents.strong_count() == 0 {
            // The server has ended, and the SDK would try it for ever.
            return Ok(Response::builder().status(StatusCode::GONE).body(Bytes::new())?);
        }
        let (parts, body) = request.into_parts();
        let answer = self.client.run(Request::from_parts(parts, &body[..]));
        let mut answer =
            answer.inspect_err(|why| self.fails(&format!("cannot be reached: {why}")))?;
        let text = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec();
        let text = text.unwrap_or_default();
        match answer.status() {
            status if status.is_success() => self.works(&text),
            status => self.fails(&format!("answered {status}")),
        }
        Ok(answer.map(|_| text.into()))
    }

    fn fails(&self, why: &str) {
        if !replace(&mut self.state().fails, true) {
            self.tell(&format!("{why}; it is tried again if that may help"));
        }
    }

    fn works(&self, answer: &[u8]) {
        // One that cannot be read says no more than its status.
        let told = ExportTraceServiceResponse::decode(answer).unwrap_or_default();
        let partial = told.partial_success.unwrap_or_default();
        let mut state = self.state();
        state.rejected = usize::try_from(partial.rejected_spans).unwrap_or(0);
        if take(&mut state.fails) {
            self.tell("works again");
        }
        let is_whole = state.rejected == 0 && partial.error_message.is_empty();
        if !is_whole && !replace(&mut state.has_rejected, true) {
            let (rejected, why) = (state.rejected, partial.error_message);
            self.tell(&format!(
                "did not take {rejected} spans: {why}; wakeful_spans_dropped_total counts them"
            ));
        }
    }
}

impl HttpClient for Collector {
    /// It blocks: the SDK sends on a thread of its own.
    fn send_bytes<'life, 'answer>(
        &'life self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'answer>>
    where
        'life: 'answer,
        Self: 'answer,
    {
        Box::pin(ready(self.send(request)))
    }
}

/// The exporter of the SDK, with counts.
#[derive(Debug)]
struct Counted {
    exporter: opentelemetry_otlp::SpanExporter,
    collector: Arc<Collector>,
}

impl SpanExporter for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let (count, collector) = (batch.len(), &self.collector);
        let exported = self.exporter.export(batch).await;
        let rejected = exported.as_ref().map_or(count, |()| collector.state().rejected.min(count));
        collector.count(count - rejected, rejected);
        collector.waiting.fetch_sub(count, Ordering::AcqRel);
        exported
    }
}

fn http(url: &str) -> Agent {
    // A proxy of the environment leads to other machines.
    if url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(is_loopback)) {
        return client().proxy(None).build().into();
    }
    client().build().into()
}
