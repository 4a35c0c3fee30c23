//! Sending spans to the collector (OTLP over HTTP).

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceResponse, trace::v1::Span,
};
use prost::Message;
use ureq::{
    Agent,
    http::{Response, StatusCode, Uri, header},
};

use wakeful_agent::http::{is_loopback, wait_asked_for};

use super::{TraceOptions, queue::Queue, span};
use crate::{
    agents::Agents,
    outgoing::{ANSWER_BYTES, client, jittered},
};

/// What became of spans.
enum Sent {
    /// The collector took them, but for this number, and may say why or that something is wrong.
    Taken { rejected: usize, why: String },
    /// It will never take them.
    Refused(String),
    /// It may take them later, perhaps not before this time.
    Away { why: String, wait: Option<Duration> },
}

/// Sends what comes until the end.
pub(super) fn work(agents: &Arc<Agents>, options: &TraceOptions, queue: &Queue) {
    let mut sender =
        Sender { agents, options, client: http(&options.url), is_away: false, has_refused: false };
    let mut wait = options.first_wait;
    while let Some(batch) = queue.take() {
        let count = batch.len();
        let (batch, sent) = sender.send(batch);
        match sent {
            Sent::Taken { rejected, why } => {
                let rejected = rejected.min(count);
                agents.metrics.spans(count - rejected, rejected);
                if !why.is_empty() || rejected > 0 {
                    sender.refused(&format!("did not take {rejected} spans: {why}"));
                }
                sender.works();
                wait = options.first_wait;
            }
            Sent::Refused(why) => {
                agents.metrics.spans(0, count);
                sender.refused(&why);
                wait = options.first_wait;
            }
            Sent::Away { why, wait: asked } => {
                agents.metrics.spans(0, queue.give_back(batch));
                sender.away(&why);
                let longest = options.longest_wait;
                if queue.pause(asked.unwrap_or_else(|| jittered(wait)).min(longest)) {
                    break;
                }
                wait = (wait * 2).min(longest);
            }
        }
    }
    agents.metrics.spans(0, queue.close());
}

struct Sender<'a> {
    agents: &'a Agents,
    options: &'a TraceOptions,
    client: Agent,
    is_away: bool,
    has_refused: bool,
}

impl Sender<'_> {
    /// Sends spans. They are given back, because they may have to be sent again.
    fn send(&self, batch: Vec<Span>) -> (Vec<Span>, Sent) {
        let mut request = span::request(&self.options.service_name, batch);
        let body = request.encode_to_vec();
        let scopes = request.resource_spans.iter_mut().flat_map(|it| &mut it.scope_spans);
        let batch = scopes.flat_map(|scope| std::mem::take(&mut scope.spans)).collect();
        let mut post = self.client.post(&self.options.url);
        for (name, value) in &self.options.headers {
            post = post.header(name, value);
        }
        let answer = post.header(header::CONTENT_TYPE, "application/x-protobuf").send(&body[..]);
        (
            batch,
            answer.map_or_else(
                |why| away(why.to_string()),
                |mut answer| {
                    let text = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec();
                    judge(&answer, &text.unwrap_or_default())
                },
            ),
        )
    }

    fn away(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_away, true) {
            self.tell(&format!("cannot be reached and is tried again: {why}"));
        }
    }

    fn works(&mut self) {
        if std::mem::take(&mut self.is_away) {
            self.tell("works again");
        }
    }

    /// It is told once, and counted each time.
    fn refused(&mut self, why: &str) {
        if !std::mem::replace(&mut self.has_refused, true) {
            self.tell(&format!("{why}; wakeful_spans_dropped_total counts what it refuses"));
        }
    }

    fn tell(&self, what: &str) {
        self.agents.tell(&format!("the collector of traces at {} {what}", self.options.url));
    }
}

fn http(url: &str) -> Agent {
    // A proxy of the environment leads to other machines.
    if url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(is_loopback)) {
        return client().proxy(None).build().into();
    }
    client().build().into()
}

fn away(why: String) -> Sent {
    Sent::Away { why, wait: None }
}

/// What an answer means, by the specification of OTLP.
fn judge<T>(answer: &Response<T>, text: &[u8]) -> Sent {
    let status = answer.status();
    if status.is_success() {
        // One that cannot be read says no more than its status.
        let told = ExportTraceServiceResponse::decode(text).unwrap_or_default();
        let partial = told.partial_success.unwrap_or_default();
        let rejected = usize::try_from(partial.rejected_spans).unwrap_or(0);
        return Sent::Taken { rejected, why: partial.error_message };
    }
    let why = format!("answered {status}");
    let comes_back = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    if comes_back.contains(&status) {
        let after = answer.headers().get(header::RETRY_AFTER).and_then(|it| it.to_str().ok());
        let wait = after.and_then(|after| wait_asked_for(after, SystemTime::now()));
        return Sent::Away { why, wait };
    }
    Sent::Refused(why)
}
