//! Asks the model inside a turn where the work is: when older rounds are left out, and in the last
//! round that the turn may have. The question goes with the next request, so it costs none of its
//! own as long as the model makes calls.

use super::Turn;
use crate::{checkpoint::MOST_ACCOUNT, cut, handle::Ended, openai};

const AFTER_COMPACTION: &str = "\
[runtime] Older rounds of this turn are left out from now on. Say in a few sentences where the \
     work is, so that you can go on from there: the goal, what is done, what comes next, and what \
     is open. Say it as text in your next answer, and make your next calls in the same answer. An \
     answer without calls counts as this account only; you are asked again after it.";

const IN_THE_LAST_ROUND: &str = "\
[runtime] This is the last round of this turn. If you make calls, say beside them in a few \
     sentences where the work is, so that a later turn can go on from there: the goal, what is \
     done, what comes next, and what is open.";

/// When the model is asked.
#[derive(Default)]
pub(super) struct Accounts {
    is_owed: bool,
    was_asked: bool,
}

impl Accounts {
    /// Asks in the next request.
    pub(super) fn owe(&mut self) {
        self.is_owed = true;
    }

    /// The question in the next request. Two answers in a row are not asked for one: the second
    /// can end the turn.
    pub(super) fn question(&self, is_last: bool) -> Option<&'static str> {
        match (self.was_asked, is_last, self.is_owed) {
            (true, ..) => None,
            (_, true, _) => Some(IN_THE_LAST_ROUND),
            (_, _, true) => Some(AFTER_COMPACTION),
            _ => None,
        }
    }

    /// Called when the model has answered.
    pub(super) fn answered(&mut self, was_asked: bool) {
        self.is_owed &= !was_asked;
        self.was_asked = was_asked;
    }
}

impl Turn {
    /// The anchor generation now.
    pub(super) fn anchor(&self) -> Result<u64, Ended> {
        self.caller.handle.ask(|actor| actor.state().context().anchor)
    }

    /// Records the account that this answer gives, asked for at this anchor generation. Returns
    /// its text; `None` if the answer has none.
    pub(super) fn account(
        &self,
        round: u64,
        anchor: u64,
        answer: &openai::Round,
    ) -> Result<Option<String>, Ended> {
        let Some(text) = answer.text.as_deref().map(str::trim).filter(|text| !text.is_empty())
        else {
            return Ok(None);
        };
        let text = self.caller.context.redactor.redact(text);
        let text = cut::beginning(&text, MOST_ACCOUNT).into_owned();
        let (run, account) = (self.caller.run.clone(), text.clone());
        self.caller.handle.ask(move |actor| actor.record_account(&run, round, anchor, &account))?;
        Ok(Some(text))
    }
}
