//! Briefs: short records for people and other programs of what was said to whom, without the
//! rounds around it.
//!
//! An `ack` is the text beside the first calls of a turn: its sender hears that the message was
//! received, and what happens next. A `result` is the plain answer that ends a
//! turn. Both are recorded in the open run, which makes the core add the message and the work item.
//! A result ends a runtime error (contract 6.2), and so does the end of its turn, which follows at
//! once; so no decision changes.
//!
//! A prompt does not tell them: the texts are in the turns that it tells, and in the summary of
//! those before.

use wakeful_core::{
    fact::{Fact, context::BriefRecorded},
    record::context::BriefKind,
};

use super::Turn;
use crate::{cut, handle::Ended, openai};

/// The most bytes of a brief. The whole text is in the turn's record and in its transcript.
const MOST_BRIEF: usize = 4_000;

impl Turn {
    /// Records the acknowledgement that the first answer of the turn gives, if there is one.
    pub(super) fn brief_ack(&self, answer: &openai::Round) -> Result<(), Ended> {
        // Nobody waits to hear that a tick was received.
        if self.is_tick { Ok(()) } else { self.brief(BriefKind::Ack, answer) }
    }

    /// Records the result of a turn that ends with this answer. One that is incomplete is not a
    /// result.
    pub(super) fn brief_result(&self, answer: &openai::Round) -> Result<(), Ended> {
        if answer.cut_off().is_some() { Ok(()) } else { self.brief(BriefKind::Result, answer) }
    }

    fn brief(&self, kind: BriefKind, answer: &openai::Round) -> Result<(), Ended> {
        let Some(text) = answer.text.as_deref().filter(|text| !text.trim().is_empty()) else {
            return Ok(());
        };
        // Secrets first: a cut could leave a part of one.
        let text = self.caller.context.redactor.redact(text);
        self.propose(Fact::BriefRecorded(BriefRecorded {
            brief_id: format!("{}/{kind}", self.caller.run),
            kind,
            text: cut::beginning(&text, MOST_BRIEF).into_owned(),
        }))
    }
}
