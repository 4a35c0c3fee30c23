//! What one round gave: text, tool calls, and what is known about how it went.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::chat::{ChatMessage, ToolCall};

/// One whole answer of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// What it said, if anything.
    pub text: Option<String>,
    /// Why it will not answer, where the server tells a refusal apart from text.
    pub refusal: Option<String>,
    /// The tools that it called, in the order in which it began them. Their ids are unique in the
    /// chat.
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: Finish,
    /// The tokens that the server counted, where it says so.
    pub usage: Option<Usage>,
    /// How long it took.
    pub timing: Timing,
    /// The model that answered, as the server calls it.
    pub model: Option<String>,
    /// The server's id of the answer.
    pub response_id: Option<String>,
}

impl Round {
    /// The round as a message of the chat that goes on.
    #[must_use]
    pub fn message(&self) -> ChatMessage {
        let said = self.text.as_ref().or(self.refusal.as_ref()).cloned();
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
    /// It reached the most tokens of an answer or of the context: the answer is not whole.
    Length,
    /// It waits for the results of tools.
    ToolCalls,
    /// The server held the answer back.
    ContentFilter,
    /// The server gave another reason.
    Other(String),
    /// The server gave no reason, though it ended its answer in good order.
    Unsaid,
}

impl Finish {
    /// The reason by its name on the wire.
    pub(super) fn parse(reason: String) -> Self {
        match reason.as_str() {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            _ => Self::Other(reason),
        }
    }

    /// The reason by its name on the wire, if there is one.
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
    /// Of the chat that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Of the answer, with what the model thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// Both together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Those of the chat that the server knew from before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
}

/// How long a round took, in milliseconds, from the beginning of the request that was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// To the first text or tool call; nothing where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// To the end of the answer.
    pub total_ms: u64,
    /// How many requests it took, from 1.
    pub attempts: u32,
}

/// Whole milliseconds.
pub(super) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
