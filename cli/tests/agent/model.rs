//! A model for tests: it reads the state of a chat from the messages, as a real model must.

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

    /// The system message of the runtime.
    pub(super) fn system(&self) -> &str {
        match self.messages.first() {
            Some(ChatMessage::System { content }) => content,
            other => panic!("a chat begins with a system message: {other:?}"),
        }
    }

    /// Whether the model is asked as a child agent.
    pub(super) fn is_child(&self) -> bool {
        self.system().contains("You are a child agent")
    }

    /// The message that started the turn.
    pub(super) fn trigger(&self) -> &str {
        self.told().last().expect("a turn begins with a message")
    }

    /// What the model is told before its first call, each with its heading. Messages that follow
    /// one another arrive as one.
    fn told(&self) -> impl Iterator<Item = &str> {
        let before_calls = self.messages.iter().take_while(|message| !has_calls(message));
        let users = before_calls.filter_map(|message| {
            if let ChatMessage::User { content } = message { Some(content.as_str()) } else { None }
        });
        users.flat_map(|content| {
            let headings = ["\n\n[operator", "\n\n[runtime]"];
            let begins = headings.iter().flat_map(|heading| content.match_indices(heading));
            let mut begins: Vec<_> = begins.map(|(at, _)| at + 2).collect();
            begins.extend([0, content.len()]);
            begins.sort_unstable();
            let parts: Vec<_> =
                begins.windows(2).map(|part| content[part[0]..part[1]].trim_end()).collect();
            parts
        })
    }

    /// The number of finished rounds with calls in this turn.
    pub(super) fn rounds(&self) -> usize {
        self.messages.iter().filter(|message| has_calls(message)).count()
    }

    /// Whether the model is asked for a summary of older turns.
    pub(super) fn is_summary(&self) -> bool {
        self.system().starts_with("You keep the memory of a long-lived agent.")
    }

    /// Whether a user message with these words came after the first round.
    pub(super) fn hears(&self, words: &str) -> bool {
        let since = self.messages.iter().skip_while(|message| !has_calls(message));
        since
            .filter_map(|message| {
                if let ChatMessage::User { content } = message { Some(content) } else { None }
            })
            .any(|said| said.contains(words))
    }

    /// Whether the runtime says these words beside the message that started the turn.
    pub(super) fn is_told(&self, words: &str) -> bool {
        let told: Vec<_> = self.told().collect();
        let beside = told.iter().take(told.len().saturating_sub(1));
        beside.filter(|part| part.starts_with("[runtime]")).any(|part| part.contains(words))
    }

    /// The results of the newest round's calls.
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

    /// The whole chat, for the message of a failed test.
    pub(super) fn text(&self) -> String {
        serde_json::to_string_pretty(&self.messages).expect("messages are JSON")
    }
}

fn has_calls(message: &ChatMessage) -> bool {
    matches!(message, ChatMessage::Assistant { tool_calls, .. } if !tool_calls.is_empty())
}
