//! What came before the turn, as its prompt tells it: earlier turns, and the summary of those
//! before them.

use wakeful_core::state::State;

use super::{Told, word};
use crate::{
    cut,
    history::{Exchange, History},
    openai::ChatMessage,
};

/// The most bytes of an earlier text that are repeated.
const TOLD: usize = 4_000;

/// The most earlier turns that are told.
const MOST_TOLD: usize = 64;

/// An earlier turn: what was said to the model, and what the model did and said.
#[derive(Debug)]
struct Earlier {
    /// The number of the turn.
    number: u64,
    asked: Vec<Told>,
    answered: String,
}

impl Earlier {
    fn new(exchange: &Exchange) -> Self {
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
        Self { number: exchange.turn.turn_index, asked, answered: format!("{done}{said}{ended}") }
    }

    fn told(&self, each: usize) -> Vec<ChatMessage> {
        let asked = self.asked.iter().map(|told| ChatMessage::User { content: told.within(each) });
        asked.chain([ChatMessage::said(cut::beginning(&self.answered, each))]).collect()
    }

    /// The turn as a text, for its summary.
    fn text(&self, each: usize) -> String {
        let mut text = format!("# Turn {}\n", self.number);
        for told in &self.asked {
            text += &format!("\n{}\n", told.within(each));
        }
        text + &format!("\n[agent]\n{}\n\n", cut::beginning(&self.answered, each))
    }
}

/// Turns that a prompt has no room for, as a request for their summary needs them.
pub(crate) struct FallingOut {
    /// The summary of the turns before them; empty if there is none.
    pub(crate) summary: String,
    /// The texts of the turns, oldest first.
    pub(crate) turns: String,
    /// The number of the newest of these turns.
    pub(crate) newest: u64,
}

/// The earlier turns, oldest first, and the summary of those before them.
#[derive(Debug, Default)]
pub(super) struct Past {
    summary: String,
    turns: Vec<Earlier>,
}

impl Past {
    /// What the ledger says: the history has only the turns that the state's summary does not
    /// replace, so nothing is told twice and nothing is lost between them.
    pub(super) fn new(state: &State, history: &History) -> Self {
        Self {
            summary: state.context().context_summary.clone().unwrap_or_default(),
            turns: history.exchanges().map(Earlier::new).collect(),
        }
    }

    /// The ids of the messages of the turns.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().flat_map(|earlier| &earlier.asked).map(Told::id)
    }

    /// Whether there is an earlier turn.
    pub(super) fn has_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The summary; empty if there is none.
    pub(super) fn summary(&self) -> &str {
        &self.summary
    }

    /// As many of the newest turns as fit into `bytes`.
    pub(super) fn within(&self, bytes: usize) -> Vec<ChatMessage> {
        let told = self.fitting(bytes, MOST_TOLD, each(bytes));
        let turns = &self.turns[self.turns.len() - told..];
        turns.iter().flat_map(|earlier| earlier.told(each(bytes))).collect()
    }

    /// The turns that a prompt with this room leaves out, and some more, so that not every turn
    /// leaves another one out; `None` if it tells all. Their texts have about `most` bytes: of
    /// more turns the newest ones stay for the next summary.
    pub(super) fn falling_out(&self, bytes: usize, most: usize) -> Option<FallingOut> {
        let told = self.fitting(bytes, MOST_TOLD, each(bytes));
        if told == self.turns.len() {
            return None;
        }
        let kept = self.fitting(bytes / 2, MOST_TOLD / 2, each(bytes));
        let mut newest = None;
        let mut turns = String::new();
        for earlier in &self.turns[..self.turns.len() - kept] {
            let text = earlier.text(each(most));
            if newest.is_some() && turns.len() + text.len() > most {
                break;
            }
            newest = Some(earlier.number);
            turns += &text;
        }
        Some(FallingOut { summary: self.summary.clone(), turns, newest: newest? })
    }

    /// Puts a summary in the place of the turns up to this number.
    pub(super) fn summarise(&mut self, summary: String, newest: u64) {
        self.summary = summary;
        self.turns.retain(|earlier| earlier.number > newest);
    }

    /// How many of the newest turns, and at most `most`, fit into `bytes`.
    fn fitting(&self, bytes: usize, most: usize, each: usize) -> usize {
        let mut left = bytes;
        let newest = self.turns.iter().rev().take(most);
        let fits = newest.take_while(|earlier| {
            let length = earlier.told(each).iter().map(ChatMessage::len).sum();
            let rest = left.checked_sub(length);
            left = rest.unwrap_or(0);
            rest.is_some()
        });
        fits.count()
    }
}

/// The most bytes of each text of a turn: several turns are told, even if each is long.
fn each(bytes: usize) -> usize {
    TOLD.min(bytes / 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(turns: u64, bytes: usize) -> Past {
        let turn = |number| Earlier {
            number,
            asked: vec![Told::of_operator(&format!("message {number}"))],
            answered: "x".repeat(bytes),
        };
        Past { summary: "before".to_owned(), turns: (1..=turns).map(turn).collect() }
    }

    fn numbers(past: &Past) -> Vec<u64> {
        past.turns.iter().map(|earlier| earlier.number).collect()
    }

    #[test]
    fn nothing_falls_out_while_all_turns_are_told() {
        assert!(past(64, 10).falling_out(100_000, 100_000).is_none());
        assert!(past(0, 10).falling_out(0, 100_000).is_none());
    }

    #[test]
    fn a_turn_beyond_the_number_that_is_told_takes_half_of_them_along() {
        let falling = past(65, 10).falling_out(100_000, 100_000).expect("one turn falls out");
        assert_eq!((falling.newest, falling.summary.as_str()), (33, "before"));
        assert_eq!(falling.turns.matches("# Turn").count(), 33);
    }

    #[test]
    fn a_turn_without_room_falls_out_and_the_summary_leaves_room_for_later_ones() {
        let mut past = past(20, 1_000);
        let falling = past.falling_out(10_000, 100_000).expect("some fall out");
        let told = past.fitting(10_000, MOST_TOLD, 1_000);
        assert!(falling.newest > 20 - told as u64, "{} of 20, {told} told", falling.newest);
        past.summarise("after".to_owned(), falling.newest);
        assert_eq!(past.summary(), "after");
        assert_eq!(numbers(&past), (falling.newest + 1..=20).collect::<Vec<_>>());
        assert!(past.falling_out(10_000, 100_000).is_none());
    }

    #[test]
    fn what_is_too_long_for_one_request_stays_for_the_next_one() {
        let mut past = past(100, 1_000);
        let falling = past.falling_out(100_000, 20_000).expect("some fall out");
        assert!(falling.turns.len() <= 20_000 && falling.newest < 36, "{}", falling.newest);
        past.summarise("after".to_owned(), falling.newest);
        let next = past.falling_out(100_000, 20_000).expect("the rest is left out still");
        assert!(next.turns.starts_with(&format!("# Turn {}\n", falling.newest + 1)));
    }

    #[test]
    fn a_single_turn_without_any_room_falls_out_alone() {
        let falling = past(1, 100_000).falling_out(10, 20_000).expect("it falls out");
        assert_eq!(falling.newest, 1);
        assert!(falling.turns.len() < 20_000);
    }
}
