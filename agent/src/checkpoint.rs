//! Checkpoints: the model's own accounts of where the work is (contract 5.22). The model gives one
//! inside a turn whose older rounds are left out; the turn's terminal and later prompts have it
//! while no work item changes.

use serde::Serialize;
use wakeful_core::{
    fact::Fact,
    id::RunId,
    json::RawJson,
    record::{Record, context::CheckpointRecorded, event::EventRecord},
    time::Timestamp,
};

use crate::{actor::Actor, cut};

/// The most bytes of an account: about 300 words, a part of each later prompt.
pub(crate) const MOST_ACCOUNT: usize = 2_000;

/// A recorded checkpoint.
pub(crate) struct Checkpoint {
    pub(crate) at: Timestamp,
    pub(crate) text: String,
    data: RawJson,
}

#[derive(Serialize)]
struct Account<'a> {
    run_id: &'a RunId,
    round: u64,
    text: &'a str,
}

impl Checkpoint {
    fn new(event: &EventRecord) -> Option<Self> {
        let CheckpointRecorded { data, .. } = event.particulars()?;
        // Another host's checkpoint may have any form.
        let text = data.field("text").and_then(|text| text.read::<String>().ok());
        let text = text.unwrap_or_else(|| data.as_str().to_owned());
        let text = cut::beginning(&text, MOST_ACCOUNT).into_owned();
        Some(Self { at: event.created_at, text, data })
    }

    fn is_of(&self, run: &RunId) -> bool {
        let named = self.data.field("run_id").and_then(|id| id.read::<String>().ok());
        named.as_deref() == Some(run.as_str())
    }
}

impl Actor {
    /// The newest checkpoint, if no work item has changed since.
    pub(crate) fn checkpoint(&mut self) -> Option<Checkpoint> {
        let seq = self.state().context().valid_checkpoint()?;
        match self.record(seq)? {
            Record::Event(event) => Checkpoint::new(&event),
            _ => None,
        }
    }

    /// Records an account that was asked for at this anchor generation.
    pub(crate) fn record_account(&mut self, run: &RunId, round: u64, anchor: u64, text: &str) {
        let data = RawJson::from_value(&Account { run_id: run, round, text });
        let fact = CheckpointRecorded { anchor_generation: anchor, data };
        drop(self.propose(&Fact::CheckpointRecorded(fact)));
    }

    /// The end of a turn with the turn's checkpoint, if it has a valid one.
    pub(crate) fn with_checkpoint(&mut self, end: Fact) -> Fact {
        match end {
            Fact::TurnTerminal(mut terminal) => {
                let checkpoint = self.checkpoint().filter(|it| it.is_of(&terminal.run_id));
                terminal.checkpoint = checkpoint.map(|it| it.data);
                Fact::TurnTerminal(terminal)
            }
            end => end,
        }
    }
}
