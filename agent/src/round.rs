//! One round of a turn: an answer of the model, or messages of the operator.

use crate::{cut, openai::ChatMessage, prompt::Told};

/// Results are not cut below this number of bytes.
pub(crate) const LEAST: usize = 300;

/// The most characters of a message in a recap.
pub(crate) const LINE: usize = 400;

/// One round: what the model said, the results of its calls, and messages of the operator that were
/// interjected.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) said: Option<ChatMessage>,
    pub(crate) results: Vec<CallResult>,
    pub(crate) inserted: Vec<Told>,
    /// The most bytes of each result and of each message.
    limit: usize,
    pub(crate) withheld: Withheld,
}

/// The result of a call, as the model reads it.
#[derive(Debug)]
pub(crate) struct CallResult {
    /// The model's id of the call.
    pub(crate) call_id: String,
    /// The id of the recorded execution, by which `ReadRest` finds the rest.
    pub(crate) execution: String,
    pub(crate) tool: String,
    /// One line about the result, for the recap.
    pub(crate) summary: String,
    pub(crate) text: String,
}

/// What of a round is left out, because the provider refuses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Withheld {
    #[default]
    Nothing,
    Results,
    Calls,
}

impl Round {
    /// An answer of the model with the results of its calls.
    pub(crate) fn said(said: ChatMessage, results: Vec<CallResult>) -> Self {
        Self {
            said: Some(said),
            results,
            inserted: Vec::new(),
            limit: usize::MAX,
            withheld: Withheld::Nothing,
        }
    }

    /// Interjected messages.
    pub(crate) fn inserted(inserted: Vec<Told>) -> Self {
        Self {
            said: None,
            results: Vec::new(),
            inserted,
            limit: usize::MAX,
            withheld: Withheld::Nothing,
        }
    }

    /// The messages of the round. `kept` is the message that is told whole.
    pub(crate) fn told(&self, kept: Option<&str>) -> Vec<ChatMessage> {
        let is_withheld = self.withheld > Withheld::Nothing;
        let results = self.results.iter().map(|result| ChatMessage::Tool {
            tool_call_id: result.call_id.clone(),
            content: if is_withheld {
                WITHHELD.to_owned()
            } else {
                cut::with_rest(&result.text, 0, self.limit, &result.execution)
            },
        });
        let inserted = self.inserted.iter().map(|message| ChatMessage::User {
            content: if is_withheld {
                WITHHELD.to_owned()
            } else if kept == Some(message.id()) {
                message.in_full()
            } else {
                message.within(self.limit)
            },
        });
        self.said.iter().cloned().chain(results).chain(inserted).collect()
    }

    pub(crate) fn recap(&self) -> impl Iterator<Item = String> {
        let calls = self.results.iter().map(|result| match self.withheld {
            Withheld::Nothing => format!("{}: {}", result.tool, result.summary),
            Withheld::Results | Withheld::Calls => format!("{}: {WITHHELD}", result.tool),
        });
        let inserted = self.inserted.iter().map(|message| match self.withheld {
            Withheld::Nothing => message.line(LINE),
            Withheld::Results | Withheld::Calls => WITHHELD.to_owned(),
        });
        calls.chain(inserted)
    }

    /// Cuts results and messages so that they have at most `bytes` together; returns whether that
    /// changes anything.
    pub(crate) fn cut(&mut self, bytes: usize, kept: Option<&str>) -> bool {
        let messages = self.inserted.iter().filter(|message| kept != Some(message.id()));
        let lengths: Vec<_> = self
            .results
            .iter()
            .map(|result| result.text.len())
            .chain(messages.map(Told::len))
            .collect();
        let part = cut::equal_part(lengths.iter().copied(), bytes).max(LEAST);
        let shortens = lengths.iter().any(|length| length.min(&self.limit) > &part);
        if shortens {
            self.limit = part;
        }
        shortens
    }
}

const WITHHELD: &str =
    "[runtime] This is left out, because the model's provider refuses its content.";
