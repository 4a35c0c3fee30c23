//! The answers of the test server, with their faults.

use std::{io::Write, time::Duration};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

/// One answer: a status, headers, a body, and how it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) length: Length,
    pub(super) before_head: Duration,
    pub(super) splits: Splits,
    pub(super) pause: Duration,
    pub(super) stop: Option<Stop>,
}

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Each piece is an HTTP chunk.
    Chunked,
    /// The head has the length.
    Given,
    /// The connection is closed.
    UntilClose,
}

/// The positions at which the body is split.
#[derive(Clone, Debug)]
pub(super) enum Splits {
    Nowhere,
    At(usize),
    Every(usize),
}

/// What happens after this many bytes of the body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// The connection is closed.
    Cut(usize),
    /// The server stays silent until the client leaves.
    Silence(usize),
    /// The server reads the request and never answers.
    NoHead,
}

impl Answer {
    /// A status with a body of this content type.
    pub(crate) fn status(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            length: Length::Chunked,
            before_head: Duration::ZERO,
            splits: Splits::Nowhere,
            pause: Duration::ZERO,
            stop: None,
        }
    }

    /// A status with an error in the shape of the format.
    pub(crate) fn error(status: u16, message: &str, kind: &str, code: Value) -> Self {
        let body =
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
        Self::status(status, "application/json", body.to_string())
    }

    /// A stream of these events.
    pub(crate) fn stream(events: Events) -> Self {
        Self::status(200, "text/event-stream", events.0)
    }

    /// A complete stream in which the model says this, in two deltas, and stops.
    pub(crate) fn says(text: &str) -> Self {
        let half = (0..=text.len() / 2).rfind(|&at| text.is_char_boundary(at)).unwrap_or_default();
        Self::stream(
            Events::new()
                .text(&text[..half])
                .text(&text[half..])
                .finish("stop")
                .usage(7, 2, 0)
                .done(),
        )
    }

    /// A complete stream in which the model calls these tools, each with its name and arguments.
    ///
    /// A call that names no limit for its wait gets a long one. The usual ones are for people who
    /// wait, and a slow machine may need more.
    pub(crate) fn calls(calls: &[(&str, Value)]) -> Self {
        let begun =
            calls.iter().enumerate().fold(Events::new(), |events, (index, (name, arguments))| {
                let mut arguments = arguments.clone();
                let limit = match *name {
                    "ExecCommand" => "yield_time_ms",
                    "TaskOutput" => "timeout_ms",
                    _ => "",
                };
                if let Value::Object(given) = &mut arguments
                    && !limit.is_empty()
                {
                    given.entry(limit).or_insert(json!(600_000));
                }
                events
                    .call(index, &format!("call-{index}"), name)
                    .arguments(index, &arguments.to_string())
            });
        Self::stream(begun.finish("tool_calls").usage(9, 4, 0).done())
    }

    /// No answer: the server reads the request, and the connection stays silent.
    pub(crate) fn never() -> Self {
        Self { stop: Some(Stop::NoHead), ..Self::status(200, "", "") }
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Marks the end of the body in another way.
    pub(crate) fn length(self, length: Length) -> Self {
        Self { length, ..self }
    }

    /// Compresses the body, and says so.
    pub(crate) fn compressed(mut self) -> Self {
        let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
        compressed.write_all(&self.body).expect("memory");
        self.body = compressed.finish().expect("memory");
        self.header("content-encoding", "gzip")
    }

    /// Names another content type.
    pub(crate) fn of_type(mut self, content_type: &str) -> Self {
        self.headers.retain(|(name, _)| name != "content-type");
        self.header("content-type", content_type)
    }

    /// Waits this long before the head, and again in the middle of it.
    pub(crate) fn slow_head(self, wait: Duration) -> Self {
        Self { before_head: wait, ..self }
    }

    /// Sends two pieces with a pause between them. Without the pause a client may read both at
    /// once.
    pub(crate) fn split_at(self, at: usize, pause: Duration) -> Self {
        Self { splits: Splits::At(at), pause, ..self }
    }

    /// Sends pieces of this many bytes, with pauses between them.
    pub(crate) fn in_pieces_of(self, bytes: usize, pause: Duration) -> Self {
        Self { splits: Splits::Every(bytes), pause, ..self }
    }

    /// Closes the connection after this many bytes of the body.
    pub(crate) fn cut_after(self, bytes: usize) -> Self {
        Self { stop: Some(Stop::Cut(bytes)), ..self }
    }

    /// Stays silent after this many bytes of the body.
    pub(crate) fn silent_after(self, bytes: usize) -> Self {
        Self { stop: Some(Stop::Silence(bytes)), ..self }
    }

    /// The number of bytes of the body before the first occurrence of this text.
    pub(crate) fn bytes_before(&self, text: &str) -> usize {
        let at = self.body.windows(text.len()).position(|window| window == text.as_bytes());
        at.unwrap_or_else(|| panic!("`{text}` is not in the body"))
    }

    /// The length of the body in bytes.
    pub(crate) fn body_len(&self) -> usize {
        self.body.len()
    }
}

/// Events of a stream, in the shape of chat completions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Vec<u8>);

impl Events {
    /// No events yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds these bytes unchanged.
    pub(crate) fn raw(mut self, text: &str) -> Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// Adds an event with this data.
    pub(crate) fn data(self, data: &Value) -> Self {
        self.raw(&format!("data: {data}\n\n"))
    }

    /// Adds a chunk with this delta.
    pub(crate) fn delta(self, delta: Value) -> Self {
        self.data(
            &json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "test-model",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
        )
    }

    /// Adds a piece of text.
    pub(crate) fn text(self, text: &str) -> Self {
        self.delta(json!({"content": text}))
    }

    /// Adds the beginning of a tool call.
    pub(crate) fn call(self, index: usize, id: &str, name: &str) -> Self {
        self.delta(json!({"tool_calls": [{
            "index": index,
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }]}))
    }

    /// Adds a piece of a call's arguments.
    pub(crate) fn arguments(self, index: usize, piece: &str) -> Self {
        self.delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    }

    /// Adds the reason for the end.
    pub(crate) fn finish(self, reason: &str) -> Self {
        self.data(&json!({
            "id": "chatcmpl-1",
            "model": "test-model",
            "choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
        }))
    }

    /// Adds the token counts in a chunk of their own, as `include_usage` sends them.
    pub(crate) fn usage(self, prompt: u64, completion: u64, cached: u64) -> Self {
        self.data(&json!({
            "id": "chatcmpl-1",
            "model": "test-model",
            "choices": [],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        }))
    }

    /// Adds the end of the stream.
    pub(crate) fn done(self) -> Self {
        self.raw("data: [DONE]\n\n")
    }
}
