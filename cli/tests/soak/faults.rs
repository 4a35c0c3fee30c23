//! What goes wrong instead of an answer: rows of the table in docs/providers.md about refusals,
//! errors and answers that break off.

use serde_json::{Value, json};

use crate::{
    dice::Dice,
    openai::answer::{Answer, Events},
    shared::Shared,
};

/// The ways in which servers say that a chat is too long, each with its status.
const TOO_LONG: [(u16, &str); 8] = [
    (400, "Your input exceeds the context window of this model."),
    (400, "prompt is too long: 214850 tokens > 200000 maximum"),
    (400, "The input token count (1196265) exceeds the maximum number of tokens allowed."),
    (400, "the request exceeds the available context size. try increasing it"),
    (500, "Context size has been exceeded."),
    (400, "Input is too long for requested model."),
    (422, "`inputs` must have less than 1024 tokens. Given: 2000"),
    (413, "Request Entity Too Large"),
];

/// The chat is longer than the model can read.
pub(crate) fn too_long(dice: &mut Dice) -> Answer {
    let (status, message) = TOO_LONG[dice.index(TOO_LONG.len())];
    match dice.below(3) {
        0 => Answer::error(
            400,
            "This model's maximum context length is exceeded.",
            "invalid_request_error",
            json!("context_length_exceeded"),
        ),
        _ => Answer::error(status, message, "invalid_request_error", Value::Null),
    }
}

/// The content is refused.
pub(crate) fn refused(dice: &mut Dice) -> Answer {
    let (status, body) = match dice.below(6) {
        0 => (
            400,
            json!({"error": {"message": "The response was filtered.", "code": "content_filter"}}),
        ),
        1 => (400, json!({"error": {"message": "Content Exists Risk"}})),
        2 => (400, json!({"error": {"message": "Output blocked by content filtering policy"}})),
        3 => (
            400,
            json!({"error": {"code": "data_inspection_failed",
            "message": "inappropriate content"}}),
        ),
        4 => (
            403,
            json!({"error": {"code": 403,
                "message": "m requires moderation. Your input was flagged"}}),
        ),
        _ => (422, json!({"detail": "blocked by the safety system"})),
    };
    Answer::status(status, "application/json", body.to_string())
}

/// An error that passes, with a short wait.
fn passing(dice: &mut Dice, shared: &Shared) -> Answer {
    let statuses = [408, 409, 429, 429, 500, 502, 503, 504, 529];
    let status = statuses[dice.index(statuses.len())];
    shared.count(match status {
        408 | 409 => "408 or 409",
        429 => "429",
        500 => "500",
        503 => "503",
        529 => "529",
        _ => "502 or 504",
    });
    let (kind, body) = match dice.below(7) {
        0 => ("application/json", json!({"error": "overloaded"}).to_string()),
        1 => {
            ("application/json", json!({"error": {"message": "overloaded", "code": 1}}).to_string())
        }
        2 => ("application/json", json!([{"error": {"message": "overloaded"}}]).to_string()),
        3 => ("application/json", json!({"detail": [{"msg": "overloaded"}]}).to_string()),
        4 => ("text/html", "<!doctype html><title>Bad gateway</title><h1>502</h1>".to_owned()),
        5 => ("text/plain", String::new()),
        _ => {
            ("application/json", json!({"error": {"metadata": {"raw": "overloaded"}}}).to_string())
        }
    };
    let answer = Answer::status(status, kind, body);
    match dice.below(3) {
        0 => answer.header("retry-after", "0.002"),
        1 => answer.header("retry-after", "0"),
        _ => answer.header("retry-after-ms", "2"),
    }
}

/// An error that no retry could cure.
fn lasting(dice: &mut Dice) -> Answer {
    match dice.below(5) {
        0 => Answer::error(401, "Who are you?", "auth", Value::Null),
        1 => Answer::error(404, "The model does not exist", "x", json!("model_not_found")),
        2 => Answer::error(429, "You exceeded your quota", "x", json!("insufficient_quota")),
        3 => Answer::status(308, "text/html", "").header("location", "https://elsewhere.example/"),
        _ => Answer::status(200, "text/html", "<!doctype html><title>Welcome</title>"),
    }
}

/// An answer that says nothing at all, so that it is asked for again after half a second.
fn silent(dice: &mut Dice) -> Answer {
    match dice.below(5) {
        0 => Answer::stream(Events::new().data(&json!({"choices": []})).done()),
        1 => Answer::stream(Events::new().finish("insufficient_system_resource").done()),
        2 => Answer::stream(Events::new().data(&json!({"error": "no memory"}))),
        3 => Answer::stream(Events::new().raw("event: error\ndata: no memory\n\n")),
        _ => Answer::says("never read").cut_after(0),
    }
}

/// An answer that breaks off after its first words.
fn broken(dice: &mut Dice) -> Answer {
    let events = Events::new().text("I begin, ").text("and never end");
    match dice.below(3) {
        0 => {
            let answer = Answer::stream(events);
            let length = answer.body_len();
            answer.cut_after(length)
        }
        1 => Answer::stream(events.data(&json!({"error": {"message": "no memory"}}))),
        _ => {
            let calls = Events::new().call(0, "a", "ExecCommand").arguments(0, "{\"cmd\": \"ec");
            let answer = Answer::stream(calls);
            let length = answer.body_len();
            answer.cut_after(length)
        }
    }
}

/// A fault in place of the answer, if one is drawn.
pub(crate) fn draw(dice: &mut Dice, shared: &Shared) -> Option<Answer> {
    let (name, answer) = match dice.below(1_000) {
        0..60 => return Some(passing(dice, shared)),
        60..67 => ("a lasting error", lasting(dice)),
        67..71 => ("an answer that says nothing", silent(dice)),
        71..83 => ("an answer that breaks off", broken(dice)),
        83..88 => ("content refused by chance", refused(dice)),
        88..91 => ("an answer that is withheld", {
            Answer::stream(Events::new().finish("content_filter").done())
        }),
        91..94 => ("too long by chance", too_long(dice)),
        94..102 => ("a call that the limit cuts", {
            let calls = Events::new().call(0, "a", "ExecCommand").arguments(0, "{\"cmd\": \"ec");
            Answer::stream(calls.finish("length").done())
        }),
        _ => return None,
    };
    shared.count(name);
    Some(answer)
}

/// A part of requests that a server refuses by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    StreamOptions,
    Thoughts,
    ClosedSchemas,
    System,
    Stream,
    NullContent,
    LongIds,
}

/// All of them.
pub(crate) const PARTS: [Part; 7] = [
    Part::StreamOptions,
    Part::Thoughts,
    Part::ClosedSchemas,
    Part::System,
    Part::Stream,
    Part::NullContent,
    Part::LongIds,
];

impl Part {
    /// The refusal, if the request has this part.
    pub(crate) fn refusal(self, body: &Value) -> Option<(&'static str, Answer)> {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let (is_there, name, status, message) = match self {
            Self::StreamOptions => (
                body.get("stream_options").is_some(),
                "stream_options is refused",
                400,
                "Unrecognized request argument supplied: stream_options",
            ),
            Self::Thoughts => (
                messages.iter().any(|message| message.get("reasoning_content").is_some()),
                "reasoning_content is refused",
                400,
                "property 'reasoning_content' is unsupported",
            ),
            Self::ClosedSchemas => (
                body["tools"].to_string().contains("additionalProperties"),
                "additionalProperties is refused",
                400,
                "Unknown name \"additionalProperties\" at 'tools': Cannot find field.",
            ),
            Self::System => (
                messages.iter().any(|message| message["role"] == "system"),
                "a system message is refused",
                400,
                "System role not supported",
            ),
            Self::Stream => {
                (body["stream"] == true, "a stream is refused", 500, "Cannot use tools with stream")
            }
            Self::NullContent => (
                messages
                    .iter()
                    .any(|message| message["role"] == "assistant" && message["content"].is_null()),
                "null is refused as the content",
                400,
                "Invalid value for 'content': expected a string, got null.",
            ),
            Self::LongIds => (
                messages.iter().any(|message| {
                    message["tool_call_id"].as_str().is_some_and(|id| id.len() != 9)
                }),
                "ids of another length are refused",
                400,
                "Tool call IDs should be alphanumeric strings with length 9!",
            ),
        };
        is_there
            .then(|| (name, Answer::error(status, message, "invalid_request_error", Value::Null)))
    }
}
