//! The spans of a turn, by the conventions of OpenTelemetry for generative AI.
//!
//! The ids are the beginning of the chain of an entry: the one that began the turn for its trace
//! and its own span, the one that ended it for a round or a tool. So a span that is sent twice is
//! the same span, no two stores share an id, and an id leads to its entry.

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value::Value},
    resource::v1::Resource,
    trace::v1::{
        ResourceSpans, ScopeSpans, Span, Status,
        span::{Event, Link, SpanKind},
        status::StatusCode,
    },
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

/// A request with spans.
pub(super) fn request(service: &str, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let version = env!("CARGO_PKG_VERSION");
    let schema_url = format!("https://opentelemetry.io/schemas/{CONVENTIONS}");
    let resource = Resource {
        attributes: vec![text("service.name", service), text("service.version", version)],
        ..Resource::default()
    };
    let scope = InstrumentationScope {
        name: "wakeful".to_owned(),
        version: version.to_owned(),
        ..InstrumentationScope::default()
    };
    let scope_spans =
        vec![ScopeSpans { scope: Some(scope), spans, schema_url: schema_url.clone() }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans, schema_url }];
    ExportTraceServiceRequest { resource_spans }
}

/// The spans of a turn: its own first, then those of its rounds and tools in order.
pub(super) fn of(agent: &AgentId, turn: &Turn, model: &Model<'_>) -> Vec<Span> {
    let mut spans = vec![of_turn(agent, turn, model)];
    // The ledger says when something ended. It began when the thing before it had ended.
    let mut began = turn.first.at;
    for mark in &turn.between {
        let mut span = match &mark.what {
            What::Round(round) => of_round(round, model),
            What::Tool(tool) => of_tool(tool),
            What::Step => {
                began = mark.at;
                continue;
            }
            _ => continue,
        };
        span.trace_id = trace_id(&turn.first.chain);
        span.span_id = span_id(&mark.chain);
        span.parent_span_id = span_id(&turn.first.chain);
        span.attributes.push(number("wakeful.entry", mark.seq.0));
        spans.push(timed(span, began, mark.at));
        began = mark.at;
    }
    spans
}

fn of_turn(agent: &AgentId, turn: &Turn, model: &Model<'_>) -> Span {
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
    let links = turn.before.iter().map(|before| Link {
        trace_id: trace_id(&before.first),
        span_id: span_id(&before.first),
        attributes: vec![text("wakeful.run_id", before.run_id.as_str())],
        ..Link::default()
    });
    let span = Span {
        trace_id: trace_id(&turn.first.chain),
        span_id: span_id(&turn.first.chain),
        name: format!("invoke_agent {agent}"),
        kind: SpanKind::Internal.into(),
        attributes,
        events,
        dropped_events_count: u32::try_from(too_many).unwrap_or(u32::MAX),
        links: links.collect(),
        status: has_failed.then(|| failed(record.reason.as_deref().unwrap_or(end))),
        ..Span::default()
    };
    timed(span, turn.first.at, turn.last.at)
}

fn of_round(round: &Round, model: &Model<'_>) -> Span {
    let mut attributes =
        vec![text("gen_ai.operation.name", "chat"), text("gen_ai.provider.name", model.provider)];
    let texts = [
        ("gen_ai.request.model", model.name),
        ("gen_ai.response.model", round.model.as_deref()),
        ("gen_ai.response.id", round.response_id.as_deref()),
    ];
    attributes.extend(texts.into_iter().filter_map(|(key, value)| Some(text(key, value?))));
    attributes.extend(round.finish_reason.as_deref().map(|reason| {
        let values = vec![AnyValue { value: Some(said(reason)) }];
        attribute("gen_ai.response.finish_reasons", Value::ArrayValue(ArrayValue { values }))
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
    Span { name, kind: SpanKind::Client.into(), attributes, ..Span::default() }
}

fn of_tool(tool: &Tool) -> Span {
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
    Span {
        name: format!("execute_tool {}", beginning(&tool.name)),
        kind: SpanKind::Internal.into(),
        attributes,
        // What the tool said is in the ledger.
        status: tool.has_failed.then(|| failed("")),
        ..Span::default()
    }
}

/// A decision as an event of its turn.
fn event(mark: &Mark) -> Option<Event> {
    let What::Decision(Decided { kind, rule, reason, .. }) = &mark.what else { return None };
    Some(Event {
        time_unix_nano: nanos(mark.at),
        name: "wakeful.decision".to_owned(),
        attributes: vec![
            text("wakeful.decision.kind", kind.as_str()),
            text("wakeful.decision.rule", rule),
            text("wakeful.decision.reason", reason),
            number("wakeful.entry", mark.seq.0),
        ],
        ..Event::default()
    })
}

/// A clock that was set back must not make a span that ends before it begins.
fn timed(span: Span, began: Timestamp, ended: Timestamp) -> Span {
    let end_time_unix_nano = nanos(ended);
    let start_time_unix_nano = nanos(began).min(end_time_unix_nano);
    Span { start_time_unix_nano, end_time_unix_nano, ..span }
}

fn trace_id(first: &Chain) -> Vec<u8> {
    first.as_bytes()[..16].to_vec()
}

fn span_id(entry: &Chain) -> Vec<u8> {
    entry.as_bytes()[..8].to_vec()
}

fn failed(why: &str) -> Status {
    Status { message: beginning(why).to_owned(), code: StatusCode::Error.into() }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, said(value))
}

fn number(key: &str, value: u64) -> KeyValue {
    attribute(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn said(text: &str) -> Value {
    Value::StringValue(beginning(text).to_owned())
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(MOST_CHARS).map_or(text, |(at, _)| &text[..at])
}

fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanos()).unwrap_or(0)
}
