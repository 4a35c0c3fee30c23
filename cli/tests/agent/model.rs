//! A model for a test: what a chat has come to, read from its messages as a model would have to
//! read it.

use serde_json::Value;
use wakeful_agent::openai::ChatMessage;

use crate::openai::server::ReceivedRequest;

/// A chat that waits for the model's next round.
pub(super) struct Asked {
    messages: Vec<ChatMessage>,
}

impl Asked {
    pub(super) fn from_request(request: &ReceivedRequest) -> Self {
        Self { messages: request.messages() }
    }

    /// The first words of the runtime.
    pub(super) fn system(&self) -> &str {
        match self.messages.first() {
            Some(ChatMessage::System { content }) => content,
            other => panic!("a chat begins with the runtime's words: {other:?}"),
        }
    }

    /// Whether a child is asked.
    pub(super) fn is_child(&self) -> bool {
        self.system().contains("You are a child agent")
    }

    /// What started the turn.
    pub(super) fn trigger(&self) -> &str {
        let before_calls = self.messages.iter().take_while(|message| !has_calls(message));
        let users = before_calls.filter_map(|message| {
            if let ChatMessage::User { content } = message { Some(content.as_str()) } else { None }
        });
        users.last().expect("a turn begins with a message")
    }

    /// How many rounds of calls the turn has behind it.
    pub(super) fn rounds(&self) -> usize {
        self.messages.iter().filter(|message| has_calls(message)).count()
    }

    /// Whether somebody says this after the turn began.
    pub(super) fn hears(&self, words: &str) -> bool {
        let since = self.messages.iter().skip_while(|message| !has_calls(message));
        since
            .filter_map(|message| {
                if let ChatMessage::User { content } = message { Some(content) } else { None }
            })
            .any(|said| said.contains(words))
    }

    /// Whether the runtime says this before the turn's first round.
    pub(super) fn is_told(&self, words: &str) -> bool {
        self.messages.iter().any(
            |message| matches!(message, ChatMessage::System { content } if content.contains(words)),
        )
    }

    /// The results of the newest round.
    pub(super) fn results(&self) -> Vec<Value> {
        let newest = self.messages.iter().rposition(has_calls).map_or(0, |at| at + 1);
        let tools = self.messages[newest..].iter();
        tools
            .filter_map(|message| {
                if let ChatMessage::Tool { content, .. } = message { Some(content) } else { None }
            })
            .map(|content| serde_json::from_str(content).expect("a result is JSON"))
            .collect()
    }

    /// The whole of it, for a failed test.
    pub(super) fn text(&self) -> String {
        serde_json::to_string_pretty(&self.messages).expect("messages are JSON")
    }
}

fn has_calls(message: &ChatMessage) -> bool {
    matches!(message, ChatMessage::Assistant { tool_calls, .. } if !tool_calls.is_empty())
}
