//! The spans of a turn, by the conventions of OpenTelemetry for generative AI.
//!
//! The ids are the beginning of the chain of an entry: the one that began the turn for its trace
//! and its own span, the one that ended it for a round or a tool. So a span that is sent twice is
//! the same span, no two stores share an id, and an id leads to its entry.

use std::time::{Duration, SystemTime};

use opentelemetry::{
    Array, InstrumentationScope, KeyValue, StringValue, Value,
    trace::{Event, Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::{
    Resource,
    trace::{SpanData, SpanEvents, SpanLinks},
};
use wakeful_core::{id::AgentId, record::chain::Chain, time::Timestamp};

use super::turn::{Decided, Mark, Round, Tool, Turn, What};

/// The version of the conventions. Those for generative AI may still change, so it is pinned; it is
/// the last one before they moved to a repository of their own.
pub const CONVENTIONS: &str = "1.41.0";

/// The most events of a span, as the SDKs of OpenTelemetry have it.
const MOST_EVENTS: usize = 128;

/// The most characters of a text. Names and codes are shorter.
const MOST_CHARS: usize = 1_000;

/// Who answers the rounds of a turn.
pub(super) struct Model<'a> {
    /// The name of the model that the agent says it uses.
    pub(super) name: Option<&'a str>,
    /// How it is spoken to, as the conventions name it.
    pub(super) provider: &'static str,
}

/// Who says the spans.
pub(super) fn resource(service: &str) -> Resource {
    let version = text("service.version", env!("CARGO_PKG_VERSION"));
    Resource::builder_empty()
        .with_schema_url([text("service.name", service), version], schema_url())
        .build()
}

fn schema_url() -> String {
    format!("https://opentelemetry.io/schemas/{CONVENTIONS}")
}

/// What a span is before its times and its ids in its turn are known.
struct Part {
    name: String,
    kind: SpanKind,
    attributes: Vec<KeyValue>,
    status: Status,
}

impl Part {
    /// The span of an entry in a trace.
    fn span(
        self,
        trace: &Chain,
        entry: &Chain,
        (began, ended): (Timestamp, Timestamp),
    ) -> SpanData {
        SpanData {
            span_context: context(trace, entry),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: self.kind,
            name: self.name.into(),
            // A clock that was set back must not make a span that ends before it begins.
            start_time: time(began.min(ended)),
            end_time: time(ended),
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: self.status,
            instrumentation_scope: InstrumentationScope::builder("wakeful")
                .with_version(env!("CARGO_PKG_VERSION"))
                .with_schema_url(schema_url())
                .build(),
        }
    }
}

/// The spans of a turn: its own first, then those of its rounds and tools in order.
pub(super) fn of(agent: &AgentId, turn: &Turn, model: &Model<'_>) -> Vec<SpanData> {
    let mut spans = vec![of_turn(agent, turn, model)];
    // The ledger says when something ended. It began when the thing before it had ended.
    let mut began = turn.first.at;
    for mark in &turn.between {
        let part = match &mark.what {
            What::Round(round) => of_round(round, model),
            What::Tool(tool) => of_tool(tool),
            What::Step => {
                began = mark.at;
                continue;
            }
            _ => continue,
        };
        let mut span = part.span(&turn.first.chain, &mark.chain, (began, mark.at));
        span.parent_span_id = span_id(&turn.first.chain);
        span.attributes.push(number("wakeful.entry", mark.seq.0));
        spans.push(span);
        began = mark.at;
    }
    spans
}

fn of_turn(agent: &AgentId, turn: &Turn, model: &Model<'_>) -> SpanData {
    let record = &turn.record;
    // A restart interrupts a run, which has no kind of end then.
    let end = record.kind.map_or("interrupted", |kind| kind.as_str());
    let has_failed = record.kind.is_none_or(|kind| kind.is_failure());
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.provider.name", model.provider),
        text("gen_ai.agent.id", agent.as_str()),
        text("gen_ai.agent.name", agent.as_str()),
        text("wakeful.run_id", record.run_id.as_str()),
        number("wakeful.turn_index", record.turn_index),
        text("wakeful.message_id", record.message_id.as_str()),
        text("wakeful.turn.end", end),
        number("wakeful.entry.first", turn.first.seq.0),
        number("wakeful.entry.last", turn.last.seq.0),
    ];
    attributes.extend(model.name.map(|name| text("gen_ai.request.model", name)));
    let item = record.work_item.as_ref();
    attributes.extend(item.map(|item| text("wakeful.work_item_id", item.work_item_id.as_str())));
    if let Some(first) = &record.retry_of {
        attributes.push(text("wakeful.retry_of", first.as_str()));
        attributes.push(number("wakeful.attempt", record.attempt));
    }
    attributes.extend(has_failed.then(|| text("error.type", end)));
    let decisions = turn.decision.iter().chain(&turn.between);
    let mut events: Vec<_> = decisions.filter_map(event).collect();
    let too_many = events.len().saturating_sub(MOST_EVENTS);
    events.truncate(MOST_EVENTS);
    let part = Part {
        name: format!("invoke_agent {agent}"),
        kind: SpanKind::Internal,
        attributes,
        status: status(has_failed.then(|| record.reason.as_deref().unwrap_or(end))),
    };
    let first = &turn.first;
    let mut span = part.span(&first.chain, &first.chain, (first.at, turn.last.at));
    span.events.events = events;
    span.events.dropped_count = u32::try_from(too_many).unwrap_or(u32::MAX);
    span.links.links.extend(turn.before.as_ref().map(|before| {
        let run = vec![text("wakeful.run_id", before.run_id.as_str())];
        Link::new(context(&before.first, &before.first), run, 0)
    }));
    span
}

fn of_round(round: &Round, model: &Model<'_>) -> Part {
    let mut attributes =
        vec![text("gen_ai.operation.name", "chat"), text("gen_ai.provider.name", model.provider)];
    let texts = [
        ("gen_ai.request.model", model.name),
        ("gen_ai.response.model", round.model.as_deref()),
        ("gen_ai.response.id", round.response_id.as_deref()),
    ];
    attributes.extend(texts.into_iter().filter_map(|(key, value)| Some(text(key, value?))));
    attributes.extend(round.finish_reason.as_deref().map(|reason| {
        let reasons = vec![StringValue::from(beginning(reason).to_owned())];
        KeyValue::new("gen_ai.response.finish_reasons", Value::Array(Array::String(reasons)))
    }));
    let numbers = [
        ("gen_ai.usage.input_tokens", round.input_tokens),
        ("gen_ai.usage.output_tokens", round.output_tokens),
        ("wakeful.round", round.number),
    ];
    attributes.extend(numbers.into_iter().filter_map(|(key, value)| Some(number(key, value?))));
    let name = match model.name.or(round.model.as_deref()) {
        Some(name) => format!("chat {}", beginning(name)),
        None => "chat".to_owned(),
    };
    Part { name, kind: SpanKind::Client, attributes, status: Status::Unset }
}

fn of_tool(tool: &Tool) -> Part {
    let mut attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", &tool.name),
        text("gen_ai.tool.type", "function"),
        text("wakeful.tool_execution_id", &tool.id),
        number("wakeful.tool.input_bytes", tool.input_bytes as u64),
        number("wakeful.tool.output_bytes", tool.output_bytes as u64),
    ];
    attributes.extend(tool.call_id.as_deref().map(|id| text("gen_ai.tool.call.id", id)));
    attributes.extend(tool.has_failed.then(|| text("error.type", "tool_error")));
    Part {
        name: format!("execute_tool {}", beginning(&tool.name)),
        kind: SpanKind::Internal,
        attributes,
        // What the tool said is in the ledger.
        status: status(tool.has_failed.then_some("")),
    }
}

/// A decision as an event of its turn.
fn event(mark: &Mark) -> Option<Event> {
    let What::Decision(Decided { kind, rule, reason, .. }) = &mark.what else { return None };
    let attributes = vec![
        text("wakeful.decision.kind", kind.as_str()),
        text("wakeful.decision.rule", rule),
        text("wakeful.decision.reason", reason),
        number("wakeful.entry", mark.seq.0),
    ];
    Some(Event::new("wakeful.decision", time(mark.at), attributes, 0))
}

/// Whose own span is that of an entry. All are sampled: what is not sent is not made.
fn context(trace: &Chain, entry: &Chain) -> SpanContext {
    let mut id = [0; 16];
    id.copy_from_slice(&trace.as_bytes()[..16]);
    let trace = TraceId::from_bytes(id);
    SpanContext::new(trace, span_id(entry), TraceFlags::SAMPLED, false, TraceState::NONE)
}

fn span_id(entry: &Chain) -> SpanId {
    let mut id = [0; 8];
    id.copy_from_slice(&entry.as_bytes()[..8]);
    SpanId::from_bytes(id)
}

fn status(failed: Option<&str>) -> Status {
    failed.map_or(Status::Unset, |why| Status::error(beginning(why).to_owned()))
}

fn text(key: &'static str, value: &str) -> KeyValue {
    KeyValue::new(key, beginning(value).to_owned())
}

fn number(key: &'static str, value: u64) -> KeyValue {
    KeyValue::new(key, i64::try_from(value).unwrap_or(i64::MAX))
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(MOST_CHARS).map_or(text, |(at, _)| &text[..at])
}

fn time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(at.as_nanos()).unwrap_or(0))
}
