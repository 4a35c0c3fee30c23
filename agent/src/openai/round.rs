//! The result of one round: text, tool calls, and how it went.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    chat::{ChatMessage, ToolCall},
    extra::Extra,
};

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
    /// The thoughts and signatures that go back with the answer.
    pub extra: Extra,
    /// Why the round ended.
    pub finish: Finish,
    /// The reason for the end in the server's words, if it gave one.
    pub finish_reason: Option<String>,
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
    /// Why an answer that ends a turn is incomplete, if it is.
    #[must_use]
    pub fn cut_off(&self) -> Option<String> {
        let why = match &self.finish {
            Finish::Length => "the model's answer reached its token limit and is incomplete",
            Finish::ContentFilter => "the server's content filter withheld a part of the answer",
            Finish::Failed => "the server ended its answer early, so the answer is incomplete",
            _ => return None,
        };
        Some(why.to_owned())
    }

    /// The round as a message of the chat.
    #[must_use]
    pub fn message(&self) -> ChatMessage {
        let said = self.text.as_ref().or(self.refusal.as_ref()).cloned();
        // Servers refuse a message that has neither a text nor tool calls.
        let text = if self.tool_calls.is_empty() { Some(said.unwrap_or_default()) } else { said };
        ChatMessage::Assistant {
            text,
            tool_calls: self.tool_calls.clone(),
            extra: self.extra.clone(),
        }
    }

    /// Whether the model has said nothing and calls nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_none() && self.refusal.is_none() && self.tool_calls.is_empty()
    }
}

/// Why a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The server failed or gave up, so the answer is incomplete.
    Failed,
    /// The server gave another reason.
    Other,
    /// The server gave no reason, but ended its answer properly.
    Unsaid,
}

impl Finish {
    /// The meaning of a reason, in the words of different servers.
    #[must_use]
    pub fn parse(reason: &str) -> Self {
        let reason = reason.trim().to_ascii_lowercase().replace(['-', ' '], "_");
        // Gemini writes what went wrong after a name and a colon.
        let reason = reason.rsplit_once(':').map_or(reason.as_str(), |(_, reason)| reason);
        match reason.trim_matches('_') {
            "stop" | "stopped" | "stop_sequence" | "end_turn" | "eos" | "eos_token" | "end"
            | "done" | "complete" | "completed" | "finished" => Self::Stop,
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "max_completion_tokens"
            | "max_length"
            | "model_length"
            | "model_context_window_exceeded"
            | "incomplete" => Self::Length,
            "tool_calls" | "tool_call" | "tool_use" | "function_call" => Self::ToolCalls,
            "content_filter"
            | "content_filtered"
            | "safety"
            | "prohibited_content"
            | "blocklist"
            | "spii"
            | "recitation"
            | "refusal"
            | "sensitive"
            | "error_toxic"
            | "guardrail_intervened" => Self::ContentFilter,
            "error"
            | "abort"
            | "aborted"
            | "cancelled"
            | "timeout"
            | "network_error"
            | "insufficient_system_resource"
            | "malformed_function_call"
            | "unexpected_tool_call"
            | "too_many_tool_calls" => Self::Failed,
            _ => Self::Other,
        }
    }

    /// Whether the end of the answer is missing.
    #[must_use]
    pub fn is_cut(self) -> bool {
        matches!(self, Self::Length | Self::ContentFilter | Self::Failed)
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
