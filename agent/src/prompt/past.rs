//! Earlier turns, as the prompt of a turn tells them.

use super::{Told, word};
use crate::{cut, history::Exchange, openai::ChatMessage};

/// The most bytes of an earlier text that are repeated.
const TOLD: usize = 4_000;

/// An earlier turn: what was said to the model, and what the model did and said.
#[derive(Debug)]
pub(super) struct Earlier {
    asked: Vec<Told>,
    answered: String,
}

impl Earlier {
    pub(super) fn new(exchange: &Exchange) -> Self {
        let asked = exchange.message.iter().chain(&exchange.interjected).map(Told::new).collect();
        let done: Vec<_> = exchange.calls.iter().map(|call| format!("- {call}")).collect();
        let done = if done.is_empty() {
            String::new()
        } else {
            format!("(I called:\n{})\n", done.join("\n"))
        };
        let said = exchange.turn.last_assistant_message.as_deref().unwrap_or_default();
        let ended = exchange.turn.kind.filter(|kind| kind.is_failure());
        let ended = ended
            .map_or_else(String::new, |kind| format!("\n(This turn ended early: {}.)", word(kind)));
        Self { asked, answered: format!("{done}{said}{ended}") }
    }

    /// The ids of its messages.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.asked.iter().map(Told::id)
    }

    fn told(&self, each: usize) -> Vec<ChatMessage> {
        let asked = self.asked.iter().map(|told| ChatMessage::User { content: told.within(each) });
        asked.chain([ChatMessage::said(cut::beginning(&self.answered, each))]).collect()
    }
}

/// Earlier turns, oldest first: as many of the newest ones as fit into `bytes`.
pub(super) fn within(past: &[Earlier], bytes: usize) -> Vec<ChatMessage> {
    // Several turns are told, even if each is long.
    let each = TOLD.min(bytes / 6);
    let mut left = bytes;
    let mut turns = Vec::new();
    for earlier in past.iter().rev() {
        let messages = earlier.told(each);
        let length = messages.iter().map(ChatMessage::len).sum();
        let Some(rest) = left.checked_sub(length) else { break };
        left = rest;
        turns.push(messages);
    }
    turns.into_iter().rev().flatten().collect()
}
