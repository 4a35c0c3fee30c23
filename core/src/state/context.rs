//! The state of evidence: what was compacted, what failed, which checkpoint holds.

use alloc::string::String;

use serde::Serialize;
use wakeful_json::Readable;

use crate::{
    id::Seq,
    record::{
        context::{BriefKind, BriefRecord, CheckpointRecorded, ContextCompacted},
        entry::Place,
    },
    time::Timestamp,
};

/// When something was noted, and the entry that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Readable)]
pub struct Noted {
    /// The record's own time.
    pub at: Timestamp,
    /// The entry.
    pub seq: Seq,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Context {
    /// The newest runtime error since the last completed turn.
    pub error: Option<Noted>,
    /// The newest successful result brief.
    pub success: Option<Noted>,
    /// How many tool calls were executed.
    pub tool_executions: u64,
    /// How many briefs were written.
    pub briefs: u64,
    /// How many pieces of transcript there are.
    pub transcript: u64,
    /// How often the context was compacted.
    pub compression_epoch: u64,
    /// How many messages the context summary stands for.
    pub compacted_message_count: u64,
    /// What stands for them.
    pub context_summary: Option<String>,
    /// The anchor generation: how many work-item snapshots there were.
    pub anchor: u64,
    /// The entry of the newest of them.
    pub anchored_by: Option<Seq>,
    /// The newest checkpoint: its anchor generation and its entry.
    pub checkpoint: Option<(u64, Seq)>,
}

impl Context {
    /// The runtime error that holds (contract 6.2): newer than the last success, however long ago.
    #[must_use]
    pub fn runtime_error(&self) -> Option<Noted> {
        let error = self.error?;
        self.success.is_none_or(|success| error.at > success.at).then_some(error)
    }

    /// The entry of the newest checkpoint, while it describes the work as it is (contract 5.22).
    #[must_use]
    pub fn valid_checkpoint(&self) -> Option<Seq> {
        self.checkpoint.filter(|(anchor, _)| *anchor == self.anchor).map(|(_, seq)| seq)
    }

    /// The host or the provider failed.
    pub(crate) fn failed(&mut self, place: &Place, at: Timestamp) {
        self.error = self.error.max(Some(Noted { at, seq: place.seq }));
    }

    pub(crate) fn compacted(&mut self, compacted: ContextCompacted) {
        self.compression_epoch += 1;
        self.compacted_message_count = compacted.compacted_message_count;
        self.context_summary = compacted.context_summary;
    }

    pub(crate) fn checkpointed(&mut self, place: &Place, checkpoint: &CheckpointRecorded) {
        self.checkpoint = Some((checkpoint.anchor_generation, place.seq));
    }

    /// A work item changed: what a checkpoint said about the work is over.
    pub(crate) fn work_changed(&mut self, place: &Place) {
        self.anchor += 1;
        self.anchored_by = Some(place.seq);
    }

    pub(crate) fn apply_brief(&mut self, place: &Place, record: &BriefRecord) {
        self.briefs += 1;
        if record.kind == BriefKind::Result {
            self.success = self.success.max(Some(Noted { at: record.created_at, seq: place.seq }));
        }
    }

    /// A turn of our own completed: whatever went wrong until then is over.
    pub(crate) fn turn_completed(&mut self, at: Timestamp) {
        self.error = self.error.filter(|error| error.at > at);
    }
}
