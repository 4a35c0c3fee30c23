//! The JSON of a server's answers: the chunks of a stream, whole answers, and errors.
//!
//! Everything is optional, because each compatible server leaves out something else.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{error::ServerMessage, round::Usage};

/// A chunk of a stream. A whole answer is read as a single chunk; it has `message` instead of
/// `delta`.
#[derive(Deserialize)]
pub(super) struct Chunk {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

impl Chunk {
    /// The token counts, if the chunk has them.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage.as_ref().map(|given| Usage {
            prompt_tokens: given.prompt_tokens,
            completion_tokens: given.completion_tokens,
            total_tokens: given.total_tokens,
            cached_tokens: given
                .prompt_tokens_details
                .as_ref()
                .and_then(|details| details.cached_tokens),
        })
    }

    /// The error in the chunk, if there is one.
    pub(super) fn error(&self) -> Option<ServerMessage> {
        self.error.as_ref().map(ServerMessage::from_json)
    }
}

#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: u64,
    delta: Option<Delta>,
    message: Option<Delta>,
    pub(super) finish_reason: Option<String>,
}

impl Choice {
    /// The new part of the choice. Some servers also repeat everything so far in `message`, so
    /// `delta` comes first.
    pub(super) fn delta(self) -> Option<Delta> {
        self.delta.or(self.message)
    }
}

#[derive(Deserialize)]
pub(super) struct Delta {
    pub(super) content: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta {
    pub(super) name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

impl FunctionDelta {
    /// The arguments, or a piece of them. The format asks for text, but some servers send the
    /// object itself.
    pub(super) fn arguments(&self) -> String {
        let Some(raw) = self.arguments.as_ref().map(|raw| raw.get()) else { return String::new() };
        serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned())
    }
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}
