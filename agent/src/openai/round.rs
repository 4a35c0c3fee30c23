//! The result of one round: text, tool calls, and how it went.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::chat::{ChatMessage, ToolCall};

/// One complete answer of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The model's text, if any.
    pub text: Option<String>,
    /// Why the model refuses to answer, if the server reports that separately.
    pub refusal: Option<String>,
    /// The tool calls, in the order in which the model started them. Their ids are unique in the
    /// chat.
    pub tool_calls: Vec<ToolCall>,
    /// Why the round ended.
    pub finish: Finish,
    /// The tokens that the server counted, if it reports them.
    pub usage: Option<Usage>,
    /// How long the round took.
    pub timing: Timing,
    /// The model that answered, as the server names it.
    pub model: Option<String>,
    /// The server's id of the answer.
    pub response_id: Option<String>,
}

impl Round {
    /// The round as a message of the chat.
    #[must_use]
    pub fn message(&self) -> ChatMessage {
        let said = self.text.as_ref().or(self.refusal.as_ref()).cloned();
        // Servers refuse a message that has neither a text nor tool calls.
        let text = if self.tool_calls.is_empty() { Some(said.unwrap_or_default()) } else { said };
        ChatMessage::Assistant { text, tool_calls: self.tool_calls.clone() }
    }
}

/// Why a round ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model was done.
    Stop,
    /// It reached the token limit of an answer or of the context, so the answer is incomplete.
    Length,
    /// It waits for the results of tools.
    ToolCalls,
    /// The server's content filter withheld the answer.
    ContentFilter,
    /// The server gave another reason.
    Other(String),
    /// The server gave no reason, but ended its answer properly.
    Unsaid,
}

impl Finish {
    /// Parses a reason of the wire format.
    pub(super) fn parse(reason: String) -> Self {
        match reason.as_str() {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            _ => Self::Other(reason),
        }
    }

    /// The reason in the wire format; `None` if the server gave none.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Stop => Some("stop"),
            Self::Length => Some("length"),
            Self::ToolCalls => Some("tool_calls"),
            Self::ContentFilter => Some("content_filter"),
            Self::Other(reason) => Some(reason),
            Self::Unsaid => None,
        }
    }
}

/// The tokens of a round, as the server counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the chat that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer, including those for reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// The sum of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Tokens of the chat that the server had cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
}

/// How long a round took, in milliseconds since the start of the request that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The time until the first text or tool call; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// The time until the end of the answer.
    pub total_ms: u64,
    /// The number of requests, from 1.
    pub attempts: u32,
}

/// A duration in whole milliseconds.
pub(super) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
